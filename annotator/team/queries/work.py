"""A person's work: the next task, and short lists of what is in progress, awaiting adjudication, waiting and done."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotator.core.gold_copies import copies_for, due_to_practise, practice_gold
from annotator.core.models import Annotation, Document, Flag, SignOff, User
from annotator.core.queries.membership import Memberships, memberships_of
from annotator.core.vocabulary import STAGES, AnnotationKind, AnnotationState, Phase, Stage
from annotator.stages.queries.places import NOT_PROMPT, Pool, not_kept_from, pools_of, taken_places
from annotator.team.queries.awaiting_adjudication import Consolidation, first_to_agree, to_agree_of

SHOWN = 5  # rows per short list


@dataclass(frozen=True, slots=True)
class WorkItem:
    """One document at one stage, and why it is next: "repair", "continue", "consolidate" (all have submitted it),
    "practice", "follow" (the person has decomposed it), "new" (nobody has started) or "join" (others have, and a place
    is free).
    """

    document: Document
    stage: Stage
    why: str
    asked_by: tuple[str, ...] = ()  # the people waiting for this adjudicator's answer


WAITS_FOR = {
    Phase.PREFILLING: "generating suggestions",
    Phase.INDEPENDENT: "others haven’t submitted yet",
    Phase.CONSOLIDATING: "you have signed off, others haven’t yet",
}


@dataclass(frozen=True, slots=True)
class WaitingWork:
    """A document where the person has done their part, and what it is waiting for."""

    document: Document
    what_for: str


@dataclass(slots=True)
class DoneWork:
    """A document with the stages that the person has submitted, in order, and the time of the last one."""

    document: Document
    stages: list[Stage]
    submitted_at: dt.datetime | None

    @property
    def words(self) -> str:
        """The stages as a list: "Decompose, Verify"."""
        return ", ".join(stage.label for stage in sorted(self.stages, key=STAGES.index))


@dataclass(slots=True)
class MyWork:
    """The page's short lists. Each is cut to a few rows; the counts are complete."""

    in_work: list[Annotation] = field(default_factory=list)
    to_agree: list[Consolidation] = field(default_factory=list)
    to_agree_count: int = 0
    waiting: list[WaitingWork] = field(default_factory=list)
    done: list[DoneWork] = field(default_factory=list)
    done_count: int = 0
    prefilling: int = 0


def _mine(user: User, member: Memberships) -> QuerySet[Annotation]:
    """The person's own annotations where they may label, without documents they skipped."""
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
    """Annotations that the person has started and can continue now: returned work first, then the newest."""
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


@dataclass(frozen=True, slots=True)
class NextTask:
    """A ``WorkItem`` whose document, named by primary key, hasn't been read yet. ``copy_is_missing``: the document is
    gold, and the person's practice copy is created when they ask for it."""

    document: int
    stage: Stage
    why: str
    asked_by: tuple[str, ...] = ()
    copy_is_missing: bool = False


def next_task(user: User, *, leave_out: Collection[int] = ()) -> WorkItem | None:
    """A person's next task (``find_next``), with its document."""
    found = find_next(user, leave_out=leave_out)
    return read_task(found) if found else None


def read_task(found: NextTask) -> WorkItem:
    """The task with its document (one query)."""
    document = Document.objects.select_related("benchmark").defer(*NOT_PROMPT).get(pk=found.document)
    return WorkItem(document, found.stage, found.why, found.asked_by)


def find_next(user: User, *, leave_out: Collection[int] = ()) -> NextTask | None:
    """The next task: correct returned work, continue started work, adjudicate what all have submitted, practice, follow
    one's own documents to later stages, then whatever is available, late stages first. People who have submitted
    nothing yet start with decompose, because later stages build on what they learn there.

    ``leave_out`` lists documents (primary keys) whose last place someone else has just taken. The number of queries
    depends only on how far the search has to go.
    """
    member = memberships_of(user)
    begun = open_work(user, member).values_list("document", "stage", "only_sent_back").first()
    if begun is not None:
        document, stage, only_sent_back = begun
        return NextTask(document, Stage(stage), "repair" if only_sent_back else "continue")
    to_agree = first_to_agree(user, member)
    if to_agree is not None:
        settled, at, asked_by = to_agree
        return NextTask(settled, at, "consolidate", asked_by)
    copies = copies_for(user, member.labels_in)
    free = not_kept_from(user, leave_out={*leave_out, *copies.not_given})
    if copies.practising:
        # No other condition that an index could serve: this one leaves only a few rows.
        practice = free.filter(~Exists(taken_places()), practice_for=user, benchmark__in=copies.practising)
        found = practice.order_by("order", "pk").values_list("pk", "stage").first()
        if found is not None:
            return NextTask(found[0], Stage(found[1]), "practice")
    due = due_to_practise(user).first() if member.may_have_to_practise else None
    if due is not None:
        return NextTask(practice_gold(due)[0].pk, Stage.DECOMPOSE, "practice", copy_is_missing=True)
    benchmarks = [pk for pk in member.labels_in if pk not in copies.practising]
    if not benchmarks:
        return None
    return _free_place(user, free, pools_of(member.seats, benchmarks))


