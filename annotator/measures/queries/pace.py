"""How fast a benchmark grows, how long people take, and one's own pace.

Times are read only from adjudicated stages, so nothing is told about work that is still blind or about discarded
documents, which stay blind. Copies of gold that measure people are left out. How people work is read from the newest
documents only: that stays quick however many there are, and is about the present.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean, median

from django.db.models import Avg, Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import TruncDate
from django.utils import timezone

from annotator.core import charts
from annotator.core.models import Annotation, Benchmark, User
from annotator.core.vocabulary import STAGES, AnnotationKind, AnnotationState, Phase, Stage

# "15-30 minutes to label a 50-150 words document" with a tool (Factcheck-Bench, section 3.2).
PAPER_MINUTES = (15, 30)
NEWEST = 1000  # gold documents that times are read from
PIECES = 3 * NEWEST  # pieces of work: one person's annotation of one stage
STEP, LONGEST = 5, 60  # minutes: steps of a histogram, and from where on all is one
DAYS = 14  # of one's own columns
OWN = 300  # newest pieces of one's own work, for the medians

IS_GOLD = Q(document__stage=Stage.REVISE, document__phase=Phase.AGREED)
# Stages that the document has passed: adjudicated and not reopened.
IS_PASSED = IS_GOLD | Q(stage=Stage.DECOMPOSE, document__stage__in=(Stage.VERIFY, Stage.REVISE))
IS_PASSED |= Q(stage=Stage.VERIFY, document__stage=Stage.REVISE)


# --- burn-up --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BurnUp:
    """Documents adjudicated at each stage by the end of each day; revise is gold. ``days`` are those on which something
    was adjudicated, and today."""

    days: tuple[dt.date, ...] = ()
    adjudicated: dict[Stage, tuple[int, ...]] = field(default_factory=dict)
    total: int = 0

    @property
    def chart(self) -> charts.OverTime:
        series = [(NAMES[stage], stage.value, self.adjudicated[stage]) for stage in STAGES]
        return charts.over_time(self.days, series, max(self.total, 1))

    @property
    def rows(self) -> list[tuple[dt.date, int, int, int]]:
        """Day, then documents adjudicated at decompose, verify and revise by its end."""
        return list(zip(self.days, *(self.adjudicated[stage] for stage in STAGES), strict=True)) if self.days else []

    @property
    def words(self) -> str:
        """The chart for those who do not see it."""
        first = self.days[0]
        ends = ", ".join(f"{NAMES[stage].lower()} {self.adjudicated[stage][-1]:,}" for stage in STAGES)
        return f"Documents adjudicated since {charts.day_words(first)}, {first.year}, of {self.total:,}: {ends}."


NAMES = {Stage.DECOMPOSE: "Decompose adjudicated", Stage.VERIFY: "Verify adjudicated", Stage.REVISE: "Gold"}


def burn_up(benchmark: Benchmark, total: int) -> BurnUp:
    """Documents adjudicated at each stage, day by day (one grouped query). ``total``: those not discarded.

    A reopened stage does not count until it is adjudicated again, on that day.
    """
    counted = (
        Annotation.objects.filter(
            IS_PASSED,
            kind=AnnotationKind.CONSOLIDATED,
            state=AnnotationState.SUBMITTED,
            document__benchmark=benchmark,
            document__twin_of__isnull=True,
        )
        .exclude(document__phase=Phase.DISCARDED)
        .order_by()
        .annotate(day=TruncDate("submitted_at"))
        .values_list("stage", "day")
        .annotate(number=Count("pk"))
    )
    by_day = {(Stage(stage), day): number for stage, day, number in counted if day is not None}
    if not by_day:
        return BurnUp(total=total)
    days = sorted({day for _, day in by_day} | {timezone.localdate()})
    adjudicated: dict[Stage, tuple[int, ...]] = {}
    for stage in STAGES:
        so_far, values = 0, []
        for day in days:
            so_far += by_day.get((stage, day), 0)
            values.append(so_far)
        adjudicated[stage] = tuple(values)
    return BurnUp(tuple(days), adjudicated, total)


# --- active time ----------------------------------------------------------------------------------


def duration(seconds: float) -> str:
    """Seconds as people say them: "40 s", "19 min", "2 h 5 min"."""
    if seconds < 90:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def against_paper(seconds: float) -> str:
    """Where a time for one document and one person stands beside the paper's."""
    low, high = PAPER_MINUTES
    minutes = seconds / 60
    place = "below" if minutes < low else "above" if minutes > high else "within"
    return f"{place} the paper’s {low} to {high} min"


