"""The figures of a benchmark's overview. Nothing here tells of work that is still blind: times and shares are counted
over agreed stages alone, and of what is in work only that somebody has begun it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from annotator.models import Annotation, Benchmark, Claim, Document, Flag, Membership, PipelineRun
from annotator.queries.documents import Counts, counts_of
from annotator.vocabulary import (
    STAGES,
    AnnotationKind,
    AnnotationState,
    Origin,
    Phase,
    Removal,
    RunState,
    Stage,
)

RUNS_SHOWN = 3
PEOPLE_SHOWN = 30


@dataclass(frozen=True, slots=True)
class StageBar:
    """Where the documents stand at one stage. ``total`` counts every document that is not discarded."""

    stage: Stage
    agreed: int
    in_work: int
    waiting: int
    total: int

    @property
    def words(self) -> str:
        """The bar in words, as it stands beside it."""
        parts = [(self.agreed, "agreed"), (self.in_work, "in work"), (self.waiting, "waiting")]
        return ", ".join(f"{number:,} {word}" for number, word in parts if number) or "none yet"

    @property
    def parts(self) -> list[dict[str, str | float]]:
        """The parts of the bar in percent, for components/stacked.html."""
        drawn: list[dict[str, str | float]] = []
        x = 0.0
        for kind, number in (("agreed", self.agreed), ("work", self.in_work), ("waiting", self.waiting)):
            width = 100 * number / self.total if self.total else 0.0
            if number:
                drawn.append({"kind": kind, "x": round(x, 2), "width": round(width, 2)})
            x += width
        return drawn


@dataclass(frozen=True, slots=True)
class ActiveTime:
    """Mean active seconds of people on a gold document; ``longest`` is the stage that takes most of them."""

    documents: int
    seconds: float
    longest: Stage
    longest_seconds: float

    @property
    def shown(self) -> str:
        return duration(self.seconds)

    @property
    def longest_shown(self) -> str:
        number = "one gold document" if self.documents == 1 else f"mean of {self.documents:,} gold documents"
        return f"{number}; {self.longest.label.lower()} takes {duration(self.longest_seconds)} of it"


def duration(seconds: float) -> str:
    """Seconds as people say them: "40 s", "19 min", "2 h 5 min"."""
    if seconds < 90:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


@dataclass(frozen=True, slots=True)
class SuggestionShares:
    """What became of suggested claims in agreed decompositions, in counts."""

    kept: int
    edited: int
    removed: int

    @property
    def decided(self) -> int:
        return self.kept + self.edited + self.removed

    def percent(self, number: int) -> int:
        return round(100 * number / self.decided) if self.decided else 0

    @property
    def kept_percent(self) -> int:
        return self.percent(self.kept)

    @property
    def edited_percent(self) -> int:
        return self.percent(self.edited)

    @property
    def removed_percent(self) -> int:
        return self.percent(self.removed)


def bars_of(benchmark: Benchmark) -> tuple[list[StageBar], Counts]:
    """A bar for each stage, and the counts behind them (two queries).

    Agreed at a stage: everything that has gone past it, and gold. In work: somebody has taken a place, or all have
    submitted and it waits to be agreed. Waiting: nobody has begun, or suggestions are on the way.
    """
    counts = counts_of(benchmark)
    begun: dict[str, int] = dict(
        Annotation.objects.filter(
            kind=AnnotationKind.INDIVIDUAL,
            document__benchmark=benchmark,
            document__phase=Phase.INDEPENDENT,
            stage=F("document__stage"),
        )
        .order_by()
        .values_list("stage")
        .annotate(number=Count("document", distinct=True))
    )
    total = counts.total - counts.discarded
    bars: list[StageBar] = []
    for position, stage in enumerate(STAGES):
        agreed = counts.at(stage, Phase.AGREED)
        in_work = begun.get(stage, 0) + counts.at(stage, Phase.CONSOLIDATING)
        waiting = counts.at_stage(stage) - agreed - in_work
        past = sum(counts.at_stage(later) for later in STAGES[position + 1 :])
        bars.append(StageBar(stage, past + agreed, in_work, waiting, total))
    return bars, counts


def active_time(benchmark: Benchmark) -> ActiveTime | None:
    """The mean active time on gold documents that people have labelled here; None if there is none (one query)."""
    rows = (
        Annotation.objects.filter(
            kind=AnnotationKind.INDIVIDUAL,
            state=AnnotationState.SUBMITTED,
            document__benchmark=benchmark,
            document__stage=Stage.REVISE,
            document__phase=Phase.AGREED,
        )
        .order_by()
        .values_list("stage")
        .annotate(seconds=Sum("active_seconds"), documents=Count("document", distinct=True))
    )
    seconds = {Stage(stage): (total or 0, documents) for stage, total, documents in rows}
    documents = max((documents for _, documents in seconds.values()), default=0)
    whole = sum(total for total, _ in seconds.values())
    if not documents or not whole:
        return None
    longest = max(seconds, key=lambda stage: seconds[stage][0])
    return ActiveTime(documents, whole / documents, longest, seconds[longest][0] / documents)


def suggestion_shares(benchmark: Benchmark) -> SuggestionShares:
    """What became of suggested claims, read from the origins in agreed decompositions (one query)."""
    rows = Claim.objects.filter(
        suggestion__isnull=False,
        sentence__annotation__kind=AnnotationKind.CONSOLIDATED,
        sentence__annotation__state=AnnotationState.SUBMITTED,
        sentence__annotation__stage=Stage.DECOMPOSE,
        sentence__annotation__document__benchmark=benchmark,
    ).exclude(sentence__annotation__document__phase=Phase.DISCARDED)
    present = Q(removed="", sentence__removed="")
    found = rows.aggregate(
        kept=Count("pk", filter=present & Q(text_origin=Origin.ACCEPTED)),
        edited=Count("pk", filter=present & ~Q(text_origin=Origin.ACCEPTED)),
        removed=Count("pk", filter=~Q(removed__in=("", Removal.UNDONE))),
    )
    return SuggestionShares(found["kept"], found["edited"], found["removed"])


def open_flags(benchmark: Benchmark) -> int:
    """How many documents somebody has passed on and nobody has looked at (one query)."""
    flags = Flag.objects.filter(document__benchmark=benchmark, cleared_at__isnull=True)
    return flags.values("document").distinct().count()


def latest_runs(benchmark: Benchmark) -> list[PipelineRun]:
    """The newest runs with how many of their documents are through (one query)."""
    through = Q(items__state__in=(RunState.FINISHED, RunState.FAILED, RunState.CANCELLED))
    return list(
        benchmark.runs.exclude(plan__has_key="again")  # a person's own searches are part of their blind work
        .annotate(
            documents=Count("items"),
            through=Count("items", filter=through),
            failed=Count("items", filter=Q(items__state=RunState.FAILED)),
        )
        .order_by("-pk")[:RUNS_SHOWN]
    )


def people_of(benchmark: Benchmark) -> list[Membership]:
    """The active people of a benchmark with their roles, by name (one query)."""
    return list(
        benchmark.memberships.filter(active=True)
        .select_related("user")
        .order_by("role", "user__display_name", "user__username")[:PEOPLE_SHOWN]
    )


def listed(benchmarks: QuerySet[Benchmark]) -> list[Benchmark]:
    """Benchmarks by name, with ``documents_count`` and ``gold_count`` (one query)."""
    documents = Document.objects.filter(benchmark=OuterRef("pk")).order_by().values("benchmark")
    number = documents.annotate(number=Count("pk")).values("number")
    gold = documents.filter(stage=Stage.REVISE, phase=Phase.AGREED).annotate(number=Count("pk")).values("number")
    return list(
        benchmarks.annotate(
            documents_count=Coalesce(Subquery(number, output_field=IntegerField()), 0),
            gold_count=Coalesce(Subquery(gold, output_field=IntegerField()), 0),
        ).order_by("name")
    )
