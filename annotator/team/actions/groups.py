"""Groups: two annotators and an adjudicator, responsible for batches (Factcheck-Bench section 3.2).

When a group changes its members, finished work stays and counts. Open work of members who leave is withdrawn, so that
their places are free for new members.
"""

from __future__ import annotations

from django.db import transaction

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.locking import lock_benchmark
from annotator.core.actions.recorder import Action
from annotator.core.models import Annotation, Benchmark, Group, GroupMember, Membership, User
from annotator.core.vocabulary import Seat
from annotator.stages.actions.places import take_back_each
from annotator.team import rules as team_rules

MAX_NAME = 120


def create_group(benchmark: Benchmark, *, by: User, name: str = "") -> Group:
    """A new group without members. Without a name, it becomes "Group 1", or the first free number.

    Raises NotAllowedError by the rules, BadValueError for a name that is taken or too long.
    """
    with transaction.atomic():
        rules.check_manage(by, benchmark)
        lock_benchmark(benchmark.pk)
        group = Group.objects.create(benchmark=benchmark, name=_name(benchmark, name) or _free_name(benchmark))
        Action(name="create-group", by=by, benchmark=benchmark, reason=group.name).write()
    return group


def rename_group(group: Group, name: str, *, by: User) -> None:
    """Rename the group. Raises BadValueError for a name that is blank, taken or too long."""
    with transaction.atomic():
        rules.check_manage(by, group.benchmark)
        lock_benchmark(group.benchmark_id)
        before, after = group.name, _name(group.benchmark, name, of=group)
        if not after:
            raise BadValueError("A group needs a name, for example “Group 1”.")
        if before == after:
            return
        group.name = after
        group.save(update_fields=["name"])
        reason = f"{before} is now {after}"
        Action(name="rename-group", by=by, benchmark=group.benchmark, reason=reason).write()


def _name(benchmark: Benchmark, raw: str, of: Group | None = None) -> str:
    name = " ".join(raw.replace("\x00", "").split())
    if len(name) > MAX_NAME:
        raise BadValueError(f"The name of a group has at most {MAX_NAME} characters; this one has {len(name)}.")
    same = benchmark.groups.filter(name__iexact=name).first()
    if name and same is not None and same != of:
        raise BadValueError(f"A group “{name}” already exists. Choose another name.")
    return name


def _free_name(benchmark: Benchmark) -> str:
    taken = {name.lower() for name in benchmark.groups.values_list("name", flat=True)}
    number = 1
    while f"group {number}" in taken:
        number += 1
    return f"Group {number}"


def add_member(group: Group, person: User, *, by: User, seat: Seat) -> GroupMember:
    """Give a benchmark member a seat in the group. Existing members keep theirs; former members return.

    Raises NotAllowedError if the role doesn't allow the seat, BadValueError if the person has the other seat or the
    group already has an adjudicator.
    """
    with transaction.atomic():
        rules.check_manage(by, group.benchmark)
        lock_benchmark(group.benchmark_id)
        return take_seat(group, person, seat, by=by)


def take_seat(group: Group, person: User, seat: Seat, *, by: User) -> GroupMember:
    """The same for callers that have checked the rules and hold the benchmark's lock. Raises like ``add_member``."""
    membership = Membership.objects.filter(benchmark=group.benchmark_id, user=person).select_related("user").first()
    if membership is None:
        raise rules.NotAllowedError(f"{person} is not a member of this benchmark. Invite them first.")
    team_rules.check_hold_seat(membership, seat)
    member = GroupMember.objects.filter(group=group, user=person).first()
    if member is not None and member.active and member.seat == seat:
        return member
    if member is not None and member.active:
        raise BadValueError(
            f"{person} is {Seat(member.seat).label.lower()} of {group} already. "
            "One person can’t be both. Remove them from the group first."
        )
    third_rater = group.members.filter(seat=Seat.THIRD_RATER, active=True).select_related("user").first()
    if seat == Seat.THIRD_RATER and third_rater is not None:
        raise BadValueError(
            f"{third_rater.user} is already the adjudicator of {group}. A group has only one, so remove them first."
        )
    if member is None:
        member = GroupMember.objects.create(group=group, user=person, seat=seat)
    else:
        member.seat, member.active = seat, True
        member.save(update_fields=["seat", "active"])
    reason = f"{person} as {seat.label.lower()} to {group}"
    Action(name="add-to-group", by=by, benchmark=group.benchmark, reason=reason).write()
    return member


def remove_member(group: Group, person: User, *, by: User) -> None:
    """Remove a person from the group. Their open work in the group's batches is withdrawn; submitted work stays and
    counts. Raises BadValueError if they aren't in the group."""
    with transaction.atomic():
        rules.check_manage(by, group.benchmark)
        lock_benchmark(group.benchmark_id)
        member = group.members.filter(user=person, active=True).select_related("user", "group").first()
        if member is None:
            raise BadValueError(f"{person} is not in {group}.")
        # Seats above the overlap are for people from outside the group, so the person keeps those.
        of_group = Annotation.objects.filter(
            person=person, document__batch__group=group, seat__lte=group.benchmark.overlap
        )
        take_back_each(of_group, by=by, reason=f"{person} has left {group}")
        leave_seat(member, by=by)


def leave_seat(member: GroupMember, *, by: User) -> None:
    """Free the seat itself; the caller has withdrawn open work."""
    member.active = False
    member.save(update_fields=["active"])
    reason = f"{member.user} from {member.group}"
    Action(name="remove-from-group", by=by, benchmark=member.group.benchmark, reason=reason).write()


def delete_group(group: Group, *, by: User) -> None:
    """Delete a group that has no batches. Invitations into it remain, without a group."""
    with transaction.atomic():
        lock_benchmark(group.benchmark_id)
        team_rules.check_delete_group(by, group)
        Action(name="delete-group", by=by, benchmark=group.benchmark, reason=group.name).write()
        group.delete()
