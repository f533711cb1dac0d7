"""The row locks that protect a document's work and status, and a benchmark's team and protocol."""

from __future__ import annotations

from typing import Any

from annotator.core.models import Benchmark, Document


def lock_document(document_pk: int) -> Document:
    """The document, locked until the transaction ends (SQLite locks the whole database instead).

    The batch isn't joined: after waiting for the lock, PostgreSQL would return the batch from before the wait. It is
    loaded when needed, so it is current.
    """
    return Document.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=document_pk)


# The columns a save needs. Loading the response every time would cost more than the rest of the save.
_STATUS = (
    "public_id", "stage", "phase", "blind_first",
    "benchmark__slug", "benchmark__two_step", "benchmark__protocol_sha256",
    "benchmark__asks_reliable", "benchmark__asks_sufficient",
)  # fmt: skip


def lock_document_where(**facts: Any) -> Document | None:
    """Lock the one document for which these facts hold, in one query; None if there is none. Use only facts that never
    move to another document: the people and records of its annotations. Other columns load on demand."""
    rows = Document.objects.select_for_update(of=("self",)).select_related("benchmark").only(*_STATUS)
    return rows.filter(**facts).order_by().first()


def lock_benchmark(benchmark_pk: int) -> Benchmark:
    """The benchmark, locked until the transaction ends. Take this lock before a document's.

    Doesn't lock the key, so recording an activity of the benchmark while holding a document's lock doesn't wait.
    """
    return Benchmark.objects.select_for_update(no_key=True).get(pk=benchmark_pk)
