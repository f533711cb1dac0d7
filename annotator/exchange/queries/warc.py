"""The pages that a benchmark's evidence was cut from, as one WARC file."""

from __future__ import annotations

from collections.abc import Iterator

from annotator.core.models import Benchmark, PageArchive


def archived_pages(benchmark: Benchmark) -> Iterator[bytes]:
    """The WARC record of each page, once, oldest first; read a few at a time."""
    archives = PageArchive.objects.filter(
        snapshot__evidence__claim__sentence__annotation__document__benchmark=benchmark
    ).distinct()
    keys = list(archives.order_by("snapshot__retrieved_at", "pk").values_list("pk", "snapshot__retrieved_at"))
    for key, _ in keys:
        yield bytes(PageArchive.objects.values_list("record", flat=True).get(pk=key))
