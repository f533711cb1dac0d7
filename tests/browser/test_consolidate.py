"""Two people settle a stage in two browsers: each sees what the other changes, and nobody's typing is disturbed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from annotator.core.models import Annotation, Claim, Document, User
from annotator.core.vocabulary import Role, Stage
from annotator.stages.actions import adjudicate
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_sentence
from annotator.stages.actions.submit import submit
from annotator.stages.queries.adjudication import board_of
from annotator.stages.queries.decomposition import sentences_of
from tests.browser.conftest import check_axe, let_in
from tests.factories import BenchmarkFactory, DocumentFactory, member, prefill, save

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


@pytest.fixture
def people() -> tuple[User, User]:
    benchmark = BenchmarkFactory(overlap=2)
    member(benchmark, Role.THIRD_RATER, display_name="Cleo")
    return member(benchmark, display_name="Ada"), member(benchmark, display_name="Ben")


def begun(document: Document, person: User) -> Annotation:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
    for sentence in sentences_of(annotation):
        accept_sentence(sentence, by=person)
    return annotation


@pytest.fixture
def document(people: tuple[User, User]) -> Document:
    """They differ in the text of the first claim and the importance of the second."""
    ada, ben = people
    document = prefill(DocumentFactory(benchmark=ada.memberships.get().benchmark))
    mine, theirs = begun(document, ada), begun(document, ben)
    first, second = Claim.objects.filter(sentence__annotation=theirs).order_by("sentence__order", "order")[:2]
    save(first, "text", "Ada Lovelace was an English mathematician of note.", ben)
    save(second, "importance", "less", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    return document


@pytest.fixture
def pages(
    browser: Browser, live_server: LiveServer, people: tuple[User, User], document: Document
) -> Iterator[list[Page]]:
    """The same screen in two browsers."""
    found = []
    for person in people:
        page = browser.new_context(base_url=live_server.url).new_page()
        let_in(page.context, person, live_server.url)
        page.goto(f"/d/{document.public_id}/agree/decompose/")
        found.append(page)
    yield found
    for page in found:
        page.context.close()


def rows(page: Page) -> list[str]:
    """The ids of the rows that differ."""
    return [str(each.get_attribute("id")) for each in page.locator(".agree-row:not(.same)").all()]


def test_by_keyboard_from_difference_to_difference_to_the_signature(pages: list[Page]) -> None:
    page, other = pages
    check_axe(page)
    page.keyboard.press("d")
    page.keyboard.press("j")
    page.keyboard.press("1")
    expect(page.locator("#foot")).to_contain_text("1 difference open")
    expect(page.locator("[data-current]")).to_have_id(rows(page)[1])
    page.keyboard.press("2")
    expect(page.locator("#foot")).to_contain_text("No open differences")
    expect(page.locator("#sign")).not_to_be_focused()  # a stray Enter must not sign
    page.keyboard.press("z")
    expect(page.locator("#foot")).to_contain_text("1 difference open")
    expect(other.locator("#foot")).to_contain_text("1 difference open")
    page.locator(".agree-row.open .seg label").first.click()
    expect(page.locator("#foot")).to_contain_text("No open differences")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#foot")).to_contain_text("You have signed off; Ben has not yet.")
    check_axe(page)
    expect(other.locator("#foot")).to_contain_text("Ada has signed off; you have not yet.")
    other.keyboard.press("Control+Enter")
    expect(other.get_by_text("Decompose is adjudicated: you were the last to sign off.")).to_be_visible()
    expect(page.locator("#foot")).to_contain_text("Decompose is adjudicated")
    page.get_by_role("link", name="View decisions").click()
    expect(page.locator(".look-back")).to_contain_text("stand")
    check_axe(page)


@pytest.mark.parametrize("size", [(1440, 900), (1024, 768), (390, 844)])
def test_prompt_response_and_the_sentence_of_the_current_row_are_in_view(
    pages: list[Page], size: tuple[int, int]
) -> None:
    page = pages[0]
    page.set_viewport_size({"width": size[0], "height": size[1]})
    expect(page.locator("#answer .prompt")).to_be_in_viewport()
    page.keyboard.press("j")
    page.keyboard.press("j")
    here = page.locator("#answer .here").first
    expect(here).to_be_in_viewport()
    row = page.locator("[data-current]")
    over = page.locator("#answer").evaluate(
        "el => el.offsetWidth > innerWidth / 2 && el.getBoundingClientRect().bottom"
    )
    assert row.evaluate("el => el.getBoundingClientRect().top") >= (over or 0), "the row is not below the response"


def test_who_is_typing_is_told_of_a_change_and_keeps_the_text(pages: list[Page]) -> None:
    page, other = pages
    first = rows(page)[0]
    row = other.locator(f"#{first}")
    row.locator(".thread > summary").click()
    row.locator(".thread textarea").press_sequentially("I think")
    page.locator(f"#{first} .seg label").first.click()
    expect(row.locator(".changed-note")).to_contain_text("Ada changed this.")
    row.locator(".thread textarea").press_sequentially(" that")
    expect(row.locator(".thread textarea")).to_have_value("I think that")
    expect(row).to_have_class(re.compile("open"))
    row.get_by_role("button", name="Show").click()
    expect(row).to_have_class(re.compile("settled"))
    expect(row.locator(".thread textarea")).to_have_value("I think that")
    row.get_by_role("button", name="Post").click()
    expect(row.locator(".comments")).to_contain_text("I think that")
    expect(row.locator(".thread textarea")).to_have_value("")
    expect(page.locator(f"#{first} .thread > summary")).to_have_text("Comment (1)")


def test_what_is_typed_at_once_is_text_and_nobody_signs_over_a_text_not_sent(pages: list[Page]) -> None:
    page = pages[0]
    for each in rows(page):
        page.locator(f"#{each} .seg label").first.click()
    expect(page.locator("#foot")).to_contain_text("No open differences")
    row = page.locator(f"#{rows(page)[1]}")
    row.locator(".thread > summary").focus()
    page.keyboard.press("Enter")
    expect(row.locator(".thread textarea")).to_be_focused()
    page.keyboard.type("2 of us")
    expect(row.locator(".thread textarea")).to_have_value("2 of us")
    expect(row.locator(".agree-by")).to_contain_text("You chose this")
    expect(page.locator("#sign-why")).to_have_text("A comment is not sent: send it or clear it.")
    page.locator("#sign").click(force=True)
    page.get_by_role("link", name="1 text not sent").click()
    expect(row.locator(".thread textarea")).to_be_focused()
    row.get_by_role("button", name="Post").click()
    expect(page.locator("#unsent")).to_be_hidden()
    expect(page.locator("#foot")).not_to_contain_text("You have signed off")
    page.locator("#sign").click()
    expect(page.locator("#foot")).to_contain_text("You have signed off; Ben has not yet.")


def test_the_link_to_an_unsent_text_opens_its_popover(pages: list[Page]) -> None:
    page = pages[0]
    text = page.locator("#ask-whole-text")
    page.locator("[popovertarget=ask-whole]").click()
    page.keyboard.type("Which one?")
    page.keyboard.press("Escape")
    expect(text).to_be_hidden()
    page.get_by_role("link", name="1 text not sent").click()
    expect(text).to_be_focused()


def test_a_choice_that_came_too_late_stands_beside_the_others(
    pages: list[Page], people: tuple[User, User], document: Document
) -> None:
    page, other = pages
    first = rows(page)[0]
    other.context.set_offline(True)  # nothing comes in
    item = board_of(document, Stage.DECOMPOSE).comparison.item_of(first.removeprefix("row-"))
    assert item is not None
    adjudicate.decide(document, Stage.DECOMPOSE, item.fields[0].key, by=people[0], choice=0)
    other.evaluate("document.getElementById('news').remove()")
    other.context.set_offline(False)
    expect(other.locator("#offline-banner")).to_be_hidden(timeout=20_000)
    other.locator(f"#{first} .seg label").first.click()
    expect(other.locator(f"#{first} [role=alert]")).to_contain_text("You chose “Yours”, but Ada has just decided")
    other.locator(f"#{first} .seg label").first.click()
    expect(other.locator(f"#{first} .agree-by")).to_contain_text("You chose this")


def test_without_a_connection_a_choice_is_not_shown_as_made_and_a_text_is_kept(pages: list[Page]) -> None:
    page = pages[0]
    first, second = rows(page)
    page.locator(f"#{first} .other > summary").click()
    page.locator(f"#{first} .other textarea").fill("Ada Lovelace was a mathematician.")
    page.context.set_offline(True)
    page.locator(f"#{second} .seg label").first.click()
    expect(page.locator("#toasts")).to_contain_text("Not done")
    expect(page.locator(f"#{second} input:checked")).to_have_count(0)
    page.context.set_offline(False)
    page.reload()
    expect(page.locator(f"#{first} .other textarea")).to_have_value("Ada Lovelace was a mathematician.")
    page.locator(f"#{first} .other textarea").press("Control+Enter")
    expect(page.locator(f"#{first} .agree-by")).to_contain_text("You wrote this")
    page.locator(f"#{first} select[name=reason]").select_option("reading_of_claim")
    expect(page.locator(f"#{first} select[name=reason] option[selected]")).to_have_text("Interpretation of the claim")


def test_only_what_differs_is_remembered(pages: list[Page]) -> None:
    page = pages[0]
    same = page.locator(".agree-row.same").first
    expect(same).to_be_visible()  # there are only a few
    page.keyboard.press("d")
    expect(same).to_be_hidden()
    page.reload()
    expect(same).to_be_hidden()
    page.get_by_role("button", name="Only what differs").click()
    expect(same).to_be_visible()
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    check_axe(page)
