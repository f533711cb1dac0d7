"""How well people agree in a benchmark, read from its tallies: what independent annotations had in common.

A tally is made when everyone has submitted, so nothing blind can come in here. Discarded documents and copies of gold
that measure people are left out. Tallies are streamed; a report asks four queries however many there are.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet
from django.utils import timezone

from annotator.core.models import Annotation, Benchmark, Decision, Document, Tally, User
from annotator.core.queries.protocols import added_questions
from annotator.core.vocabulary import AnnotationKind, AnnotationState, DisagreementReason, Phase, Stage
from annotator.measures.agreement.fields import FIELD_WORDS, added_fields, field_of_key
from annotator.measures.agreement.report import FEWEST, AgreementReport, TallyRow, report_of

# A series of weeks that is longer than this is drawn in months.
WEEKS = 26
# Intervals of so many tallies are narrow, and a fifth of the resamples draws them as well as anyone can read.
MANY, RESAMPLES, RESAMPLES_OF_MANY = 10_000, 1000, 200
# What moves figures without a new tally (a batch goes to another group) is seen after so many seconds at the latest.
KEPT_FOR = 600
# What takes longer to count than so many seconds is counted anew at most every so many times as long, so that people
# who look at a large benchmark while others submit do not keep a server busy.
SLOW, PATIENCE = 2.0, 20
# A person's own points may rest on fewer items than those of a benchmark.
FEWEST_OWN = 5
NEWEST = 10


@dataclass(frozen=True, slots=True)
class AgreementFilter:
    """Which tallies are counted. ``people``: one person with each partner, or two with each other (primary keys);
    ``since`` and ``until`` are days on which everyone had submitted; ``by``: "week", "month", or "" for what fits;
    ``newest``: that many and no more, 0 for all."""

    stage: str = ""
    people: tuple[int, ...] = ()
    group: int | None = None
    batch: int | None = None
    since: dt.date | None = None
    until: dt.date | None = None
    blind_first: bool | None = None
    cross_annotated: bool | None = None
    by: str = ""
    newest: int = 0

    @property
    def is_on(self) -> bool:
        return replace(self, by="") != AgreementFilter()


def tallies_of(benchmark: Benchmark, narrowed: AgreementFilter) -> QuerySet[Tally]:
    """The tallies that a filter lets through, oldest first."""
    rows = Tally.objects.filter(
        annotation__document__benchmark=benchmark, annotation__document__twin_of__isnull=True
    ).exclude(annotation__document__phase=Phase.DISCARDED)
    if narrowed.stage:
        rows = rows.filter(annotation__stage=narrowed.stage)
    if narrowed.group is not None:
        rows = rows.filter(annotation__document__batch__group=narrowed.group)
    if narrowed.batch is not None:
        rows = rows.filter(annotation__document__batch=narrowed.batch)
    if narrowed.since:
        rows = rows.filter(created_at__gte=_midnight(narrowed.since))
    if narrowed.until:
        rows = rows.filter(created_at__lt=_midnight(narrowed.until + dt.timedelta(days=1)))
    if narrowed.blind_first is not None:
        rows = rows.filter(annotation__document__blind_first=narrowed.blind_first)
    if narrowed.cross_annotated is not None:
        extra = Q(annotation__document__extra_people__gt=0)
        rows = rows.filter(extra if narrowed.cross_annotated else ~extra)
    for person in narrowed.people:
        rows = rows.filter(Exists(_work_of(person, "annotation__document", "annotation__stage")))
    if narrowed.newest:
        rows = Tally.objects.filter(pk__in=rows.order_by("-pk").values("pk")[: narrowed.newest])
    return rows.order_by("pk")


def _work_of(person: int, document: str, stage: str) -> QuerySet[Annotation]:
    """A person's own annotation of the document and stage that an outer query is about."""
    return Annotation.objects.filter(
        document=OuterRef(document), stage=OuterRef(stage), person=person, kind=AnnotationKind.INDIVIDUAL
    )


def _midnight(day: dt.date) -> dt.datetime:
    return timezone.make_aware(dt.datetime.combine(day, dt.time()))