@dataclass(frozen=True, slots=True)
class Strip:
    """How active minutes are spread over documents, or over pieces of work at one stage, in seconds."""

    name: str
    seconds: tuple[float, ...]
    is_document: bool = False

    @property
    def up_to(self) -> int:
        """Minutes on the axis: half of LONGEST if nothing took longer. The paper's band fits either way."""
        return LONGEST // 2 if max(self.seconds) < 60 * LONGEST // 2 else LONGEST

    @property
    def columns(self) -> list[charts.ChartColumn]:
        minutes = (each / 60 for each in self.seconds)
        return charts.columns(charts.binned(minutes, width=STEP, up_to=self.up_to, unit="min"))

    @property
    def ticks(self) -> list[tuple[str, float]]:
        """Labels of the axis and where they stand, in percent."""
        step = 15 if self.up_to == LONGEST else 10
        return [
            (f"{minutes}{'' if minutes < self.up_to else '+ min'}", self._place(minutes))
            for minutes in range(0, self.up_to + 1, step)
        ]

    @property
    def band(self) -> tuple[float, float]:
        """Start and width of the paper's minutes on the axis, in percent; none for a stage."""
        low, high = PAPER_MINUTES
        return (self._place(low), self._place(high - low)) if self.is_document else (0, 0)

    def _place(self, minutes: int) -> float:
        """The position on the axis, in percent; the last column includes everything above."""
        return round(100 * minutes / (self.up_to + STEP), 2)

    @property
    def middle(self) -> str:
        return duration(median(self.seconds))

    @property
    def in_band(self) -> int:
        """How many are within the paper's minutes, in percent."""
        low, high = PAPER_MINUTES
        return round(100 * mean(low <= each / 60 <= high for each in self.seconds))

    @property
    def words(self) -> str:
        number = len(self.seconds)
        one, more = ("document", "documents") if self.is_document else ("annotation", "annotations")
        words = f"{self.name}: {number:,} {one if number == 1 else more}, median {self.middle}"
        low, high = PAPER_MINUTES
        return f"{words}; {self.in_band}% took {low} to {high} min" if self.is_document else words


@dataclass(frozen=True, slots=True)
class DocumentTimes:
    """Active seconds of one person on each gold document, the mean of those who labeled it, split by stage."""

    seconds: dict[Stage, tuple[float, ...]]

    @property
    def documents(self) -> int:
        return len(self.seconds[Stage.DECOMPOSE])

    @property
    def wholes(self) -> tuple[float, ...]:
        return tuple(sum(each) for each in zip(*self.seconds.values(), strict=True))

    @property
    def mean(self) -> float:
        return mean(self.wholes)

    @property
    def split(self) -> str:
        """ "decompose 4 min, verify 12 min, revise 3 min"."""
        return ", ".join(f"{stage.label.lower()} {duration(mean(self.seconds[stage]))}" for stage in STAGES)

    @property
    def beside_paper(self) -> str:
        return against_paper(self.mean)

    @property
    def shown(self) -> str:
        return duration(self.mean)


def document_times(benchmark: Benchmark) -> DocumentTimes | None:
    """Times of the newest gold documents; None where no time was measured (one query)."""

    def of(stage: Stage) -> Subquery:
        rows = Annotation.objects.filter(
            document=OuterRef("document"),
            stage=stage,
            kind=AnnotationKind.INDIVIDUAL,
            state=AnnotationState.SUBMITTED,
            active_seconds__gt=0,
        )
        return Subquery(rows.order_by().values("document").annotate(each=Avg("active_seconds")).values("each"))

    gold = Annotation.objects.filter(
        IS_GOLD,
        kind=AnnotationKind.CONSOLIDATED,
        stage=Stage.REVISE,
        document__benchmark=benchmark,
        document__twin_of__isnull=True,
    )
    named = {f"{stage.value}_seconds": of(stage) for stage in STAGES}
    rows = [row for row in gold.order_by("-pk").annotate(**named).values_list(*named)[:NEWEST] if None not in row]
    if not rows:
        return None
    return DocumentTimes({stage: tuple(float(row[place]) for row in rows) for place, stage in enumerate(STAGES)})


@dataclass(slots=True)
class PersonTimes:
    """One person's work at adjudicated stages: how many pieces, and the median of each stage."""

    person: User
    seconds: dict[Stage, list[int]] = field(default_factory=lambda: {stage: [] for stage in STAGES})

    @property
    def cells(self) -> list[tuple[Stage, int, str]]:
        """Stage, number of pieces, median in words."""
        return [
            (stage, len(values), duration(median(values)) if values else "–") for stage, values in self.seconds.items()
        ]


@dataclass(frozen=True, slots=True)
class Times:
    """How long people take. ``people`` is for those who manage the benchmark alone."""

    strips: tuple[Strip, ...] = ()
    people: tuple[PersonTimes, ...] = ()


