"""A benchmark's answers as counts of supported claims, by the gold or by a run of the pipeline: what models are ranked
by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import Count, Q, QuerySet

from annotator.core.models import Benchmark, Claim, Document, PipelineRun, VerdictSuggestion
from annotator.core.queries.gold import GoldScope, adjudicated, checked
from annotator.core.vocabulary import Factuality, Phase, RunState, Stage
from annotator.exchange.formats.answers import AnswerRow
from annotator.measures.statistics.breakdowns import described

CHUNK = 2000  # rows fetched at a time


def gold_answers(benchmark: Benchmark) -> Iterator[AnswerRow]:
    """Each gold document as an answer of its ``model`` in the domain ``source``: a checked claim is supported when it
    is true; one that is false or lacks evidence is not. K' is how many checked claims people settled on. Two queries,
    however many documents there are; ``line`` counts them."""
    scope = GoldScope(benchmark)
    counted = {
        document: (supported, claims)
        for document, supported, claims in scope.checked_verdicts()
        .exclude(factuality="")
        .values_list("annotation__document")
        .annotate(supported=Count("pk", filter=Q(factuality=Factuality.TRUE)), claims=Count("pk"))
    }
    documents = scope.documents().order_by("order", "pk").values_list("pk", *_DOCUMENT)
    for number, (document, *row) in enumerate(documents.iterator(chunk_size=CHUNK), start=1):
        supported, claims = counted.get(document, (0, 0))
        yield _answer(number, row, supported, claims, valid=claims)


_DOCUMENT = ("model", "source", "metadata", "response")


def _answer(
    number: int, document: Sequence[Any], supported: int, claims: int, unsaid: int = 0, *, valid: int
) -> AnswerRow:
    model, source, metadata, response = document
    about = described(metadata)
    return AnswerRow(
        number,
        model,
        source,
        supported,
        claims,
        unsaid,
        valid=valid,
        source=source,
        topic=about.get("domain", ""),
        language=about.get("language", ""),
        words=len(response.split()),
    )


def judging_runs(benchmark: Benchmark) -> QuerySet[PipelineRun]:
    """The finished runs that gave verdicts on claims, the newest first."""
    judged = VerdictSuggestion.objects.filter(run__benchmark=benchmark).values("run")
    return benchmark.runs.filter(pk__in=judged, state=RunState.FINISHED).order_by("-pk")


def run_answers(run: PipelineRun) -> Iterator[AnswerRow]:
    """Each document on whose claims the run gave verdicts as an answer, whether it is gold or not: claims are those
    that people agreed on and that are checked, labels are the run's. A verdict that says nothing of truth (irrelevant,
    unverifiable) makes its claim none. K' is how many checked claims people agreed on. Three queries."""
    path = "sentence__annotation__"
    claims = Claim.objects.filter(
        adjudicated(Stage.DECOMPOSE, path), checked(""), sentence__removed="", removed=""
    ).order_by()
    valid = dict(
        claims.filter(sentence__annotation__document__run_items__run=run)
        .values_list(f"{path}document")
        .annotate(Count("pk"))
    )
    verdicts = VerdictSuggestion.objects.filter(run=run, claim__in=claims).order_by()
    judged = {
        document: (supported, said, unsaid)
        for document, supported, said, unsaid in verdicts.values_list(f"claim__{path}document").annotate(
            supported=Count("pk", filter=Q(factuality=Factuality.TRUE)),
            said=Count("pk", filter=~Q(factuality="")),
            unsaid=Count("pk", filter=Q(factuality="")),
        )
    }
    documents = (
        Document.objects.filter(run_items__run=run, twin_of__isnull=True)
        .exclude(phase=Phase.DISCARDED)
        .order_by("order", "pk")
        .values_list("pk", *_DOCUMENT)
    )
    number = 0
    for document, *row in documents.iterator(chunk_size=CHUNK):
        if document in judged:
            number += 1
            supported, said, unsaid = judged[document]
            yield _answer(number, row, supported, said, unsaid, valid=valid.get(document, 0))
