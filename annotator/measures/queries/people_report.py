"""What each person has done in a period, for whoever manages the benchmark.

How many documents somebody has submitted may be known at any time; how much is in them and how long it took only of
stages that are adjudicated, as everywhere (``pace``). Copies of gold count for accuracy alone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from annotator.core.models import Annotation, Benchmark, Membership, Sentence, SentenceRevision, SignOff, User, Verdict
from annotator.core.vocabulary import STAGES, AnnotationKind, AnnotationState, Role, Stage
from annotator.measures.queries.agreement import AgreementFilter, Kept, agreement_of, settled_of
from annotator.measures.queries.pace import IS_PASSED
from annotator.measures.queries.practice import PracticeRow, measured_in


@dataclass(slots=True)
class PersonReport:
    """One person's period. ``documents`` and ``pieces`` (sentences, claims, revised sentences) by stage; ``seconds``:
    active time of each adjudicated piece of work by stage. ``agreement`` is the share of labels on which they and a
    partner agreed before adjudication, over ``agreement_items`` labels (fields of which a pair has too few items
    for a figure are left out); ``hidden_gold`` is their work on hidden gold."""

    person: User
    role: Role
    active: bool = True
    documents: dict[Stage, int] = field(default_factory=dict)
    pieces: dict[Stage, int] = field(default_factory=dict)
    seconds: dict[Stage, list[int]] = field(default_factory=dict)
    agreed: float = 0.0
    agreement_items: int = 0
    settled: Kept = field(default_factory=Kept)
    hidden_gold: PracticeRow = field(init=False)
    sign_offs: int = 0
    sign_offs_as_adjudicator: int = 0

    def __post_init__(self) -> None:
        self.hidden_gold = PracticeRow(self.person)

    @property
    def minutes(self) -> int:
        return round(sum(map(sum, self.seconds.values())) / 60)

    @property
    def agreement(self) -> int | None:
        """Percent of labels; None without any that a partner gave, too."""
        return round(100 * self.agreed / self.agreement_items) if self.agreement_items else None

    @property
    def overruled(self) -> int | None:
        """Percent of the settled differences in which their value did not stand; None without any."""
        return 100 - self.settled.percent if self.settled.total else None

    @property
    def accuracy(self) -> int | None:
        """Percent of labels on hidden gold; None without any."""
        return self.hidden_gold.percent if self.hidden_gold.labels else None

    @property
    def stages(self) -> list[tuple[Stage, int, int, float | None]]:
        """For each stage: documents, pieces, and the median of minutes (None without any)."""
        return [
            (
                stage,
                self.documents.get(stage, 0),
                self.pieces.get(stage, 0),
                median(self.seconds[stage]) / 60 if self.seconds.get(stage) else None,
            )
            for stage in STAGES
        ]

    @property
    def is_blank(self) -> bool:
        """Nothing was done in the period."""
        return not (self.documents or self.sign_offs or self.hidden_gold.labels)


def people_report(
    benchmark: Benchmark, *, since: dt.date | None = None, until: dt.date | None = None
) -> list[PersonReport]:
    """Every member, by name; former members where they have done something. ``since`` and ``until`` are days, both
    included, of submitting and signing off. The number of queries does not depend on people or documents."""
    members = Membership.objects.filter(benchmark=benchmark).select_related("user")
    rows = {each.user_id: PersonReport(each.user, Role(each.role), each.active) for each in members}
    _add_work(rows, benchmark, since, until)
    _add_agreement(rows, benchmark, since, until)
    signed = SignOff.objects.filter(annotation__document__benchmark=benchmark)
    signed = _within(signed, "created_at", since, until).order_by()
    for person, as_adjudicator, number in signed.values_list("by", "as_third_rater").annotate(number=Count("pk")):
        if person in rows:
            rows[person].sign_offs += number
            rows[person].sign_offs_as_adjudicator += number if as_adjudicator else 0
    for measured in measured_in(benchmark):
        row = rows.get(measured.person.pk)
        if row:
            row.hidden_gold.scored = [
                each for each in measured.scored if _is_within(each.annotation.submitted_at, since, until)
            ]
    shown = (row for row in rows.values() if row.active or not row.is_blank)
    return sorted(shown, key=lambda row: str(row.person).casefold())


def _add_work(
    rows: dict[int, PersonReport], benchmark: Benchmark, since: dt.date | None, until: dt.date | None
) -> None:
    work = Annotation.objects.filter(
        document__benchmark=benchmark,
        document__twin_of__isnull=True,
        kind=AnnotationKind.INDIVIDUAL,
        state=AnnotationState.SUBMITTED,
        person__in=rows,
    )
    work = _within(work, "submitted_at", since, until).order_by()
    for person, stage, number in work.values_list("person", "stage").annotate(number=Count("pk")):
        rows[person].documents[Stage(stage)] = number
    passed = work.filter(IS_PASSED)
    for person, stage, seconds in passed.values_list("person", "stage", "active_seconds"):
        rows[person].seconds.setdefault(Stage(stage), []).append(seconds)
    pieces: dict[Stage, QuerySet[Any]] = {
        Stage.DECOMPOSE: Sentence.objects.filter(removed=""),
        Stage.VERIFY: Verdict.objects.all(),
        Stage.REVISE: SentenceRevision.objects.all(),
    }
    for stage, found in pieces.items():
        counted = found.filter(annotation__in=passed.filter(stage=stage).values("pk")).order_by()
        for person, number in counted.values_list("annotation__person").annotate(number=Count("pk")):
            rows[person].pieces[stage] = number


def _add_agreement(
    rows: dict[int, PersonReport], benchmark: Benchmark, since: dt.date | None, until: dt.date | None
) -> None:
    narrowed = AgreementFilter(since=since, until=until)
    for pair, parts in agreement_of(benchmark, narrowed).pairs.items():
        for person in pair:
            for part in parts if person in rows else ():
                rows[person].agreed += part.items * part.percent
                rows[person].agreement_items += part.items
    for person, kept in settled_of(benchmark, narrowed).kept.items():
        if person in rows:
            rows[person].settled = kept


def _within(rows: QuerySet[Any], column: str, since: dt.date | None, until: dt.date | None) -> QuerySet[Any]:
    where = Q()
    if since:
        where &= Q(**{f"{column}__gte": _midnight(since)})
    if until:
        where &= Q(**{f"{column}__lt": _midnight(until + dt.timedelta(days=1))})
    return rows.filter(where)


def _is_within(at: dt.datetime | None, since: dt.date | None, until: dt.date | None) -> bool:
    if at is None:
        return False
    return (not since or at >= _midnight(since)) and (not until or at < _midnight(until + dt.timedelta(days=1)))


def _midnight(day: dt.date) -> dt.datetime:
    return timezone.make_aware(dt.datetime.combine(day, dt.time()))


HEADS = (
    "person", "username", "role",
    *(f"{stage.value}_{what}" for stage in STAGES for what in ("documents", "pieces", "median_minutes")),
    "active_minutes", "agreement_percent", "agreement_labels", "overruled_percent", "differences_settled",
    "accuracy_percent", "hidden_gold_labels", "sign_offs", "sign_offs_as_adjudicator",
)  # fmt: skip


def table_of(rows: Iterable[PersonReport]) -> list[list[Any]]:
    """The report as rows of a table, the heads first; blank where there is nothing to say."""
    table: list[list[Any]] = [list(HEADS)]
    for row in rows:
        stages = [
            cell
            for _, documents, pieces, minutes in row.stages
            for cell in (documents, pieces, "" if minutes is None else round(minutes, 1))
        ]
        labels = row.hidden_gold.labels
        figures = (row.agreement, row.agreement_items, row.overruled, row.settled.total, row.accuracy, labels)
        table.append(
            [
                row.person.display_name,
                row.person.username,
                row.role.value,
                *stages,
                row.minutes,
                *("" if each is None else each for each in figures),
                row.sign_offs,
                row.sign_offs_as_adjudicator,
            ]
        )
    return table
