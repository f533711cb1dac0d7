"""Rules for gold copies: copies of gold documents that measure annotators (``Document.twin_of``).

New annotators practice on copies of their own, openly. Hidden copies are not announced: to annotators, the copy
replaces its gold document and carries its name, and the gold itself is invisible, because it would reveal the labels.
People who worked on the gold know the labels, so they see the gold and are never measured by its copy.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from annotator.core.models import Annotation, Benchmark, Document, Membership, SignOff, User
from annotator.core.rules import ADMIN_ROLES, NotAllowedError, role_of
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Phase, Role, Stage

GONE = "Document not found."
IS_GOLD = Q(stage=Stage.REVISE, phase=Phase.AGREED)
IS_OVER = IS_GOLD | Q(phase=Phase.DISCARDED)


def known_gold(user: User, golds: Collection[int]) -> set[int]:
    """The primary keys of those gold documents whose labels the person knows, because they labeled or signed off on
    them or practiced on a copy. Three queries; none without documents."""
    if not golds:
        return set()
    labelled = Annotation.objects.filter(person=user, document__in=golds).values_list("document", flat=True)
    signed = SignOff.objects.filter(by=user, annotation__document__in=golds)
    practised = Document.objects.filter(practice_for=user, twin_of__in=golds).values_list("twin_of", flat=True)
    signed_documents = signed.values_list("annotation__document", flat=True)
    return {pk for pk in (*labelled, *signed_documents, *practised) if pk is not None}


@dataclass(frozen=True, slots=True)
class Copies:
    """What gold copies mean for one person, as primary keys: the hidden copies they see instead of gold, the copies
    that are not for them because they know the gold, the gold that must stay hidden from them, and the benchmarks in
    which unfinished practice comes before real work."""

    given: set[int]
    not_given: set[int]
    hidden_gold: set[int]
    practising: set[int]


def copies_for(user: User, benchmarks: Collection[int]) -> Copies:
    """What gold copies mean for a person who labels in these benchmarks (primary keys). One query if there are none,
    else four."""
    # Practice in any benchmark: its gold may be from one of these.
    hidden_here = Q(benchmark__in=benchmarks, practice_for__isnull=True)
    rows = Document.objects.filter(hidden_here | Q(practice_for=user), twin_of__isnull=False)
    rows = rows.exclude(phase=Phase.DISCARDED)
    mixed_in: dict[int, int] = {}
    practised: set[int] = set()
    practising: set[int] = set()
    columns = ("pk", "benchmark", "twin_of", "practice_for", "stage", "phase")
    for twin, benchmark, gold, newcomer, stage, phase in rows.values_list(*columns):
        if newcomer is None:
            mixed_in[twin] = gold or 0
        elif (stage, phase) != (Stage.REVISE, Phase.AGREED):
            practised.add(gold or 0)
            practising |= {benchmark} & set(benchmarks)
    known = known_gold(user, set(mixed_in.values()))
    not_given = {twin for twin, gold in mixed_in.items() if gold in known}
    return Copies(set(mixed_in) - not_given, not_given, (set(mixed_in.values()) - known) | practised, practising)


def unfinished_practice(user: User) -> QuerySet[Document]:
    """A person's practice documents that are neither finished nor excused."""
    return Document.objects.filter(practice_for=user).exclude(IS_OVER)


# --- who sees what --------------------------------------------------------------------------------


def check_see_document(user: User, document: Document) -> None:
    """Members see the documents of their benchmark. Gold is hidden from people who are measured by a copy of it;
    practice is visible only to the new annotator and to managers."""
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
    """The gold documents that new annotators practice on: the first ones in the order of the benchmark, or of the one
    that it takes practice from."""
    return _gold_to_practise(benchmark)[: benchmark.practice_documents]


def practice_gold_for(benchmark: Benchmark, person: User) -> list[Document]:
    """The same for one new annotator: gold whose labels they know from working in its own benchmark comes last. At most
    two queries."""
    labelled = Annotation.objects.filter(document=OuterRef("pk"), person=person)
    signed = SignOff.objects.filter(annotation__document=OuterRef("pk"), by=person)
    unknown = _gold_to_practise(benchmark).exclude(Exists(labelled)).exclude(Exists(signed))
    number = benchmark.practice_documents
    chosen = list(unknown[:number])
    if len(chosen) < number:
        taken = {document.pk for document in chosen}
        chosen += [document for document in practice_gold(benchmark) if document.pk not in taken]
    return chosen[:number]


def _gold_to_practise(benchmark: Benchmark) -> QuerySet[Document]:
    source = benchmark.practice_from_id or benchmark.pk
    return Document.objects.filter(IS_GOLD, benchmark=source, twin_of__isnull=True).order_by("order", "pk")


def due_to_practise(user: User) -> QuerySet[Benchmark]:
    """The benchmarks in which this person is a new annotator who still needs practice documents: they have submitted
    nothing, the protocol requires practice, and there is gold to practice on."""
    here = {"benchmark": OuterRef("pk")}
    source = Coalesce(OuterRef("practice_from"), OuterRef("pk"))
    gold = Document.objects.filter(IS_GOLD, twin_of__isnull=True, benchmark=source)
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
    """Does practice come before real work for this person in this benchmark? One query; two if the protocol requires
    practice."""
    if unfinished_practice(user).filter(benchmark=benchmark).exists():
        return True
    return benchmark.practice_documents > 0 and due_to_practise(user).filter(pk=benchmark.pk).exists()


def check_may_begin(user: User, document: Document) -> None:
    """Reasons beyond ``rules.check_take_place`` why the person can't start this document: unfinished practice, or
    knowing the gold that it copies."""
    if document.practice_for_id is not None:
        return
    if must_practise(user, document.benchmark):
        raise NotAllowedError(
            "Complete your practice documents first. You'll find the next one in “My work”. An admin can excuse you."
        )
    if document.twin_of_id is not None and known_gold(user, [document.twin_of_id]):
        raise NotAllowedError("This document already has all its annotators. Your next one is in “My work”.")
