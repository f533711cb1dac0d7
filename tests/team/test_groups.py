"""Groups, and how the benchmark works."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from annotator.core import rules
from annotator.core.actions.benchmarks import MAX_PEOPLE, change_protocol
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Activity, Benchmark, Group, User
from annotator.core.vocabulary import Role, Seat, Stage
from annotator.stages.actions.annotate import open_annotation
from annotator.team.actions import groups as group_actions
from annotator.team.actions import team as actions
from tests.factories import BenchmarkFactory, DocumentFactory, UserFactory, decomposed, member
from tests.teams import batch_of, get, group_with, ship

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(slug="pilot", name="Pilot", overlap=2)


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER, display_name="Olga Owner")


# --- groups ---------------------------------------------------------------------------------------


def test_groups_are_numbered_and_their_names_are_unique(benchmark: Benchmark, owner: User) -> None:
    first, second = group_with(benchmark, owner), group_with(benchmark, owner)
    assert (first.name, second.name) == ("Group 1", "Group 2")
    group_actions.delete_group(first, by=owner)
    assert group_with(benchmark, owner).name == "Group 1"
    assert group_actions.create_group(benchmark, by=owner, name="  Late   shift ").name == "Late shift"
    for name, why in (("group 2", "already"), ("x" * 121, "at most 120"), ("  ", "needs a name")):
        with pytest.raises(BadValueError, match=why):
            group_actions.rename_group(Group.objects.get(name="Late shift"), name, by=owner)
    group_actions.rename_group(second, "GROUP 2", by=owner)  # its own name in other letters
    assert BenchmarkFactory().groups.count() == 0
    other = BenchmarkFactory()
    assert group_actions.create_group(other, by=member(other, Role.OWNER)).name == "Group 1"


@pytest.mark.parametrize(
    ("role", "seats"),
    [
        (Role.OWNER, {Seat.ANNOTATOR, Seat.THIRD_RATER}),
        (Role.ADMIN, {Seat.ANNOTATOR, Seat.THIRD_RATER}),
        (Role.ANNOTATOR, {Seat.ANNOTATOR, Seat.THIRD_RATER}),
        (Role.THIRD_RATER, {Seat.THIRD_RATER}),
        (Role.RESEARCHER, set()),
        (None, set()),
    ],
)
def test_a_seat_is_for_those_whose_role_allows_it(
    benchmark: Benchmark, owner: User, role: Role | None, seats: set[Seat]
) -> None:
    for seat in Seat:
        person = member(benchmark, role) if role else UserFactory()
        group = group_with(benchmark, owner)
        if seat in seats:
            group_actions.add_member(group, person, by=owner, seat=seat)
            assert rules.seat_in_group(person, group.pk) == seat
        else:
            with pytest.raises(rules.NotAllowedError):
                group_actions.add_member(group, person, by=owner, seat=seat)


def test_a_third_rater_is_not_an_annotator_of_the_same_group_and_a_group_has_one(
    benchmark: Benchmark, owner: User
) -> None:
    ada, dee, other = member(benchmark), member(benchmark), member(benchmark, Role.THIRD_RATER)
    group = group_with(benchmark, owner, ada, third_rater=dee)
    for person, seat, why in (
        (dee, Seat.ANNOTATOR, "One person can’t be both"),
        (ada, Seat.THIRD_RATER, "One person can’t be both"),
        (other, Seat.THIRD_RATER, "A group has only one"),
    ):
        with pytest.raises(BadValueError, match=why):
            group_actions.add_member(group, person, by=owner, seat=seat)
    # In another group she may have the other seat.
    second = group_with(benchmark, owner, dee)
    assert rules.seat_in_group(dee, second.pk) == Seat.ANNOTATOR
    # Who has left a seat may come back to another one; twice the same is harmless.
    group_actions.remove_member(group, dee, by=owner)
    back = group_actions.add_member(group, dee, by=owner, seat=Seat.ANNOTATOR)
    assert group_actions.add_member(group, dee, by=owner, seat=Seat.ANNOTATOR) == back
    with pytest.raises(BadValueError, match="is not in"):
        group_actions.remove_member(group, other, by=owner)


def test_who_leaves_a_group_gives_back_what_is_open_in_its_batches_alone(benchmark: Benchmark, owner: User) -> None:
    ada, ben, cy = member(benchmark), member(benchmark), member(benchmark)
    group, other = group_with(benchmark, owner, ada, ben), group_with(benchmark, owner, ada)
    first, second = batch_of(group, 2)
    finished, begun = decomposed(first, ada), open_annotation(second, Stage.DECOMPOSE, by=ada)
    elsewhere = open_annotation(batch_of(other, 1)[0], Stage.DECOMPOSE, by=ada)
    bens = open_annotation(second, Stage.DECOMPOSE, by=ben)
    group_actions.remove_member(group, ada, by=owner)
    states = []
    for row in (finished, begun, elsewhere, bens):
        row.refresh_from_db()
        states.append(row.state)
    assert states == ["submitted", "taken_back", "open", "open"]
    group_actions.add_member(group, cy, by=owner, seat=Seat.ANNOTATOR)
    assert open_annotation(second, Stage.DECOMPOSE, by=cy).seat == 1
    with pytest.raises(rules.NotAllowedError):
        open_annotation(second, Stage.DECOMPOSE, by=ada)


def test_only_a_group_without_batches_is_deleted(benchmark: Benchmark, owner: User) -> None:
    group = group_with(benchmark, owner, member(benchmark))
    document = batch_of(group, 1)[0]
    with pytest.raises(rules.NotAllowedError, match="Group 1 has batches"):
        group_actions.delete_group(group, by=owner)
    assert document.batch is not None
    document.batch.delete()
    invitation = actions.invite(benchmark, by=owner, group=group)
    group_actions.delete_group(group, by=owner)
    invitation.refresh_from_db()
    assert invitation.group is None and not Group.objects.exists()


# --- how the benchmark works ----------------------------------------------------------------------


def protocol(benchmark: Benchmark, by: User, **other: Any) -> None:
    values = {"overlap": 2, "third_rater_at_verify": True, "practice_documents": 0} | other
    change_protocol(benchmark, by=by, **values)
    benchmark.refresh_from_db()


def test_the_owner_changes_the_protocol_and_nobody_else(benchmark: Benchmark, owner: User) -> None:
    protocol(benchmark, owner, overlap=3, third_rater_at_verify=False, practice_documents=4)
    assert (benchmark.overlap, benchmark.third_rater_at_verify, benchmark.practice_documents) == (3, False, 4)
    changes = Activity.objects.get(action="change-protocol").changes
    assert [(each["field"], each["before"], each["after"]) for each in changes] == [
        ("overlap", 2, 3),
        ("third_rater_at_verify", True, False),
        ("practice_documents", 0, 4),
    ]
    protocol(benchmark, owner, overlap=3, third_rater_at_verify=False, practice_documents=4)
    assert Activity.objects.filter(action="change-protocol").count() == 1  # nothing changed, nothing noted
    with pytest.raises(rules.NotAllowedError, match="Only an owner"):
        protocol(benchmark, member(benchmark, Role.ADMIN))
    for wrong in ({"overlap": 0}, {"overlap": MAX_PEOPLE + 1}, {"practice_documents": 51}):
        with pytest.raises(BadValueError):
            protocol(benchmark, owner, **wrong)


def test_the_number_of_people_holds_from_the_first_begun_document_on(benchmark: Benchmark, owner: User) -> None:
    document = DocumentFactory(benchmark=benchmark)
    protocol(benchmark, owner, overlap=1)
    annotation = open_annotation(document, Stage.DECOMPOSE, by=member(benchmark))
    with pytest.raises(rules.NotAllowedError, match="has already started a document"):
        protocol(benchmark, owner, overlap=2)
    protocol(benchmark, owner, overlap=1, third_rater_at_verify=False)  # the rest can still change
    assert not benchmark.third_rater_at_verify
    actions.deactivate(ship(benchmark, annotation.person or owner), by=owner)
    with pytest.raises(rules.NotAllowedError, match="has already started"):  # it can be taken up again
        protocol(benchmark, owner, overlap=2)


def test_the_form_says_why_the_number_stays(client: Client, benchmark: Benchmark, owner: User) -> None:
    client.force_login(owner)
    sent = {"overlap": "3", "practice_documents": "0", "third_rater_at_verify": "on"}
    assert client.post("/b/pilot/team/protocol/", sent).status_code == 302
    benchmark.refresh_from_db()
    assert benchmark.overlap == 3
    open_annotation(DocumentFactory(benchmark=benchmark), Stage.DECOMPOSE, by=owner)
    field = get(client, owner, "/b/pilot/team/").select_one("[name=overlap]")
    assert field is not None and field.has_attr("disabled")
    answer = client.post("/b/pilot/team/protocol/", sent | {"overlap": "2"})
    assert answer.status_code == 403 and b"has already started a document" in answer.content
    # A disabled field is not sent by a browser.
    del sent["overlap"]
    assert client.post("/b/pilot/team/protocol/", sent | {"practice_documents": "2"}).status_code == 302
    benchmark.refresh_from_db()
    assert (benchmark.overlap, benchmark.practice_documents) == (3, 2)
