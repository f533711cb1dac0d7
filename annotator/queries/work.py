"""What a person has to do: the one next thing, and short lists of what is in work, to agree, waiting and done."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotator.models import Annotation, Document, Flag, User
from annotator.queries.membership import Memberships, memberships_of
from annotator.queries.places import NOT_PROMPT, Pool, open_to, pools_of
from annotator.queries.to_agree import Consolidation, consolidations_of, number_to_agree, signed
from annotator.twins import copies_for, due_to_practise, practice_gold
from annotator.vocabulary import STAGES, AnnotationKind, AnnotationState, Phase, Stage

SHOWN = 5  # rows of a short list


@dataclass(frozen=True, slots=True)
class Task:
    """One document at one stage, and why it comes next: "repair", "continue", "consolidate" (all have submitted it),
    "practice", "follow" (one has decomposed it), "new" (nobody has begun) or "join" (others have, and a place is free).
    """

    document: Document
    stage: Stage
    why: str
    asked_by: tuple[str, ...] = ()  # who waits for this person's answer as third rater


WAITS_FOR = {
    Phase.PREFILLING: "suggestions are on the way",
    Phase.INDEPENDENT: "others have not submitted it yet",
    Phase.CONSOLIDATING: "you have signed, others have not yet",
}


@dataclass(frozen=True, slots=True)
class Waiting:
    """A document where the person has done their part, and what it waits for."""

    document: Document
    what_for: str


@dataclass(slots=True)
class Done:
    """A document with the stages of it that the person has submitted, in order, and when the last of them was."""

    document: Document
    stages: list[Stage]
    submitted_at: dt.datetime | None

    @property
    def words(self) -> str:
        """The stages as a list to read: "Decompose, Verify"."""
        return ", ".join(stage.label for stage in sorted(self.stages, key=STAGES.index))


@dataclass(slots=True)
class MyWork:
    """The short lists of the page. Each list is cut to a few rows; the counts are whole."""

    in_work: list[Annotation] = field(default_factory=list)
    to_agree: list[Consolidation] = field(default_factory=list)
    to_agree_count: int = 0
    waiting: list[Waiting] = field(default_factory=list)
    done: list[Done] = field(default_factory=list)
    done_count: int = 0
    prefilling: int = 0


def _mine(user: User, member: Memberships) -> QuerySet[Annotation]:
    """The person's own annotations where they may label, without those they have passed on."""
    flagged = Flag.objects.filter(document=OuterRef("document"), by=user, cleared_at__isnull=True)
    return (
        Annotation.objects.filter(
            person=user,
            kind=AnnotationKind.INDIVIDUAL,
            document__benchmark__in=member.labels_in,
        )
        .exclude(Exists(flagged))
        .select_related("document__benchmark")
        .defer(*(f"document__{name}" for name in NOT_PROMPT))
    )


def open_work(user: User, member: Memberships) -> QuerySet[Annotation]:
    """Annotations that the person has begun and can go on with now: sent back before begun, the newest first."""
    return (
        _mine(user, member)
        .filter(
            state=AnnotationState.OPEN,
            stage=F("document__stage"),
            document__phase=Phase.INDEPENDENT,
        )
        .order_by("-only_sent_back", "-pk")
    )


# --- what comes next -------------------------------------------------------------------------------


def next_task(user: User, *, leave_out: Collection[int] = ()) -> Task | None:
    """The one thing to do next: repair what came back, go on with what is begun, settle what all have submitted,
    practise, follow one's own documents into their later stages, then whatever is free, late stages first. Who has
    submitted nothing yet begins at the beginning: later stages build on what one has learned there.

    ``leave_out`` names documents (primary keys) whose last place somebody else has just taken.
    The number of queries depends on nothing but how far one has to look.
    """
    member = memberships_of(user)
    begun = open_work(user, member).first()
    if begun is not None:
        why = "repair" if begun.only_sent_back else "continue"
        return Task(begun.document, Stage(begun.stage), why)
    to_agree = next(iter(consolidations_of(user, member=member, most=1)), None)
    if to_agree is not None:
        return Task(to_agree.document, to_agree.stage, "consolidate", to_agree.asked_by)
    copies = copies_for(user, member.labels_in)
    free = open_to(user, leave_out={*leave_out, *copies.not_given})
    if copies.practising:
        # No other condition that an index could serve: this one leaves a handful.
        practice = free.filter(~Exists(_seats()), practice_for=user, benchmark__in=copies.practising)
        found = _offered(practice.order_by("order", "pk"), "practice")
        if found is not None:
            return found
    due = due_to_practise(user).first() if member.may_have_to_practise else None
    if due is not None:
        # The copy is made when the person asks for it; until then its gold stands for it.
        return Task(practice_gold(due)[0], Stage.DECOMPOSE, "practice")
    benchmarks = [pk for pk in member.labels_in if pk not in copies.practising]
    if not benchmarks:
        return None
    pools = pools_of(member.seats, benchmarks)
    return _followed(user, free, pools) or _first_free(user, free, pools)


