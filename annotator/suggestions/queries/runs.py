"""Reads pipeline runs: their progress, their failures, and the documents that could have suggestions."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from annotator.core.models import (
    Annotation,
    Benchmark,
    Claim,
    Document,
    Evidence,
    PipelineRun,
    RunItem,
    SentenceSuggestion,
)
from annotator.core.queries.progress import Pace
from annotator.core.vocabulary import OPEN_STATES, AnnotationKind, Phase, RunState, Stage

# The speed of the last minute, so that a run continued the next morning shows its current speed.
RATE_WINDOW = dt.timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A run with the number of its documents in each state."""

    run: PipelineRun
    total: int
    finished: int
    failed: int
    cancelled: int
    running: int
    waiting: int
    pace: Pace

    @property
    def done(self) -> int:
        """Finished documents."""
        return self.total - self.running - self.waiting

    @property
    def is_open(self) -> bool:
        return self.run.state in OPEN_STATES

    @property
    def is_still_ending(self) -> bool:
        """Canceled, but a worker is still finishing its documents."""
        return not self.is_open and self.running > 0

    @property
    def is_paused(self) -> bool:
        return self.run.state == RunState.PAUSED

    @property
    def is_moving(self) -> bool:
        """Something will change without user action, so the page polls."""
        return self.is_open or self.running > 0

    @property
    def can_retry(self) -> bool:
        return not self.is_open and not self.is_paused and self.failed + self.cancelled > 0

    @property
    def strategy_label(self) -> str:
        """The strategy's display name; its name if it no longer exists."""
        return strategy_label(self.run.strategy)

    @property
    def stage_label(self) -> str:
        return Stage(self.run.stage).label

    @property
    def state_label(self) -> str:
        return RunState(self.run.state).label


@cache
def strategy_label(name: str) -> str:
    """A strategy's display name, or the name of one that no longer exists."""
    from pipeline.catalogue import choice  # imported late because strategies load slowly

    found = choice(name)
    return found.label if found else name


def runs_of(benchmark: Benchmark) -> QuerySet[PipelineRun]:
    """The runs of a benchmark, newest first, with their counts (one query). A person's own searches are left out,
    because a query is part of their blind work."""
    now = timezone.now()

    def documents(**condition: object) -> Count:
        return Count("items", filter=Q(**{f"items__{name}": value for name, value in condition.items()}))

    return (
        PipelineRun.objects.filter(benchmark=benchmark)
        .exclude(plan__has_key="again")
        .select_related("requested_by", "benchmark")
        .annotate(
            total=Count("items"),
            finished=documents(state=RunState.FINISHED),
            failed=documents(state=RunState.FAILED),
            cancelled=documents(state=RunState.CANCELLED),
            running=documents(state=RunState.RUNNING),
            waiting=documents(state=RunState.QUEUED),
            recent=documents(state__in=(RunState.FINISHED, RunState.FAILED), finished_at__gte=now - RATE_WINDOW),
            begun_with=documents(state__in=(RunState.FINISHED, RunState.FAILED), finished_at__gte=F("started_at")),
        )
        .order_by("-id")
    )


def progress_of(run: PipelineRun) -> RunProgress:
    """The progress of a run from ``runs_of``."""
    counts = {
        name: int(getattr(run, name)) for name in ("total", "finished", "failed", "cancelled", "running", "waiting")
    }
    still_open = counts["running"] + counts["waiting"]
    share = 1 - still_open / counts["total"] if counts["total"] else 1.0
    per_second = 0.0
    if run.started_at is not None and run.state in OPEN_STATES:
        lasted = (timezone.now() - run.started_at).total_seconds()
        seconds = min(lasted, RATE_WINDOW.total_seconds())
        per_second = int(getattr(run, "recent")) / max(seconds, 1.0)  # noqa: B009 - annotated by runs_of
        if not per_second:  # documents that take over a minute each
            per_second = int(getattr(run, "begun_with")) / max(lasted, 1.0)  # noqa: B009
    left = still_open / per_second if per_second and still_open else None
    return RunProgress(run=run, pace=Pace(share, per_second, left, "document"), **counts)


def failures_of(run: PipelineRun) -> QuerySet[RunItem]:
    """The failed documents of a run, with their errors."""
    return run.items.filter(state=RunState.FAILED).select_related("document").order_by("document__order", "id")


def notes_of(run: PipelineRun, most: int) -> list[tuple[str, str, int]]:
    """Fallbacks to rules and similar notes: step, sentence, number of documents; most frequent first."""
    counted: Counter[tuple[str, str]] = Counter()
    for notes in run.items.exclude(notes=[]).values_list("notes", flat=True):
        counted.update({(note["step"], note["text"]) for note in notes})
    return [(step, text, number) for (step, text), number in counted.most_common(most)]


def documents_to_prefill(benchmark: Benchmark, *, since: dt.datetime | None = None) -> QuerySet[Document]:
    """Documents at decompose that nobody has started and that neither have nor await suggestions.

    ``since``: only those imported from then on.
    """
    documents = Document.objects.filter(
        benchmark=benchmark, twin_of__isnull=True, stage=Stage.DECOMPOSE, phase=Phase.INDEPENDENT
    )
    if since is not None:
        documents = documents.filter(created_at__gte=since)
    return documents.exclude(
        Exists(Annotation.objects.filter(document=OuterRef("pk"), kind=AnnotationKind.INDIVIDUAL))
        | Exists(SentenceSuggestion.objects.filter(document=OuterRef("pk")))
        | Exists(RunItem.objects.filter(document=OuterRef("pk"), state__in=OPEN_STATES))
    ).order_by("order", "id")


def claims_without_evidence(benchmark: Benchmark) -> dict[int, list[int]]:
    """For each document at verify: its checked claims without retrieved evidence (primary keys).

    Documents with a retrieval in progress are left out. One query.
    """
    claims = (
        Claim.objects.filter(
            sentence__annotation__document__benchmark=benchmark,
            sentence__annotation__document__twin_of__isnull=True,
            sentence__annotation__document__stage=Stage.VERIFY,
            sentence__annotation__document__phase=Phase.INDEPENDENT,
            sentence__annotation__kind=AnnotationKind.CONSOLIDATED,
            sentence__removed="",
            removed="",
        )
        .exclude(Exists(Evidence.objects.filter(claim=OuterRef("pk"), annotation__isnull=True)))
        .annotate(document_pk=F("sentence__annotation__document"))
        .order_by("sentence__annotation__document__order", "pk")
    )
    found: dict[int, list[int]] = {}
    for claim in claims:
        if claim.is_checked:
            found.setdefault(claim.document_pk, []).append(claim.pk)
    return found


def readable_plan(run: PipelineRun, *, services: bool) -> dict[str, Any]:
    """The frozen plan of a run as people read it. ``services``: whether they may see which services it names."""
    names = ("parameters", "services", "prompts", "seed", "temperature", "corpus_revision", "in_batches")
    return {name: run.plan.get(name) for name in names if name != "services" or services}
