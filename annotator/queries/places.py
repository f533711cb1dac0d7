"""Free places: on which documents a person could begin, in the order of an index, so that nothing is sorted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.db.models.lookups import LessThan

from annotator.models import Annotation, Batch, Document, Flag, User
from annotator.vocabulary import Phase, Seat

# Texts can be long (whole books); lists need their first words alone.
LONG_TEXTS = ("response", "prompt", "metadata", "released", "discard_reason")
NOT_PROMPT = tuple(name for name in LONG_TEXTS if name != "prompt")


def _taken(**seats: object) -> Coalesce:
    """How many places are taken at the stage where a document stands, as an expression."""
    at_stage = Annotation.objects.filter(document=OuterRef("pk"), stage=OuterRef("stage"), seat__isnull=False, **seats)
    counted = at_stage.order_by().values("document").annotate(number=Count("pk")).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def open_to(user: User, *, leave_out: Collection[int]) -> QuerySet[Document]:
    """Documents at which a person could begin, were there a place: they are not at work on it, and have not passed it
    on. Work that was taken back from them may be taken up again. ``leave_out``: what is not for them (primary keys,
    see ``twins.copies_for``); narrowing to where they may label is the caller's, since it decides over the index.
    """
    own = Annotation.objects.filter(document=OuterRef("pk"), stage=OuterRef("stage"), person=user, seat__isnull=False)
    flagged = Flag.objects.filter(document=OuterRef("pk"), by=user, cleared_at__isnull=True)
    return (
        Document.objects.filter(phase=Phase.INDEPENDENT)
        .exclude(Exists(own))
        .exclude(Exists(flagged))
        .exclude(pk__in=leave_out)
    )


@dataclass(frozen=True, slots=True)
class Pool:
    """Documents by what their places hang on: ``where`` they are, and which of them has a ``place`` for the person;
    ``order`` is that of an index."""

    where: Q
    place: Q
    order: tuple[str, ...]


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
    overlap = F("benchmark__overlap")
    in_own = Q(LessThan(_taken(seat__lte=OuterRef("benchmark__overlap")), overlap))
    in_others = Q(LessThan(_taken(seat__gt=OuterRef("benchmark__overlap")), F("extra_people")))
    in_nobodys = Q(LessThan(_taken(), overlap + F("extra_people")))
    real = Q(practice_for__isnull=True)
    in_batch = ("batch_id", "order", "pk")
    pools = [
        Pool(Q(batch__in=own), in_own, in_batch) if own else None,
        Pool(Q(batch__in=others, extra_people__gt=0), in_others, in_batch) if others else None,
        Pool(Q(batch__in=nobodys) & real, in_nobodys, in_batch) if nobodys else None,
        *(Pool(Q(benchmark=pk, batch__isnull=True) & real, in_nobodys, ("order", "pk")) for pk in benchmarks),
    ]
    return [pool for pool in pools if pool is not None]
