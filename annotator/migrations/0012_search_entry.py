"""The search index of documents, with a full-text index in each database's own way."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

SQLITE = (
    "CREATE VIRTUAL TABLE annotator_searchentry_words USING fts5("
    "body, content='annotator_searchentry', content_rowid='document_id', tokenize='unicode61 remove_diacritics 0')",
    "CREATE TRIGGER annotator_searchentry_added AFTER INSERT ON annotator_searchentry BEGIN "
    "INSERT INTO annotator_searchentry_words(rowid, body) VALUES (new.document_id, new.body); END",
    "CREATE TRIGGER annotator_searchentry_removed AFTER DELETE ON annotator_searchentry BEGIN "
    "INSERT INTO annotator_searchentry_words(annotator_searchentry_words, rowid, body) "
    "VALUES ('delete', old.document_id, old.body); END",
    "CREATE TRIGGER annotator_searchentry_changed AFTER UPDATE OF body ON annotator_searchentry BEGIN "
    "INSERT INTO annotator_searchentry_words(annotator_searchentry_words, rowid, body) "
    "VALUES ('delete', old.document_id, old.body); "
    "INSERT INTO annotator_searchentry_words(rowid, body) VALUES (new.document_id, new.body); END",
)
POSTGRESQL = (
    "ALTER TABLE annotator_searchentry ADD COLUMN words tsvector "
    "GENERATED ALWAYS AS (to_tsvector('simple', body)) STORED",
    "CREATE INDEX annotator_searchentry_words ON annotator_searchentry USING gin (words)",
)


def add_full_text(apps: Any, schema_editor: Any) -> None:
    for statement in POSTGRESQL if schema_editor.connection.vendor == "postgresql" else SQLITE:
        schema_editor.execute(statement)


def drop_full_text(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("ALTER TABLE annotator_searchentry DROP COLUMN words")
        return
    for name in ("added", "removed", "changed"):
        schema_editor.execute(f"DROP TRIGGER annotator_searchentry_{name}")
    schema_editor.execute("DROP TABLE annotator_searchentry_words")


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0011_version_0_2"),
    ]

    operations = [
        migrations.CreateModel(
            name="SearchEntry",
            fields=[
                (
                    "document",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="search_entry",
                        serialize=False,
                        to="annotator.document",
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                (
                    "body",
                    models.TextField(help_text="The words of the document, see annotator.core.texts.search_words."),
                ),
                (
                    "claims",
                    models.PositiveIntegerField(
                        help_text="Adjudicated claims; null before decompose is complete.", null=True
                    ),
                ),
                (
                    "false_claims",
                    models.PositiveIntegerField(
                        help_text="Those that are false; null before verify is complete.", null=True
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "search entries",
            },
        ),
        migrations.RunPython(add_full_text, drop_full_text, elidable=False),
    ]
