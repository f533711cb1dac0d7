"""The figures of a benchmark's overview. They reveal nothing about blind work: times and shares are counted over
adjudicated stages only, and of work in progress only that someone has started. Gold copies are excluded throughout."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotator.core import charts
from annotator.core.models import Annotation, Benchmark, Claim, Document, Flag, Membership, PipelineRun
from annotator.core.queries.standing import Standing
from annotator.core.vocabulary import STAGES, AnnotationKind, AnnotationState, Origin, Phase, Removal, RunState, Stage
from annotator.measures.queries.pace import NEWEST
from annotator.team.queries.team import team_of

RUNS_SHOWN = 3
PEOPLE_SHOWN = 30


@dataclass(frozen=True, slots=True)
class StageBar:
    """Where the documents are at one stage. ``total`` counts every document that isn't discarded."""

    stage: Stage
    adjudicated: int
    to_agree: int
    in_work: int
    waiting: int
    total: int

    @property
    def words(self) -> str:
        """The bar in words, shown next to it."""
        parts = [
            (self.adjudicated, "completed"),
            (self.to_agree, "awaiting adjudication"),
            (self.in_work, "in progress"),
            (self.waiting, "not started"),
        ]
        return charts.in_words(parts, "none yet")

    @property
    def parts(self) -> list[dict[str, str | float]]:
        """The parts of the bar in percent, for components/phases.html."""
        numbers = {"agreed": self.adjudicated, "agree": self.to_agree, "work": self.in_work, "waiting": self.waiting}
        return charts.parts(numbers.items(), self.total)


def bars_of(standing: Standing) -> list[StageBar]:
    """A bar for each stage.

    Completed at a stage: all documents past it, and gold. Awaiting adjudication: everyone has submitted. In progress:
    someone has started. Waiting: nobody has started, or suggestions are being generated.
    """
    here = {stage: standing.at(stage) - standing.at(stage, Phase.DISCARDED) for stage in STAGES}
    bars: list[StageBar] = []
    for position, stage in enumerate(STAGES):
        adjudicated, to_agree = standing.at(stage, Phase.AGREED), standing.at(stage, Phase.CONSOLIDATING)
        in_work = standing.begun_at(stage)
        waiting = here[stage] - adjudicated - to_agree - in_work
        past = sum(here[later] for later in STAGES[position + 1 :])
        bars.append(StageBar(stage, past + adjudicated, to_agree, in_work, waiting, sum(here.values())))
    return bars


def whats_missing(benchmark: Benchmark) -> list[str]:
    """What the team needs before documents can be adjudicated, in the same sentences as on the team page (four
    queries)."""
    return team_of(benchmark, with_load=False).missing


@dataclass(frozen=True, slots=True)
class SuggestionShares:
    """What happened to suggested claims in adjudicated decompositions, as counts."""

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


def suggestion_shares(benchmark: Benchmark) -> SuggestionShares:
    """What happened to suggested claims, from the origins in the newest adjudicated decompositions (one query)."""
    adjudicated = (
        Annotation.objects.filter(
            kind=AnnotationKind.CONSOLIDATED,
            state=AnnotationState.SUBMITTED,
            stage=Stage.DECOMPOSE,
            document__benchmark=benchmark,
            document__twin_of__isnull=True,
        )
        .exclude(document__phase=Phase.DISCARDED)
        .order_by("-pk")
    )
    rows = Claim.objects.filter(suggestion__isnull=False, sentence__annotation__in=adjudicated.values("pk")[:NEWEST])
    present = Q(removed="", sentence__removed="")
    found = rows.aggregate(
        kept=Count("pk", filter=present & Q(text_origin=Origin.ACCEPTED)),
        edited=Count("pk", filter=present & ~Q(text_origin=Origin.ACCEPTED)),
        removed=Count("pk", filter=~Q(removed__in=("", Removal.UNDONE))),
    )
    return SuggestionShares(found["kept"], found["edited"], found["removed"])


def open_flags(benchmark: Benchmark) -> int:
    """How many flagged documents nobody has looked at (one query)."""
    flags = Flag.objects.filter(document__benchmark=benchmark, document__twin_of__isnull=True, cleared_at__isnull=True)
    return flags.values("document").distinct().count()


def latest_runs(benchmark: Benchmark) -> list[PipelineRun]:
    """The newest runs with their finished documents (one query)."""
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
    real = Document.objects.filter(benchmark=OuterRef("pk"), twin_of__isnull=True)
    documents = real.order_by().values("benchmark")
    number = documents.annotate(number=Count("pk")).values("number")
    gold = documents.filter(stage=Stage.REVISE, phase=Phase.AGREED).annotate(number=Count("pk")).values("number")
    return list(
        benchmarks.annotate(
            documents_count=Coalesce(Subquery(number, output_field=IntegerField()), 0),
            gold_count=Coalesce(Subquery(gold, output_field=IntegerField()), 0),
        ).order_by("name")
    )
