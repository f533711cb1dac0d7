"""Free places: on which documents a person could begin, in the order of an index, so that nothing is sorted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import Case, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum, Value, When
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce
from django.db.models.lookups import LessThan

from annotator.core.models import Annotation, Batch, Document, Flag, User
from annotator.core.vocabulary import Phase, Seat

# Texts can be long (whole books); lists need their first words alone.
LONG_TEXTS = ("response", "prompt", "metadata", "released", "discard_reason")
NOT_PROMPT = tuple(name for name in LONG_TEXTS if name != "prompt")
MORE_THAN_ANY = 1_000_000  # places on one document


def taken_places() -> QuerySet[Annotation]:
    """The places taken at the stage where an outer query's document stands."""
    return Annotation.objects.filter(document=OuterRef("pk"), stage=OuterRef("stage"), seat__isnull=False)


def _taken(user: User, seats: Q | None = None) -> Coalesce:
    """How many places (of these seats) are taken for a person, as an expression: more than there can be where they are
    at work themselves. One look at a document's annotations tells both."""
    weight = Case(When(person=user, then=Value(MORE_THAN_ANY)), default=Value(1))
    at_stage = taken_places().filter(seats | Q(person=user)) if seats else taken_places()
    counted = at_stage.order_by().values("document").annotate(number=Sum(weight)).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def not_kept_from(user: User, *, leave_out: Collection[int]) -> QuerySet[Document]:
    """Documents on which people are at work and which the person has not passed on; whether there is a place says a
    ``Pool``. ``leave_out``: what is not for them (primary keys, see ``twins.copies_for``); narrowing to where they may
    label is the caller's, since it decides over the index.
    """
    flagged = Flag.objects.filter(document=OuterRef("pk"), by=user, cleared_at__isnull=True)
    return Document.objects.filter(phase=Phase.INDEPENDENT).exclude(Exists(flagged)).exclude(pk__in=leave_out)


@dataclass(frozen=True, slots=True)
class Pool:
    """Documents by what their places hang on: ``where`` they are, which ``seats`` are for the person (None: all) and
    how many there are of these; ``order`` is that of an index."""

    where: Q
    seats: Q | None
    number: F | CombinedExpression
    order: tuple[str, ...]

    def place_for(self, user: User) -> LessThan:
        """Has a document a place for this person, who is not at work on it? Work that was taken back from them may be
        taken up again."""
        return LessThan(_taken(user, self.seats), self.number)


def pools_of(seats: Mapping[int, str], benchmarks: Collection[int]) -> list[Pool]:
    """Where a person finds a place, in the order in which they look: the batches of their own groups, extra places in
    the batches of other groups (which wait for them), batches of nobody, documents in no batch. One query.

    ``seats``: their seat in each of their groups. The same of one document says ``rules.check_take_place``, which is
    asked again under the document's lock.
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
