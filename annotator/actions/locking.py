"""The row lock under which a document's work and status change."""

from __future__ import annotations

from annotator.models import Document


def lock_document(document_pk: int) -> Document:
    """The document, locked until the transaction ends (SQLite locks the whole database instead)."""
    return Document.objects.select_for_update(of=("self",)).select_related("benchmark", "batch").get(pk=document_pk)
