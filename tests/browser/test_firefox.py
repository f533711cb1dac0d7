"""Popovers under the mouse in Firefox: a press on their text keeps them open, their form works, Escape closes them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from annotator.core.models import Claim
from annotator.core.vocabulary import Removal, Stage
from annotator.stages.actions.annotate import open_annotation
from tests.factories import RESPONSE, BenchmarkFactory, DocumentFactory, member, prefill
from tests.firefox import Firefox, firefox

pytestmark = pytest.mark.django_db(transaction=True)

ESCAPE = "\ue00c"  # WebDriver's name of the key


@pytest.fixture
def browser(firefox_program: str) -> Iterator[Firefox]:
    with firefox(firefox_program) as opened:
        yield opened


def test_a_claim_is_removed_with_the_mouse(browser: Firefox, live_server: LiveServer) -> None:
    person = member(BenchmarkFactory())
    document = prefill(DocumentFactory(benchmark=person.memberships.get().benchmark, response=RESPONSE))
    open_annotation(document, Stage.DECOMPOSE, by=person)
    client = Client()
    client.force_login(person)
    name = settings.SESSION_COOKIE_NAME
    browser.open(f"{live_server.url}/account/")
    browser.command("WebDriver:AddCookie", cookie={"name": name, "value": client.cookies[name].value, "path": "/"})
    browser.open(f"{live_server.url}/d/{document.public_id}/decompose/")
    claim = browser.run("return document.querySelector('article.claim').id")
    menu, remove = (f"#{claim} [popovertarget^='{each}']" for each in ("more-", "remove-"))
    for _ in range(2):
        browser.press(menu)
        browser.press(remove)
        popover = browser.run("return document.querySelector(arguments[0]).getAttribute('popovertarget')", remove)
        browser.press(f"#{popover} p")
        browser.wait_for("document.getElementById(arguments[0]).matches(':popover-open')", popover)
        browser.key(ESCAPE)
        browser.wait_for("!document.getElementById(arguments[0]).matches(':popover-open')", popover)
        browser.key(ESCAPE)  # the menu around it
    browser.press(menu)
    browser.press(remove)
    browser.press(f"#{popover} label.check")
    browser.press(f"#{popover} button[type=submit]")
    browser.wait_for("document.querySelector('.claim.gone')")
    assert Claim.objects.get(sentence__annotation__document=document, removed=Removal.REDUNDANT)
