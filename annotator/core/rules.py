"""Who may do what: for each rule ``check_x`` raises the sentence a person reads, ``can_x`` asks.

Views never ask for roles themselves; guards walk every URL with owner, peer and stranger.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils import timezone

from annotator.core.models import (
    Annotation,
    Benchmark,
    Document,
    Group,
    GroupMember,
    Invitation,
    Membership,
    SentBack,
    User,
)
from annotator.core.vocabulary import STAGES, AnnotationKind, AnnotationState, Phase, Role, Seat, Stage
from annotator.leaderboard.models import Evaluation

ADMIN_ROLES = (Role.OWNER, Role.ADMIN)
LABEL_ROLES = (Role.OWNER, Role.ADMIN, Role.ANNOTATOR)
READ_GOLD_ROLES = (Role.OWNER, Role.ADMIN, Role.RESEARCHER)


class NotAllowedError(Exception):
    """A rule forbids it; the message says why and who can help."""


def allowed(check: Callable[..., object], *args: Any, **kwargs: Any) -> bool:
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


@dataclass(frozen=True, slots=True)
class Rights:
    """What a person's role gives them in a benchmark, for pages that ask for all of it: whether they manage it
    (``check_manage``), and whether they read its gold (``check_export``, ``check_see_agreement`` and their like)."""

    manages: bool
    reads_gold: bool


def rights_in(user: User, benchmark: Benchmark) -> Rights:
    """Asks for the role once."""
    role = role_of(user, benchmark)
    return Rights(role in ADMIN_ROLES, role in READ_GOLD_ROLES)


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


def check_export_people(user: User, benchmark: Benchmark) -> None:
    """People's names, and what each did on documents that are not gold yet, leave through those who manage."""
    if role_of(user, benchmark) not in ADMIN_ROLES:
        raise NotAllowedError(
            "People’s names, and what they did on documents that are not gold yet, are for the owner and the admins."
        )


def can_export_people(user: User, benchmark: Benchmark) -> bool:
    return allowed(check_export_people, user, benchmark)


def check_see_agreement(user: User, benchmark: Benchmark) -> None:
    """Figures per pair tell about people: owners, admins and researchers read them. Annotators see their own."""
    if role_of(user, benchmark) not in READ_GOLD_ROLES:
        raise NotAllowedError(
            "Only owners, admins and researchers see how well people agree. Your own agreement is linked in “My work”."
        )


def can_see_agreement(user: User, benchmark: Benchmark) -> bool:
    return allowed(check_see_agreement, user, benchmark)


def check_see_statistics(user: User, benchmark: Benchmark) -> None:
    """What the gold holds is read by those who read gold: owners, admins and researchers."""
    if role_of(user, benchmark) not in READ_GOLD_ROLES:
        raise NotAllowedError("Only owners, admins and researchers read the statistics. Ask the owner for the role.")


def can_see_statistics(user: User, benchmark: Benchmark) -> bool:
    return allowed(check_see_statistics, user, benchmark)


def check_score(user: User, benchmark: Benchmark) -> None:
    """Scores tell the gold's labels, wrong answer by wrong answer: who reads gold scores and reads scores."""
    if role_of(user, benchmark) not in READ_GOLD_ROLES:
        raise NotAllowedError("Only owners, admins and researchers score against the gold. Ask the owner for the role.")


def can_score(user: User, benchmark: Benchmark) -> bool:
    return allowed(check_score, user, benchmark)


def check_change_evaluation(user: User, evaluation: Evaluation) -> None:
    """Who may score an upload again, hide or delete it: who uploaded it, owners and admins."""
    check_score(user, evaluation.benchmark)
    if evaluation.by_id != user.pk:
        check_manage(user, evaluation.benchmark)


def can_change_evaluation(user: User, evaluation: Evaluation) -> bool:
    return allowed(check_change_evaluation, user, evaluation)


def check_see_agreement_of(user: User, benchmark: Benchmark, person: User) -> None:
    """One person's own agreement: they themselves, owners and admins."""
    if role_of(user, benchmark) is None:
        raise NotAllowedError("You are not a member of this benchmark. Its owner can invite you.")
    if person.pk != user.pk and role_of(user, benchmark) not in ADMIN_ROLES:
        raise NotAllowedError("How somebody’s work fared is for themselves, the owner and the admins.")


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
        if not open_seats and can_manage(user, document.benchmark):
            group = document.batch.group if document.batch else None
            raise NotAllowedError(
                f"This document belongs to {group}, and you are not in it. You can add yourself on the Team page."
            )
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


def still_members(benchmark: Benchmark, people: Collection[int]) -> set[int]:
    """Those of these people (primary keys) who have not left the benchmark. Superusers are in all (``role_of``)."""
    members = Membership.objects.filter(benchmark=benchmark, active=True)
    rows = User.objects.filter(Q(is_superuser=True) | Q(pk__in=members.values("user")), pk__in=people, is_active=True)
    return set(rows.values_list("pk", flat=True))


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


def check_look_back(user: User, document: Document, stage: Stage) -> None:
    """May this person look back at how a stage was agreed? Those who took part, owners and admins."""
    if role_of(user, document.benchmark) is None:
        raise NotAllowedError("You are not a member of this benchmark. Its owner can invite you.")
    if document.phase == Phase.DISCARDED:
        raise NotAllowedError("This document was discarded. An admin can bring it back.")
    agreed = document.annotations.filter(stage=stage, kind=AnnotationKind.CONSOLIDATED, state=AnnotationState.SUBMITTED)
    if not agreed.exists():
        raise NotAllowedError(f"{stage.label} can be agreed when everyone has submitted it.")
    if len(partners_of(document, stage)) < 2:
        raise NotAllowedError(f"{stage.label} was one person’s work: there was nothing to settle.")
    if not takes_part(user, document, stage) and not can_manage(user, document.benchmark):
        raise NotAllowedError("How it was settled is for those who took part, the owner and the admins.")


