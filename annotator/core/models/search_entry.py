"""What the document list looks up about each document: its words and its counts."""

from __future__ import annotations

from django.db import models


class SearchEntry(models.Model):
    """The words of one document and what is adjudicated of it, written anew by a worker when the document changes.

    Adjudicated work is visible to every member, so the words can be searched by all of them; work that is still blind
    is never in here. ``version`` is the document's version that this was read at. Both databases have a full-text index
    over ``body``, made by the migration: in SQLite the table ``annotator_searchentry_words``, kept by triggers; in
    PostgreSQL the column ``words``. Neither is known to Django, which must not copy this table in a later migration.
    """

    document = models.OneToOneField("annotator.Document", models.CASCADE, primary_key=True, related_name="search_entry")
    version = models.PositiveIntegerField()
    body = models.TextField(help_text="The words of the document, see annotator.core.texts.search_words.")
    claims = models.PositiveIntegerField(null=True, help_text="Adjudicated claims; null before decompose is complete.")
    false_claims = models.PositiveIntegerField(
        null=True, help_text="Those that are false; null before verify is complete."
    )

    class Meta:
        verbose_name_plural = "search entries"

    def __str__(self) -> str:
        return f"Words of {self.document_id}"
