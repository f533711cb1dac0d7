"""Who may do what: for each rule ``check_x`` raises the sentence a person reads, ``can_x`` asks.

Views never ask for roles themselves; guards walk every URL with owner, peer and stranger.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from django.db.models import Q

from annotator.models import Annotation, Benchmark, Document, GroupMember, Membership, SentBack, User
from annotator.vocabulary import STAGES, AnnotationKind, AnnotationState, Phase, Role, Seat, Stage

ADMIN_ROLES = (Role.OWNER, Role.ADMIN)
LABEL_ROLES = (Role.OWNER, Role.ADMIN, Role.ANNOTATOR)
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
    if role == Role.THIRD_RATER:
        raise NotAllowedError("Third raters do not label first: they are asked where two annotators cannot agree.")
    if role not in LABEL_ROLES:
        raise NotAllowedError("Your role reads gold and statistics; it does not label. The owner can change it.")
    if document.phase == Phase.DISCARDED:
        raise NotAllowedError("This document was discarded. An admin can bring it back.")
    if document.is_gold:
        raise NotAllowedError("This document is gold: all three stages are agreed. The owner can reopen one.")
    if document.stage != stage:
        later = Stage(document.stage)
        if STAGES.index(later) > STAGES.index(stage):
            raise NotAllowedError("This stage is agreed already. The owner can reopen it.")
        raise NotAllowedError(f"{stage.label} opens when {later.label.lower()} is agreed.")
    if document.phase == Phase.PREFILLING:
        raise NotAllowedError("The suggestions are still on their way. This page opens by itself when they are there.")
    if document.phase != Phase.INDEPENDENT:
        raise NotAllowedError("Everyone has submitted this stage; it waits to be agreed.")


def check_take_place(user: User, document: Document, stage: Stage, *, seats: Collection[int]) -> int:
    """Which seat this person may take on the document; ``seats`` are those taken at this stage (read under the
    document's lock).

    A batch that belongs to a group is labelled by the group's annotators. The extra seats of cross-annotation are for
    people from outside the group; without a group all seats are for everybody.
    """
    check_start(user, document, stage)
    if document.practice_for_id not in (None, user.pk):
        raise NotAllowedError("This document is somebody else's practice.")
    group_id = document.batch.group_id if document.batch else None
    own, extra = (
        range(1, document.benchmark.overlap + 1),
        range(document.benchmark.overlap + 1, document.people_needed + 1),
    )
    if document.practice_for_id or group_id is None:
        open_seats = range(1, document.people_needed + 1)
    else:
        seat = seat_in_group(user, group_id)
        if seat == Seat.THIRD_RATER:
            raise NotAllowedError("You are this group's third rater: you are asked where its annotators cannot agree.")
        open_seats = own if seat == Seat.ANNOTATOR else extra
        if not open_seats:
            raise NotAllowedError("This document belongs to a group that you are not in. An admin can add you to it.")
    free = [number for number in open_seats if number not in seats]
    if not free:
        raise NotAllowedError("All places on this document are taken. “My work” has the next one for you.")
    return free[0]


def seat_in_group(user: User, group_id: int) -> Seat | None:
    """What the person does in the group now; None if they are not in it (any more)."""
    member = GroupMember.objects.filter(group_id=group_id, user=user, active=True).first()
    return Seat(member.seat) if member else None


def third_raters_of(document: Document, stage: Stage) -> list[User]:
    """Who can be asked as third rater: the group's; without one, the benchmark's third raters; without any, its owners
    and admins. Never somebody who has labelled this stage of the document."""
    labelled = document.annotations.filter(stage=stage, kind=AnnotationKind.INDIVIDUAL).exclude(
        state=AnnotationState.TAKEN_BACK
    )
    members = Membership.objects.filter(benchmark=document.benchmark_id, active=True, user__is_active=True).exclude(
        user__in=labelled.values("person")
    )
    group_id = document.batch.group_id if document.batch else None
    of_group = GroupMember.objects.filter(group=group_id, seat=Seat.THIRD_RATER, active=True)
    for candidates in (
        members.filter(user__in=of_group.values("user")).exclude(role=Role.RESEARCHER) if group_id else members.none(),
        members.filter(role=Role.THIRD_RATER),
        members.filter(role__in=ADMIN_ROLES),
    ):
        found = [row.user for row in candidates.select_related("user").order_by("pk")]
        if found:
            return found
    return []


def partners_of(document: Document, stage: Stage) -> list[Annotation]:
    """The submitted annotations of a stage in the order of seats: those who settle it together."""
    return list(
        document.annotations.filter(stage=stage, kind=AnnotationKind.INDIVIDUAL, state=AnnotationState.SUBMITTED)
        .select_related("person")
        .order_by("seat")
    )


def check_consolidate(user: User, document: Document, stage: Stage) -> None:
    """May this person decide, comment and sign at this stage? Its partners, and its third raters.

    Nothing of a partner's work shows before everyone has submitted.
    """
    if role_of(user, document.benchmark) is None:
        raise NotAllowedError("You are not a member of this benchmark. Its owner can invite you.")
    if document.phase == Phase.DISCARDED:
        raise NotAllowedError("This document was discarded. An admin can bring it back.")
    if document.stage != stage or document.phase != Phase.CONSOLIDATING:
        later = STAGES.index(Stage(document.stage)) > STAGES.index(stage) or document.is_gold
        if later:
            raise NotAllowedError(f"{stage.label} is agreed already. The owner can reopen it.")
        raise NotAllowedError(f"{stage.label} can be agreed when everyone has submitted it.")
    if not takes_part(user, document, stage):
        raise NotAllowedError("Only those who labelled this stage, and its third rater, settle it together.")


def can_consolidate(user: User, document: Document, stage: Stage) -> bool:
    return allowed(check_consolidate, user, document, stage)


def takes_part(user: User, document: Document, stage: Stage) -> bool:
    """Is this person one of the partners of a stage, or its third rater?"""
    is_partner = any(row.person_id == user.pk for row in partners_of(document, stage))
    return is_partner or is_third_rater(user, document, stage)


def is_third_rater(user: User, document: Document, stage: Stage) -> bool:
    return any(row.pk == user.pk for row in third_raters_of(document, stage))


def check_edit(user: User, annotation: Annotation) -> None:
    """Only one's own open annotation can change, while its stage is being worked on."""
    if annotation.kind != AnnotationKind.INDIVIDUAL or annotation.person_id != user.pk:
        raise NotAllowedError("This is somebody else's work: only they can change it.")
    if annotation.state == AnnotationState.TAKEN_BACK:
        raise NotAllowedError(
            "An admin has taken this work back. What you did is kept; ask them to give it to you again."
        )
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
