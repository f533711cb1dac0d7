"""Free slots: the documents that a person could start, in index order, so that nothing is sorted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from django.db.models import (
    Case,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce
from django.db.models.lookups import LessThan

from annotator.core.gold_copies import check_may_begin
from annotator.core.models import Annotation, Batch, Document, Flag, GroupMember, User
from annotator.core.models.document import LONG_TEXTS
from annotator.core.rules import allowed
from annotator.core.vocabulary import STAGES, AnnotationKind, AnnotationState, Phase, Seat, Stage
from annotator.stages.rules import check_take_place

NOT_PROMPT = tuple(name for name in LONG_TEXTS if name != "prompt")
MORE_THAN_ANY = 1_000_000  # slots of one document


def taken_places() -> QuerySet[Annotation]:
    """The occupied slots at the current stage of an outer query's document."""
    return Annotation.objects.filter(document=OuterRef("pk"), stage=OuterRef("stage"), seat__isnull=False)


def _taken(user: User, seats: Q | None = None) -> Coalesce:
    """How many slots (of these seats) are occupied from a person's point of view, as an expression: more than there can
    be if they are working on the document themselves. One look at a document's annotations gives both."""
    weight = Case(When(person=user, then=Value(MORE_THAN_ANY)), default=Value(1))
    at_stage = taken_places().filter(seats | Q(person=user)) if seats else taken_places()
    counted = at_stage.order_by().values("document").annotate(number=Sum(weight)).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def not_kept_from(user: User, *, leave_out: Collection[int]) -> QuerySet[Document]:
    """Documents that are being worked on and that the person hasn't flagged; a ``Pool`` says whether there is a slot.
    ``leave_out``: documents that aren't for them (primary keys, see ``twins.copies_for``). Restricting to where they
    may label is left to the caller, because it decides which index is used.
    """
    flagged = Flag.objects.filter(document=OuterRef("pk"), by=user, cleared_at__isnull=True)
    return Document.objects.filter(phase=Phase.INDEPENDENT).exclude(Exists(flagged)).exclude(pk__in=leave_out)


@dataclass(frozen=True, slots=True)
class Pool:
    """Documents by what their slots depend on: ``where`` they are, which ``seats`` are for the person (None: all) and
    how many of these there are; ``order`` is that of an index."""

    where: Q
    seats: Q | None
    number: F | CombinedExpression
    order: tuple[str, ...]

    def place_for(self, user: User) -> LessThan:
        """Does a document have a slot for this person, who isn't working on it? They may continue work that was
        withdrawn from them."""
        return LessThan(_taken(user, self.seats), self.number)


def pools_of(seats: Mapping[int, str], benchmarks: Collection[int]) -> list[Pool]:
    """Where a person finds a slot, in search order: the batches of their own groups, additional slots in the batches of
    other groups (which wait for them), batches without a group, documents without a batch. One query.

    ``seats``: their seat in each of their groups. ``rules.check_take_place`` says the same for one document and is
    checked again under the document's lock.
    """
    own: list[int] = []
    others: list[int] = []
    nobodys: list[int] = []
    batches = Batch.objects.filter(benchmark__in=benchmarks)
    for batch, group in batches.order_by("pk").values_list("pk", "group"):
        if group is None:
            nobodys.append(batch)
        elif group not in seats:
            others.append(batch)
        elif seats[group] == Seat.ANNOTATOR:
            own.append(batch)
    overlap, extra = F("benchmark__overlap"), F("extra_people")
    of_group, of_others = Q(seat__lte=OuterRef("benchmark__overlap")), Q(seat__gt=OuterRef("benchmark__overlap"))
    real = Q(practice_for__isnull=True)
    in_batch = ("batch_id", "order", "pk")
    pools = [
        Pool(Q(batch__in=own), of_group, overlap, in_batch) if own else None,
        Pool(Q(batch__in=others, extra_people__gt=0), of_others, extra, in_batch) if others else None,
        Pool(Q(batch__in=nobodys) & real, None, overlap + extra, in_batch) if nobodys else None,
        *(
            Pool(Q(benchmark=pk, batch__isnull=True) & real, None, overlap + extra, ("order", "pk"))
            for pk in benchmarks
        ),
    ]
    return [pool for pool in pools if pool is not None]


def seats_at(annotations: Iterable[Annotation], stage: Stage) -> set[int]:
    """The occupied slots of a stage, from a document's annotations."""
    return {row.seat for row in annotations if row.stage == stage and row.seat is not None}


@dataclass(slots=True)
class SeatRow:
    """A person's assignment on a document, as an admin sees it: that someone has submitted, never what. ``confirmed``:
    which contradictions they confirmed and why, once the stage is adjudicated."""

    annotation: Annotation
    can_take_back: bool
    can_reopen: bool
    confirmed: str = ""


@dataclass(slots=True)
class Places:
    """Who has which slot of a document, and the batches it could move to."""

    seats: list[SeatRow] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    can_close_extra: bool = False


def places_of(document: Document, annotations: list[Annotation]) -> Places:
    """The slots of a document, from its annotations (one query, for the batches; after verify one more)."""
    adjudicated = {
        row.stage
        for row in annotations
        if row.kind == AnnotationKind.CONSOLIDATED and row.state == AnnotationState.SUBMITTED
    }
    told = document.activities.filter(action="confirm-contradictions").order_by("id")
    confirmed = dict(told.values_list("annotation", "reason")) if Stage.VERIFY in adjudicated else {}
    seats = [
        SeatRow(
            row,
            can_take_back=row.state == AnnotationState.OPEN,
            can_reopen=row.state == AnnotationState.SUBMITTED
            and row.stage not in adjudicated
            and document.phase != Phase.DISCARDED,
            confirmed=confirmed.get(row.pk, ""),
        )
        for row in annotations
        if row.kind == AnnotationKind.INDIVIDUAL
    ]
    seats.sort(
        key=lambda each: (STAGES.index(Stage(each.annotation.stage)), each.annotation.seat or 99, each.annotation.pk)
    )
    batches = (
        document.benchmark.batches.exclude(pk=document.batch_id) if document.batch_id else document.benchmark.batches
    )
    extra = [row for row in annotations if row.stage == document.stage and (row.seat or 0) > document.benchmark.overlap]
    is_free = len(extra) < document.extra_people and document.phase == Phase.INDEPENDENT
    return Places(seats, list(batches.select_related("group").order_by("pk")), is_free)


def waited_for(document: Document, stage: Stage) -> list[User]:
    """Who hasn't submitted a stage: those who have started it, and annotators of the document's group who could take a
    free slot, except those who have flagged the document."""
    rows = list(
        document.annotations.filter(stage=stage, kind=AnnotationKind.INDIVIDUAL, seat__isnull=False).select_related(
            "person"
        )
    )
    passed_on = set(Flag.objects.filter(document=document, cleared_at__isnull=True).values_list("by", flat=True))
    begun = [row.person for row in rows if row.person and row.state == AnnotationState.OPEN]
    seats = {row.seat for row in rows if row.seat}
    group_id = document.batch.group_id if document.batch else None
    members = GroupMember.objects.filter(group=group_id, seat=Seat.ANNOTATOR, active=True).select_related("user")
    at_work = {row.person_id for row in rows}
    free = [
        row.user
        for row in (members if group_id else ())
        if row.user_id not in at_work
        and allowed(check_take_place, row.user, document, stage, seats=seats)
        and allowed(check_may_begin, row.user, document)
    ]
    return [person for person in begun + free if person.pk not in passed_on]
