"""Keeping the search index of documents: a worker looks what has changed and writes it anew, in small steps."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from annotator.core.actions.small_steps import in_small_steps
from annotator.core.models import SearchEntry
from annotator.core.queries.search import MAX_TEXT, outdated, texts_of
from annotator.core.texts.search_words import TEXT_END, words_of

INDEX_DOCUMENTS = "annotator.index_documents"
AT_ONCE = 20_000  # documents of one call: the next one finds the rest


def index_outdated() -> int:
    """Write the entries of documents that have changed since. Returns how many."""
    keys = list(outdated().values_list("pk", flat=True)[:AT_ONCE])
    in_small_steps(keys, _index)
    return len(keys)


def _index(keys: Sequence[int]) -> None:
    # Read before the transaction: whoever writes to SQLite meanwhile does not wait for the reading. A document that
    # changes in between has another version then, and is read again.
    entries = [
        SearchEntry(
            document_id=pk,
            version=each.version,
            body=" ".join(words_of(f"\n{TEXT_END}\n".join(each.texts)[:MAX_TEXT])),
            claims=each.claims,
            false_claims=each.false_claims,
        )
        for pk, each in texts_of(keys).items()
    ]
    with transaction.atomic():
        SearchEntry.objects.bulk_create(
            entries,
            update_conflicts=True,
            unique_fields=["document"],
            update_fields=["version", "body", "claims", "false_claims"],
        )
