"""Create corpora, add pages to them, attach them to benchmarks, and try a search."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from django.core.cache import cache
from django.db import transaction
from django.db.models import F
from django.utils.text import slugify

from annotator.core import rules
from annotator.core.actions.enqueue import after_commit
from annotator.core.actions.fields import BadValueError, clean_text
from annotator.core.actions.recorder import Action
from annotator.core.file_problems import BadRow
from annotator.core.models import Benchmark, Corpus, CorpusPage, User
from annotator.exchange.actions.imports import ImportReport, in_batches
from annotator.exchange.formats.corpus import IncomingPage, read_pages

SEARCH_CORPUS = "pipeline.search_corpus"
ASKED_FOR = 30  # seconds
MAX_NAME = 200


def create_corpus(*, slug: str, name: str, by: User | None = None) -> Corpus:
    """An empty corpus. Raises IntegrityError if the slug is taken."""
    return Corpus.objects.create(slug=slug, name=name, created_by=by)


def make_corpus(benchmark: Benchmark, *, name: str, by: User) -> Corpus:
    """An empty corpus created on a benchmark's page, with a slug that isn't taken.

    Raises NotAllowedError by the rules, BadValueError for a name without a Latin letter or digit.
    """
    name = " ".join(clean_text(name, MAX_NAME).split())
    base = slugify(name)[:70]
    if not base:
        raise BadValueError("Give the corpus a name with at least one Latin letter or digit.")
    with transaction.atomic():
        rules.check_manage(by, benchmark)
        slug, number = base, 2
        while Corpus.objects.filter(slug=slug).exists():
            slug, number = f"{base}-{number}", number + 1
        corpus = create_corpus(slug=slug, name=name, by=by)
        Action(name="create-corpus", by=by, benchmark=benchmark, reason=slug).write()
    return corpus


def import_corpus(
    *,
    corpus: Corpus,
    path: Path | BinaryIO,
    filename: str = "",
    by: User | None = None,
    on_progress: Callable[[ImportReport], None] | None = None,
) -> ImportReport:
    """Add the pages of a JSON lines file or a folder, in batches of one transaction each. ``filename`` names an open
    file in the history.

    A page with a known URL and content counts as unchanged. In a JSON lines file, a URL may occur several times
    (passages of one page), so a row with different content is added. A file in a folder is one page and replaces what
    was read from it before. Raises ``FileError``.
    """
    began = time.monotonic()
    report = ImportReport()
    replaces = isinstance(path, Path) and path.is_dir()
    filename = path.name if isinstance(path, Path) else filename
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
                Action(name="import-corpus", by=by, reason=f"{added} pages from {filename} into {corpus.slug}").write()
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


def use_corpus(*, benchmark: Benchmark, corpus: Corpus | None, by: User | None = None) -> None:
    """Let the benchmark retrieve evidence from this corpus, or with None from no corpus. Raises NotAllowedError by the
    rules."""
    with transaction.atomic():
        if by is not None:
            rules.check_manage(by, benchmark)
        Benchmark.objects.filter(pk=benchmark.pk).update(corpus=corpus)
        benchmark.corpus = corpus
        Action(name="use-corpus", by=by, benchmark=benchmark, reason=corpus.slug if corpus else "none").write()


# --- a trial search -------------------------------------------------------------------------------


def answer_key(corpus: Corpus, query: str) -> str:
    """The cache key of the passages that a query finds in this revision of the corpus."""
    words = hashlib.sha256(query.encode()).hexdigest()[:32]
    return f"corpus-search:{corpus.pk}:{corpus.revision}:{words}"


def ask_corpus(corpus: Corpus, query: str) -> list[dict[str, Any]] | None:
    """The passages that a worker has found for a query, best first; None while it is searching.

    A worker does the search, because the first search of a revision builds its index. If no answer has arrived after
    half a minute, the search is requested again.
    """
    key = answer_key(corpus, query)
    found: list[dict[str, Any]] | None = cache.get(key)
    if found is None and cache.add(f"{key}:asked", True, ASKED_FOR):
        after_commit(SEARCH_CORPUS, corpus.pk, query, key)
        found = cache.get(key)
    return found