def times_of(benchmark: Benchmark, documents: DocumentTimes | None) -> Times:
    """The newest pieces of work at adjudicated stages, by stage and by person (two queries)."""
    rows = (
        Annotation.objects.filter(
            IS_PASSED,
            kind=AnnotationKind.INDIVIDUAL,
            state=AnnotationState.SUBMITTED,
            active_seconds__gt=0,
            document__benchmark=benchmark,
            document__twin_of__isnull=True,
        )
        .exclude(document__phase=Phase.DISCARDED)
        .order_by("-pk")
        .values_list("person", "stage", "active_seconds")[:PIECES]
    )
    found = [(person, Stage(stage), seconds) for person, stage, seconds in rows if person is not None]
    named = User.objects.in_bulk({person for person, _, _ in found})
    people = {pk: PersonTimes(person) for pk, person in named.items()}
    by_stage: dict[Stage, list[float]] = {stage: [] for stage in STAGES}
    for person, stage, seconds in found:
        people[person].seconds[stage].append(seconds)
        by_stage[stage].append(seconds)
    strips = [Strip(stage.label, tuple(values)) for stage, values in by_stage.items() if values]
    if documents is not None:
        strips.insert(0, Strip("Whole document", documents.wholes, is_document=True))
    return Times(tuple(strips), tuple(sorted(people.values(), key=lambda each: str(each.person))))


# --- one's own pace -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Week:
    """What one has submitted in a week, from Monday on."""

    stages: int
    documents: int


@dataclass(frozen=True, slots=True)
class OwnPace:
    """One's own work, and nobody else's: this week and the last, day by day, and the median of each stage."""

    this_week: Week
    last_week: Week
    days: tuple[tuple[dt.date, int], ...]
    medians: dict[Stage, float]

    @property
    def columns(self) -> list[charts.ChartColumn]:
        return charts.columns([(charts.day_words(day), number) for day, number in self.days], gap=0.3)

    @property
    def today(self) -> int:
        """Stages submitted today."""
        return self.days[-1][1]

    @property
    def busiest(self) -> int:
        return max(number for _, number in self.days)

    @property
    def words(self) -> str:
        """The columns for those who do not see them."""
        done = [f"{charts.day_words(day)} {number}" for day, number in self.days if number]
        return f"Stages submitted per day, last {len(self.days)} days: {', '.join(done) or 'none'}."

    @property
    def times(self) -> list[tuple[Stage, str]]:
        return [(stage, duration(seconds)) for stage, seconds in self.medians.items()]

    @property
    def whole(self) -> str:
        """All stages together beside the paper's; "" until one has submitted each of them."""
        if len(self.medians) < len(STAGES):
            return ""
        seconds = sum(self.medians.values())
        return f"{duration(seconds)} in total, {against_paper(seconds)}"


def _own(user: User) -> QuerySet[Annotation]:
    """What the person has submitted. Their announced practice is no work; copies that are mixed in stay in, as they
    do in all lists of an annotator: a figure without them would tell which they are (see
    ``annotator.core.gold_copies``)."""
    return Annotation.objects.filter(
        person=user,
        kind=AnnotationKind.INDIVIDUAL,
        state=AnnotationState.SUBMITTED,
        document__practice_for__isnull=True,
    )


def own_pace(user: User) -> OwnPace | None:
    """The person's pace over all their benchmarks; None for who has submitted nothing (two queries)."""
    newest = list(_own(user).filter(active_seconds__gt=0).order_by("-pk").values_list("stage", "active_seconds")[:OWN])
    today = timezone.localdate()
    monday = today - dt.timedelta(days=today.weekday())
    first = min(monday - dt.timedelta(days=7), today - dt.timedelta(days=DAYS - 1))
    recent = list(
        _own(user)
        .filter(submitted_at__gte=timezone.make_aware(dt.datetime.combine(first, dt.time())))
        .values_list("document", TruncDate("submitted_at"))
    )
    if not newest and not recent:
        return None
    of_stage = {stage: [seconds for each, seconds in newest if each == stage] for stage in STAGES}
    span = [today - dt.timedelta(days=DAYS - 1 - number) for number in range(DAYS)]
    counted = [day for _, day in recent]
    return OwnPace(
        this_week=_week(recent, monday),
        last_week=_week(recent, monday - dt.timedelta(days=7)),
        days=tuple((day, counted.count(day)) for day in span),
        medians={stage: float(median(values)) for stage, values in of_stage.items() if values},
    )


def _week(rows: Sequence[tuple[int, dt.date | None]], monday: dt.date) -> Week:
    documents = [document for document, day in rows if day and monday <= day < monday + dt.timedelta(days=7)]
    return Week(len(documents), len(set(documents)))
