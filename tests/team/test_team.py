"""The team: who may give which role, leaving and coming back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from annotator.core import rules
from annotator.core.actions.benchmarks import change_protocol
from annotator.core.models import Activity, Benchmark, GroupMember, Invitation, User
from annotator.core.vocabulary import AnnotationState, Role, Seat, Stage
from annotator.stages.actions.annotate import open_annotation
from annotator.team import rules as team_rules
from annotator.team.actions import groups as group_actions
from annotator.team.actions import team as actions
from tests.factories import BenchmarkFactory, DocumentFactory, UserFactory, decomposed, member
from tests.teams import at_once, batch_of, group_with, newcomer, ship

pytestmark = pytest.mark.django_db

MANAGED = (Role.ANNOTATOR, Role.THIRD_RATER, Role.RESEARCHER)


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(slug="pilot", name="Pilot", overlap=2)


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER, display_name="Olga Owner")


# --- who may give which role ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "may_give"),
    [
        (Role.OWNER, tuple(Role)),
        (Role.ADMIN, MANAGED),
        (Role.ANNOTATOR, ()),
        (Role.THIRD_RATER, ()),
        (Role.RESEARCHER, ()),
        (None, ()),
    ],
)
def test_owners_invite_everyone_admins_all_but_owners_and_admins_others_nobody(
    benchmark: Benchmark, role: Role | None, may_give: tuple[Role, ...]
) -> None:
    person = member(benchmark, role) if role else UserFactory()
    for wanted in Role:
        if wanted in may_give:
            assert actions.invite(benchmark, by=person, role=wanted).role == wanted
        else:
            with pytest.raises(rules.NotAllowedError):
                actions.invite(benchmark, by=person, role=wanted)
    assert Invitation.objects.count() == len(may_give)


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.THIRD_RATER, Role.RESEARCHER, None])
def test_who_does_not_manage_changes_nobody_not_even_themselves(
    benchmark: Benchmark, owner: User, role: Role | None
) -> None:
    person = member(benchmark, role) if role else UserFactory()
    other = newcomer(benchmark)
    group = group_with(benchmark, owner)
    refused: list[Callable[[], Any]] = [
        lambda: actions.change_role(other, Role.RESEARCHER, by=person),
        lambda: actions.deactivate(other, by=person),
        lambda: actions.reactivate(ship(benchmark, gone), by=person),
        lambda: actions.withdraw(invitation, by=person),
        lambda: group_actions.create_group(benchmark, by=person),
        lambda: group_actions.rename_group(group, "Ours", by=person),
        lambda: group_actions.add_member(group, other.user, by=person, seat=Seat.ANNOTATOR),
        lambda: group_actions.remove_member(group, other.user, by=person),
        lambda: group_actions.delete_group(group, by=person),
        lambda: change_protocol(benchmark, overlap=3, third_rater_at_verify=True, practice_documents=0, by=person),
    ]
    gone = member(benchmark)
    actions.deactivate(ship(benchmark, gone), by=owner)
    invitation = actions.invite(benchmark, by=owner)
    if role:
        refused.append(lambda: actions.change_role(ship(benchmark, person), Role.OWNER, by=person))
    before = Activity.objects.count()
    for action in refused:
        with pytest.raises(rules.NotAllowedError):
            action()
    assert Activity.objects.count() == before


def test_admins_change_annotators_third_raters_and_researchers_and_no_owner_or_admin(benchmark: Benchmark) -> None:
    admin = member(benchmark, Role.ADMIN)
    for role in MANAGED:
        someone = newcomer(benchmark, role)
        for wanted in MANAGED:
            actions.change_role(someone, wanted, by=admin)
            assert ship(benchmark, someone.user).role == wanted
        for wanted in (Role.OWNER, Role.ADMIN):
            with pytest.raises(rules.NotAllowedError, match="Only an owner can add owners and admins"):
                actions.change_role(someone, wanted, by=admin)
        actions.deactivate(someone, by=admin)
        actions.reactivate(someone, by=admin)
    for role in (Role.OWNER, Role.ADMIN):
        peers = [newcomer(benchmark, role) for _ in range(2)]
        with pytest.raises(rules.NotAllowedError, match="only an owner can change that"):
            actions.change_role(peers[0], Role.ANNOTATOR, by=admin)
        with pytest.raises(rules.NotAllowedError, match="only an owner can change that"):
            actions.deactivate(peers[0], by=admin)


def test_owners_change_everyone(benchmark: Benchmark, owner: User) -> None:
    for role in Role:
        someone = newcomer(benchmark, role)
        for wanted in Role:
            actions.change_role(someone, wanted, by=owner)
            assert ship(benchmark, someone.user).role == wanted


def test_nobody_raises_themselves_but_admins_may_step_down(benchmark: Benchmark) -> None:
    admin = newcomer(benchmark, Role.ADMIN)
    with pytest.raises(rules.NotAllowedError, match="You can’t raise your own role"):
        actions.change_role(admin, Role.OWNER, by=admin.user)
    actions.change_role(admin, Role.ANNOTATOR, by=admin.user)
    assert ship(benchmark, admin.user).role == Role.ANNOTATOR


def test_the_last_owner_stays_until_there_is_another(benchmark: Benchmark, owner: User) -> None:
    superuser = UserFactory(is_superuser=True)
    for by in (owner, superuser):
        for act in (
            lambda by=by: actions.change_role(ship(benchmark, owner), Role.ADMIN, by=by),
            lambda by=by: actions.deactivate(ship(benchmark, owner), by=by),
        ):
            with pytest.raises(rules.NotAllowedError, match="Olga Owner is the only owner"):
                act()
    # Who has left, or whose account is closed, is no other owner.
    former, closed = newcomer(benchmark, Role.OWNER), member(benchmark, Role.OWNER, is_active=False)
    actions.deactivate(former, by=owner)
    with pytest.raises(rules.NotAllowedError, match="only owner"):
        actions.deactivate(ship(benchmark, owner), by=owner)
    assert closed.memberships.get().active
    member(benchmark, Role.OWNER)
    actions.deactivate(ship(benchmark, owner), by=owner)
    assert rules.role_of(owner, benchmark) is None


@pytest.mark.django_db(transaction=True)
def test_two_owners_who_put_each_other_out_at_once_leave_one(benchmark: Benchmark) -> None:
    one, two = newcomer(benchmark, Role.OWNER), newcomer(benchmark, Role.OWNER)
    outcomes = at_once(
        lambda: actions.deactivate(one, by=two.user), lambda: actions.change_role(two, Role.ADMIN, by=one.user)
    )
    assert sorted(type(each).__name__ for each in outcomes) == ["NoneType", "NotAllowedError"]
    assert benchmark.memberships.filter(role=Role.OWNER, active=True).count() == 1


# --- leaving and coming back ----------------------------------------------------------------------


def test_who_is_taken_out_keeps_what_is_finished_and_gives_back_what_is_open(benchmark: Benchmark, owner: User) -> None:
    ada, ben, cy = member(benchmark), member(benchmark), member(benchmark)
    group = group_with(benchmark, owner, ada, ben)
    first, second = batch_of(group, 2)
    finished = decomposed(first, ada)
    begun = open_annotation(second, Stage.DECOMPOSE, by=ada)
    actions.deactivate(ship(benchmark, ada), by=owner)
    finished.refresh_from_db()
    begun.refresh_from_db()
    assert (finished.state, finished.seat) == (AnnotationState.SUBMITTED, 1)
    assert (begun.state, begun.seat) == (AnnotationState.TAKEN_BACK, None)
    assert begun.sentences.exists()  # nothing is deleted
    with pytest.raises(rules.NotAllowedError):
        open_annotation(second, Stage.DECOMPOSE, by=ada)
    # The seat in the group and the place on the document are free for who comes.
    assert not GroupMember.objects.get(group=group, user=ada).active
    group_actions.add_member(group, cy, by=owner, seat=Seat.ANNOTATOR)
    assert open_annotation(second, Stage.DECOMPOSE, by=cy).seat == 1
    # The finished work counts: with Ben's the stage is complete.
    decomposed(first, ben)
    first.refresh_from_db()
    assert first.phase == "consolidating"


def test_who_comes_back_has_the_role_of_before_and_goes_on_where_a_place_is_free(
    benchmark: Benchmark, owner: User
) -> None:
    ada = member(benchmark)
    begun = open_annotation(DocumentFactory(benchmark=benchmark), Stage.DECOMPOSE, by=ada)
    actions.deactivate(ship(benchmark, ada), by=owner)
    actions.deactivate(ship(benchmark, ada), by=owner)  # twice is harmless
    actions.reactivate(ship(benchmark, ada), by=owner)
    assert rules.role_of(ada, benchmark) == Role.ANNOTATOR
    assert open_annotation(begun.document, Stage.DECOMPOSE, by=ada).pk == begun.pk
    done = list(Activity.objects.filter(action__endswith="-member").order_by("pk").values_list("action", "by"))
    assert done == [("deactivate-member", owner.pk), ("reactivate-member", owner.pk)]


@pytest.mark.parametrize("role", [Role.THIRD_RATER, Role.RESEARCHER])
def test_who_does_not_label_any_more_gives_seat_and_open_work_back(
    benchmark: Benchmark, owner: User, role: Role
) -> None:
    ada = member(benchmark)
    group = group_with(benchmark, owner, ada)
    begun = open_annotation(batch_of(group, 1)[0], Stage.DECOMPOSE, by=ada)
    actions.change_role(ship(benchmark, ada), role, by=owner)
    begun.refresh_from_db()
    assert begun.state == AnnotationState.TAKEN_BACK
    assert not GroupMember.objects.get(group=group, user=ada).active
    change = Activity.objects.get(action="change-role").changes[0]
    assert (change["field"], change["before"], change["after"]) == ("role", "annotator", role)


def test_links_end_with_the_right_of_their_maker_to_give_the_role(benchmark: Benchmark, owner: User) -> None:
    second = newcomer(benchmark, Role.OWNER)
    to_admins = actions.invite(benchmark, by=second.user, role=Role.ADMIN)
    to_annotators = actions.invite(benchmark, by=second.user)
    actions.change_role(second, Role.ADMIN, by=owner)
    with pytest.raises(team_rules.InvitationOverError, match="withdrawn"):
        actions.accept(to_admins, by=UserFactory())
    actions.accept(to_annotators, by=UserFactory())
    actions.deactivate(second, by=owner)
    with pytest.raises(team_rules.InvitationOverError, match="withdrawn"):
        actions.accept(to_annotators, by=UserFactory())
