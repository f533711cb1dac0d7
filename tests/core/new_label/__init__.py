"""A label that no release has, added to claims as docs/how-to/add-a-label.md says: a declaration (``settings``),
columns (``models``), and the migration that makemigrations writes. ``checks`` looks for it wherever a label has to be;
``test_new_label`` runs them in a process of their own, whose database has the columns."""
