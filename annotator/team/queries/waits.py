"""Who is waiting for whom, each group's progress, and what awaits adjudication, for owners and admins.

Of blind work, this shows only that a partner has submitted, and since when; not whether the other has started, nor
their progress. Gold copies are left out.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from dataclasses import dataclass, field

from django.db.models import Count, DateTimeField, Exists, F, FilteredRelation, Min, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from annotator.core import charts
from annotator.core.models import (
    Annotation,
    Batch,
    Benchmark,
    Document,
    GroupMember,
    Membership,
    Question,
    SignOff,
    User,
)
from annotator.core.queries.standing import Standing
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Phase, Seat, Stage

OLDEST = 5  # documents that have awaited adjudication longest
ANYBODY = "another annotator"
# Sign-offs of stages awaiting adjudication. They belong to the open version, which has an index.
OF_VERSION = {"annotation__kind": AnnotationKind.CONSOLIDATED, "annotation__state": AnnotationState.OPEN}


@dataclass(slots=True)
class Wait:
    """Someone has submitted and someone else hasn't: in how many documents, and since when."""

    who: str
    for_whom: str
    documents: int = 0
    since: dt.datetime = field(default_factory=timezone.now)

    @property
    def days(self) -> int:
        return (timezone.now() - self.since).days

    def add(self, documents: int, since: dt.datetime) -> None:
        self.documents += documents
        self.since = min(self.since, since)


@dataclass(slots=True)
class GroupRow:
    """A group's batch: its progress, and whom it waits for."""

    batch: Batch
    standing: Standing
    people: list[str] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    alpha: float | None = None

    @property
    def total(self) -> int:
        return self.standing.total - self.standing.discarded

    @property
    def _numbers(self) -> dict[str, int]:
        to_agree, in_work = self.standing.to_agree, self.standing.in_work
        gold = self.standing.gold
        return {"agreed": gold, "agree": to_agree, "work": in_work, "waiting": self.total - gold - to_agree - in_work}

    @property
    def parts(self) -> list[dict[str, str | float]]:
        return charts.parts(self._numbers.items(), self.total)

    @property
    def words(self) -> str:
        named = {"agreed": "gold", "agree": "awaiting adjudication", "work": "in progress", "waiting": "waiting"}
        return charts.in_words(((number, named[kind]) for kind, number in self._numbers.items()), "no documents")


@dataclass(frozen=True, slots=True)
class Oldest:
    """A document that awaits adjudication, and since when."""

    document: Document
    stage: Stage
    days: int


@dataclass(frozen=True, slots=True)
class StagesAwaiting:
    """Documents that everyone has submitted and that aren't adjudicated: all, those with an open request to the
    adjudicator, and those that have waited longest."""

    documents: int = 0
    with_questions: int = 0
    oldest: tuple[Oldest, ...] = ()


@dataclass(slots=True)
class Waits:
    """All of it."""

    groups: list[GroupRow] = field(default_factory=list)
    pairs: list[Wait] = field(default_factory=list)


def _individual(benchmark: Benchmark, phase: Phase) -> QuerySet[Annotation]:
    """Submitted work at its document's current stage."""
    return Annotation.objects.filter(
        kind=AnnotationKind.INDIVIDUAL,
        state=AnnotationState.SUBMITTED,
        stage=F("document__stage"),
        document__benchmark=benchmark,
        document__phase=phase,
        document__twin_of__isnull=True,
    ).order_by()


def waits_of(benchmark: Benchmark, standing: Standing) -> Waits:
    """The groups with their batches, and who waits for whom (eight queries)."""
    rows = {
        batch.pk: GroupRow(batch, standing.of_batch(batch.pk))
        for batch in benchmark.batches.filter(group__isnull=False).select_related("group").order_by("group__name", "pk")
    }
    annotators: dict[int, dict[int, str]] = defaultdict(dict)
    third_raters: dict[int, str] = {}
    for seated in GroupMember.objects.filter(group__benchmark=benchmark, active=True).select_related("user"):
        if seated.seat == Seat.ANNOTATOR:
            annotators[seated.group_id][seated.user_id] = str(seated.user)
        else:
            third_raters[seated.group_id] = f"adjudicator {seated.user}"
    half = _half_submitted(benchmark)
    to_sign = _to_sign(benchmark)
    names = {
        pk: str(person) for pk, person in User.objects.in_bulk(_people_in(half) | {p for _, p, _ in to_sign}).items()
    }

    pairs: dict[tuple[str, str], Wait] = {}
    to_submit: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for batch, person, other, documents, since in half:
        row = rows.get(batch) if batch else None
        group = annotators[row.batch.group_id] if row and row.batch.group_id else {}
        if other is not None:
            waited_for = names[other]
        elif row is not None:
            partners = [name for pk, name in group.items() if pk != person]
            waited_for = " or ".join(partners) or f"another annotator in {row.batch.group}"
        else:
            waited_for = ANYBODY
        pairs.setdefault((names[person], waited_for), Wait(names[person], waited_for)).add(documents, since)
        if row is not None:
            to_submit[row.batch.pk][waited_for] += documents

    for batch, row in rows.items():
        group_pk = row.batch.group_id or 0
        row.people = [*annotators[group_pk].values(), *([third_raters[group_pk]] if group_pk in third_raters else [])]
        row.waits = [f"{name}: {number:,} to submit" for name, number in sorted(to_submit[batch].items())]
    for batch, person, documents in sorted(to_sign, key=lambda each: names[each[1]]):
        if batch in rows:
            rows[batch].waits.append(f"{names[person]}: {documents:,} to adjudicate")
    for batch, documents in _for_third_rater(benchmark).items():
        if batch in rows:
            name = third_raters.get(rows[batch].batch.group_id or 0, "an adjudicator")
            rows[batch].waits.append(f"{name}: {documents:,}")
    return Waits(list(rows.values()), sorted(pairs.values(), key=lambda each: each.since))


