"""The people of a benchmark: invitations by link or e-mail, roles, leaving and coming back.

Groups are in ``annotator.team.actions.groups``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.core.mail import EmailMessage
from django.db import transaction
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.enqueue import after_commit
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.locking import lock_benchmark
from annotator.core.actions.recorder import Action
from annotator.core.models import Activity, Benchmark, Group, GroupMember, Invitation, Membership, User
from annotator.core.vocabulary import Role, Seat
from annotator.stages.actions.adjudicate import close_what_waits_for_nobody
from annotator.stages.actions.places import take_back_of
from annotator.team import rules as team_rules
from annotator.team.actions.groups import leave_seat, take_seat

DAYS = 14  # for which an invitation holds
MAX_DAYS = 365
MAX_USES = 10_000
MAX_NOTE = 1000
MAX_ADDRESSES = 100  # of one form
MAIL_INVITATION = "annotator.mail_invitation"
DEACTIVATE = "deactivate-member"


def _record_of(membership: Membership) -> str:
    return f"membership:{membership.pk}"


def _change(membership: Membership, field: str, before: Any, after: Any) -> dict[str, Any]:
    return {"record": _record_of(membership), "field": field, "before": before, "after": after}


# --- invitations ----------------------------------------------------------------------------------


def invite(
    benchmark: Benchmark,
    *,
    by: User,
    role: Role = Role.ANNOTATOR,
    group: Group | None = None,
    email: str = "",
    days: int = DAYS,
    site: str = "",
    note: str = "",
    max_uses: int | None = None,
) -> Invitation:
    """A link that lets people into the benchmark, with a seat in a group where one is named.

    With an e-mail address it is for one person, and it is mailed with the ``note`` where Touchstone can mail and
    ``site`` ("https://host", where the link begins) is known. Without, ``max_uses`` people can join by it. Raises
    NotAllowedError by the rules, BadValueError for a group that does not fit or a number out of range.
    """
    if max_uses is not None and not 1 <= max_uses <= MAX_USES:
        raise BadValueError(f"An invitation can be used between 1 and {MAX_USES:,} times.")
    if not 1 <= days <= MAX_DAYS:
        raise BadValueError(f"An invitation is valid for between 1 and {MAX_DAYS} days.")
    with transaction.atomic():
        team_rules.check_give_role(by, benchmark, role)
        if group is not None:
            _check_group(benchmark, group, role)
        invitation = Invitation.objects.create(
            benchmark=benchmark,
            role=role,
            group=group,
            email=email,
            note=note.replace("\x00", "").strip()[:MAX_NOTE],
            max_uses=None if email else max_uses,
            created_by=by,
            expires_at=timezone.now() + dt.timedelta(days=days),
        )
        whom = email or "by link"
        reason = f"{role.label}, {whom}, {group}" if group else f"{role.label}, {whom}"
        Action(name="invite", by=by, benchmark=benchmark, reason=reason).write()
        if email and site and settings.MAIL_IS_ON:
            after_commit(MAIL_INVITATION, invitation.pk, site)
    return invitation


def invite_each(
    benchmark: Benchmark,
    emails: Sequence[str],
    *,
    by: User,
    role: Role | None,
    group: Group | None = None,
    days: int = DAYS,
    site: str = "",
    note: str = "",
) -> list[Invitation]:
    """An invitation for each address, all or none. ``role`` None: the people of a group, who are as many annotators as
    the protocol asks and then an adjudicator, in the order of the addresses.

    Raises as ``invite``, and BadValueError for too many addresses, or another number than a group has.
    """
    if len(emails) > MAX_ADDRESSES:
        raise BadValueError(f"Invite at most {MAX_ADDRESSES} people at once; these are {len(emails)}.")
    roles = [role] * len(emails) if role else [*[Role.ANNOTATOR] * benchmark.overlap, Role.THIRD_RATER]
    if len(roles) != len(emails):
        annotators = "one annotator" if benchmark.overlap == 1 else f"{benchmark.overlap} annotators"
        raise BadValueError(
            f"A whole group is {annotators} and an adjudicator: {len(roles)} addresses, the "
            f"adjudicator’s last. These are {len(emails)}."
        )
    shared: dict[str, Any] = {"by": by, "group": group, "days": days, "site": site, "note": note}
    with transaction.atomic():
        return [invite(benchmark, role=each, email=email, **shared) for each, email in zip(roles, emails, strict=True)]


def _check_group(benchmark: Benchmark, group: Group, role: Role) -> None:
    if group.benchmark_id != benchmark.pk:
        raise BadValueError("This group belongs to another benchmark.")
    if role == Role.RESEARCHER:
        raise BadValueError("Researchers don’t annotate, so they can’t be in a group. Leave the group blank.")
    if role == Role.THIRD_RATER and group.members.filter(seat=Seat.THIRD_RATER, active=True).exists():
        raise BadValueError(f"{group} already has an adjudicator. Leave the group blank, or remove them first.")


def withdraw(invitation: Invitation, *, by: User) -> None:
    """The link lets nobody in any more; who came by it stays. Withdrawing twice changes nothing."""
    with transaction.atomic():
        team_rules.check_give_role(by, invitation.benchmark, Role(invitation.role))
        invitation = Invitation.objects.select_for_update(of=("self",)).get(pk=invitation.pk)
        if invitation.accepted_by_id is not None:
            raise BadValueError("This invitation has already been used. Deactivate the member instead.")
        _withdraw([invitation], by=by)


def _withdraw(invitations: list[Invitation], *, by: User) -> None:
    for invitation in invitations:
        if invitation.withdrawn_at is None:
            invitation.withdrawn_at = timezone.now()
            invitation.save(update_fields=["withdrawn_at"])
            Action(name="withdraw-invitation", by=by, benchmark=invitation.benchmark, reason=str(invitation)).write()


def _withdraw_what_they_may_not_give(person: User, benchmark: Benchmark, *, by: User) -> None:
    """Links that someone made for roles that they cannot give any more end with their right to."""
    pending = Invitation.objects.filter(
        benchmark=benchmark, created_by=person, withdrawn_at__isnull=True, accepted_by__isnull=True
    ).select_related("benchmark")
    _withdraw([each for each in pending if not team_rules.can_give_role(person, benchmark, Role(each.role))], by=by)


def accept(invitation: Invitation, *, by: User) -> Membership:
    """The person joins, or has their role raised; it is never lowered. Who gains nothing by it uses nothing up.

    Who is not active any more becomes active again with the invitation's role, unless they were deactivated after it
    was made: an old link does not undo an admin's decision. Raises InvitationOverError with what is the matter.
    """
    with transaction.atomic():
        benchmark = lock_benchmark(invitation.benchmark_id)
        invitation = (
            Invitation.objects.select_for_update(of=("self",))
            .select_related("benchmark", "group__benchmark")
            .get(pk=invitation.pk)
        )
        membership = Membership.objects.filter(benchmark=benchmark, user=by).select_related("user").first()
        if membership is not None and membership.active and not gains(membership, invitation):
            return membership
        team_rules.check_invitation(invitation)
        action = Action(name="join", by=by, benchmark=benchmark, reason=str(invitation))
        if membership is None:
            membership = Membership.objects.create(benchmark=benchmark, user=by, role=invitation.role)
            action.changes.append(_change(membership, "role", None, membership.role))
        elif not membership.active:
            _check_not_put_out_since(membership, invitation)
            action.changes.append(_change(membership, "active", False, True))
            _give_role(membership, invitation.role, action, active=True)
        elif team_rules.is_higher(invitation.role, than=membership.role):
            _give_role(membership, invitation.role, action, active=True)
        action.write()
        if invitation.group is not None:
            _seat_if_free(invitation, by)
        invitation.uses += 1
        if invitation.email:
            invitation.accepted_by, invitation.accepted_at = by, timezone.now()
        invitation.save(update_fields=["uses", "accepted_by", "accepted_at"])
    return membership


def gains(membership: Membership, invitation: Invitation) -> bool:
    """Would the invitation give this active member a higher role, or a group that they are not in?"""
    if team_rules.is_higher(invitation.role, than=membership.role):
        return True
    in_group = GroupMember.objects.filter(group=invitation.group_id, user=membership.user_id, active=True)
    return invitation.group_id is not None and not in_group.exists()


def _give_role(membership: Membership, role: str, action: Action, *, active: bool) -> None:
    if membership.role != role:
        action.changes.append(_change(membership, "role", membership.role, role))
    membership.role, membership.active = role, active
    membership.save(update_fields=["role", "active"])


def _check_not_put_out_since(membership: Membership, invitation: Invitation) -> None:
    since = Activity.objects.filter(
        benchmark=invitation.benchmark_id, action=DEACTIVATE, at__gte=invitation.created_at
    ).values_list("changes", flat=True)
    record = _record_of(membership)
    if any(change["record"] == record for changes in since for change in changes):
        raise team_rules.InvitationOverError(
            "You were removed from this benchmark after this invitation was created. "
            "An owner or admin can bring you back."
        )


def _seat_if_free(invitation: Invitation, person: User) -> None:
    """The seat that comes with the invitation. Who cannot have it is in the benchmark all the same."""
    seat = Seat.THIRD_RATER if invitation.role == Role.THIRD_RATER else Seat.ANNOTATOR
    assert invitation.group is not None
    try:
        take_seat(invitation.group, person, seat, by=person)
    except (BadValueError, rules.NotAllowedError):
        return  # someone else has it by now: admins see the person on the team page without a group


def register(invitation: Invitation, *, username: str, display_name: str, email: str, password: str) -> User:
    """An account for someone who comes by an invitation, and their membership; none without the other.

    The caller has validated the values. Raises InvitationOverError, IntegrityError when the user name was taken
    meanwhile.
    """
    hashed = make_password(password)  # slow on purpose, so before the transaction
    with transaction.atomic():
        team_rules.check_invitation(invitation)
        person = User.objects.create(username=username, display_name=display_name, email=email, password=hashed)
        if email:
            _keep_address(person, email, is_verified=email.casefold() == invitation.email.casefold())
        Action(name="register", by=person, benchmark=invitation.benchmark, reason=username).write()
        accept(invitation, by=person)
    return person


def _keep_address(person: User, email: str, *, is_verified: bool) -> None:
    """The address for mails about the account. The one that the invitation went to needs no other proof."""
    is_free = not EmailAddress.objects.filter(email__iexact=email, verified=True).exists()
    EmailAddress.objects.create(user=person, email=email.lower(), primary=True, verified=is_verified and is_free)


def mail_invitation(invitation_id: int, site: str) -> None:
    """Mail the link to the one whom it is for; nothing if it has been withdrawn or used meanwhile."""
    invitation = Invitation.objects.select_related("benchmark", "created_by").get(pk=invitation_id)
    try:
        team_rules.check_invitation(invitation)
    except team_rules.InvitationOverError:
        return
    words = {"invitation": invitation, "link": site + reverse("invitation", args=[invitation.token])}
    subject = " ".join(f"Invitation to {invitation.benchmark}".split())  # a header holds no line break
    text = render_to_string("team/invitation.txt", words)
    EmailMessage(subject, text, to=[invitation.email]).send()


# --- members --------------------------------------------------------------------------------------


def change_role(membership: Membership, role: Role, *, by: User) -> None:
    """Give a member another role. Who does not label first any more leaves those seats, and their open work is taken
    back; what they have submitted stays and counts. Raises NotAllowedError by the rules."""
    with transaction.atomic():
        membership = _locked(membership)
        team_rules.check_change_role(by, membership, role)
        if not membership.active:
            raise BadValueError(f"{membership.user} is not active in this benchmark. Reactivate them first.")
        if membership.role == role:
            return
        if role not in rules.LABEL_ROLES:
            reason = f"{membership.user} is {role.label.lower()} now"
            take_back_of(membership.user, membership.benchmark, by=by, reason=reason)
        action = Action(name="change-role", by=by, benchmark=membership.benchmark, reason=f"{membership.user}")
        before = membership.role
        _give_role(membership, role, action, active=True)
        action.reason = f"{membership.user}: {Role(before).label} to {role.label}"
        action.write()
        for member in _seats_of(membership):
            if not team_rules.can_hold_seat(membership, Seat(member.seat)):
                leave_seat(member, by=by)
        _withdraw_what_they_may_not_give(membership.user, membership.benchmark, by=by)


def deactivate(membership: Membership, *, by: User) -> None:
    """Take a member out: the benchmark does not exist for them any more. Their finished work stays and counts, their
    open work is taken back, their seats in groups are free. Raises NotAllowedError by the rules."""
    with transaction.atomic():
        membership = _locked(membership)
        if not membership.active:
            return
        team_rules.check_deactivate(by, membership)
        take_back_of(membership.user, membership.benchmark, by=by, reason=f"{membership.user} has left the benchmark")
        for member in _seats_of(membership):
            leave_seat(member, by=by)
        membership.active = False
        membership.save(update_fields=["active"])
        action = Action(name=DEACTIVATE, by=by, benchmark=membership.benchmark, reason=str(membership.user))
        action.changes.append(_change(membership, "active", True, False))
        action.write()
        close_what_waits_for_nobody(membership.benchmark, by=by)
        _withdraw_what_they_may_not_give(membership.user, membership.benchmark, by=by)


def reactivate(membership: Membership, *, by: User) -> None:
    """Bring a member back with the role that they had, without a group. Raises NotAllowedError by the rules."""
    with transaction.atomic():
        membership = _locked(membership)
        if membership.active:
            return
        team_rules.check_give_role(by, membership.benchmark, Role(membership.role))
        membership.active = True
        membership.save(update_fields=["active"])
        action = Action(name="reactivate-member", by=by, benchmark=membership.benchmark, reason=str(membership.user))
        action.changes.append(_change(membership, "active", False, True))
        action.write()


def _locked(membership: Membership) -> Membership:
    """The membership as it stands, while nobody else changes the team: the last owner is counted under this lock."""
    lock_benchmark(membership.benchmark_id)
    return Membership.objects.select_related("benchmark", "user").get(pk=membership.pk)


def _seats_of(membership: Membership) -> list[GroupMember]:
    """The seats that a member holds in the groups of the benchmark."""
    seats = GroupMember.objects.filter(group__benchmark=membership.benchmark_id, user=membership.user_id, active=True)
    return list(seats.select_related("user", "group__benchmark"))
