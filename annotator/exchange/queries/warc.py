"""The pages that a benchmark's evidence was cut from, as they came."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from annotator.core.models import Benchmark, Evidence, PageArchive
from annotator.core.queries.gold import GoldScope


@dataclass(frozen=True, slots=True)
class ArchivedPage:
    """A saved page with its WARC record. ``retrieved_at`` in UTC."""

    public_id: str
    url: str
    title: str
    retrieved_at: dt.datetime
    record: bytes


def archived_pages(benchmark: Benchmark, *, gold: bool = False) -> Iterator[ArchivedPage]:
    """Each page once, oldest first; one is read at a time. ``gold``: only those of evidence that is part of the
    gold."""
    if gold:
        scope = GoldScope(benchmark)
        used = scope.retrieved().filter(snapshot=OuterRef("snapshot"))
        added = scope.added().filter(snapshot=OuterRef("snapshot"))
        rows = PageArchive.objects.filter(Exists(used) | Exists(added))
    else:
        evidence = Evidence.objects.filter(
            snapshot=OuterRef("snapshot"), claim__sentence__annotation__document__benchmark=benchmark
        )
        rows = PageArchive.objects.filter(Exists(evidence))
    keys = list(rows.order_by("snapshot__retrieved_at", "pk").values_list("pk", flat=True))
    for key in keys:
        row = PageArchive.objects.select_related("snapshot").get(pk=key)
        page = row.snapshot
        at = page.retrieved_at.astimezone(dt.UTC)
        yield ArchivedPage(page.public_id, page.url, page.title, at, bytes(row.record))
