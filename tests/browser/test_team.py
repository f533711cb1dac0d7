"""A team comes together in real browsers: the owner makes a link, copies it, and somebody without an account joins."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from pytest_django.live_server_helper import LiveServer

from annotator.core import rules
from annotator.core.models import Group, User
from annotator.core.vocabulary import Role, Seat
from tests.browser.conftest import check_axe
from tests.factories import BenchmarkFactory, member

pytestmark = pytest.mark.django_db(transaction=True)


def test_somebody_without_an_account_joins_a_group_by_a_copied_link(
    sign_in: Callable[[User], Page], live_server: LiveServer, new_context: Callable[..., BrowserContext]
) -> None:
    benchmark = BenchmarkFactory(slug="pilot", name="Pilot", overlap=2)
    page = sign_in(member(benchmark, Role.OWNER, display_name="Olga Owner"))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{live_server.url}/b/pilot/")
    page.get_by_role("link", name="Team", exact=True).click()
    page.get_by_role("button", name="New group").click()
    expect(page.get_by_role("heading", name="Group 1")).to_be_visible()
    page.get_by_role("combobox", name="Group").select_option("Group 1")
    page.get_by_role("button", name="Create invitation").click()
    page.get_by_role("button", name="Copy").click()
    expect(page.locator("#toasts")).to_contain_text("Copied.")
    link = page.evaluate("navigator.clipboard.readText()")

    other = new_context().new_page()
    other.goto(link)
    expect(other.get_by_text("Olga Owner invites you to")).to_be_visible()
    check_axe(other)
    other.get_by_label("User name").fill("ada")
    other.get_by_label("Your name").fill("Ada Marković")
    other.get_by_label("Password", exact=True).fill("marble-otter-61")
    other.get_by_label("Password again").fill("marble-otter-61")
    other.get_by_role("button", name="Create account and join").click()
    expect(other.locator("#toasts")).to_contain_text("You joined: Pilot, annotator.")
    assert rules.seat_in_group(User.objects.get(username="ada"), Group.objects.get().pk) == Seat.ANNOTATOR

    page.reload()
    expect(page.get_by_role("row", name="Ada Marković")).to_contain_text("Group 1")
    page.get_by_label("Change Ada Marković").click()
    check_axe(page)
    page.get_by_role("button", name="Remove from the benchmark").click()
    expect(page.locator("#toasts")).to_contain_text("Ada Marković has left.")
    other.goto(link)
    other.get_by_role("button", name="Join").click()
    expect(other.get_by_text("were removed from this benchmark")).to_be_visible()