def _seats() -> QuerySet[Annotation]:
    """The places taken at the stage where an outer query's document stands."""
    return Annotation.objects.filter(document=OuterRef("pk"), stage=OuterRef("stage"), seat__isnull=False)


def _offered(documents: QuerySet[Document], why: str = "") -> Task | None:
    """The first of these documents as a task. It is looked for by its key alone, and then read: looking is what is
    asked again and again."""
    return _task(documents.values_list("pk", flat=True).first(), why)


def _task(pk: int | None, why: str = "") -> Task | None:
    """The document with this key as a task."""
    if pk is None:
        return None
    rows = Document.objects.filter(pk=pk).annotate(is_begun=Exists(_seats()))
    found = rows.select_related("benchmark").defer(*NOT_PROMPT).first()
    return Task(found, Stage(found.stage), why or ("join" if found.is_begun else "new")) if found else None


def _followed(user: User, free: QuerySet[Document], pools: list[Pool]) -> Task | None:
    """The person's own documents at their later stages."""
    # By key, not by Exists: one's own documents are few among all that stand at these stages.
    own = Annotation.objects.filter(stage=Stage.DECOMPOSE, kind=AnnotationKind.INDIVIDUAL, person=user)
    later = free.filter(
        reduce(or_, (pool.where for pool in pools)),
        pk__in=own.values("document"),
        stage__in=(Stage.VERIFY, Stage.REVISE),
    )
    # In two steps: mostly all of them are begun, and places need not be counted.
    waiting = list(later.order_by().values_list("pk", flat=True))
    if not waiting:
        return None
    anywhere = reduce(or_, (pool.where & pool.place for pool in pools))
    # "revise" sorts before "verify": the later one first
    return _offered(free.filter(anywhere, pk__in=waiting).order_by("stage", "order", "pk"), "follow")


def _first_free(user: User, free: QuerySet[Document], pools: Iterable[Pool]) -> Task | None:
    """The first free document, pool by pool and one stage at a time, in the order of an index: nothing is sorted."""
    submitted = Annotation.objects.filter(kind=AnnotationKind.INDIVIDUAL, person=user, state=AnnotationState.SUBMITTED)
    stages = tuple(reversed(STAGES)) if submitted.exists() else STAGES
    for pool in pools:
        here = free.filter(pool.where, pool.place).order_by(*pool.order).values_list("pk", flat=True)
        for stage in stages:
            found = _task(here.filter(stage=stage).first())
            if found is not None:
                return found
    return None


# --- the page -------------------------------------------------------------------------------------


def my_work(user: User) -> MyWork:
    """The lists beside the next task. Constant number of queries."""
    member = memberships_of(user)
    submitted = _mine(user, member).filter(state=AnnotationState.SUBMITTED)
    labelled = Document.objects.filter(
        Q(practice_for__isnull=True) | Q(practice_for=user), benchmark__in=member.labels_in
    )
    to_agree = consolidations_of(user, member=member, most=SHOWN)
    return MyWork(
        in_work=list(open_work(user, member)[: SHOWN + 1]),
        to_agree=to_agree[: SHOWN + 1],
        to_agree_count=len(to_agree) if len(to_agree) < SHOWN else number_to_agree(user, member),
        waiting=waiting_of(user, member),
        done=_by_document(submitted.order_by("-submitted_at", "-pk")[: SHOWN * len(STAGES)])[:SHOWN],
        done_count=submitted.order_by().values("document").distinct().count(),
        prefilling=labelled.filter(stage__in=STAGES, phase=Phase.PREFILLING).count(),
    )


def waiting_of(user: User, member: Memberships) -> list[Waiting]:
    """The newest documents where the person has done their part and something or somebody else comes next: a partner
    who has not submitted or not signed yet, or suggestions (one query)."""
    at_stage = Annotation.objects.filter(
        document=OuterRef("pk"), person=user, kind=AnnotationKind.INDIVIDUAL, stage=OuterRef("stage")
    )
    submitted = Q(Exists(at_stage.filter(state=AnnotationState.SUBMITTED)))
    own = Annotation.objects.filter(kind=AnnotationKind.INDIVIDUAL, person=user)
    documents = (
        Document.objects.filter(benchmark__in=member.labels_in, pk__in=own.values("document"))
        .filter(
            Q(phase=Phase.PREFILLING)
            | Q(submitted, phase=Phase.INDEPENDENT)
            | Q(submitted, signed(by=user), phase=Phase.CONSOLIDATING)
        )
        .select_related("benchmark")
        .defer(*NOT_PROMPT)
        .order_by("-pk")
    )
    return [Waiting(document, WAITS_FOR[Phase(document.phase)]) for document in documents[:SHOWN]]


def _by_document(newest_first: Iterable[Annotation]) -> list[Done]:
    """Submitted annotations document by document, in the order in which each document comes first."""
    found: dict[int, Done] = {}
    for row in newest_first:
        done = found.setdefault(row.document_id, Done(row.document, [], row.submitted_at))
        done.stages.append(Stage(row.stage))
    return list(found.values())
