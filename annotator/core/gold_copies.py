"""Rules of twins: copies of gold documents that measure people (``Document.twin_of``).

A newcomer practices on copies of their own, announced. Other copies are mixed in unannounced: for annotators such a
copy stands in the place of its gold document, under its name, and the gold itself is not there, since whoever finds it
reads the answers. Who has worked on the gold knows it, keeps it, and is never measured by its copy.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotator.core.models import Annotation, Benchmark, Document, Membership, SignOff, User
from annotator.core.rules import ADMIN_ROLES, NotAllowedError, role_of
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Phase, Role, Stage

GONE = "Document not found."
IS_GOLD = Q(stage=Stage.REVISE, phase=Phase.AGREED)
IS_OVER = IS_GOLD | Q(phase=Phase.DISCARDED)


def known_gold(user: User, golds: Collection[int]) -> set[int]:
    """Those of these gold documents (primary keys) whose answers the person knows: they have labeled or signed them,
    or practiced on a copy. Three queries; none without documents."""
    if not golds:
        return set()
    labelled = Annotation.objects.filter(person=user, document__in=golds).values_list("document", flat=True)
    signed = SignOff.objects.filter(by=user, annotation__document__in=golds)
    practised = Document.objects.filter(practice_for=user, twin_of__in=golds).values_list("twin_of", flat=True)
    signed_documents = signed.values_list("annotation__document", flat=True)
    return {pk for pk in (*labelled, *signed_documents, *practised) if pk is not None}


@dataclass(frozen=True, slots=True)
class Copies:
    """What twins mean for one person, in primary keys: the copies mixed in that stand for their gold, those that are
    not for them because they know the gold, the gold that they must not find, and the benchmarks in which practice
    that they have begun comes before real work."""

    given: set[int]
    not_given: set[int]
    hidden_gold: set[int]
    practising: set[int]


def copies_for(user: User, benchmarks: Collection[int]) -> Copies:
    """What twins mean for a person who labels in these benchmarks (primary keys). One query where nothing is
    mixed in, else four."""
    rows = Document.objects.filter(benchmark__in=benchmarks, twin_of__isnull=False)
    rows = rows.filter(Q(practice_for__isnull=True) | Q(practice_for=user)).exclude(phase=Phase.DISCARDED)
    mixed_in: dict[int, int] = {}
    practised: set[int] = set()
    practising: set[int] = set()
    columns = ("pk", "benchmark", "twin_of", "practice_for", "stage", "phase")
    for twin, benchmark, gold, newcomer, stage, phase in rows.values_list(*columns):
        if newcomer is None:
            mixed_in[twin] = gold or 0
        elif (stage, phase) != (Stage.REVISE, Phase.AGREED):
            practised.add(gold or 0)
            practising.add(benchmark)
    known = known_gold(user, set(mixed_in.values()))
    not_given = {twin for twin, gold in mixed_in.items() if gold in known}
    return Copies(set(mixed_in) - not_given, not_given, (set(mixed_in.values()) - known) | practised, practising)


def unfinished_practice(user: User) -> QuerySet[Document]:
    """The practice documents of a person that are neither gold yet nor excused."""
    return Document.objects.filter(practice_for=user).exclude(IS_OVER)


# --- who sees what --------------------------------------------------------------------------------


def check_see_document(user: User, document: Document) -> None:
    """Members see the documents of their benchmark; gold is hidden from those who are measured by a copy of it, and
    practice from everyone but the newcomer and those who manage the benchmark."""
    role = role_of(user, document.benchmark)
    if role is None:
        raise NotAllowedError("You are not a member of this benchmark. Its owner can invite you.")
    if role in ADMIN_ROLES:
        return
    if document.twin_of_id is not None:
        is_mine = document.practice_for_id == user.pk
        if role == Role.RESEARCHER or (document.practice_for_id is not None and not is_mine):
            raise NotAllowedError(GONE)
    elif document.is_gold and role != Role.RESEARCHER and document.twins.exists():
        if unfinished_practice(user).filter(twin_of=document).exists():
            raise NotAllowedError(GONE)
        is_measured = document.twins.filter(practice_for__isnull=True).exclude(phase=Phase.DISCARDED).exists()
        if is_measured and not known_gold(user, [document.pk]):
            raise NotAllowedError(GONE)


# --- who practices --------------------------------------------------------------------------------


def practice_gold(benchmark: Benchmark) -> QuerySet[Document]:
    """The gold documents that new annotators practice on: the first ones in the benchmark's order."""
    gold = Document.objects.filter(IS_GOLD, benchmark=benchmark, twin_of__isnull=True)
    return gold.order_by("order", "pk")[: benchmark.practice_documents]


def due_to_practise(user: User) -> QuerySet[Benchmark]:
    """The benchmarks in which this person is a new annotator without practice documents: they have submitted nothing
    there, the protocol asks for practice, and there is gold to practice on."""
    here = {"benchmark": OuterRef("pk")}
    gold = Document.objects.filter(IS_GOLD, twin_of__isnull=True, **here)
    submitted = Annotation.objects.filter(
        document__benchmark=OuterRef("pk"),
        person=user,
        kind=AnnotationKind.INDIVIDUAL,
        state=AnnotationState.SUBMITTED,
    )
    annotator = Membership.objects.filter(user=user, role=Role.ANNOTATOR, active=True)
    return (
        Benchmark.objects.filter(practice_documents__gt=0, pk__in=annotator.values("benchmark"))
        .exclude(Exists(Document.objects.filter(practice_for=user, **here)))
        .exclude(Exists(submitted))
        .filter(Exists(gold))
        .order_by("pk")
    )


def must_practise(user: User, benchmark: Benchmark) -> bool:
    """Does the person's practice come before real work in this benchmark? One query; two where it wants practice."""
    if unfinished_practice(user).filter(benchmark=benchmark).exists():
        return True
    return benchmark.practice_documents > 0 and due_to_practise(user).filter(pk=benchmark.pk).exists()


def check_may_begin(user: User, document: Document) -> None:
    """Further reasons, besides ``rules.check_take_place``, why the person can't start this document: unfinished
    practice, or knowing the gold that it is a copy of."""
    if document.practice_for_id is not None:
        return
    if must_practise(user, document.benchmark):
        raise NotAllowedError(
            "Complete your practice documents first. You'll find the next one in “My work”. An admin can excuse you."
        )
    if document.twin_of_id is not None and known_gold(user, [document.twin_of_id]):
        raise NotAllowedError("This document already has all its annotators. Your next one is in “My work”.")