def _free_place(user: User, free: QuerySet[Document], pools: list[Pool]) -> NextTask | None:
    """A place on one of the person's own documents at its later stages, or else the first free one, pool by pool."""
    # By key rather than Exists: a person's own documents are few among all at these stages.
    own = Annotation.objects.filter(stage=Stage.DECOMPOSE, kind=AnnotationKind.INDIVIDUAL, person=user)
    later = {"pk__in": own.values("document"), "stage__in": (Stage.VERIFY, Stage.REVISE)}
    at_work: list[tuple[Pool, QuerySet[Document]]] = []
    for pool in pools:
        here = free.filter(pool.where)
        if pool is not pools[0] and not here.exists():
            continue  # true for most, and a query would cost one per stage
        here = here.filter(pool.place_for(user))
        at_work.append((pool, here))
        # "revise" sorts before "verify": the later stage first
        found = here.filter(**later).order_by("stage", "order", "pk").values_list("pk", "stage").first()
        if found is not None:
            return NextTask(found[0], Stage(found[1]), "follow")
    submitted = Annotation.objects.filter(kind=AnnotationKind.INDIVIDUAL, person=user, state=AnnotationState.SUBMITTED)
    stages = tuple(reversed(STAGES)) if submitted.exists() else STAGES
    for pool, here in at_work:
        # In index order, one stage at a time, so that nothing is sorted.
        in_order = here.order_by(*pool.order).values_list("pk", Exists(taken_places()))
        for stage in stages:
            place = in_order.filter(stage=stage).first()
            if place is not None:
                return NextTask(place[0], stage, "join" if place[1] else "new")
    return None


# --- the page -------------------------------------------------------------------------------------


def my_work(user: User) -> MyWork:
    """The lists next to the task. Constant number of queries."""
    member = memberships_of(user)
    submitted = _mine(user, member).filter(state=AnnotationState.SUBMITTED)
    labelled = Document.objects.filter(
        Q(practice_for__isnull=True) | Q(practice_for=user), benchmark__in=member.labels_in
    )
    to_agree = to_agree_of(user, member=member, most=SHOWN)
    return MyWork(
        in_work=list(open_work(user, member)[: SHOWN + 1]),
        to_agree=to_agree.rows[: SHOWN + 1],
        to_agree_count=to_agree.number,
        waiting=waiting_of(user, member),
        done=_by_document(submitted.order_by("-submitted_at", "-pk")[: SHOWN * len(STAGES)])[:SHOWN],
        done_count=submitted.order_by().values("document").distinct().count(),
        prefilling=labelled.filter(stage__in=STAGES, phase=Phase.PREFILLING).count(),
    )


def waiting_of(user: User, member: Memberships) -> list[WaitingWork]:
    """Documents where the person has finished their part and someone or something else is next: a partner's submission
    or sign-off, or suggestions (one query)."""
    signatures = SignOff.objects.filter(
        annotation__document=OuterRef("document"), annotation__stage=OuterRef("stage"), by=user
    )
    submitted = Q(state=AnnotationState.SUBMITTED, stage=F("document__stage"))
    rows = (
        Annotation.objects.filter(person=user, kind=AnnotationKind.INDIVIDUAL, document__benchmark__in=member.labels_in)
        .filter(
            Q(document__phase=Phase.PREFILLING)
            | Q(submitted, document__phase=Phase.INDEPENDENT)
            | Q(submitted, Exists(signatures), document__phase=Phase.CONSOLIDATING)
        )
        .select_related("document__benchmark")
        .defer(*(f"document__{name}" for name in NOT_PROMPT))
        .order_by("-pk")
    )
    # While suggestions are being made, this holds everything the person did in a document.
    documents = {row.document_id: row.document for row in rows[: SHOWN * len(STAGES)]}
    return [WaitingWork(each, WAITS_FOR[Phase(each.phase)]) for each in list(documents.values())[:SHOWN]]


def _by_document(newest_first: Iterable[Annotation]) -> list[DoneWork]:
    """Submitted annotations grouped by document, in order of each document's first occurrence."""
    found: dict[int, DoneWork] = {}
    for row in newest_first:
        done = found.setdefault(row.document_id, DoneWork(row.document, [], row.submitted_at))
        done.stages.append(Stage(row.stage))
    return list(found.values())
