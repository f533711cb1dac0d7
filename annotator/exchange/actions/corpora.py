"""Adds pages to a local corpus."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from django.db import transaction
from django.db.models import F

from annotator.core.actions.recorder import Action
from annotator.core.file_problems import BadRow
from annotator.core.models import Benchmark, Corpus, CorpusPage, User
from annotator.exchange.actions.imports import ImportReport, in_batches
from annotator.exchange.formats.corpus import IncomingPage, read_pages


def create_corpus(*, slug: str, name: str) -> Corpus:
    """An empty corpus. Raises IntegrityError if the slug is taken."""
    return Corpus.objects.create(slug=slug, name=name)


def import_corpus(
    *,
    corpus: Corpus,
    path: Path,
    by: User | None = None,
    on_progress: Callable[[ImportReport], None] | None = None,
) -> ImportReport:
    """Add the pages of a JSON lines file or a folder, in batches of one transaction each.

    A page with a known URL and content counts as unchanged. In a JSON lines file, a URL may occur several times
    (passages of one page), so a row with different content is added. A file in a folder is one page and replaces what
    was read from it before. Raises ``FileError``.
    """
    began = time.monotonic()
    report = ImportReport()
    replaces = path.is_dir()
    for batch in in_batches(read_pages(path)):
        report.read += len(batch)
        pages: list[IncomingPage] = []
        for row in batch:
            if isinstance(row, BadRow):
                report.note(row)
            else:
                pages.append(row)
        with transaction.atomic():
            added = _add(corpus, pages, replaces=replaces)
            if added:
                Corpus.objects.filter(pk=corpus.pk).update(revision=F("revision") + 1)
                Action(name="import-corpus", by=by, reason=f"{added} pages from {path.name} into {corpus.slug}").write()
        report.imported += added
        report.unchanged += len(pages) - added
        if on_progress is not None:
            on_progress(report)
    corpus.refresh_from_db()
    report.elapsed = time.monotonic() - began
    return report


def _add(corpus: Corpus, pages: Sequence[IncomingPage], *, replaces: bool) -> int:
    """Insert pages that don't exist yet. Returns how many."""
    Corpus.objects.select_for_update().get(pk=corpus.pk)
    stored = CorpusPage.objects.filter(corpus=corpus, url__in={page.url for page in pages})
    there = set(stored.values_list("url", "content_hash"))
    new = {(page.url, page.content_hash): page for page in pages}
    new = {key: page for key, page in new.items() if key not in there}
    if replaces and new:
        stored.filter(url__in={url for url, _ in new}).exclude(
            content_hash__in={page.content_hash for page in pages}
        ).delete()
    CorpusPage.objects.bulk_create(
        CorpusPage(
            corpus=corpus,
            url=page.url,
            title=page.title,
            site=page.site,
            published=page.published,
            text=page.text,
            content_hash=content_hash,
        )
        for (_, content_hash), page in new.items()
    )
    return len(new)


def use_corpus(*, benchmark: Benchmark, corpus: Corpus, by: User | None = None) -> None:
    """Let the benchmark retrieve evidence from this corpus."""
    with transaction.atomic():
        Benchmark.objects.filter(pk=benchmark.pk).update(corpus=corpus)
        benchmark.corpus = corpus
        Action(name="use-corpus", by=by, benchmark=benchmark, reason=corpus.slug).write()
