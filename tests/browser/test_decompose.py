"""Screen 1 in a real browser: where the focus goes, and that what is worked on stays in sight."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotator.core.models import Claim, ClaimSuggestion, Document, Sentence, User
from annotator.core.vocabulary import Stage
from annotator.stages.actions.annotate import open_annotation
from tests.browser.conftest import wait_until_saved
from tests.factories import RESPONSE, BenchmarkFactory, DocumentFactory, member, prefill

HEBREW = "עדה לאבלייס הייתה מתמטיקאית אנגלייה. היא נולדה בלונדון בשנת 1815."


@pytest.fixture
def person(transactional_db: None) -> User:
    return member(BenchmarkFactory())


@pytest.fixture
def opened(
    person: User, sign_in: Callable[[User], Page], live_server: LiveServer
) -> Callable[[str], tuple[Page, Document]]:
    """Sign in and open a new document with this response."""

    def opened(response: str) -> tuple[Page, Document]:
        document = prefill(DocumentFactory(benchmark=person.memberships.get().benchmark, response=response))
        open_annotation(document, Stage.DECOMPOSE, by=person)
        page = sign_in(person)
        page.goto(f"{live_server.url}/d/{document.public_id}/decompose/")
        return page, document

    return opened


def test_an_added_claim_has_the_focus_and_is_in_sight(opened: Callable[[str], tuple[Page, Document]]) -> None:
    page, _ = opened(RESPONSE)
    page.set_viewport_size({"width": 1280, "height": 600})
    page.keyboard.press("n")
    added = page.locator("article.claim textarea").last
    expect(added).to_be_focused()
    expect(page.locator("article.claim").last).to_have_attribute("data-current", "")
    card, foot = page.locator("article.claim").last.bounding_box(), page.locator("#foot").bounding_box()
    assert card
    assert foot
    assert 0 < card["y"] < card["y"] + card["height"] <= foot["y"]


@pytest.mark.parametrize("width", [1280, 1440, 1920])
def test_a_claim_of_one_or_two_lines_takes_120_pixels_and_the_foot_one_row(
    opened: Callable[[str], tuple[Page, Document]], width: int
) -> None:
    page, _ = opened(RESPONSE)
    page.set_viewport_size({"width": width, "height": 800})
    for records in (ClaimSuggestion.objects, Claim.objects):
        records.update(text=("Ada Lovelace wrote the first program. " * 4)[: width // 13])
    page.reload()
    assert 90 < page.locator("article.claim").first.bounding_box()["height"] <= 120.5  # type: ignore[index]
    assert page.locator(".foot.stuck").bounding_box()["height"] <= 64  # type: ignore[index]


def test_a_missing_link_goes_to_its_choice_and_numbers_answer_there(
    opened: Callable[[str], tuple[Page, Document]],
) -> None:
    page, document = opened(RESPONSE)
    second = Sentence.objects.filter(annotation__document=document).order_by("order")[1]
    page.locator("#missing .missing-button").click()
    page.locator("#missing a", has_text="type of sentence 2").click()
    choice = page.locator(f"#sentence-{second.public_id}-type")
    expect(choice.locator("input").first).to_be_focused()
    page.keyboard.press("2")
    wait_until_saved(page)
    second.refresh_from_db()
    assert second.type == "opinion"
    page.locator("#missing .missing-button").click()
    page.locator("#missing a", has_text="importance of sentence 2").click()
    page.keyboard.press("3")
    wait_until_saved(page)
    second.refresh_from_db()
    assert (second.type, second.importance) == ("opinion", "less")


def test_the_map_keeps_its_place_and_reads_in_its_own_direction(
    opened: Callable[[str], tuple[Page, Document]],
) -> None:
    page, _ = opened(f"{HEBREW} " * 20)
    assert page.locator("#map").evaluate("el => getComputedStyle(el).direction") == "rtl"
    links = page.locator("#map a")
    links.nth(links.count() - 4).click()
    expect(links.nth(links.count() - 4)).to_have_attribute("aria-current", "true")
    wait_until_saved(page)
    before = page.locator("#answer").evaluate("el => el.scrollTop")
    assert before > 100
    page.keyboard.press("Shift+J")
    expect(links.nth(links.count() - 3)).to_have_attribute("aria-current", "true")
    wait_until_saved(page)
    expect(links.nth(links.count() - 3)).to_be_in_viewport()
    assert page.locator("#answer").evaluate("el => el.scrollTop") >= before


def test_a_long_reason_why_nothing_is_saved_pushes_nothing_out_of_the_bar(
    opened: Callable[[str], tuple[Page, Document]],
) -> None:
    page, _ = opened(RESPONSE)
    reason = (
        "An admin unassigned you from this document. Your work is kept. If another annotator is still needed, you can"
    )
    reason += " open it again and continue."
    page.evaluate(
        """(reason) => document.dispatchEvent(new CustomEvent("touchstone:outbox", { detail: {
            state: "not-saved", reason, entries: [1], blocked: [1], offline: false, kept: true } }))""",
        reason,
    )
    expect(page.locator(".save-why")).to_have_attribute("title", reason)
    for width in (1600, 1360, 1200, 1000, 800, 390):
        page.set_viewport_size({"width": width, "height": 800})
        ends = page.locator(".bar-right > *").evaluate_all("(all) => all.map((el) => el.getBoundingClientRect().right)")
        assert max(ends) <= width
        crumb = page.locator(".bar .crumb").bounding_box()
        assert crumb is not None and crumb["width"] >= 50


def test_one_picker_moves_any_claim_to_another_sentence(opened: Callable[[str], tuple[Page, Document]]) -> None:
    page, document = opened(RESPONSE)
    first, second, *_ = Sentence.objects.filter(annotation__document=document).order_by("order")
    before = second.claims.count()
    claim = first.claims.order_by("order").first()
    assert claim is not None
    card = page.locator(f"#claim-{claim.public_id}")
    card.get_by_role("button", name="More for claim").click()
    card.get_by_role("button", name="Move to…").click()
    picks = page.locator("#move-claim button")
    expect(picks).to_have_count(2)
    expect(picks.first).to_contain_text("2 She was born in 1825")
    picks.first.click()
    expect(page.locator(f"#claim-{claim.public_id}")).to_have_count(0)
    claim.refresh_from_db()
    assert claim.sentence == second
    assert second.claims.count() == before + 1


def test_a_save_keeps_the_map_and_the_counts(opened: Callable[[str], tuple[Page, Document]]) -> None:
    """They are not drawn anew: the script does what a fresh page would show."""
    page, document = opened(RESPONSE)
    first = Sentence.objects.filter(annotation__document=document).earliest("order")
    expect(page.locator("#missing [data-left]")).to_have_text("3 sentences left")
    page.locator(f"#sentence-{first.public_id}-type input[value=opinion]").check()
    page.locator(f"#sentence-{first.public_id}-importance input[value=less]").check()
    expect(page.locator("#missing [data-left]")).to_have_text("2 sentences left")
    expect(page.locator("#progress")).to_contain_text("1 of 3 sentences complete")
    expect(page.locator("#map a.ok.soft:not(.todo)")).to_have_count(1)
    page.locator("[data-first-left]").click()
    expect(page.locator("#map a").nth(1)).to_have_attribute("aria-current", "true")


def test_a_accepts_what_has_been_in_view_and_goes_to_the_rest(opened: Callable[[str], tuple[Page, Document]]) -> None:
    page, document = opened(
        "Ada Lovelace wrote notes and met Babbage and knew Latin and played chess and loved horses."
    )
    page.set_viewport_size({"width": 1280, "height": 680})
    sentence = Sentence.objects.get(annotation__document=document)
    assert sentence.suggestion is not None
    sentence.claims.all().delete()
    sentence.suggestion.claims.all().delete()
    for order in range(1, 6):
        made = ClaimSuggestion.objects.create(
            sentence=sentence.suggestion, order=order, text=f"Claim {order}.", type="factual", importance="most"
        )
        Claim.objects.create(sentence=sentence, order=order, text=made.text, suggestion=made)
    page.reload()
    page.locator("article.claim").first.wait_for()
    page.keyboard.press("a")
    expect(page.get_by_text("Accepted what has been in view")).to_be_visible()
    accepted = set(sentence.claims.exclude(text_origin="").values_list("order", flat=True))
    assert 0 < len(accepted) < 5, "the last claims are below the window"
    expect(page.locator("article.claim").nth(len(accepted))).to_be_in_viewport()
    for _ in range(8):  # more than there are claims
        page.keyboard.press("a")
        page.wait_for_timeout(300)
    assert not sentence.claims.filter(text_origin="").exists()


def test_the_list_of_keys_keeps_a_where_nothing_is_left_to_accept(
    opened: Callable[[str], tuple[Page, Document]],
) -> None:
    page, _ = opened("Ada Lovelace was a mathematician.")
    keys = page.locator("#key-help .keylist")
    page.keyboard.press("a")
    wait_until_saved(page)
    expect(page.locator("button[data-key='a']")).to_have_count(0)
    page.keyboard.press("?")
    expect(keys.locator("kbd", has_text=re.compile("^A$"))).to_have_count(1)
    expect(keys.get_by_text("Accept the suggestions for this sentence that have been in view")).to_be_visible()


def test_what_is_current_differs_in_forced_colors(opened: Callable[[str], tuple[Page, Document]]) -> None:
    page, _ = opened(RESPONSE)
    page.emulate_media(forced_colors="active")
    page.reload()
    look = """el => { const s = getComputedStyle(el);
        return [s.outlineStyle, s.outlineWidth, s.borderBlockEndWidth, s.fontWeight, s.textDecorationStyle,
            s.textDecorationThickness, s.backgroundColor].join() }"""
    one = page.locator("#map a[aria-current]").evaluate(look)
    others = page.locator("#map a:not([aria-current])").evaluate_all(f"all => all.map({look})")
    assert others
    assert one not in others
