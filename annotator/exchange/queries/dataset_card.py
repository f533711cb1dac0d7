"""The facts for a dataset card about how a benchmark's gold was made: guidelines, numbers of people, suggestions,
agreement, irregularities. Nobody is named."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, Max, Min, OuterRef, Q

from annotator.core.models import Annotation, Benchmark, Guidelines, PipelineRun, RunItem, SignOff
from annotator.core.queries.gold import GoldScope
from annotator.core.vocabulary import STAGES, AnnotationKind, AnnotationState, Factuality, RunState, Stage
from annotator.measures.agreement.report import AgreementReport
from annotator.measures.queries.agreement import agreement_of
from annotator.measures.queries.irregularities import irregularities_of
from annotator.measures.queries.statistics import discards_of

BY_IMPORT = "import"  # the strategy of suggestions that came with an imported file


@dataclass(frozen=True, slots=True)
class UsedGuidelines:
    """One version of the guidelines: ``annotations`` (one person on one stage of gold) were made under it."""

    number: int
    published: dt.datetime
    text: str
    annotations: int


@dataclass(frozen=True, slots=True)
class UsedPipeline:
    """A strategy as used at a stage, for this many gold documents. ``prompts``: versions by name."""

    stage: str
    strategy: str
    model: str
    parameters: dict[str, Any]
    prompts: dict[str, str]
    documents: int


@dataclass(frozen=True, slots=True)
class CardFacts:
    """``imported``: gold documents that came in as agreed, so that nobody here labeled them. ``third_raters`` signed
    as such. ``blind_first``: gold documents on which people labeled before they saw a suggestion. ``sources`` and
    ``models`` count gold documents that name one, the most frequent first. ``timeframe``: the first and the last day on
    which a document came in or was labeled. ``undetermined`` claims have not enough evidence."""

    gold: int
    imported: int
    blind_first: int
    overlap: int
    third_rater_at_verify: bool
    annotators: int
    third_raters: int
    guidelines: tuple[UsedGuidelines, ...]
    pipelines: tuple[UsedPipeline, ...]
    agreement: AgreementReport
    irregularities: dict[str, int]
    sources: dict[str, int]
    models: dict[str, int]
    timeframe: tuple[dt.date, ...]
    undetermined: int
    discards: dict[str, int]  # discarded documents by coded reason


def card_facts(benchmark: Benchmark) -> CardFacts:
    """The facts about the current gold. About twenty-five queries, independent of its size."""
    scope = GoldScope(benchmark)
    documents = scope.documents()
    work = Annotation.objects.filter(
        scope.gold("document__"), kind=AnnotationKind.INDIVIDUAL, state=AnnotationState.SUBMITTED
    ).order_by()
    third = SignOff.objects.filter(scope.gold("annotation__document__"), as_third_rater=True).order_by()
    return CardFacts(
        gold=documents.count(),
        imported=documents.filter(~Exists(work.filter(document=OuterRef("pk")))).count(),
        blind_first=documents.filter(blind_first=True).count(),
        overlap=benchmark.overlap,
        third_rater_at_verify=benchmark.overlap > 1 and benchmark.third_rater_at_verify,
        annotators=work.values("person").distinct().count(),
        third_raters=third.values("by").distinct().count(),
        guidelines=_guidelines(benchmark, scope),
        pipelines=_pipelines(scope),
        agreement=agreement_of(benchmark),
        irregularities={name: number for name, number in irregularities_of(scope).items() if number},
        sources=_counted(scope, "source"),
        models=_counted(scope, "model"),
        timeframe=_timeframe(scope),
        undetermined=scope.checked_verdicts().filter(factuality=Factuality.NOT_ENOUGH_EVIDENCE).count(),
        discards=discards_of(benchmark),
    )


def _counted(scope: GoldScope, field: str) -> dict[str, int]:
    rows = scope.documents().exclude(**{field: ""}).values_list(field).annotate(number=Count("pk"))
    return dict(rows.order_by("-number", field))


def _timeframe(scope: GoldScope) -> tuple[dt.date, ...]:
    found = scope.documents().aggregate(first=Min("created_at"), last=Max("annotations__submitted_at"))
    moments = [each for each in (found["first"], found["last"]) if each]
    return tuple(each.date() for each in ([min(moments), max(moments)] if moments else ()))


def _guidelines(benchmark: Benchmark, scope: GoldScope) -> tuple[UsedGuidelines, ...]:
    """All versions, oldest first (one query)."""
    of_gold = Q(annotation__kind=AnnotationKind.INDIVIDUAL, annotation__state=AnnotationState.SUBMITTED)
    rows = (
        Guidelines.objects.filter(benchmark=benchmark)
        .annotate(used=Count("annotation", filter=of_gold & scope.gold("annotation__document__")))
        .order_by("number")
    )
    return tuple(UsedGuidelines(row.number, row.created_at, row.text, row.used) for row in rows)


def _pipelines(scope: GoldScope) -> tuple[UsedPipeline, ...]:
    """What made suggestions for gold, with equal runs combined, by stage, most used first (two queries). Searches that
    people made for single claims are part of their own work and don't count."""
    items = RunItem.objects.filter(scope.gold("document__"), state=RunState.FINISHED).exclude(
        run__plan__has_key="again"
    )
    keys: dict[int, str] = {}
    runs = PipelineRun.objects.filter(pk__in=items.values("run")).order_by("pk")
    for run, stage, strategy, plan in runs.values_list("pk", "stage", "strategy", "plan").iterator():
        prompts = {name: each["label"] for name, each in plan.get("prompts", {}).items()}
        key = [stage, strategy, plan.get("model", ""), plan.get("parameters", {}), prompts]
        keys[run] = json.dumps(key, sort_keys=True)
    documents: dict[str, set[int]] = {}  # a document with suggestions from two runs counts once
    for run, document in items.order_by("run").values_list("run", "document").iterator():
        if run in keys:
            documents.setdefault(keys[run], set()).add(document)
    counted = {key: len(those) for key, those in documents.items()}
    found = [(json.loads(key), number) for key, number in counted.items()]
    return tuple(
        UsedPipeline(stage, strategy, model, parameters, prompts, number)
        for (stage, strategy, model, parameters, prompts), number in sorted(found, key=_rank)
    )


def _rank(found: tuple[list[Any], int]) -> tuple[int, int]:
    (stage, *_), number = found
    return (STAGES.index(Stage(stage)), -number)
