"""Who may do what: for each rule ``check_x`` raises the sentence a person reads, ``can_x`` asks.

Views never ask for roles themselves; guards walk every URL with owner, peer and stranger.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import Q

from annotator.models import Annotation, Benchmark, Document, Membership, SentBack, User
from annotator.vocabulary import AnnotationKind, AnnotationState, Phase, Role, Stage

ADMIN_ROLES = (Role.OWNER, Role.ADMIN)
LABEL_ROLES = (Role.OWNER, Role.ADMIN, Role.ANNOTATOR, Role.THIRD_RATER)
READ_GOLD_ROLES = (Role.OWNER, Role.ADMIN, Role.RESEARCHER)


class NotAllowedError(Exception):
    """A rule forbids it; the message says why and who can help."""


def allowed(check: Callable[..., None], *args: Any, **kwargs: Any) -> bool:
    """The asking face of a rule."""
    try:
        check(*args, **kwargs)
    except NotAllowedError:
        return False
    return True


def role_of(user: User, benchmark: Benchmark) -> Role | None:
    """The person's role in the benchmark; None without an active membership. Superusers count as owners."""
    if user.is_superuser:
        return Role.OWNER
    membership = Membership.objects.filter(benchmark=benchmark, user=user, active=True).first()
    return Role(membership.role) if membership else None


def check_create_benchmark(user: User) -> None:
    """Who may make a benchmark: staff and superusers. They own what they make."""
    if not (user.is_staff or user.is_superuser):
        raise NotAllowedError("Only staff can create benchmarks. Ask whoever runs this installation.")


def can_create_benchmark(user: User) -> bool:
    return allowed(check_create_benchmark, user)


def check_see_benchmark(user: User, benchmark: Benchmark) -> None:
    """Members see their benchmark; for all others it does not exist."""
    if role_of(user, benchmark) is None:
        raise NotAllowedError("You are not a member of this benchmark. Its owner can invite you.")


def check_manage(user: User, benchmark: Benchmark) -> None:
    """Import, export settings, discard, reopen, team: owners and admins."""
    if role_of(user, benchmark) not in ADMIN_ROLES:
        raise NotAllowedError("Only the owner or an admin of this benchmark can do this.")


def can_manage(user: User, benchmark: Benchmark) -> bool:
    return allowed(check_manage, user, benchmark)


def check_export(user: User, benchmark: Benchmark) -> None:
    """Gold leaves through owners, admins and researchers."""
    if role_of(user, benchmark) not in READ_GOLD_ROLES:
        raise NotAllowedError("Only owners, admins and researchers export gold. Ask the owner for the role.")


def can_export(user: User, benchmark: Benchmark) -> bool:
    return allowed(check_export, user, benchmark)


def check_start(user: User, document: Document, stage: Stage) -> None:
    """May this person take a place on the document at this stage? (Places are counted in the action, under lock.)"""
    role = role_of(user, document.benchmark)
    if role is None:
        raise NotAllowedError("You are not a member of this benchmark. Its owner can invite you.")
    if role not in LABEL_ROLES:
        raise NotAllowedError("Your role reads gold and statistics; it does not label. The owner can change it.")
    if document.phase == Phase.DISCARDED:
        raise NotAllowedError("This document was discarded. An admin can bring it back.")
    if document.is_gold:
        raise NotAllowedError("This document is gold: all three stages are agreed. The owner can reopen one.")
    if document.stage != stage:
        later = Stage(document.stage)
        if list(Stage).index(later) > list(Stage).index(stage):
            raise NotAllowedError("This stage is agreed already. The owner can reopen it.")
        raise NotAllowedError(f"{stage.label} opens when {later.label.lower()} is agreed.")
    if document.phase == Phase.PREFILLING:
        raise NotAllowedError("The suggestions are still on their way. This page opens by itself when they are there.")
    if document.phase != Phase.INDEPENDENT:
        raise NotAllowedError("Everyone has submitted this stage; it waits to be agreed.")


def check_edit(user: User, annotation: Annotation) -> None:
    """Only one's own open annotation can change, while its stage is being worked on."""
    if annotation.kind != AnnotationKind.INDIVIDUAL or annotation.person_id != user.pk:
        raise NotAllowedError("This is somebody else's work: only they can change it.")
    if annotation.state != AnnotationState.OPEN:
        raise NotAllowedError("You have submitted this stage: it is frozen. The owner can reopen it.")
    check_start(user, annotation.document, Stage(annotation.stage))


def can_edit(user: User, annotation: Annotation) -> bool:
    return allowed(check_edit, user, annotation)


def check_edit_sentence(user: User, annotation: Annotation, sentence_pk: int) -> None:
    """In an annotation that is open only for claims sent back, their sentences alone can change."""
    check_edit(user, annotation)
    if annotation.only_sent_back and sentence_pk not in sent_back_sentences(annotation):
        raise NotAllowedError("Only the sentence whose claim was sent back is open. The rest stays as agreed.")


def sent_back_sentences(annotation: Annotation) -> set[int]:
    """The person's sentences whose agreed claims wait for a repair."""
    open_returns = SentBack.objects.filter(document=annotation.document_id, settled_at__isnull=True)
    # A sentence without an agreed row was split off just now: it belongs to the repair.
    open_rows = Q(agreed_rows__claims__sent_back__in=open_returns) | Q(agreed_rows__isnull=True)
    return set(annotation.sentences.filter(open_rows).values_list("pk", flat=True))
