"""Screen 2 in a real browser: a claim judged and corrected by keys alone, the rest by one key, and nothing that was out
of view answered."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotator.core.models import Annotation, Evidence, User
from annotator.core.vocabulary import Stage
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.queries.verification import ClaimWork, claims_to_verify
from tests.browser.conftest import check_axe, wait_until_saved
from tests.factories import RESPONSE, BenchmarkFactory, DocumentFactory, decomposed, member, prefill

LONG = "Words that say nothing about it. " * 12


@pytest.fixture
def person(transactional_db: None) -> User:
    return member(BenchmarkFactory())


@pytest.fixture
def annotation(person: User) -> Annotation:
    """Each claim with four passages, of which the last says the same as the first."""
    document = prefill(DocumentFactory(benchmark=person.memberships.get().benchmark, response=RESPONSE))
    decomposed(document, person)
    document.refresh_from_db()
    opened = open_annotation(document, Stage.VERIFY, by=person)
    for work in claims_to_verify(opened):
        for order, passage in enumerate(("It is so.", f"Second. {LONG}", f"Third. {LONG}", "It is so."), start=1):
            Evidence.objects.create(
                claim=work.claim, order=order, url=f"https://{order}.example", title=f"Page {order}", passage=passage
            )
    return opened


@pytest.fixture
def page(annotation: Annotation, person: User, sign_in: Callable[[User], Page], live_server: LiveServer) -> Page:
    page = sign_in(person)
    page.goto(f"{live_server.url}/d/{annotation.document.public_id}/verify/")
    return page


def works(annotation: Annotation) -> list[ClaimWork]:
    return claims_to_verify(Annotation.objects.get(pk=annotation.pk))


def test_a_claim_is_judged_and_corrected_by_keys_alone(page: Page, annotation: Annotation) -> None:
    first, second, *_ = works(annotation)
    title = page.locator("#claim-title")
    expect(title).to_have_text(f"Claim {first.number}")
    page.keyboard.press("3")
    page.keyboard.press("0")
    expect(page.locator("article.ev [data-undecided][data-advance]")).to_have_count(0)
    wait_until_saved(page)
    assert [card.stance.label for card in works(annotation)[0].cards] == [
        "refute",
        "irrelevant",
        "irrelevant",
        "refute",
    ]
    assert all(card.stance.in_view_at for card in works(annotation)[0].cards if not card.folded)
    page.keyboard.press("f")
    text = page.locator("#rewrite-text")
    expect(text).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(f"{first.claim.text[:-1]} of note.")
    expect(page.locator(".edits .op")).to_contain_text("Replace")
    check_axe(page)
    page.keyboard.press("Enter")
    expect(title).to_have_text(f"Claim {second.number}")
    verdict = works(annotation)[0].verdict
    assert (verdict.factuality, verdict.revised_claim()) == ("false", f"{first.claim.text[:-1]} of note.")
    page.keyboard.press("k")
    expect(title).to_have_text(f"Claim {first.number}")
    page.keyboard.press("j")
    expect(title).to_have_text(f"Claim {second.number}")


def test_the_rest_is_only_what_has_been_in_view_and_comes_back_with_one_undo(
    page: Page, annotation: Annotation
) -> None:
    page.set_viewport_size({"width": 1280, "height": 560})
    page.reload()
    page.locator("article.ev").first.wait_for()
    page.keyboard.press("0")
    wait_until_saved(page)
    page.wait_for_timeout(300)
    labels = [card.stance.label for card in works(annotation)[0].cards if not card.folded]
    assert labels[0] == "irrelevant"
    assert labels[-1] == "", "the last passage is below the window"
    expect(page.locator("article.ev[data-current]")).to_be_in_viewport()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("article.ev:not([data-follows]) [data-undecided][data-advance]")).to_have_count(3)
    assert {card.stance.label for card in works(annotation)[0].cards} == {""}
    page.keyboard.press("1")  # goes on where the undone labels are missing, not in the panel with the button
    wait_until_saved(page)
    assert works(annotation)[0].cards[0].stance.label != ""
    expect(page.locator("article.ev[data-current]")).to_have_attribute("aria-label", "Evidence 2")
    page.keyboard.press("z")  # back at the passage whose label was undone, and the panel stays as it was
    expect(page.locator("article.ev[data-current]")).to_have_attribute("aria-label", "Evidence 1")
    expect(page.locator(".judgement[data-current]")).to_have_count(0)


@pytest.mark.parametrize("width", [1024, 1280, 1440])
def test_stance_reliable_and_sufficient_stand_in_one_row(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    choices = page.locator(".card-choices").first.locator("label")
    before = [each.bounding_box() for each in choices.all()]
    assert len({round(each["y"] / 8) for each in before}) == 1  # type: ignore[index]
    page.keyboard.press("2")
    wait_until_saved(page)
    page.evaluate("scrollTo(0, 0)")
    assert [each.bounding_box()["width"] for each in choices.all()] == pytest.approx(  # type: ignore[index]
        [each["width"] for each in before],  # type: ignore[index]
        abs=1,
    ), "a chosen label is wider"
    assert len({round(each.bounding_box()["y"] / 8) for each in choices.all()}) == 1  # type: ignore[index]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_at_400_percent_zoom_nothing_is_pinned_over_what_is_read(page: Page) -> None:
    page.set_viewport_size({"width": 320, "height": 256})
    for part in (".claim-head", ".judgement", ".judgement .foot"):
        expect(page.locator(part)).to_have_css("position", "static")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_passage_behind_the_pinned_panel_has_not_been_in_view(page: Page) -> None:
    page.set_viewport_size({"width": 1024, "height": 620})
    page.reload()
    second = page.locator("article.ev").nth(1)
    text, panel = second.locator("[data-look]:visible").bounding_box(), page.locator(".judgement").bounding_box()
    assert text
    assert panel
    assert text["y"] + text["height"] / 2 > panel["y"], "the panel doesn't cover the second passage"
    assert text["y"] + text["height"] < 620, "the window does"
    page.keyboard.press("0")
    wait_until_saved(page)
    expect(page.locator("article.ev[data-current]")).to_have_attribute("aria-label", "Evidence 2")


@pytest.mark.parametrize("size", [(1440, 900), (1024, 768), (390, 844)])
def test_the_edits_are_in_view_while_a_claim_is_corrected_and_then_what_it_lacks_is_next(
    page: Page, annotation: Annotation, size: tuple[int, int]
) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.keyboard.press("f")
    text = page.locator("#rewrite-text")
    expect(text).to_be_focused()
    text.fill(f"{works(annotation)[0].claim.text[:-1]} of note.")
    for part in (text, page.locator(".edits .op").first):
        expect(part).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    expect(page.locator("article.ev[data-current]")).to_have_attribute("aria-label", "Evidence 1")
    expect(page.locator("#rewrite-text")).not_to_be_focused()
    assert works(annotation)[0].verdict.revised_claim().endswith("of note.")


def test_a_passage_is_read_whole_and_words_are_found_in_it(page: Page) -> None:
    page.keyboard.press("ArrowDown")
    second = page.locator("article.ev").nth(1)
    second.locator("[data-whole]").click()
    expect(second.locator(".passage.whole")).to_be_visible()
    expect(second.locator(".passage.excerpt")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.locator("#find")).to_be_focused()
    page.keyboard.insert_text("third.")
    expect(page.locator("#found")).to_have_text("1 found")


def test_words_are_selected_as_the_rationale_by_mouse_and_by_keys(page: Page, annotation: Annotation) -> None:
    first = page.locator("article.ev").first
    words = first.locator(".passage.whole")
    words.dblclick(position={"x": 6, "y": 10})
    page.get_by_role("button", name="Add to the rationale").click()
    expect(first.locator(".quotes q")).to_have_text(["It"])
    wait_until_saved(page)
    assert works(annotation)[0].cards[0].stance.rationale == [[0, 2]]
    page.keyboard.press("q")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Enter")
    expect(first.locator(".quotes q")).to_have_text(["It", "is so."])
    page.keyboard.press("Escape")
    page.keyboard.press("z")
    wait_until_saved(page)
    expect(first.locator(".quotes q")).to_have_text(["It"])
    check_axe(page)


def test_words_of_an_excerpt_keep_their_place_in_the_passage_without_a_connection(
    page: Page, annotation: Annotation
) -> None:
    long = "Nothing. " * 40 + works(annotation)[0].claim.text + " Nothing." * 40
    card = works(annotation)[0].cards[1]
    Evidence.objects.filter(pk=card.evidence.pk).update(passage=long)
    page.reload()
    second = page.locator("article.ev").nth(1)
    page.context.set_offline(True)
    second.locator(".excerpt mark").last.dblclick(position={"x": 6, "y": 8})  # the first may be in two lines
    page.keyboard.press("q")
    word = second.locator(".quotes q").inner_text()
    page.context.set_offline(False)
    wait_until_saved(page)
    (span,) = works(annotation)[0].cards[1].stance.rationale
    assert long[slice(*span)] == word
    assert word in works(annotation)[0].claim.text
    page.reload()
    expect(second.locator(".quotes q")).to_have_text([word])


def test_a_verdict_with_shift_says_that_the_rest_is_irrelevant_and_goes_on(page: Page, annotation: Annotation) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.keyboard.press("1")
    second = works(annotation)[1]
    expect(page.locator(".with-rest")).to_be_visible()
    page.keyboard.press("Shift+T")
    expect(page.locator("#claim-title")).to_have_text(f"Claim {second.number}")
    wait_until_saved(page)
    work = works(annotation)[0]
    assert work.verdict.factuality == "true"
    assert [card.stance.label for card in work.cards] == [
        "completely_support",
        *["irrelevant"] * 2,
        "completely_support",
    ]


def test_what_is_current_differs_in_forced_colors(page: Page, annotation: Annotation) -> None:
    page.emulate_media(forced_colors="active")
    page.reload()
    look = """el => { const s = getComputedStyle(el);
        return [s.outlineStyle, s.outlineWidth, s.borderInlineStartWidth, s.fontWeight, s.textDecorationLine,
            s.backgroundColor, s.color].join() }"""
    for group, current in (
        ("#claims a", "#claims a[aria-current]"),
        ("article.ev", "article.ev[data-current]"),
        (".steps a", ".steps a[aria-current]"),
    ):
        one = page.locator(current).first.evaluate(look)
        others = page.locator(f"{group}:not([aria-current])").evaluate_all(f"all => all.map({look})")
        assert others, group
        assert one not in others, group
