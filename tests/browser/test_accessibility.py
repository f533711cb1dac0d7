"""What axe can't see: where the focus is after a swap, that messages are announced, that nothing moves if asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotator.core.models import Document, User
from annotator.core.vocabulary import Stage
from annotator.stages.actions.annotate import open_annotation
from tests.browser.conftest import WCAG, check_axe, wait_until_saved
from tests.factories import BenchmarkFactory, DocumentFactory, member, prefill

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]

RESPONSE = """## Life

**Ada Lovelace** was an English mathematician. She met *Charles Babbage* in 1833.

| Year | Event |
|---|---|
| 1843 | The notes about the engine appeared. |

- Her mother taught her.
"""


@pytest.fixture
def person() -> User:
    return member(BenchmarkFactory())


@pytest.fixture
def document(person: User) -> Document:
    document = prefill(DocumentFactory(benchmark=person.memberships.get().benchmark, response=RESPONSE))
    open_annotation(document, Stage.DECOMPOSE, by=person)
    return document


def test_focus_stays_on_the_work_and_the_message_is_announced(
    sign_in: Callable[[User], Page], live_server: LiveServer, person: User, document: Document
) -> None:
    page = sign_in(person)
    page.goto(f"{live_server.url}/d/{document.public_id}/decompose/")
    page.keyboard.press("a")
    expect(page.locator("#toasts[role=status]")).to_contain_text("Press Z to undo")
    assert page.evaluate("document.getElementById('panel').contains(document.activeElement)")
    # A row of a table: both cells are marked, and one is the tab stop.
    page.locator("#map td a.rest").click()
    expect(page.locator("#map td a[aria-current]")).to_have_count(1)
    expect(page.locator("#map td a.here")).to_have_count(1)
    expect(page.locator("#map a:not([tabindex])")).to_have_count(1)
    assert page.evaluate("document.activeElement !== document.body")
    wait_until_saved(page)
    check_axe(page)


def test_the_map_breaks_its_lines_the_same_when_a_sentence_is_complete(
    sign_in: Callable[[User], Page], live_server: LiveServer, person: User, document: Document
) -> None:
    page = sign_in(person)
    page.goto(f"{live_server.url}/d/{document.public_id}/decompose/")
    where = "[...document.querySelectorAll('#map a')].map(a => [...a.getClientRects()].map(r => [r.x, r.y, r.width]))"
    before = page.evaluate(where)
    page.evaluate(
        "document.querySelectorAll('#map a').forEach(a => { a.classList.remove('todo'); a.classList.add('ok') })"
    )
    assert page.evaluate(where) == before


def test_nothing_moves_where_the_system_asks_for_it(
    sign_in: Callable[[User], Page], live_server: LiveServer, person: User, document: Document
) -> None:
    page = sign_in(person)
    page.goto(f"{live_server.url}/d/{document.public_id}/decompose/")
    longest = """() => Math.max(...[...document.querySelectorAll('*')].flatMap(el => {
      const { transitionDuration, animationDuration } = getComputedStyle(el);
      return `${transitionDuration},${animationDuration}`.split(',').map(parseFloat);
    }))"""
    assert page.evaluate(longest) > 0.05
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(longest) <= 0.001


def test_targets_are_among_what_axe_looks_at(page: Page, live_server: LiveServer) -> None:
    """The rule for targets of 24 px is off by default in axe."""
    page.goto(f"{live_server.url}/accessibility/")
    found = Axe().run(page, options=WCAG).response
    assert "target-size" in {rule["id"] for rule in [*found["passes"], *found["inapplicable"]]}
    assert not found["violations"]
