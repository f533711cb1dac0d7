"""Invitations: accepting them, the page that a link opens, and mailing them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.core import mail
from django.test import Client
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Activity, Benchmark, Invitation, User
from annotator.core.vocabulary import Role, Seat
from annotator.team import rules as team_rules
from annotator.team.actions import groups as group_actions
from annotator.team.actions import team as actions
from tests.factories import BenchmarkFactory, DocumentFactory, UserFactory, member
from tests.teams import at_once, get, group_with, newcomer, words

pytestmark = pytest.mark.django_db

PASSWORD = "marble-otter-61"


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(slug="pilot", name="Pilot", overlap=2)


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER, display_name="Olga Owner")


# --- accepting ------------------------------------------------------------------------------------


def test_a_link_lets_everyone_in_who_has_it_and_twice_is_harmless(benchmark: Benchmark, owner: User) -> None:
    invitation = actions.invite(benchmark, by=owner, role=Role.RESEARCHER)
    for _ in range(2):
        person = UserFactory()
        first = actions.accept(invitation, by=person)
        assert actions.accept(invitation, by=person) == first
        assert rules.role_of(person, benchmark) == Role.RESEARCHER
    assert Activity.objects.filter(action="join").count() == 2
    invitation.refresh_from_db()
    assert invitation.accepted_by is None


def test_an_invitation_holds_for_fourteen_days(benchmark: Benchmark, owner: User) -> None:
    invitation = actions.invite(benchmark, by=owner)
    assert dt.timedelta(days=13, hours=23) < invitation.expires_at - timezone.now() <= dt.timedelta(days=14)
    assert actions.invite(benchmark, by=owner, days=2).expires_at < invitation.expires_at
    for days in (0, 366):
        with pytest.raises(BadValueError, match="between 1 and 365 days"):
            actions.invite(benchmark, by=owner, days=days)


def test_one_with_an_address_works_once(benchmark: Benchmark, owner: User) -> None:
    invitation = actions.invite(benchmark, by=owner, email="ada@example.org")
    ada, ben = UserFactory(), UserFactory()
    actions.accept(invitation, by=ada)
    actions.accept(invitation, by=ada)
    with pytest.raises(team_rules.InvitationOverError, match="has been used"):
        actions.accept(invitation, by=ben)
    assert rules.role_of(ben, benchmark) is None
    invitation.refresh_from_db()
    assert invitation.accepted_by == ada
    with pytest.raises(BadValueError, match="already been used"):
        actions.withdraw(invitation, by=owner)


@pytest.mark.django_db(transaction=True)
def test_of_two_people_who_accept_at_once_the_second_is_told(benchmark: Benchmark, owner: User) -> None:
    invitation = actions.invite(benchmark, by=owner, email="ada@example.org")
    people = [UserFactory(), UserFactory()]
    outcomes = at_once(*[lambda person=person: actions.accept(invitation, by=person) for person in people])
    assert sorted(type(each).__name__ for each in outcomes) == ["InvitationOverError", "NoneType"]
    assert benchmark.memberships.filter(user__in=people).count() == 1


def test_withdrawn_and_expired_ones_let_nobody_in(benchmark: Benchmark, owner: User) -> None:
    withdrawn, expired = actions.invite(benchmark, by=owner), actions.invite(benchmark, by=owner)
    actions.withdraw(withdrawn, by=owner)
    actions.withdraw(withdrawn, by=owner)
    Invitation.objects.filter(pk=expired.pk).update(expires_at=timezone.now())
    person = UserFactory()
    for invitation, why in ((withdrawn, "withdrawn"), (expired, "expired")):
        with pytest.raises(team_rules.InvitationOverError, match=why):
            actions.accept(invitation, by=person)
    assert not person.memberships.exists()
    assert Activity.objects.filter(action="withdraw-invitation").count() == 1


@pytest.mark.parametrize("held", list(Role))
@pytest.mark.parametrize("offered", list(Role))
def test_a_link_raises_a_role_and_never_lowers_it(benchmark: Benchmark, owner: User, held: Role, offered: Role) -> None:
    person = member(benchmark, held)
    invitation = actions.invite(benchmark, by=owner, role=offered, email="x@example.org")
    actions.accept(invitation, by=person)
    order = list(Role)
    assert rules.role_of(person, benchmark) == min(held, offered, key=order.index)
    invitation.refresh_from_db()
    raised = order.index(offered) < order.index(held)
    assert (invitation.accepted_by == person) == raised  # who gains nothing uses nothing up


def test_who_left_comes_back_by_a_new_invitation_with_its_role_and_not_by_an_old_one(
    benchmark: Benchmark, owner: User
) -> None:
    old = actions.invite(benchmark, by=owner)
    former = newcomer(benchmark, Role.ADMIN)
    actions.deactivate(former, by=owner)
    with pytest.raises(team_rules.InvitationOverError, match="were removed from this benchmark"):
        actions.accept(old, by=former.user)
    assert rules.role_of(former.user, benchmark) is None
    actions.accept(old, by=UserFactory())  # for others the link goes on
    actions.accept(actions.invite(benchmark, by=owner), by=former.user)
    assert rules.role_of(former.user, benchmark) == Role.ANNOTATOR


def test_an_invitation_into_a_group_gives_the_seat(benchmark: Benchmark, owner: User) -> None:
    group = group_with(benchmark, owner)
    ada, dee, late = UserFactory(), UserFactory(), UserFactory()
    actions.accept(actions.invite(benchmark, by=owner, group=group), by=ada)
    rates = actions.invite(benchmark, by=owner, group=group, role=Role.THIRD_RATER)
    actions.accept(rates, by=dee)
    assert (rules.seat_in_group(ada, group.pk), rules.seat_in_group(dee, group.pk)) == (
        Seat.ANNOTATOR,
        Seat.THIRD_RATER,
    )
    # Who comes second for the one seat is in the benchmark all the same.
    actions.accept(rates, by=late)
    assert rules.role_of(late, benchmark) == Role.THIRD_RATER
    assert rules.seat_in_group(late, group.pk) is None


def test_an_invitation_into_a_group_that_cannot_be_is_refused(benchmark: Benchmark, owner: User) -> None:
    group = group_with(benchmark, owner, third_rater=member(benchmark, Role.THIRD_RATER))
    elsewhere = group_with(other := BenchmarkFactory(), member(other, Role.OWNER))
    for role, where, why in (
        (Role.RESEARCHER, group, "can’t be in a group"),
        (Role.THIRD_RATER, group, "already has an adjudicator"),
        (Role.ANNOTATOR, elsewhere, "another benchmark"),
    ):
        with pytest.raises(BadValueError, match=why):
            actions.invite(benchmark, by=owner, role=role, group=where)


# --- the page that an invitation opens ------------------------------------------------------------


def url_of(invitation: Invitation) -> str:
    return f"/invitation/{invitation.token}/"


def account(**other: str) -> dict[str, str]:
    return {
        "username": "ada",
        "display_name": "Ada Marković",
        "email": "ada@example.org",
        "password1": PASSWORD,
        "password2": PASSWORD,
    } | other


def test_who_has_no_account_makes_one_and_is_in(client: Client, benchmark: Benchmark, owner: User) -> None:
    group = group_with(benchmark, owner)
    url = url_of(actions.invite(benchmark, by=owner, group=group))
    page = get(client, None, url)
    assert words(page.select_one("h1")) == "Pilot"
    assert "Olga Owner invites you to" in words(page.select_one("main"))
    answer = client.post(url, account())
    assert (answer.status_code, answer["Location"]) == (302, "/")
    ada = User.objects.get(username="ada")
    assert (ada.display_name, ada.email, ada.is_staff) == ("Ada Marković", "ada@example.org", False)
    assert ada.check_password(PASSWORD)
    assert rules.seat_in_group(ada, group.pk) == Seat.ANNOTATOR
    assert client.get("/b/pilot/").status_code == 200  # signed in
    assert Activity.objects.get(action="register").by == ada


def test_a_third_rater_lands_where_it_says_what_they_are_asked(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    DocumentFactory(benchmark=benchmark)
    url = url_of(actions.invite(benchmark, by=owner, role=Role.THIRD_RATER))
    page = BeautifulSoup(client.post(url, account(), follow=True).content, "html.parser")
    assert "You adjudicate when two annotators can’t agree. Nothing needs you right now." in words(page)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"password1": "12345678", "password2": "12345678"}, "entirely numeric"),
        ({"password2": "something-else-9"}, "match"),
        ({"username": "Olga"}, "already exists"),
        ({"username": "two words"}, "valid username"),
        ({"display_name": ""}, "required"),
        ({"email": "nowhere"}, "valid email"),
    ],
)
def test_a_bad_account_is_refused_in_place_and_nobody_joins(
    client: Client, benchmark: Benchmark, wrong: dict[str, str], sentence: str
) -> None:
    olga = member(benchmark, Role.OWNER, username="olga")
    invitation = actions.invite(benchmark, by=olga, email="ada@example.org")
    answer = client.post(url_of(invitation), account(**wrong))
    assert answer.status_code == 422
    page = BeautifulSoup(answer.content, "html.parser")
    assert sentence in " ".join(words(each) for each in page.select(".problem"))
    kept = page.select_one("[name=username]")
    assert kept is not None and kept["value"] == wrong.get("username", "ada")
    assert User.objects.count() == 1
    invitation.refresh_from_db()
    assert invitation.accepted_by is None


def test_who_is_signed_out_signs_in_and_comes_back(client: Client, benchmark: Benchmark, owner: User) -> None:
    url = url_of(actions.invite(benchmark, by=owner))
    person = UserFactory(username="ben")
    link = get(client, None, url).select_one('a[href^="/sign-in/"]')
    assert link is not None
    answer = client.post(str(link["href"]), {"login": "ben", "password": "secret", "next": url})
    assert answer["Location"] == url
    page = get(client, None, url)
    button = page.select_one("button[name=join]")
    assert words(button) == "Join" and not page.select("[name=password1]")
    assert client.post(url, {"join": "yes"})["Location"] == "/"
    assert rules.role_of(person, benchmark) == Role.ANNOTATOR
    # Again: it leads to where one is in already.
    assert client.get(url)["Location"] == "/b/pilot/"


def test_a_form_for_an_account_sent_while_signed_in_joins_nobody(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    person = UserFactory()
    client.force_login(person)
    answer = client.post(url_of(actions.invite(benchmark, by=owner)), account())
    assert answer.status_code == 200 and b"You are signed in as" in answer.content
    assert not User.objects.filter(username="ada").exists()
    assert rules.role_of(person, benchmark) is None


def test_each_link_that_lets_nobody_in_says_why_and_names_nothing(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    used, withdrawn, expired = (actions.invite(benchmark, by=owner, email=f"{n}@example.org") for n in range(3))
    actions.accept(used, by=UserFactory())
    actions.withdraw(withdrawn, by=owner)
    Invitation.objects.filter(pk=expired.pk).update(expires_at=timezone.now())
    former = newcomer(benchmark)
    old = actions.invite(benchmark, by=owner)
    actions.deactivate(former, by=owner)
    cases = [
        ("/invitation/nonsense/", 404, "Invitation not found."),
        (url_of(used), 410, "has been used"),
        (url_of(withdrawn), 410, "was withdrawn"),
        (url_of(expired), 410, "has expired"),
    ]
    sentences = set()
    for user in (None, UserFactory()):
        for url, status, sentence in cases:
            page = get(client, user, url, status)
            assert sentence in words(page.select_one(".empty p"))
            sentences.add(words(page.select_one(".empty p")))
            for secret in ("Pilot", "Olga", "example.org"):
                assert secret not in page.decode()
            for data in (account(), {"join": "yes"}):
                assert client.post(url, data).status_code == status
    assert len(sentences) == 4
    client.force_login(former.user)
    answer = client.post(url_of(old), {"join": "yes"})
    assert answer.status_code == 410 and b"were removed from this benchmark" in answer.content
    assert not User.objects.filter(username="ada").exists()


def test_the_invitation_tells_nothing_but_name_role_and_who_invites(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    DocumentFactory(benchmark=benchmark, prompt="Which quetzal?")
    ada = member(benchmark, display_name="Ada Marković")
    group = group_with(benchmark, owner, ada)
    group_actions.rename_group(group, "Secret group", by=owner)
    invitation = actions.invite(benchmark, by=owner, group=group, email="new@example.org")
    page = get(client, None, url_of(invitation)).decode()
    assert "Pilot" in page and "Annotator" in page
    for secret in ("quetzal", "Ada Marković", "Secret group", "new@example.org"):
        assert secret not in page


# --- mail -----------------------------------------------------------------------------------------


def test_an_invitation_with_an_address_is_mailed_once_it_is_committed(
    settings: Any, benchmark: Benchmark, owner: User, django_capture_on_commit_callbacks: Any
) -> None:
    settings.MAIL_IS_ON = True
    benchmark.name = "Two\nlines"
    benchmark.save()
    with django_capture_on_commit_callbacks(execute=True):
        made = actions.invite(benchmark, by=owner, email="ada@example.org", site="https://touchstone.example")
        actions.invite(benchmark, by=owner, site="https://touchstone.example")
        assert not mail.outbox
    (sent,) = mail.outbox
    assert sent.to == ["ada@example.org"]
    assert sent.subject == "Invitation to Two lines"
    assert f"https://touchstone.example/invitation/{made.token}/" in sent.body
    assert "Olga Owner" in sent.body


def test_one_that_was_withdrawn_meanwhile_is_not_mailed(benchmark: Benchmark, owner: User) -> None:
    made = actions.invite(benchmark, by=owner, email="ada@example.org")
    actions.withdraw(made, by=owner)
    actions.mail_invitation(made.pk, "https://touchstone.example")
    assert not mail.outbox


@pytest.mark.parametrize("is_on", [True, False])
def test_the_page_says_whether_anything_was_mailed(
    client: Client,
    settings: Any,
    benchmark: Benchmark,
    owner: User,
    is_on: bool,
    django_capture_on_commit_callbacks: Any,
) -> None:
    settings.MAIL_IS_ON = is_on
    client.force_login(owner)
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post("/b/pilot/team/invite/", {"role": "annotator", "email": "ada@example.org", "days": "14"})
    page = get(client, owner, answer["Location"])
    fresh = words(page.select_one(".fresh"))
    assert ("being emailed to ada@example.org" in fresh) == is_on
    assert ("No email was sent" in fresh) == (not is_on)
    assert len(mail.outbox) == is_on
    field = page.select_one(".fresh input[readonly]")
    assert field is not None and field["value"] == f"http://testserver{url_of(Invitation.objects.get())}"
