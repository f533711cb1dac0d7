"""The guidelines one key away, in a real browser."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from annotator.core.actions.guidelines import publish_guidelines
from annotator.core.models import Sentence
from annotator.core.vocabulary import Role, Stage
from annotator.stages.actions.annotate import open_annotation
from tests.browser.conftest import check_axe, wait_until_saved
from tests.factories import BenchmarkFactory, DocumentFactory, member, prefill


def left_edge(part: Locator) -> float:
    return float(part.evaluate("el => el.getBoundingClientRect().left"))


def right_edge(part: Locator) -> float:
    return float(part.evaluate("el => el.getBoundingClientRect().right"))


def test_the_sheet_opens_at_what_is_asked_and_the_work_goes_on_beside_it(
    transactional_db: None, sign_in: Callable[..., Page], live_server: LiveServer
) -> None:
    benchmark = BenchmarkFactory()
    person = member(benchmark, Role.OWNER)
    document = prefill(DocumentFactory(benchmark=benchmark))
    publish_guidelines(benchmark=benchmark, text="## Importance\n\nWeigh it.\n", by=person)
    open_annotation(document, Stage.DECOMPOSE, by=person)
    page = sign_in(person)
    page.goto(f"{live_server.url}/d/{document.public_id}/decompose/")
    sheet, importance = page.locator("#guide-sheet"), page.locator("[data-field=importance]").first
    importance.focus()
    page.keyboard.press("h")
    expect(sheet.locator("[data-here] h2")).to_have_text("Importance")
    expect(sheet.locator("[data-here]")).to_be_in_viewport()
    expect(sheet).to_contain_text("Weigh it.")
    check_axe(page)
    for width in (1440, 1024, 800):  # the work makes room: nothing of it is covered, and no button is outside
        page.set_viewport_size({"width": width, "height": 768})
        edge = right_edge(sheet)
        for part in ("#answer", "#panel", "#panel .foot .btn.main"):
            assert edge <= left_edge(page.locator(part)) < right_edge(page.locator(part)) <= width, (part, width)
        expect(page.locator("#answer [aria-current]")).to_be_in_viewport()
    page.keyboard.press("2")  # the keys of the work still act, on the current row
    wait_until_saved(page)
    assert Sentence.objects.filter(annotation__document=document, order=1).get().type == "opinion"
    page.keyboard.press("h")
    expect(sheet).to_be_hidden()
    text = page.locator("[data-field=decontext]")
    text.focus()
    page.keyboard.type("h")  # a letter while typing
    expect(sheet).to_be_hidden()
    expect(text).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("h")
    expect(sheet).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 800})
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    page.locator("[data-guide]").click()
    expect(sheet).to_be_visible()
    assert sheet.evaluate("el => el.matches(':modal') && el.getBoundingClientRect().width") == 390
    check_axe(page)
