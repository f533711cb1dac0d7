"""Free places: on which documents a person could begin, in the order of an index, so that nothing is sorted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotator.models import Annotation, Batch, Document, Flag, GroupMember, User
from annotator.twins import copies_for
from annotator.vocabulary import Phase, Seat

# Texts can be long (whole books); lists need their first words alone.
LONG_TEXTS = ("response", "prompt", "metadata", "released", "discard_reason")
NOT_PROMPT = tuple(name for name in LONG_TEXTS if name != "prompt")


def _taken(**seats: object) -> Coalesce:
    """How many places are taken at the stage where a document stands, as a column."""
    at_stage = Annotation.objects.filter(document=OuterRef("pk"), stage=OuterRef("stage"), seat__isnull=False, **seats)
    counted = at_stage.order_by().values("document").annotate(number=Count("pk")).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def open_to(user: User, benchmarks: Collection[int]) -> QuerySet[Document]:
    """Documents at which a person could begin, were there a place: they are not at work on it, and have not passed it
    on. Work that was taken back from them may be taken up again. ``benchmarks``: where they may label (primary keys);
    narrowing to them is the caller's, since it decides over the index.
    """
    own = Annotation.objects.filter(document=OuterRef("pk"), stage=OuterRef("stage"), person=user, seat__isnull=False)
    flagged = Flag.objects.filter(document=OuterRef("pk"), by=user, cleared_at__isnull=True)
    return (
        Document.objects.filter(phase=Phase.INDEPENDENT)
        .alias(
            taken=_taken(),
            taken_in_group=_taken(seat__lte=OuterRef("benchmark__overlap")),
            taken_outside=_taken(seat__gt=OuterRef("benchmark__overlap")),
        )
        .exclude(Exists(own))
        .exclude(Exists(flagged))
        .exclude(pk__in=copies_for(user, benchmarks).not_given)
        .select_related("benchmark")
        .defer(*NOT_PROMPT)
    )


@dataclass(frozen=True, slots=True)
class Pool:
    """Documents with a free place for a person, by what their places hang on; ``order`` is that of an index."""

    free: Q
    order: tuple[str, ...]


def pools_of(user: User, benchmarks: Collection[int]) -> list[Pool]:
    """Where a person finds a place, in the order in which they look: the batches of their own groups, extra places in
    the batches of other groups (which wait for them), batches of nobody, documents in no batch. Two queries.

    The same of one document says ``rules.check_take_place``, which is asked again under the document's lock.
    """
    seats = dict(GroupMember.objects.filter(user=user, active=True).values_list("group", "seat"))
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
    in_own = Q(taken_in_group__lt=F("benchmark__overlap"))
    in_others = Q(extra_people__gt=0, taken_outside__lt=F("extra_people"))
    in_nobodys = Q(practice_for__isnull=True, taken__lt=F("benchmark__overlap") + F("extra_people"))
    in_batch = ("batch_id", "order", "pk")
    pools = [
        Pool(Q(batch__in=own) & in_own, in_batch) if own else None,
        Pool(Q(batch__in=others) & in_others, in_batch) if others else None,
        Pool(Q(batch__in=nobodys) & in_nobodys, in_batch) if nobodys else None,
        *(Pool(Q(benchmark=pk, batch__isnull=True) & in_nobodys, ("order", "pk")) for pk in benchmarks),
    ]
    return [pool for pool in pools if pool is not None]