def agreement_of(benchmark: Benchmark, narrowed: AgreementFilter | None = None) -> AgreementReport:
    """All figures under a filter. Counted once for the tallies that there are, then kept in the cache: 20,000 of them
    take some seconds (two queries; one when it is kept)."""
    narrowed = narrowed or AgreementFilter()
    return _report(benchmark, narrowed, "")


def own_agreement(person: User, benchmark: Benchmark) -> AgreementReport:
    """One person's agreement with their partners, over time (two queries; one when it is kept)."""
    return _report(benchmark, AgreementFilter(people=(person.pk,)), "own")


def _report(benchmark: Benchmark, narrowed: AgreementFilter, kind: str) -> AgreementReport:
    tallies = tallies_of(benchmark, narrowed)
    stamp = tallies.order_by().aggregate(
        number=Count("pk"), newest=Max("pk"), first=Min("created_at"), last=Max("created_at")
    )
    if not stamp["number"]:
        return AgreementReport()
    named = hashlib.blake2s(f"{kind} {narrowed} {benchmark.protocol_sha256}".encode()).hexdigest()
    key = f"agreement:{benchmark.public_id}:{named}"
    before: Counted | None = cache.get(key)
    if before is not None and before.still_stands(stamp):
        return before.report
    began = time.monotonic()
    span = (stamp["last"] - stamp["first"]).days
    rows = _rows(tallies, narrowed.by or ("week" if span <= 7 * WEEKS else "month"))
    resamples = RESAMPLES if stamp["number"] <= MANY else RESAMPLES_OF_MANY
    fewest = FEWEST_OWN if kind else FEWEST
    added = added_fields(added_questions(benchmark))
    report = report_of(rows, among=narrowed.people, resamples=resamples, fewest=fewest, added=added)
    report = replace(report, counted_at=timezone.now())
    seconds = time.monotonic() - began
    cache.set(key, Counted(report, stamp, seconds), max(KEPT_FOR, PATIENCE * seconds))
    return report


@dataclass(frozen=True, slots=True)
class Counted:
    """A report as it is kept: of which tallies, and how long it took."""

    report: AgreementReport
    stamp: dict[str, Any]
    seconds: float

    def still_stands(self, stamp: dict[str, Any]) -> bool:
        """Nothing has come since, or it takes long and was counted a short while ago."""
        if self.stamp == stamp or self.report.counted_at is None:
            return True
        age = (timezone.now() - self.report.counted_at).total_seconds()
        return self.seconds > SLOW and age < PATIENCE * self.seconds


def _rows(tallies: QuerySet[Tally], by: str) -> Iterator[TallyRow]:
    """The tallies as plain rows, a few at a time."""
    columns = tallies.values_list(
        "annotation__document",
        "annotation__stage",
        "people",
        "data",
        "created_at",
        "annotation__document__batch",
        "annotation__document__blind_first",
    )
    zone = timezone.get_current_timezone()
    for document, stage, people, data, created_at, batch, blind_first in columns.iterator(chunk_size=1000):
        day = created_at.astimezone(zone).date()
        period = day.replace(day=1) if by == "month" else day - dt.timedelta(days=day.weekday())
        yield TallyRow(document, stage, tuple(people), data, period, batch, blind_first)


# --- what people settled afterwards ---------------------------------------------------------------


@dataclass(slots=True)
class Kept:
    """Differences that were settled, seen from one person (or one field of theirs): whose value stood."""

    own: int = 0
    partners: int = 0
    new: int = 0

    @property
    def total(self) -> int:
        return self.own + self.partners + self.new

    @property
    def percent(self) -> int:
        return round(100 * self.own / self.total) if self.total else 0

    def add(self, choice: int | None, seat: int, number: int = 1) -> None:
        """Count decisions, of someone who has this seat (from 0)."""
        if choice is None:
            self.new += number
        elif choice == seat:
            self.own += number
        else:
            self.partners += number


@dataclass(frozen=True, slots=True)
class Settled:
    """Why people had differed, and how often each one's value stood (only where two had labeled: with more people
    a decision does not say whose else the value was)."""

    reasons: dict[str, int]
    kept: dict[int, Kept]

    @property
    def total(self) -> int:
        return sum(self.reasons.values())


