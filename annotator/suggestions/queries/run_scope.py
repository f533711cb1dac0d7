"""The documents a run could include: those that lack something, or those that nobody has started."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotator.core.models import Annotation, Batch, Benchmark, Claim, Document, RevisionSuggestion, RunItem, Verdict
from annotator.core.vocabulary import (
    OPEN_STATES,
    AnnotationKind,
    AnnotationState,
    ClaimType,
    Factuality,
    Phase,
    RunState,
    Stage,
)
from annotator.suggestions.queries.runs import claims_without_evidence, documents_to_prefill

MISSING, WAITING = "missing", "waiting"


@dataclass(frozen=True, slots=True)
class RunScope:
    """Documents of a run (primary keys, in order), and at verify the claims to retrieve evidence for."""

    documents: list[int]
    claims: dict[int, list[int]] = field(default_factory=dict)

    @property
    def claims_in_all(self) -> int:
        return sum(len(claims) for claims in self.claims.values())

    def first(self, most: int | None, batch: set[int] | None = None) -> RunScope:
        """The same, limited to a batch and a number."""
        kept = [pk for pk in self.documents if batch is None or pk in batch][:most]
        return RunScope(kept, {pk: self.claims[pk] for pk in kept if pk in self.claims})


def scope_of(benchmark: Benchmark, stage: Stage, which: str) -> RunScope:
    """The documents of a benchmark at a stage that lack suggestions (``missing``), or all that nobody has started
    (``waiting``). A document waiting for a run is in neither."""
    if stage == Stage.DECOMPOSE:
        rows = documents_to_prefill(benchmark) if which == MISSING else _not_begun(benchmark, stage)
        return RunScope(list(rows.values_list("pk", flat=True)))
    if stage == Stage.VERIFY:
        claims = claims_without_evidence(benchmark) if which == MISSING else _claims(benchmark)
        return RunScope(list(claims), claims)
    rows = _not_begun(benchmark, stage).filter(
        Exists(
            Verdict.objects.filter(
                annotation__document=OuterRef("pk"),
                annotation__kind=AnnotationKind.CONSOLIDATED,
                annotation__state=AnnotationState.SUBMITTED,
                factuality=Factuality.FALSE,
                claim__removed="",
            )
        )
    )
    if which == MISSING:
        rows = rows.exclude(Exists(RevisionSuggestion.objects.filter(document=OuterRef("pk"))))
    return RunScope(list(rows.values_list("pk", flat=True)))


def in_batch(batch: Batch) -> set[int]:
    """The documents of a batch."""
    return set(batch.documents.values_list("pk", flat=True))


def _not_begun(benchmark: Benchmark, stage: Stage) -> QuerySet[Document]:
    rows = Document.objects.filter(
        benchmark=benchmark, twin_of__isnull=True, stage=stage, phase=Phase.INDEPENDENT
    ).exclude(
        Exists(Annotation.objects.filter(document=OuterRef("pk"), stage=stage, kind=AnnotationKind.INDIVIDUAL))
        | Exists(RunItem.objects.filter(document=OuterRef("pk"), state__in=(*OPEN_STATES, RunState.PAUSED)))
    )
    return rows.order_by("order", "id")


def _claims(benchmark: Benchmark) -> dict[int, list[int]]:
    """The checked claims of documents at verify that nobody has started."""
    documents = _not_begun(benchmark, Stage.VERIFY)
    rows = (
        Claim.objects.filter(
            sentence__annotation__document__in=documents.values("pk"),
            sentence__annotation__stage=Stage.DECOMPOSE,
            sentence__annotation__kind=AnnotationKind.CONSOLIDATED,
            sentence__removed="",
            removed="",
            type=ClaimType.FACTUAL,
        )
        .exclude(worth_checking=False)
        .order_by("sentence__annotation__document__order", "sentence__annotation__document", "pk")
    )
    found: dict[int, list[int]] = {}
    for document, claim in rows.values_list("sentence__annotation__document", "pk"):
        found.setdefault(document, []).append(claim)
    return found


def batches_of(benchmark: Benchmark) -> list[Batch]:
    """The batches that have documents."""
    return list(
        Batch.objects.filter(benchmark=benchmark).annotate(size=Count("documents")).filter(Q(size__gt=0)).order_by("pk")
    )
