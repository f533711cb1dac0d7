"""Popovers under the mouse: a press on their text keeps the tab alive and the popover open, its form works, and Escape
or a press elsewhere closes it. (As positioned `details`, a press on their text crashed the tab in Chromium 156.)"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect
from pytest_django.live_server_helper import LiveServer

from annotator.core.models import Claim, Document, User
from annotator.core.vocabulary import Removal, Stage
from annotator.stages.actions.annotate import open_annotation
from tests.browser.conftest import check_axe, wait_until_saved
from tests.factories import RESPONSE, BenchmarkFactory, DocumentFactory, decomposed, member, prefill, retrieve

pytestmark = pytest.mark.django_db(transaction=True)

SIZES: tuple[ViewportSize, ...] = ({"width": 1280, "height": 800}, {"width": 390, "height": 844})


@pytest.fixture
def person(transactional_db: None) -> User:
    return member(BenchmarkFactory())


@pytest.fixture
def decompose(person: User, sign_in: Callable[[User], Page], live_server: LiveServer) -> tuple[Page, Document]:
    document = prefill(DocumentFactory(benchmark=person.memberships.get().benchmark, response=RESPONSE))
    open_annotation(document, Stage.DECOMPOSE, by=person)
    page = sign_in(person)
    page.goto(f"{live_server.url}/d/{document.public_id}/decompose/")
    return page, document


def press_on_text(page: Page, button: Locator) -> Locator:
    """Open the popover of this button and press the mouse on its first words; the popover, open and in the window."""
    button.click()
    popover = page.locator(f"[id='{button.get_attribute('popovertarget')}']")
    expect(popover).to_be_visible()
    box, size = popover.bounding_box(), page.viewport_size
    assert box
    assert size
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= size["width"]
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= size["height"]
    words = popover.locator("p:visible")
    pressed = words.first.bounding_box() if words.count() else box
    assert pressed
    page.mouse.move(pressed["x"] + 6, pressed["y"] + 6)
    page.mouse.down()
    page.mouse.up()
    expect(popover).to_be_visible()
    return popover


@pytest.mark.parametrize("size", SIZES, ids=["wide", "narrow"])
def test_a_press_on_the_text_of_a_popover_keeps_it_open(decompose: tuple[Page, Document], size: ViewportSize) -> None:
    page, _ = decompose
    page.set_viewport_size(size)
    for button in page.locator("[popovertarget]:visible:not([popovertarget=answer])").all():
        popover = press_on_text(page, button)
        page.keyboard.press("Escape")
        expect(popover).to_be_hidden()
        expect(button).to_be_focused()


def test_a_claim_is_removed_with_the_mouse(decompose: tuple[Page, Document]) -> None:
    page, document = decompose
    claim = page.locator("article.claim").first
    text = claim.locator("textarea").input_value()
    claim.get_by_role("button", name="More for claim").click()
    popover = press_on_text(page, claim.get_by_role("button", name="Remove", exact=True))
    check_axe(page)
    popover.locator("label.check").first.click()
    popover.get_by_label("Note").fill("said twice")
    popover.get_by_role("button", name="Remove the claim").click()
    expect(page.locator(".claim.gone")).to_contain_text("said twice")
    wait_until_saved(page)
    removed = Claim.objects.get(sentence__annotation__document=document, removed_note="said twice")
    assert (removed.text, removed.removed) == (text, Removal.REDUNDANT)


def test_a_press_elsewhere_closes_a_popover(decompose: tuple[Page, Document]) -> None:
    page, _ = decompose
    claim = page.locator("article.claim").first
    claim.get_by_role("button", name="More for claim").click()
    popover = press_on_text(page, claim.get_by_role("button", name="Split"))
    page.locator("#map").click(position={"x": 3, "y": 3})
    expect(popover).to_be_hidden()


@pytest.mark.parametrize("size", SIZES, ids=["wide", "narrow"])
def test_the_popovers_of_verify_take_a_press_and_a_reason(
    person: User, sign_in: Callable[[User], Page], live_server: LiveServer, size: ViewportSize
) -> None:
    document = prefill(DocumentFactory(benchmark=person.memberships.get().benchmark, response=RESPONSE))
    decomposed(document, person)
    document.refresh_from_db()
    retrieve(document)
    open_annotation(document, Stage.VERIFY, by=person)
    page = sign_in(person)
    page.set_viewport_size(size)
    page.goto(f"{live_server.url}/d/{document.public_id}/verify/")
    for name in ("In the response", "Send back…"):
        popover = press_on_text(page, page.get_by_role("button", name=name))
        page.keyboard.press("Escape")
        expect(popover).to_be_hidden()
    page.get_by_role("button", name="Send back…").click()
    reason = page.get_by_label("Why send it back?")
    expect(reason).to_be_focused()
    reason.fill("two facts in one")
    page.get_by_role("button", name="Send back to Decompose").click()
    page.wait_for_function("() => document.body.textContent.includes('two facts in one')")


def test_a_press_beside_the_items_of_the_account_menu_keeps_the_tab(decompose: tuple[Page, Document]) -> None:
    page, _ = decompose
    page.locator(".menu summary").click()
    box = page.locator(".menu-body").bounding_box()
    assert box
    page.mouse.click(box["x"] + 4, box["y"] + 4)
    expect(page.locator(".menu-body")).to_be_visible()