_Half = tuple[int | None, int, int | None, int, dt.datetime]


def _half_submitted(benchmark: Benchmark) -> list[_Half]:
    """Where someone has submitted, but not everyone: batch, who, for whom (None: an unassigned place), documents, since
    when. One query: two passes over all annotations would take twice as long."""
    at_work = FilteredRelation(
        "document__annotations",
        condition=Q(
            document__annotations__kind=AnnotationKind.INDIVIDUAL,
            document__annotations__state=AnnotationState.OPEN,
            document__annotations__stage=F("stage"),
        ),
    )
    return list(
        _individual(benchmark, Phase.INDEPENDENT)
        .annotate(at_work=at_work)
        .values_list("document__batch", "person", "at_work__person")
        .annotate(documents=Count("document", distinct=True), since=Min("submitted_at"))
    )


def _people_in(half: list[_Half]) -> set[int]:
    return {pk for _, person, other, _, _ in half for pk in (person, other) if pk is not None}


def _to_sign(benchmark: Benchmark) -> list[tuple[int | None, int, int]]:
    """Where everyone has submitted: batch, annotator who hasn't signed off, documents (two queries). People who have
    left aren't waited for; if the adjudicator was asked about the whole stage, only they are."""
    at_stage = {"annotation__document": OuterRef("document"), "annotation__stage": OuterRef("stage")}
    return list(
        _individual(benchmark, Phase.CONSOLIDATING)
        .filter(person__in=_still_there(benchmark))
        .exclude(Exists(SignOff.objects.filter(by=OuterRef("person"), **OF_VERSION, **at_stage)))
        .exclude(Exists(Question.objects.filter(key="", **at_stage)))
        .values_list("document__batch", "person")
        .annotate(documents=Count("document", distinct=True))
    )


def _still_there(benchmark: Benchmark) -> list[int]:
    """People who haven't left the benchmark (one query). Selected by key: with a join, the database would start from
    all work these people ever did instead of the few waiting documents."""
    members = Membership.objects.filter(benchmark=benchmark, active=True, user__is_active=True)
    return list(members.values_list("user", flat=True))


def _consolidating(benchmark: Benchmark) -> QuerySet[Document]:
    return Document.objects.filter(benchmark=benchmark, phase=Phase.CONSOLIDATING, twin_of__isnull=True).order_by()


def _at_stage() -> dict[str, OuterRef]:
    return {"annotation__document": OuterRef("pk"), "annotation__stage": OuterRef("stage")}


def _open_question() -> Exists:
    return Exists(Question.objects.filter(answered_at__isnull=True, **_at_stage()))


def _for_third_rater(benchmark: Benchmark) -> dict[int | None, int]:
    """Each batch's documents that wait for the adjudicator: with a request, with sign-offs started at verify, or
    without annotators left (two queries)."""
    signed = SignOff.objects.filter(**OF_VERSION, **_at_stage())
    due = Q(Exists(Question.objects.filter(key="", **_at_stage())))
    left = Membership.objects.filter(Q(active=False) | Q(user__is_active=False), benchmark=benchmark)
    gone = list(left.values_list("user", flat=True))
    if gone:
        submitted = Annotation.objects.filter(
            document=OuterRef("pk"),
            stage=OuterRef("stage"),
            kind=AnnotationKind.INDIVIDUAL,
            state=AnnotationState.SUBMITTED,
        )
        due |= Q(Exists(submitted.filter(person__in=gone))) & ~Q(Exists(submitted.exclude(person__in=gone)))
    if benchmark.third_rater_at_verify:
        due |= Q(Exists(signed), stage=Stage.VERIFY)
    due &= ~Q(Exists(signed.filter(as_third_rater=True)))
    rows = _consolidating(benchmark).filter(Q(_open_question()) | due)
    return dict(rows.values_list("batch").annotate(documents=Count("pk")))


def to_agree_of(benchmark: Benchmark) -> StagesAwaiting:
    """What is still awaiting adjudication (two queries)."""
    documents = _consolidating(benchmark)
    counted = documents.aggregate(all=Count("pk"), asked=Count("pk", filter=Q(_open_question())))
    # Everyone has submitted since the last submission.
    last = Annotation.objects.filter(
        document=OuterRef("pk"),
        stage=OuterRef("stage"),
        kind=AnnotationKind.INDIVIDUAL,
        state=AnnotationState.SUBMITTED,
    ).order_by("-submitted_at")
    waiting = documents.annotate(since=Subquery(last.values("submitted_at")[:1], output_field=DateTimeField()))
    oldest = (
        waiting.filter(since__isnull=False).only("public_id", "external_id", "order", "stage").order_by("since", "pk")
    )
    now = timezone.now()
    return StagesAwaiting(
        counted["all"],
        counted["asked"],
        tuple(Oldest(row, Stage(row.stage), (now - row.since).days) for row in oldest[:OLDEST]),
    )
