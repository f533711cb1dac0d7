"""Rules for inviting people, changing roles and assigning seats in a benchmark."""

from __future__ import annotations

from django.utils import timezone

from annotator.core.models import (
    Benchmark,
    CrowdLink,
    Group,
    Invitation,
    Membership,
    User,
)
from annotator.core.rules import (
    ADMIN_ROLES,
    NotAllowedError,
    allowed,
    check_manage,
    role_of,
)
from annotator.core.vocabulary import Role, Seat


class InvitationOverError(NotAllowedError):
    """The invitation is no longer valid. The message says why."""


def is_higher(role: str, than: str) -> bool:
    """Roles are in the vocabulary's order, owner first."""
    order = list(Role)
    return order.index(Role(role)) < order.index(Role(than))


def check_give_role(user: User, benchmark: Benchmark, role: Role) -> None:
    """Who may add someone with this role, or reactivate them: owners anyone; admins annotators, adjudicators and
    researchers."""
    check_manage(user, benchmark)
    if role in ADMIN_ROLES and role_of(user, benchmark) != Role.OWNER:
        raise NotAllowedError("Only an owner can add owners and admins. Ask one of them.")


def can_give_role(user: User, benchmark: Benchmark, role: Role) -> bool:
    return allowed(check_give_role, user, benchmark, role)


def check_manage_member(user: User, membership: Membership) -> None:
    """Who may change this member at all: owners anyone; admins everyone except owners and other admins, and themselves
    (they may step down)."""
    check_manage(user, membership.benchmark)
    is_peer = membership.role in ADMIN_ROLES and membership.user_id != user.pk
    if is_peer and role_of(user, membership.benchmark) != Role.OWNER:
        raise NotAllowedError(
            f"{membership.user} is {Role(membership.role).label.lower()}: only an owner can change that."
        )


def check_change_role(user: User, membership: Membership, role: Role) -> None:
    """May the user give this member the role? Nobody can promote themselves, and there must always be an owner."""
    check_manage_member(user, membership)
    own = role_of(user, membership.benchmark)
    if membership.user_id == user.pk and own is not None and is_higher(role, than=own):
        raise NotAllowedError("You can’t raise your own role. An owner can give you this role.")
    check_give_role(user, membership.benchmark, role)
    if role != Role.OWNER:
        check_an_owner_remains(membership)


def check_deactivate(user: User, membership: Membership) -> None:
    """May the user remove this member from the benchmark?"""
    check_manage_member(user, membership)
    check_an_owner_remains(membership)


def check_an_owner_remains(membership: Membership) -> None:
    """The last owner can't be changed, because someone must be able to manage the benchmark."""
    others = Membership.objects.filter(
        benchmark=membership.benchmark_id, role=Role.OWNER, active=True, user__is_active=True
    ).exclude(pk=membership.pk)
    if membership.role == Role.OWNER and not others.exists():
        raise NotAllowedError(f"{membership.user} is the only owner. Make someone else an owner first.")


def check_hold_seat(membership: Membership, seat: Seat) -> None:
    """May this member have the seat in a group? Researchers don't label; adjudicators don't annotate independently."""
    if not membership.active:
        raise NotAllowedError(f"{membership.user} is not active in this benchmark. Reactivate them first.")
    if membership.role == Role.RESEARCHER:
        raise NotAllowedError(f"{membership.user} is a researcher and doesn’t annotate. Change their role first.")
    if membership.role == Role.THIRD_RATER and seat == Seat.ANNOTATOR:
        raise NotAllowedError(
            f"{membership.user} is an adjudicator and doesn’t annotate independently. Change their role first."
        )


def can_hold_seat(membership: Membership, seat: Seat) -> bool:
    return allowed(check_hold_seat, membership, seat)


def check_delete_group(user: User, group: Group) -> None:
    """Only a group without batches can be deleted."""
    check_manage(user, group.benchmark)
    if group.batches.exists():
        raise NotAllowedError(f"{group} has batches. Assign them to another group before deleting it.")


def check_invitation(invitation: Invitation) -> None:
    """Is this invitation valid? Raises InvitationOverError with a message for each reason."""
    if invitation.withdrawn_at is not None:
        raise InvitationOverError("This invitation was withdrawn. Ask the sender for a new one.")
    if invitation.accepted_by_id is not None:
        raise InvitationOverError("This invitation was for one person and has been used. Ask for one of your own.")
    if invitation.max_uses is not None and invitation.uses >= invitation.max_uses:
        raise InvitationOverError("This invitation has been used as often as it may be. Ask the sender for a new one.")
    if invitation.expires_at <= timezone.now():
        raise InvitationOverError("This invitation has expired. Ask the sender for a new one.")


# --- crowd platforms ------------------------------------------------------------------------------


class CrowdEntryError(NotAllowedError):
    """A worker can't come in by this link. The message says why."""


def check_enter(link: CrowdLink, workers: int) -> None:
    """May one more worker come by the link, which has let in so many?"""
    if link.closed_at is not None or link.benchmark.archived_at is not None:
        raise CrowdEntryError("This study is closed.")
    if link.max_workers is not None and workers >= link.max_workers:
        raise CrowdEntryError("This study has all the people it needs.")


def check_enter_again(link: CrowdLink, person: User) -> None:
    """May the worker sign in again with nothing but their id? Only while that opens nothing but this study's work."""
    if link.closed_at is not None or link.benchmark.archived_at is not None:
        raise CrowdEntryError("This study is closed.")
    memberships = list(Membership.objects.filter(user=person, active=True).values_list("benchmark", "role"))
    is_plain = memberships == [(link.benchmark_id, Role.ANNOTATOR)]
    if not person.is_active or person.is_staff or person.is_superuser or person.has_usable_password() or not is_plain:
        raise CrowdEntryError(
            "This account can’t be used with this link anymore. Contact the people who run the study."
        )
