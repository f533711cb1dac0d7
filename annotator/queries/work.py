"""What a person has to do: the one next thing, and short lists of what is in work, to agree, waiting and done."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from operator import or_

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotator.models import (
    Annotation,
    Batch,
    Benchmark,
    Document,
    Flag,
    GroupMember,
    Membership,
    Question,
    SignOff,
    User,
)
from annotator.queries.places import NOT_PROMPT, Pool, open_to, pools_of
from annotator.rules import ADMIN_ROLES, LABEL_ROLES
from annotator.twins import due_to_practise, practice_gold, unfinished_practice
from annotator.vocabulary import STAGES, AnnotationKind, AnnotationState, Phase, Role, Seat, Stage

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


@dataclass(frozen=True, slots=True)
class Consolidation:
    """A stage that the person has to settle: with whom, or as third rater for whom."""

    document: Document
    stage: Stage
    people: tuple[str, ...]
    as_third_rater: bool
    asked_by: tuple[str, ...] = ()


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


def benchmarks_of(user: User, roles: Collection[str] | None = None) -> QuerySet[Benchmark]:
    """The benchmarks that a person belongs to, with one of these roles if any are given. Superusers own all."""
    if user.is_superuser:
        return Benchmark.objects.all()
    memberships = Membership.objects.filter(user=user, active=True)
    if roles is not None:
        memberships = memberships.filter(role__in=roles)
    return Benchmark.objects.filter(pk__in=memberships.values("benchmark"))


def _mine(user: User) -> QuerySet[Annotation]:
    """The person's own annotations where they may label, without those they have passed on."""
    flagged = Flag.objects.filter(document=OuterRef("document"), by=user, cleared_at__isnull=True)
    return (
        Annotation.objects.filter(
            person=user,
            kind=AnnotationKind.INDIVIDUAL,
            document__benchmark__in=benchmarks_of(user, LABEL_ROLES).values("pk"),
        )
        .exclude(Exists(flagged))
        .select_related("document__benchmark")
        .defer(*(f"document__{name}" for name in NOT_PROMPT))
    )


