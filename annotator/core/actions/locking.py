"""The row locks under which a document's work and status change, and a benchmark's team and protocol."""

from __future__ import annotations

from typing import Any

from annotator.core.models import Benchmark, Document


def lock_document(document_pk: int) -> Document:
    """The document, locked until the transaction ends (SQLite locks the whole database instead).

    Its batch is not joined: PostgreSQL would give the one from before the wait for the lock. Asked for later, it is
    the one that stands.
    """
    return Document.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=document_pk)


# What a save asks of its document. Reading the response each time would cost more than all else of it.
_STATUS = (
    "public_id", "stage", "phase", "blind_first",
    "benchmark__slug", "benchmark__asks_reliable", "benchmark__asks_sufficient",
)  # fmt: skip


def lock_document_where(**facts: Any) -> Document | None:
    """Lock the one document of which these facts hold (of what is never moved to another document: its annotations'
    people and records), in one query; None if there is none. What goes beyond its status is read when it is asked
    for."""
    rows = Document.objects.select_for_update(of=("self",)).select_related("benchmark").only(*_STATUS)
    return rows.filter(**facts).order_by().first()


def lock_benchmark(benchmark_pk: int) -> Benchmark:
    """The benchmark, locked until the transaction ends. Take it before a document's lock.

    Without the key: whoever holds a document and notes an activity of the benchmark does not wait for this.
    """
    return Benchmark.objects.select_for_update(no_key=True).get(pk=benchmark_pk)
