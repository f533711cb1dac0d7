"""Invitations in bulk: many addresses, a whole group, a note, and a limit of uses."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.core import mail
from django.test import Client
from pytest_django import DjangoCaptureOnCommitCallbacks

from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark, Invitation, User
from annotator.core.vocabulary import Role, Seat
from annotator.team.actions import team as actions
from annotator.team.actions.groups import create_group
from annotator.team.rules import InvitationOverError
from tests.factories import BenchmarkFactory, UserFactory, member

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(slug="pilot", overlap=2)


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER)


def post(client: Client, user: User, **data: Any) -> Any:
    client.force_login(user)
    return client.post("/b/pilot/team/invite/", {"role": "annotator", "days": 14, **data})


def test_pasted_addresses_are_invited_one_by_one(client: Client, benchmark: Benchmark, owner: User) -> None:
    pasted = "Ada L. <ada@example.org>, ben@example.org;cleo@example.org\n\n BEN@example.org eli@example.org"
    assert post(client, owner, email=pasted, note="Welcome!").status_code == 302
    rows = Invitation.objects.order_by("pk")
    assert [row.email for row in rows] == ["ada@example.org", "BEN@example.org", "cleo@example.org", "eli@example.org"]
    assert {row.note for row in rows} == {"Welcome!"} and {row.role for row in rows} == {"annotator"}


@pytest.mark.parametrize(("pasted", "named"), [("ada@example.org, nobody", "nobody"), ("a@b", "a@b")])
def test_what_is_no_address_is_named_and_nobody_is_invited(
    client: Client, owner: User, pasted: str, named: str
) -> None:
    answer = post(client, owner, email=pasted)
    assert answer.status_code == 422 and f"“{named}” isn’t an email address." in answer.content.decode()
    assert not Invitation.objects.exists()


def test_a_whole_group_is_invited_with_the_adjudicator_last(client: Client, benchmark: Benchmark, owner: User) -> None:
    group = create_group(benchmark, by=owner)
    addresses = "ada@example.org ben@example.org finn@example.org"
    assert post(client, owner, role="group", group=group.pk, email=addresses).status_code == 302
    rows = list(Invitation.objects.order_by("pk"))
    assert [row.role for row in rows] == [Role.ANNOTATOR, Role.ANNOTATOR, Role.THIRD_RATER]
    for row in rows:
        actions.accept(row, by=UserFactory())
    seats = sorted(group.members.values_list("seat", flat=True))
    assert seats == sorted([Seat.ANNOTATOR, Seat.ANNOTATOR, Seat.THIRD_RATER])


def test_a_whole_group_needs_as_many_addresses_as_it_has_seats(client: Client, owner: User) -> None:
    for addresses in ("", "ada@example.org"):
        answer = post(client, owner, role="group", email=addresses)
        assert answer.status_code == 422 and "3 addresses" in answer.content.decode()
    assert not Invitation.objects.exists()


def test_too_many_at_once_are_refused_and_nobody_is_invited(benchmark: Benchmark, owner: User) -> None:
    addresses = [f"p{number}@example.org" for number in range(actions.MAX_ADDRESSES + 1)]
    with pytest.raises(BadValueError, match="at most 100"):
        actions.invite_each(benchmark, addresses, by=owner, role=Role.ANNOTATOR)
    assert not Invitation.objects.exists()


def test_a_link_works_as_often_as_it_may(client: Client, benchmark: Benchmark, owner: User) -> None:
    post(client, owner, max_uses=2)
    invitation = Invitation.objects.get()
    first = UserFactory()
    actions.accept(invitation, by=first)
    actions.accept(invitation, by=first)  # who is in already uses nothing up
    page = BeautifulSoup(client.get("/b/pilot/team/").content, "html.parser")
    assert "used 1 of 2 times" in page.select_one("#invitations").get_text()  # type: ignore[union-attr]
    actions.accept(invitation, by=UserFactory())
    with pytest.raises(InvitationOverError, match="as often as it may"):
        actions.accept(invitation, by=UserFactory())
    assert benchmark.memberships.count() == 3
    page = BeautifulSoup(client.get("/b/pilot/team/").content, "html.parser")
    assert "used 2 of 2" not in page.get_text()  # it is pending no more
    for number in (0, actions.MAX_USES + 1):
        assert post(client, owner, max_uses=number).status_code == 422


def test_the_note_is_in_the_mail_and_on_the_page(
    client: Client,
    benchmark: Benchmark,
    owner: User,
    settings: Any,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    settings.MAIL_IS_ON = True
    with django_capture_on_commit_callbacks(execute=True):
        (made,) = actions.invite_each(
            benchmark, ["ada@example.org"], by=owner, role=Role.ANNOTATOR, site="https://t.example", note="See <you>!"
        )
    assert "See <you>!" in mail.outbox[0].body
    assert "See &lt;you&gt;!" in client.get(f"/invitation/{made.token}/").content.decode()