def open_work(user: User) -> QuerySet[Annotation]:
    """Annotations that the person has begun and can go on with now: sent back before begun, the newest first."""
    return (
        _mine(user)
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
    begun = open_work(user).first()
    if begun is not None:
        why = "repair" if begun.only_sent_back else "continue"
        return Task(begun.document, Stage(begun.stage), why)
    to_agree = next(iter(consolidations_of(user, most=1)), None)
    if to_agree is not None:
        return Task(to_agree.document, to_agree.stage, "consolidate", to_agree.asked_by)
    benchmarks = list(benchmarks_of(user, LABEL_ROLES).order_by("pk").values_list("pk", flat=True))
    free = open_to(user, benchmarks).exclude(pk__in=leave_out)
    practised_in = set(unfinished_practice(user).values_list("benchmark", flat=True))
    if practised_in:
        # No other condition that an index could serve: this one leaves a handful.
        practice = free.filter(Q(practice_for=user, taken=0)).order_by("order", "pk").first()
        if practice is not None and practice.benchmark_id in benchmarks:
            return Task(practice, Stage(practice.stage), "practice")
    due = due_to_practise(user).first()
    if due is not None:
        # The copy is made when the person asks for it; until then its gold stands for it.
        return Task(practice_gold(due)[0], Stage.DECOMPOSE, "practice")
    benchmarks = [pk for pk in benchmarks if pk not in practised_in]
    if not benchmarks:
        return None
    pools = pools_of(user, benchmarks)
    # By key, not by Exists: one's own documents are few among all that stand at these stages.
    own = Annotation.objects.filter(
        stage=Stage.DECOMPOSE, kind=AnnotationKind.INDIVIDUAL, person=user, document__benchmark__in=benchmarks
    )
    later = free.filter(pk__in=own.values("document"), stage__in=(Stage.VERIFY, Stage.REVISE))
    anywhere = reduce(or_, (pool.free for pool in pools))
    # "revise" sorts before "verify": the later one first
    followed = later.filter(anywhere).order_by("stage", "order", "pk").first()
    if followed is not None:
        return Task(followed, Stage(followed.stage), "follow")
    return _first_free(user, free, pools)


def _first_free(user: User, free: QuerySet[Document], pools: Iterable[Pool]) -> Task | None:
    """The first free document, pool by pool and one stage at a time, in the order of an index: nothing is sorted."""
    individual = Annotation.objects.filter(kind=AnnotationKind.INDIVIDUAL)
    has_submitted = individual.filter(person=user, state=AnnotationState.SUBMITTED).exists()
    stages = tuple(reversed(STAGES)) if has_submitted else STAGES
    for pool, stage in product(pools, stages):
        found = free.filter(pool.free, stage=stage).order_by(*pool.order).first()
        if found is not None:
            begun = individual.filter(document=found, stage=stage, seat__isnull=False).exists()
            return Task(found, stage, "join" if begun else "new")
    return None


# --- to be agreed ---------------------------------------------------------------------------------


def _consolidating(user: User) -> QuerySet[Document]:
    """Documents of the person's benchmarks that everyone has submitted."""
    return Document.objects.filter(
        benchmark__in=benchmarks_of(user).values("pk"), phase=Phase.CONSOLIDATING
    ).select_related("benchmark")


def _signed(**by: object) -> Exists:
    rows = SignOff.objects.filter(annotation__document=OuterRef("pk"), annotation__stage=OuterRef("stage"), **by)
    return Exists(rows)


def _as_partner(user: User) -> QuerySet[Document]:
    """Consolidating documents whose stage the person has labelled and not signed."""
    own = Annotation.objects.filter(
        document=OuterRef("document"),
        stage=OuterRef("stage"),
        person=user,
        kind=AnnotationKind.INDIVIDUAL,
        state=AnnotationState.SUBMITTED,
    )
    signed = SignOff.objects.filter(annotation=OuterRef("pk"), by=user)
    # From the agreed versions in the making, which are few among all that the person has ever submitted.
    versions = Annotation.objects.filter(
        Exists(own),
        ~Exists(signed),
        kind=AnnotationKind.CONSOLIDATED,
        state=AnnotationState.OPEN,
        stage=F("document__stage"),
    )
    return _consolidating(user).filter(pk__in=versions.values("document"))


def _where_third_rater(user: User) -> Q | None:
    """The groups and benchmarks in which this person could be third rater; None for most people (two queries)."""
    memberships = Membership.objects.filter(user=user, active=True, role__in=(*ADMIN_ROLES, Role.THIRD_RATER))
    seats = GroupMember.objects.filter(user=user, active=True, seat=Seat.THIRD_RATER)
    benchmarks = list(memberships.values_list("benchmark", flat=True))
    groups = list(seats.values_list("group", flat=True))
    if not benchmarks and not groups:
        return None
    batches = Batch.objects.filter(group__in=groups)
    return Q(benchmark__in=benchmarks) | Q(batch__in=batches.values("pk")) if benchmarks else Q(batch__in=batches)


def _as_third_rater(user: User) -> QuerySet[Document]:
    """Consolidating documents where the person is third rater (``rules.third_raters_of``, as a query) and is asked, or
    has to sign: what is settled at the verify stage, what was given to them as a whole, what has no partner left."""
    where = _where_third_rater(user)
    if where is None:
        return Document.objects.none()
    labelled = Annotation.objects.filter(
        document=OuterRef(OuterRef("pk")), stage=OuterRef(OuterRef("stage")), kind=AnnotationKind.INDIVIDUAL
    ).exclude(state=AnnotationState.TAKEN_BACK)
    members = Membership.objects.filter(benchmark=OuterRef("benchmark"), active=True, user__is_active=True).exclude(
        Exists(labelled.filter(person=OuterRef("user")))
    )
    of_group = members.exclude(role=Role.RESEARCHER).filter(
        user__group_seats__group=OuterRef("batch__group"),
        user__group_seats__seat=Seat.THIRD_RATER,
        user__group_seats__active=True,
    )
    of_benchmark = members.filter(role=Role.THIRD_RATER)
    standing_in = members.filter(role__in=ADMIN_ROLES)
    may = (
        Q(Exists(of_group.filter(user=user)))
        | (~Q(Exists(of_group)) & Q(Exists(of_benchmark.filter(user=user))))
        | (~Q(Exists(of_group)) & ~Q(Exists(of_benchmark)) & Q(Exists(standing_in.filter(user=user))))
    )
    # By key and in steps: few documents are due, and a database would ask who rates all that are consolidating.
    asked, due = _asked(), _due(user, where)
    documents = _consolidating(user).filter(pk__in=asked | due)
    return documents.filter(Q(pk__in=asked) | ~Q(_signed(as_third_rater=True))).filter(may)


def _asked() -> set[int]:
    """Documents (primary keys) with an open question to a third rater (one query)."""
    questions = Question.objects.filter(answered_at__isnull=True, annotation__stage=F("annotation__document__stage"))
    return set(questions.values_list("annotation__document", flat=True))


def _due(user: User, where: Q) -> set[int]:
    """Documents (primary keys) that a third rater has to sign, if they have not (three queries)."""
    given = Question.objects.filter(
        key="", annotation__state=AnnotationState.OPEN, annotation__stage=F("annotation__document__stage")
    )
    # Who signs finds nothing open: from the first signature on the third rater's can be given too.
    by_protocol = _consolidating(user).filter(
        where, _signed(), stage=Stage.VERIFY, benchmark__third_rater_at_verify=True
    )
    return {
        *given.values_list("annotation__document", flat=True),
        *by_protocol.values_list("pk", flat=True),
        *_without_partner(user),
    }


def _without_partner(user: User) -> set[int]:
    """Documents (primary keys) whose partners have all left, looked up from those who have left: they are few."""
    submitted = Annotation.objects.filter(kind=AnnotationKind.INDIVIDUAL, state=AnnotationState.SUBMITTED)
    inactive = Membership.objects.filter(Q(active=False) | Q(user__is_active=False))
    left = set(inactive.filter(benchmark__in=benchmarks_of(user).values("pk")).values_list("user", flat=True))
    if not left:
        return set()
    partners = submitted.filter(
        document=OuterRef("document"),
        stage=OuterRef("stage"),
        person__is_active=True,
        person__memberships__benchmark=OuterRef("document__benchmark"),
        person__memberships__active=True,
    )
    theirs = submitted.filter(person__in=left, stage=F("document__stage"), document__phase=Phase.CONSOLIDATING).exclude(
        Exists(partners)
    )
    return set(theirs.values_list("document", flat=True))


def _asking(documents: list[Document]) -> dict[int, list[str]]:
    """By document (primary key): who has asked its third rater and waits (one query, none without documents)."""
    found: dict[int, list[str]] = {}
    if not documents:
        return found
    rows = Question.objects.filter(
        answered_at__isnull=True,
        annotation__document__in=[document.pk for document in documents],
        annotation__stage=F("annotation__document__stage"),
    )
    for row in rows.select_related("by", "annotation").order_by("pk"):
        names = found.setdefault(row.annotation.document_id, [])
        if str(row.by) not in names:
            names.append(str(row.by))
    return found


def consolidations_of(user: User, *, most: int | None = None) -> list[Consolidation]:
    """What the person has to settle with others, as a partner first, then as third rater: at most ``most`` of each.
    A constant number of queries."""
    partner = list(_as_partner(user).defer(*NOT_PROMPT).order_by("-stage", "order", "pk")[:most])
    third = list(_as_third_rater(user).defer(*NOT_PROMPT).order_by("-stage", "order", "pk")[:most])
    people: dict[tuple[int, str], list[str]] = {}
    rows = Annotation.objects.filter(
        document__in=[document.pk for document in partner + third],
        kind=AnnotationKind.INDIVIDUAL,
        state=AnnotationState.SUBMITTED,
    ).exclude(person=user)
    for row in rows.select_related("person").order_by("seat"):
        people.setdefault((row.document_id, row.stage), []).append(str(row.person))
    asking = _asking(third)
    return [
        Consolidation(
            each,
            Stage(each.stage),
            tuple(people.get((each.pk, each.stage), ())),
            as_third,
            tuple(asking.get(each.pk, ())) if as_third else (),
        )
        for documents, as_third in ((partner, False), (third, True))
        for each in documents
    ]


# --- the page -------------------------------------------------------------------------------------


def my_work(user: User) -> MyWork:
    """The lists beside the next task. Constant number of queries."""
    submitted = _mine(user).filter(state=AnnotationState.SUBMITTED)
    labelled = Document.objects.filter(
        Q(practice_for__isnull=True) | Q(practice_for=user),
        benchmark__in=benchmarks_of(user, LABEL_ROLES).values("pk"),
    )
    to_agree = consolidations_of(user, most=SHOWN)
    return MyWork(
        in_work=list(open_work(user)[: SHOWN + 1]),
        to_agree=to_agree[: SHOWN + 1],
        to_agree_count=len(to_agree)
        if len(to_agree) < SHOWN
        else _as_partner(user).count() + _as_third_rater(user).count(),
        waiting=waiting_of(user),
        done=_by_document(submitted.order_by("-submitted_at", "-pk")[: SHOWN * len(STAGES)])[:SHOWN],
        done_count=submitted.order_by().values("document").distinct().count(),
        prefilling=labelled.filter(stage__in=STAGES, phase=Phase.PREFILLING).count(),
    )


def waiting_of(user: User) -> list[Waiting]:
    """The newest documents where the person has done their part and something or somebody else comes next: a partner
    who has not submitted or not signed yet, or suggestions (one query)."""
    at_stage = Annotation.objects.filter(
        document=OuterRef("pk"), person=user, kind=AnnotationKind.INDIVIDUAL, stage=OuterRef("stage")
    )
    submitted = Q(Exists(at_stage.filter(state=AnnotationState.SUBMITTED)))
    own = Annotation.objects.filter(kind=AnnotationKind.INDIVIDUAL, person=user)
    documents = (
        Document.objects.filter(
            benchmark__in=benchmarks_of(user, LABEL_ROLES).values("pk"), pk__in=own.values("document")
        )
        .filter(
            Q(phase=Phase.PREFILLING)
            | Q(submitted, phase=Phase.INDEPENDENT)
            | Q(submitted, _signed(by=user), phase=Phase.CONSOLIDATING)
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
