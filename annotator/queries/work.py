"""What a person has to do: the one next thing, and short lists of what is in work, waiting and done."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from django.db.models import Count, Exists, F, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotator.models import Annotation, Benchmark, Document, Flag, Membership, User
from annotator.rules import LABEL_ROLES
from annotator.vocabulary import STAGES, AnnotationKind, AnnotationState, Phase, Stage

SHOWN = 5  # rows of a short list
# Texts can be long (whole books); lists need their first words alone.
LONG_TEXTS = ("response", "prompt", "metadata", "released", "discard_reason")


@dataclass(frozen=True, slots=True)
class Task:
    """One document at one stage, and why it comes next: "repair", "continue", "follow" (one has decomposed it), "new"
    (nobody has begun) or "join" (others have, and a place is free)."""

    document: Document
    stage: Stage
    why: str


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
    waiting: list[Document] = field(default_factory=list)
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
        .defer(*(f"document__{name}" for name in LONG_TEXTS if name != "prompt"))
    )


def open_work(user: User) -> QuerySet[Annotation]:
    """Annotations that the person has begun and can go on with now, the newest first; begun before sent back."""
    return (
        _mine(user)
        .filter(
            state=AnnotationState.OPEN,
            stage=F("document__stage"),
            document__phase=Phase.INDEPENDENT,
        )
        .order_by("only_sent_back", "-pk")
    )


def free_documents(user: User) -> QuerySet[Document]:
    """Documents with a free place for this person at the stage where they stand.

    A place is taken by an individual annotation, whoever's; ``open_annotation`` counts again under the lock.
    """
    at_stage = Annotation.objects.filter(
        document=OuterRef("pk"), stage=OuterRef("stage"), kind=AnnotationKind.INDIVIDUAL
    )
    taken = at_stage.order_by().values("document").annotate(number=Count("pk")).values("number")
    flagged = Flag.objects.filter(document=OuterRef("pk"), by=user, cleared_at__isnull=True)
    return (
        Document.objects.filter(benchmark__in=benchmarks_of(user, LABEL_ROLES).values("pk"), phase=Phase.INDEPENDENT)
        .annotate(taken=Coalesce(Subquery(taken, output_field=IntegerField()), 0))
        .filter(taken__lt=F("benchmark__overlap"))
        .exclude(Exists(at_stage.filter(person=user)))
        .exclude(Exists(flagged))
        .select_related("benchmark")
        .defer(*(name for name in LONG_TEXTS if name != "prompt"))
    )


def next_task(user: User, *, leave_out: Collection[int] = ()) -> Task | None:
    """The one thing to do next: go on with what is begun, then repair what came back, then follow one's own
    documents into their later stages, then whatever is free, late stages first. Who has submitted nothing yet begins
    at the beginning: later stages build on what one has learned there.

    ``leave_out`` names documents (primary keys) whose last place somebody else has just taken.
    At most six queries.
    """
    begun = open_work(user).first()
    if begun is not None:
        why = "repair" if begun.only_sent_back else "continue"
        return Task(begun.document, Stage(begun.stage), why)
    free = free_documents(user).exclude(pk__in=leave_out)
    # By key, not by Exists: one's own documents are few among all that stand at these stages.
    own = Annotation.objects.filter(stage=Stage.DECOMPOSE, kind=AnnotationKind.INDIVIDUAL, person=user)
    later = free.filter(pk__in=own.values("document"), stage__in=(Stage.VERIFY, Stage.REVISE))
    followed = later.order_by("stage", "order", "pk").first()  # "revise" sorts before "verify": the later one first
    if followed is not None:
        return Task(followed, Stage(followed.stage), "follow")
    has_submitted = Annotation.objects.filter(
        kind=AnnotationKind.INDIVIDUAL, person=user, state=AnnotationState.SUBMITTED
    ).exists()
    for stage in reversed(STAGES) if has_submitted else STAGES:
        # One stage at a time, in the order of the index (benchmark, stage, phase, order): no sorting of the rest.
        found = free.filter(stage=stage).order_by("benchmark_id", "order", "pk").first()
        if found is not None:
            taken: int = getattr(found, "taken", 0)  # counted by free_documents
            return Task(found, stage, "join" if taken else "new")
    return None


def my_work(user: User) -> MyWork:
    """The lists beside the next task. Constant number of queries."""
    submitted = _mine(user).filter(state=AnnotationState.SUBMITTED)
    own = Annotation.objects.filter(kind=AnnotationKind.INDIVIDUAL, person=user).values("document")
    labelled = Document.objects.filter(benchmark__in=benchmarks_of(user, LABEL_ROLES).values("pk"))
    return MyWork(
        in_work=list(open_work(user)[: SHOWN + 1]),
        waiting=list(
            labelled.filter(pk__in=own, phase__in=(Phase.PREFILLING, Phase.CONSOLIDATING))
            .select_related("benchmark")
            .defer(*(name for name in LONG_TEXTS if name != "prompt"))
            .order_by("-pk")[:SHOWN]
        ),
        done=_by_document(submitted.order_by("-submitted_at", "-pk")[: SHOWN * len(STAGES)])[:SHOWN],
        done_count=submitted.order_by().values("document").distinct().count(),
        prefilling=labelled.filter(stage__in=STAGES, phase=Phase.PREFILLING).count(),
    )


def _by_document(newest_first: Iterable[Annotation]) -> list[Done]:
    """Submitted annotations document by document, in the order in which each document comes first."""
    found: dict[int, Done] = {}
    for row in newest_first:
        done = found.setdefault(row.document_id, Done(row.document, [], row.submitted_at))
        done.stages.append(Stage(row.stage))
    return list(found.values())
