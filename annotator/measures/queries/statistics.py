"""The gold of a benchmark as the plain rows that statistics are counted over.

Reads only the adjudicated versions of documents that are complete at all three stages, so nothing blind can leak.
Discarded documents and gold copies are left out. Documents, sentences, claims and verdicts are streamed in parallel,
and the database counts passages. This takes about twenty queries and little memory, however much gold there is.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.core.cache import cache
from django.db import connection, transaction
from django.db.models import Count, Max, Q, QuerySet, Sum

from annotator.core.models import Benchmark, Document
from annotator.core.queries.documents import with_confirmed
from annotator.core.queries.gold import GoldScope, checked
from annotator.core.released_labels import is_remark
from annotator.core.vocabulary import DiscardReason, Phase, Stage
from annotator.measures.queries.irregularities import irregularities_of
from annotator.measures.statistics.figures import count
from annotator.measures.statistics.gold_breakdowns import GoldBreakdowns
from annotator.measures.statistics.report import SourceCount, StatisticsReport
from annotator.measures.statistics.rows import GoldClaimRow, GoldDocumentRow, GoldSentenceRow

CHUNK = 2000  # rows fetched at a time
# Figures are kept until a document becomes gold or stops being it; after so many seconds they are counted anew anyway.
KEPT_FOR = 3600


def statistics_of(benchmark: Benchmark, sources: Sequence[SourceCount], source: str = "") -> StatisticsReport:
    """All figures of the gold, or of that from one source. ``sources``: what ``sources_of`` gives. Kept in the cache
    for the gold that there is (one query where it is kept)."""
    scope = GoldScope(benchmark, source)
    stamp = scope.documents().aggregate(number=Count("pk"), which=Sum("pk"), newest=Max("annotations__submitted_at"))
    named = hashlib.blake2s(f"{benchmark.public_id} {source} {stamp} {sources}".encode()).hexdigest()
    key = f"statistics:{named}"
    before: StatisticsReport | None = cache.get(key)
    if before is not None:
        return before
    breakdowns = GoldBreakdowns()
    with wholesale():
        report = StatisticsReport(
            figures=count(breakdowns.watch(documents_of(scope))),
            retrieved=scope.retrieved().filter(checked("claim__")).count(),
            odd=irregularities_of(scope),
            confirmed=scope.documents().filter(with_confirmed()).count(),
            sources=[each for each in sources if source in ("", each.source)],
            discards=discards_of(benchmark, source),
            source=source,
        )
    report = replace(report, breakdowns=breakdowns.tables())
    cache.set(key, report, KEPT_FOR)
    return report


@contextmanager
def wholesale() -> Iterator[None]:
    """Queries inside read nearly all rows of their tables, so PostgreSQL shall join them table by table.

    Until it has analysed a fresh import it takes every condition for rare, and joining row by row then needs minutes
    for 10,000 documents. SQLite needs no such word, and a transaction would only keep writers out there.
    """
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_nestloop = off")
        yield
        cursor.execute("SET LOCAL enable_nestloop = on")  # this may be inside another transaction


def sources_of(benchmark: Benchmark) -> list[SourceCount]:
    """Where documents are from and how far they are, the largest source first (one query)."""
    rows = (
        Document.objects.filter(benchmark=benchmark, twin_of__isnull=True)
        .order_by()
        .values_list("source")
        .annotate(
            collected=Count("pk"),
            gold=Count("pk", filter=Q(stage=Stage.REVISE, phase=Phase.AGREED)),
            discarded=Count("pk", filter=Q(phase=Phase.DISCARDED)),
        )
    )
    return sorted((SourceCount(*row) for row in rows), key=lambda each: (-each.collected, each.source))


def discards_of(benchmark: Benchmark, source: str = "") -> dict[str, int]:
    """How many documents were discarded for which reason, in the order of the reasons (one query). Documents that were
    discarded before there were codes count as “other”."""
    rows = Document.objects.filter(benchmark=benchmark, twin_of__isnull=True, phase=Phase.DISCARDED)
    if source:
        rows = rows.filter(source=source)
    found: Counter[str] = Counter()
    for code, number in rows.order_by().values_list("discard_code").annotate(number=Count("pk")):
        found[code or DiscardReason.OTHER.value] += number
    return {each.value: found[each.value] for each in DiscardReason if found[each.value]}


# --- documents ------------------------------------------------------------------------------------


def documents_of(scope: GoldScope) -> Iterator[GoldDocumentRow]:
    """The documents one by one (eight queries, read side by side)."""
    documents = scope.documents().order_by("pk").values_list("pk", "source", "model", "metadata", "response")
    revised = _by_document(
        scope.revised_responses().order_by("annotation__document").values_list("annotation__document", "text")
    )
    deleted = _by_document(
        scope.deleted_sentences().order_by("annotation__document").values_list("annotation__document", "sentence")
    )
    sentences = _by_document(
        scope.sentences()
        .order_by("annotation__document", "pk")
        .values_list("annotation__document", "pk", "type", "importance")
    )
    claims = _by_document(
        scope.claims()
        .order_by("sentence__annotation__document", "pk")
        .values_list("sentence__annotation__document", "pk", "sentence", "type", "worth_checking", "importance")
    )
    verdicts = _by_document(
        scope.verdicts()
        .order_by("annotation__document", "pk")
        .values_list("annotation__document", "claim", "evidence_sufficient", "factuality")
    )
    stances = _by_document(
        scope.stances()
        .order_by("annotation__document")
        .values_list("annotation__document", "evidence__claim", "label")
        .annotate(number=Count("pk"))
    )
    added = _by_document(
        scope.added().order_by("annotation__document").values_list("annotation__document", "claim", "passage", "url")
    )
    for pk, source, model, metadata, response in documents.iterator(chunk_size=CHUNK):
        said = {claim: (sufficient, factuality) for _, claim, sufficient, factuality in verdicts.of(pk)}
        by_people = Counter((claim, is_remark(passage, url)) for _, claim, passage, url in added.of(pk))
        judged: dict[int, dict[str, int]] = {}
        for _, claim, label, number in stances.of(pk):
            judged.setdefault(claim, {})[label] = number
        left_out = {sentence for _, sentence in deleted.of(pk)}
        of_sentence: dict[int, list[GoldClaimRow]] = {}
        for _, claim, sentence, type, worth_checking, importance in claims.of(pk):
            row = GoldClaimRow(
                type,
                worth_checking,
                importance,
                *said.get(claim, (None, "")),
                judged.get(claim, {}),
                by_people[claim, False],
                by_people[claim, True],
            )
            of_sentence.setdefault(sentence, []).append(row)
        yield GoldDocumentRow(
            source,
            model,
            metadata,
            response,
            next((text for _, text in revised.of(pk)), ""),
            [
                GoldSentenceRow(type, importance, sentence in left_out, of_sentence.get(sentence, ()))
                for _, sentence, type, importance in sentences.of(pk)
            ],
        )


class _Stream:
    """Rows of a query in the order of their first column, a document's key; handed out document by document."""

    def __init__(self, rows: Iterable[tuple[Any, ...]]) -> None:
        self._groups = groupby(rows, key=itemgetter(0))
        self._next = next(self._groups, None)

    def of(self, document: int) -> list[tuple[Any, ...]]:
        """The rows of this document; asked in rising order. Rows of documents that nobody asks for are passed over."""
        while self._next is not None and self._next[0] <= document:
            key, rows = self._next
            found = list(rows)
            self._next = next(self._groups, None)
            if key == document:
                return found
        return []


def _by_document(rows: QuerySet[Any, tuple[Any, ...]]) -> _Stream:
    return _Stream(rows.iterator(chunk_size=CHUNK))