def can_look_back(user: User, document: Document, stage: Stage) -> bool:
    return allowed(check_look_back, user, document, stage)


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
            "An admin has taken this work back. What you did is kept: "
            "if a place is free, open the document again and go on."
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


# --- the team -------------------------------------------------------------------------------------


class InvitationOverError(NotAllowedError):
    """An invitation that lets nobody in any more; the message says why."""


def is_higher(role: str, than: str) -> bool:
    """Roles stand in the order of the vocabulary, the owner first."""
    order = list(Role)
    return order.index(Role(role)) < order.index(Role(than))


def check_give_role(user: User, benchmark: Benchmark, role: Role) -> None:
    """Who may bring somebody in with this role, or back: owners everyone, admins those who label, rate and read."""
    check_manage(user, benchmark)
    if role in ADMIN_ROLES and role_of(user, benchmark) != Role.OWNER:
        raise NotAllowedError("Only an owner makes owners and admins. Ask one of them.")


def can_give_role(user: User, benchmark: Benchmark, role: Role) -> bool:
    return allowed(check_give_role, user, benchmark, role)


def check_manage_member(user: User, membership: Membership) -> None:
    """Who may change this member at all: owners everyone, admins those who are neither owner nor admin, and themselves
    (they may step down)."""
    check_manage(user, membership.benchmark)
    is_peer = membership.role in ADMIN_ROLES and membership.user_id != user.pk
    if is_peer and role_of(user, membership.benchmark) != Role.OWNER:
        raise NotAllowedError(
            f"{membership.user} is {Role(membership.role).label.lower()}: only an owner changes that."
        )


def can_manage_member(user: User, membership: Membership) -> bool:
    return allowed(check_manage_member, user, membership)


def check_change_role(user: User, membership: Membership, role: Role) -> None:
    """May the user give this member the role? Nobody raises themselves, and an owner always remains."""
    check_manage_member(user, membership)
    own = role_of(user, membership.benchmark)
    if membership.user_id == user.pk and own is not None and is_higher(role, than=own):
        raise NotAllowedError("Nobody raises themselves. An owner can give you this role.")
    check_give_role(user, membership.benchmark, role)
    if role != Role.OWNER:
        check_an_owner_remains(membership)


def check_deactivate(user: User, membership: Membership) -> None:
    """May the user take this member out of the benchmark?"""
    check_manage_member(user, membership)
    check_an_owner_remains(membership)


def check_an_owner_remains(membership: Membership) -> None:
    """The last owner stays what they are: somebody must be able to manage the benchmark."""
    others = Membership.objects.filter(
        benchmark=membership.benchmark_id, role=Role.OWNER, active=True, user__is_active=True
    ).exclude(pk=membership.pk)
    if membership.role == Role.OWNER and not others.exists():
        raise NotAllowedError(f"{membership.user} is the only owner. Make somebody else an owner first.")


def check_change_protocol(user: User, benchmark: Benchmark) -> None:
    """How many people label, when the third rater comes in, practice: the owner's decision."""
    if role_of(user, benchmark) != Role.OWNER:
        raise NotAllowedError("Only an owner changes how this benchmark works.")


def can_change_protocol(user: User, benchmark: Benchmark) -> bool:
    return allowed(check_change_protocol, user, benchmark)


def check_change_overlap(benchmark: Benchmark) -> None:
    """The number of people a document decides what submitting means, so it holds from the first begun document on."""
    begun = Annotation.objects.filter(
        document__benchmark=benchmark, document__practice_for__isnull=True, kind=AnnotationKind.INDIVIDUAL
    )
    if begun.exists():
        raise NotAllowedError(
            "Somebody has begun a document already, so the number of people per document stays as it is. "
            "Make another benchmark if you need another number."
        )


def can_change_overlap(benchmark: Benchmark) -> bool:
    return allowed(check_change_overlap, benchmark)


def check_hold_seat(membership: Membership, seat: Seat) -> None:
    """May this member have the seat in a group? Researchers label nothing, third raters nothing first."""
    if not membership.active:
        raise NotAllowedError(f"{membership.user} is not active in this benchmark. Reactivate them first.")
    if membership.role == Role.RESEARCHER:
        raise NotAllowedError(f"{membership.user} is a researcher and labels nothing. Change their role first.")
    if membership.role == Role.THIRD_RATER and seat == Seat.ANNOTATOR:
        raise NotAllowedError(f"{membership.user} is a third rater and does not label first. Change their role first.")


def can_hold_seat(membership: Membership, seat: Seat) -> bool:
    return allowed(check_hold_seat, membership, seat)


def check_delete_group(user: User, group: Group) -> None:
    """Only a group that is responsible for nothing can go."""
    check_manage(user, group.benchmark)
    if group.batches.exists():
        raise NotAllowedError(f"{group} has batches. Give them to another group first, then delete it.")


def check_invitation(invitation: Invitation) -> None:
    """Does this invitation let anybody in? Raises InvitationOverError, each reason with its own sentence."""
    if invitation.withdrawn_at is not None:
        raise InvitationOverError("This invitation was withdrawn. Ask whoever sent it to you for a new one.")
    if invitation.accepted_by_id is not None:
        raise InvitationOverError("This invitation was for one person and has been used. Ask for one of your own.")
    if invitation.expires_at <= timezone.now():
        raise InvitationOverError("This invitation has expired. Ask whoever sent it to you for a new one.")