def settled_of(benchmark: Benchmark, narrowed: AgreementFilter) -> Settled:
    """What was resolved in adjudicated stages under a filter (two queries). For managers: it tells about people."""
    decisions = _decisions(tallies_of(benchmark, narrowed)).order_by()
    counted = dict(decisions.values_list("reason").annotate(number=Count("pk")))
    kept: dict[int, Kept] = {}
    rows = decisions.values_list("annotation__tally__people", "choice").annotate(number=Count("pk"))
    for people, choice, number in rows:
        if len(people) == 2:
            for seat, person in enumerate(people):
                kept.setdefault(person, Kept()).add(choice, seat, number)
    words = [*(word.value for word in DisagreementReason), ""]
    return Settled({word: counted[word] for word in words if word in counted}, kept)


def _decisions(tallies: QuerySet[Tally]) -> QuerySet[Decision]:
    """How the differences were resolved in adjudicated stages."""
    return Decision.objects.filter(
        annotation__tally__in=tallies.order_by(), annotation__state=AnnotationState.SUBMITTED, is_settled=True
    )


@dataclass(slots=True)
class OwnSettled:
    """How consolidation changed one person's work: by field, and why where their value did not stand."""

    kept: Kept = field(default_factory=Kept)
    fields: dict[str, Kept] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)


def own_settled(person: User, benchmark: Benchmark) -> OwnSettled:
    """The differences that this person had with one partner, and how they ended (one query)."""
    rows = _decisions(tallies_of(benchmark, AgreementFilter(people=(person.pk,)))).order_by("pk")
    found = OwnSettled()
    for people, key, choice, reason in rows.values_list("annotation__tally__people", "key", "choice", "reason"):
        if len(people) != 2 or person.pk not in people:
            continue
        seat = people.index(person.pk)
        found.kept.add(choice, seat)
        found.fields.setdefault(field_of_key(key), Kept()).add(choice, seat)
        if choice != seat:
            found.reasons[reason] += 1
    order = {name: place for place, name in enumerate(FIELD_WORDS)}
    # What a protocol adds stands behind the declared fields.
    found.fields = dict(sorted(found.fields.items(), key=lambda pair: order.get(pair[0], len(order))))
    return found


@dataclass(frozen=True, slots=True)
class Settlement:
    """A stage of a document that several people agreed on."""

    document: Document
    stage: Stage
    at: dt.datetime
    differences: int


def newest_settled(person: User, benchmark: Benchmark) -> list[Settlement]:
    """The newest stages that this person labeled and settled with others (one query)."""
    others = Annotation.objects.filter(
        document=OuterRef("document"), stage=OuterRef("stage"), kind=AnnotationKind.INDIVIDUAL, seat__isnull=False
    ).exclude(person=person)
    rows = (
        Annotation.objects.filter(
            Exists(_work_of(person.pk, "document", "stage").filter(seat__isnull=False)),
            Exists(others),
            document__benchmark=benchmark,
            document__twin_of__isnull=True,
            kind=AnnotationKind.CONSOLIDATED,
            state=AnnotationState.SUBMITTED,
        )
        .exclude(document__phase=Phase.DISCARDED)
        .select_related("document")
        .defer("document__response", "document__released", "document__metadata")
        .annotate(differences=Count("decisions", filter=Q(decisions__is_settled=True)))
        .order_by("-submitted_at", "-pk")[:NEWEST]
    )
    return [
        Settlement(row.document, Stage(row.stage), row.submitted_at, row.differences)
        for row in rows
        if row.submitted_at is not None
    ]


# --- names ----------------------------------------------------------------------------------------


def members_of(benchmark: Benchmark) -> list[User]:
    """Everyone who is or was in the benchmark, by name: who can be asked for (one query)."""
    return list(User.objects.filter(memberships__benchmark=benchmark).order_by("display_name", "username").distinct())


def people_in(report: AgreementReport) -> dict[int, User]:
    """Those whom figures are about, by primary key (one query). A superuser labels without being a member."""
    return User.objects.in_bulk(report.people)
