"""The page of the team: what it shows to whom, what is done on it, and what it says the team lacks."""

from __future__ import annotations

import re
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.core import rules
from annotator.core.actions.recorder import Action
from annotator.core.models import Activity, Benchmark, Document, Group, Invitation, Membership, User
from annotator.core.vocabulary import Role, Seat, Stage
from annotator.stages.actions.adjudicate import ask_third_rater
from annotator.stages.actions.annotate import open_annotation
from annotator.team.actions import groups as group_actions
from annotator.team.actions import team as actions
from annotator.team.queries.team import missing, team_of
from tests.factories import BenchmarkFactory, DocumentFactory, UserFactory, decomposed, member, prefill
from tests.teams import batch_of, get, group_with, newcomer, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(slug="pilot", name="Pilot", overlap=2)


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER, display_name="Olga Owner")


# --- the page -------------------------------------------------------------------------------------


def test_managers_see_load_and_forms_and_others_people_and_groups_alone(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    ada = member(benchmark, display_name="Ada Marković")
    group_with(benchmark, owner, ada)
    token = actions.invite(benchmark, by=owner).token
    for role in Role:
        page = get(client, member(benchmark, role), "/b/pilot/team/")
        assert "Ada Marković" in words(page.select_one("table.team"))
        assert "Group 1" in words(page.select_one(".group-card"))
        manages = role in (Role.OWNER, Role.ADMIN)
        headers = [words(each) for each in page.select("table.team thead th")]
        assert ("Finished" in headers) == manages
        assert (token in page.decode()) == manages
        assert bool(page.select("main form")) == manages
        assert bool(page.select("form[action$='/protocol/']")) == (role == Role.OWNER)
    get(client, UserFactory(is_staff=True), "/b/pilot/team/", status=404)


def test_an_admin_sees_no_link_to_a_role_that_they_cannot_give(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    made = actions.invite(benchmark, by=owner, role=Role.OWNER)
    admin = member(benchmark, Role.ADMIN)
    page = get(client, admin, "/b/pilot/team/")
    assert made.token not in page.decode()
    assert "Only owners can see its link." in words(page.select_one("article.item"))
    offered = [each["value"] for each in page.select("#invite [name=role] option")]
    assert offered == ["annotator", "third_rater", "researcher", "group"]
    assert client.post(f"/b/pilot/team/invitation/{made.public_id}/withdraw/").status_code == 403
    assert made.token in get(client, owner, "/b/pilot/team/").decode()


def test_everything_is_done_from_the_page(client: Client, benchmark: Benchmark, owner: User) -> None:
    ada = member(benchmark, username="ada@lab")
    client.force_login(owner)

    def post(what: str, **data: str) -> Any:
        return client.post(f"/b/pilot/team/{what}/", data, follow=True)

    assert b"Group 1 was created." in post("group").content
    group = Group.objects.get()
    page = BeautifulSoup(client.get("/b/pilot/team/").content, "html.parser")
    option = page.select_one(".group-more select[name=person] option")
    assert option is not None and option["value"] == "ada@lab"  # annotators before the owner
    post(f"group/{group.public_id}/add", person="ada@lab", seat="annotator")
    assert rules.seat_in_group(ada, group.pk) == Seat.ANNOTATOR
    post(f"group/{group.public_id}/rename", name="Night shift")
    post(f"group/{group.public_id}/remove", person="ada@lab")
    assert rules.seat_in_group(ada, group.pk) is None
    post(f"group/{group.public_id}/delete")
    assert not Group.objects.exists()
    post("member/ada@lab/role", role="researcher")
    assert rules.role_of(ada, benchmark) == Role.RESEARCHER
    post("member/ada@lab/deactivate")
    assert rules.role_of(ada, benchmark) is None
    page = BeautifulSoup(client.get("/b/pilot/team/").content, "html.parser")
    assert "1 person has left" in words(page.select_one("#people-title").find_parent("section"))  # type: ignore[union-attr]
    assert page.select_one("form[action='/b/pilot/team/member/ada@lab/reactivate/']") is not None
    post("member/ada@lab/reactivate")
    assert rules.role_of(ada, benchmark) == Role.RESEARCHER
    invited = client.post("/b/pilot/team/invite/", {"role": "annotator", "days": "3"})
    assert "#invitations" in invited["Location"]
    post(f"invitation/{Invitation.objects.get().public_id}/withdraw")
    assert "None." in words(get(client, owner, "/b/pilot/team/").select_one("#invitations"))


def test_a_refusal_stands_on_the_page_it_came_from(client: Client, benchmark: Benchmark, owner: User) -> None:
    client.force_login(owner)
    for what, data, status, sentence in (
        (f"member/{owner.username}/role", {"role": "admin"}, 403, "only owner"),
        (f"member/{owner.username}/role", {"role": "king"}, 422, "Choose one of the roles"),
        ("invite", {"role": "annotator", "email": "nowhere", "days": "14"}, 422, "“nowhere” isn’t an email address."),
        ("invite", {"role": "annotator", "days": "1000"}, 422, "365"),
        ("group", {"name": "x" * 200}, 422, "at most 120"),
        ("protocol", {"overlap": "99", "practice_documents": "0"}, 422, "9"),
    ):
        answer = client.post(f"/b/pilot/team/{what}/", data)
        assert answer.status_code == status, what
        page = BeautifulSoup(answer.content, "html.parser")
        assert sentence in " ".join(words(each) for each in page.select(".problem")), what
        assert page.select_one("table.team") is not None
    assert client.post(f"/b/pilot/team/member/{owner.username}/crown/").status_code == 404
    assert client.post("/b/pilot/team/member/nobody/role/").status_code == 404


def test_an_owner_who_takes_themselves_out_lands_at_their_work(client: Client, benchmark: Benchmark) -> None:
    one, _ = member(benchmark, Role.OWNER), member(benchmark, Role.OWNER)
    client.force_login(one)
    assert client.post(f"/b/pilot/team/member/{one.username}/deactivate/")["Location"] == "/"


def test_nothing_of_another_benchmark_is_changed_through_this_one(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    other = BenchmarkFactory(slug="other")
    boss = member(other, Role.OWNER)
    theirs, group = member(other), group_actions.create_group(other, by=boss)
    invitation = actions.invite(other, by=boss)
    client.force_login(owner)
    refused: list[tuple[str, dict[str, str]]] = [
        (f"member/{theirs.username}/deactivate", {}),
        (f"group/{group.public_id}/delete", {}),
        (f"invitation/{invitation.public_id}/withdraw", {}),
    ]
    for what, data in refused:
        assert client.post(f"/b/pilot/team/{what}/", data).status_code == 404
    answer = client.post("/b/pilot/team/invite/", {"role": "annotator", "days": "3", "group": str(group.pk)})
    assert answer.status_code == 422


def test_load_counts_documents_in_work_waiting_and_finished(benchmark: Benchmark, owner: User) -> None:
    ada, ben, cy = member(benchmark), member(benchmark), member(benchmark)
    group = group_with(benchmark, owner, ada, ben, cy)  # three people for two places
    first, second, third, fourth = batch_of(group, 4)
    decomposed(first, ada)  # finished, and waits for Ada once Ben has submitted too
    decomposed(first, ben)
    open_annotation(second, Stage.DECOMPOSE, by=ada)
    open_annotation(second, Stage.DECOMPOSE, by=ben)  # full: it waits for nobody
    open_annotation(third, Stage.DECOMPOSE, by=ada)  # a place is free for Ben and Cy
    assert fourth.phase == "independent"
    load = {row.membership.user: row for row in team_of(benchmark, with_load=True).people}
    figures = {user: (row.in_work, row.waiting, row.finished) for user, row in load.items()}
    assert figures == {ada: (2, 2, 1), ben: (1, 3, 1), cy: (0, 2, 0), owner: (0, 0, 0)}
    assert load[ada].last_seen is not None and load[cy].last_seen is None


def test_what_is_asked_of_third_raters_waits_for_the_groups_or_for_all_of_them(
    benchmark: Benchmark, owner: User
) -> None:
    ada, ben = member(benchmark), member(benchmark)
    dee, eli = member(benchmark, Role.THIRD_RATER), member(benchmark, Role.THIRD_RATER)
    in_group = batch_of(group_with(benchmark, owner, ada, ben, third_rater=dee), 1)[0]
    in_none = prefill(DocumentFactory(benchmark=benchmark))
    for document in (in_group, in_none):
        decomposed(document, ada)
        decomposed(document, ben)

    def waiting() -> tuple[int, int]:
        load = {row.membership.user: row.waiting for row in team_of(benchmark, with_load=True).people}
        return load[dee], load[eli]

    assert waiting() == (0, 0)
    ask_third_rater(in_group, Stage.DECOMPOSE, "", "Is this one claim?", by=ada)
    assert waiting() == (1, 0)
    ask_third_rater(in_none, Stage.DECOMPOSE, "", "And this?", by=ada)
    assert waiting() == (2, 1)


def test_the_page_takes_the_same_number_of_queries_for_one_and_for_many(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    counts: list[int] = []
    for number in (1, 3):
        for _ in range(number):
            people = [member(benchmark), member(benchmark)]
            group = group_with(benchmark, owner, *people, third_rater=member(benchmark, Role.THIRD_RATER))
            for document in batch_of(group, number):
                for person in people:
                    decomposed(document, person)
            actions.deactivate(newcomer(benchmark), by=owner)
            actions.invite(benchmark, by=owner, group=group)
        client.force_login(owner)
        with CaptureQueriesContext(connections["default"]) as queries:
            assert client.get("/b/pilot/team/").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


# --- what the team lacks --------------------------------------------------------------------------


def lacks(benchmark: Benchmark) -> list[str]:
    return team_of(benchmark, with_load=False).missing


def test_the_page_says_what_the_team_lacks(client: Client, benchmark: Benchmark) -> None:
    admin = member(benchmark, Role.RESEARCHER)
    assert lacks(benchmark)[0] == (
        "This benchmark requires two people per document and has no annotators, so documents can’t be completed."
    )
    ada = member(benchmark)
    assert lacks(benchmark) == [
        "This benchmark requires two people per document and has one annotator, so documents can’t be completed.",
        "No adjudicator: owners and admins adjudicate instead.",
    ]
    owner = member(benchmark, Role.OWNER)
    assert lacks(benchmark)[0] == (
        "This benchmark requires two people per document and has one annotator, "
        "so owners and admins have to annotate too."
    )
    group = group_with(benchmark, owner, ada)
    assert "Group 1 has one annotator; it needs two." in lacks(benchmark)
    assert "Group 1 has one annotator; it needs two." in words(get(client, admin, "/b/pilot/team/").select_one("main"))
    group_actions.add_member(group, member(benchmark), by=owner, seat=Seat.ANNOTATOR)
    assert lacks(benchmark) == ["No adjudicator: owners and admins adjudicate instead."]
    group_actions.add_member(group, member(benchmark, Role.THIRD_RATER), by=owner, seat=Seat.THIRD_RATER)
    assert lacks(benchmark) == []


def test_documents_that_wait_for_somebody_from_outside_their_group_are_named_where_there_is_nobody(
    benchmark: Benchmark,
) -> None:
    owner, ada, ben = member(benchmark, Role.OWNER), member(benchmark), member(benchmark)
    group = group_with(benchmark, owner, ada, ben, third_rater=member(benchmark, Role.THIRD_RATER))
    rows = batch_of(group, 4)
    assert lacks(benchmark) == []
    Document.objects.filter(pk__in=[row.pk for row in rows[:3]]).update(extra_people=1)
    asks = "3 documents of Batch 1 need one more person from outside Group 1"
    with CaptureQueriesContext(connections["default"]) as first:
        assert lacks(benchmark) == [f"{asks}, so owners and admins have to annotate too."]
    Membership.objects.filter(user=owner).update(role=Role.RESEARCHER)
    assert lacks(benchmark) == [f"{asks}, but there is nobody."]
    Document.objects.filter(pk=rows[0].pk).update(extra_people=2)
    more = batch_of(group, 1)
    Document.objects.filter(pk=more[0].pk).update(extra_people=2)
    with CaptureQueriesContext(connections["default"]) as second:
        assert lacks(benchmark) == [
            "4 documents of two batches need two more people from outside Group 1, but there is nobody."
        ]
    assert len(second) == len(first)
    outsider = member(benchmark)
    assert lacks(benchmark) == [
        "2 documents of two batches need two more people from outside Group 1, and there is only one."
    ]
    Document.objects.filter(extra_people=2).update(extra_people=1)
    assert lacks(benchmark) == []
    for row in (*rows[:3], *more):
        open_annotation(Document.objects.get(pk=row.pk), Stage.DECOMPOSE, by=outsider)
    Membership.objects.filter(user=outsider).update(role=Role.RESEARCHER)
    assert lacks(benchmark) == []  # the extra places are taken


def test_who_manages_is_told_to_add_themselves_to_the_group_of_a_document(benchmark: Benchmark) -> None:
    owner = member(benchmark, Role.OWNER)
    document = batch_of(group_with(benchmark, owner), 1)[0]
    with pytest.raises(rules.NotAllowedError, match="belongs to Group 1, and you are not in it"):
        open_annotation(document, Stage.DECOMPOSE, by=owner)
    with pytest.raises(rules.NotAllowedError, match="An admin can add you to it"):
        open_annotation(document, Stage.DECOMPOSE, by=member(benchmark))


def test_where_one_person_labels_a_document_no_partner_and_no_third_rater_is_missing() -> None:
    alone = BenchmarkFactory(overlap=1)
    member(alone)
    assert lacks(alone) == []
    assert missing(1, [], []) == [
        "This benchmark requires one person per document and has no annotators, so documents can’t be completed."
    ]


# --- roles in full, and ways to the page ----------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "sentence"), [(Role.RESEARCHER, "can’t label"), (Role.THIRD_RATER, "not label first")]
)
def test_researchers_and_third_raters_label_nothing_first(benchmark: Benchmark, role: Role, sentence: str) -> None:
    with pytest.raises(rules.NotAllowedError, match=sentence):
        open_annotation(DocumentFactory(benchmark=benchmark), Stage.DECOMPOSE, by=member(benchmark, role))


def test_my_work_tells_a_third_rater_when_they_are_asked(client: Client, benchmark: Benchmark) -> None:
    DocumentFactory(benchmark=benchmark)
    page = get(client, member(benchmark, Role.THIRD_RATER), "/")
    assert "You adjudicate when two annotators can’t agree. Nothing needs you right now." in words(
        page.select_one("#next")
    )


def test_the_overview_leads_to_the_team(client: Client, benchmark: Benchmark, owner: User) -> None:
    DocumentFactory(benchmark=benchmark)
    link = get(client, owner, "/b/pilot/").select_one("section[aria-labelledby=people-title] a")
    assert link is not None and link["href"] == "/b/pilot/team/"


@pytest.mark.parametrize("number", ["1", "2", "3"])
def test_whoever_makes_a_benchmark_says_how_many_label_a_document(client: Client, number: str) -> None:
    client.force_login(UserFactory(is_staff=True))
    field = get(client, None, "/benchmarks/new/").select_one("[name=overlap]")
    assert field is not None and field["value"] == "2"
    client.post("/benchmarks/new/", {"name": "Mine", "overlap": number, "strategy": ""})
    assert Benchmark.objects.get().overlap == int(number)


def test_every_change_of_the_team_is_in_the_audit(benchmark: Benchmark, owner: User) -> None:
    ada = member(benchmark)
    group = group_with(benchmark, owner, ada)
    group_actions.rename_group(group, "Ours", by=owner)
    group_actions.remove_member(group, ada, by=owner)
    actions.withdraw(actions.invite(benchmark, by=owner), by=owner)
    group_actions.delete_group(group, by=owner)
    noted = Activity.objects.filter(benchmark=benchmark, by=owner).order_by("pk")
    assert [row.action for row in noted] == [
        "create-group", "add-to-group", "rename-group", "remove-from-group", "invite", "withdraw-invitation",
        "delete-group",
    ]  # fmt: skip
    assert all(row.reason for row in noted)
    assert not any(re.search(Invitation.objects.get().token, row.reason) for row in noted)
    assert Action(name="nothing", by=owner, benchmark=benchmark).write() is None
