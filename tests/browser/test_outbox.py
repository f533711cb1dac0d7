"""The shared JavaScript in a real browser, against a tiny server that keeps the contract of static/js/outbox.js."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.static_page.server import FakeServer

C1 = "#claim-c1-text"
C2 = "#claim-c2-text"


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer()
    fake.start()
    yield fake
    fake.stop()


@pytest.fixture
def decompose(page: Page, server: FakeServer) -> Page:
    page.goto(f"{server.url}/decompose")
    return page


def wait_until(page: Page, condition: Callable[[], bool], what: str) -> None:
    for _ in range(100):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"not within 5 s: {what}")


def state(page: Page, name: str) -> None:
    """Waits for what the mark in the bar says; it is hidden until the outbox has looked into the storage."""
    expect(page.locator("#save-state")).to_be_visible()
    expect(page.locator("#save-state")).to_have_attribute("data-state", name, timeout=6000)


def kept(page: Page) -> list[str]:
    """Keys of what the outbox holds in the browser's storage."""
    keys = page.evaluate("Object.keys(localStorage).filter(key => key.startsWith('touchstone.outbox'))")
    assert isinstance(keys, list)
    return keys


# --- saving ---------------------------------------------------------------------------------------


def test_text_is_saved_after_a_pause_and_leaves_the_outbox(decompose: Page, server: FakeServer) -> None:
    decompose.fill(C1, "First.")
    assert len(kept(decompose)) == 1, "it is in the browser before it is sent"
    state(decompose, "saved")
    assert server.values("claim:c1")["text"] == "First."
    assert kept(decompose) == []
    assert {"field": "text", "value": "First.", "version": "1"}.items() <= server.saves[0].items()
    assert server.saves[0]["active_seconds"].isdigit()
    expect(decompose.locator("#claim-c1-meta")).to_have_attribute("data-version", "2")


def test_typing_sends_one_request_and_the_next_change_carries_the_new_version(
    decompose: Page, server: FakeServer
) -> None:
    decompose.locator(C1).press("Control+End")
    decompose.locator(C1).press_sequentially(" And more.", delay=20)
    state(decompose, "saved")
    decompose.locator(C1).press_sequentially(" Again.", delay=20)
    state(decompose, "saved")
    assert [save["version"] for save in server.saves] == ["1", "2"]
    assert server.values("claim:c1")["text"].endswith("Utzon. And more. Again.")


def test_what_is_typed_during_a_save_is_sent_after_it_with_its_version(decompose: Page, server: FakeServer) -> None:
    server.delay = 0.8
    decompose.fill(C1, "One")
    wait_until(decompose, lambda: len(server.saves) == 1, "first save is on its way")
    decompose.fill(C1, "One two")
    state(decompose, "saved")
    assert [(save["value"], save["version"]) for save in server.saves] == [("One", "1"), ("One two", "2")]
    assert server.values("claim:c1")["text"] == "One two"


def test_changes_of_one_record_go_in_their_order_one_at_a_time(decompose: Page, server: FakeServer) -> None:
    server.delay = 0.2
    decompose.locator(C1).fill("Changed first")
    decompose.locator("#claim-c1 label", has_text="Opinion").click()
    decompose.locator("#claim-c1 label", has_text="Less").click()
    state(decompose, "saved")
    assert [save["field"] for save in server.saves] == ["text", "type", "importance"]
    assert server.overlap == 1
    assert server.values("claim:c1") == {"text": "Changed first", "type": "opinion", "importance": "less"}


def test_saving_one_field_does_not_hide_anothers_change_of_the_other(decompose: Page, server: FakeServer) -> None:
    """The record's version rises past the partner's change; the text still counts from what was shown."""
    server.change("claim:c1", "text", "Theirs, not shown here")
    decompose.locator("#claim-c1 label", has_text="Opinion").click()
    state(decompose, "saved")
    decompose.fill(C1, "Mine")
    expect(decompose.locator("#conflict-dialog")).to_be_visible()


# --- no server ------------------------------------------------------------------------------------


def test_server_stopped_in_mid_sentence(decompose: Page, server: FakeServer) -> None:
    server.stop()
    decompose.fill(C1, "Typed while the server was gone.")
    expect(decompose.locator("#offline-banner")).to_be_visible()
    expect(decompose.locator("#offline-banner")).to_contain_text("Your changes aren't being saved there.")
    state(decompose, "not-saved")
    expect(decompose.locator(C1)).to_have_value("Typed while the server was gone.")
    server.start()
    state(decompose, "saved")
    expect(decompose.locator("#offline-banner")).to_be_hidden()
    assert server.values("claim:c1")["text"] == "Typed while the server was gone."


def test_text_survives_a_closed_tab(decompose: Page, server: FakeServer) -> None:
    server.stop()
    decompose.fill(C1, "Kept over a closed tab.")
    decompose.fill(C2, "This one too.")
    context = decompose.context
    decompose.close()
    server.start()
    page = context.new_page()
    page.goto(f"{server.url}/decompose")
    expect(page.locator(C1)).to_have_value("Kept over a closed tab.")
    state(page, "saved")
    assert server.values("claim:c1")["text"] == "Kept over a closed tab."
    assert server.values("claim:c2")["text"] == "This one too."
    assert kept(page) == []


def test_a_choice_made_without_a_server_is_restored(decompose: Page, server: FakeServer) -> None:
    server.status = 503
    decompose.locator("#claim-c3 label", has_text="Opinion").click()
    state(decompose, "not-saved")
    server.status = None
    decompose.reload()
    expect(decompose.locator("#claim-c3 input[value=opinion]")).to_be_checked()
    state(decompose, "saved")
    assert server.values("claim:c3")["type"] == "opinion"


def test_a_save_whose_answer_was_lost_is_no_conflict(decompose: Page, server: FakeServer) -> None:
    server.drop_answers = 1
    decompose.fill(C1, "Saved, but nobody told me")
    state(decompose, "not-saved")
    decompose.fill(C1, "Saved, but nobody told me, and typed on")
    state(decompose, "saved")
    expect(decompose.locator("#conflict-dialog")).to_be_hidden()
    assert server.values("claim:c1")["text"] == "Saved, but nobody told me, and typed on"


def test_a_button_says_why_it_cannot_while_the_server_is_gone(decompose: Page, server: FakeServer) -> None:
    server.stop()
    decompose.locator("#claim-c1 button", has_text="Split").click()
    expect(decompose.locator("#toasts")).to_contain_text("the server cannot be reached")
    server.start()
    expect(decompose.locator("#offline-banner")).to_be_hidden(timeout=8000)
    decompose.locator("#claim-c1 button", has_text="Split").click()
    wait_until(decompose, lambda: server.posts == ["/split/claim/c1/"], "the button works again")


def test_changes_of_another_page_are_listed_not_sent(decompose: Page, server: FakeServer) -> None:
    server.status = 500
    decompose.fill(C1, "Typed on the decompose page")
    state(decompose, "not-saved")
    decompose.evaluate(
        """() => { for (const [key, text] of Object.entries(localStorage)) if (key.startsWith('touchstone.outbox')) {
            localStorage.setItem(key, JSON.stringify({...JSON.parse(text), at: Date.now() - 60000})) } }"""
    )
    server.status = None
    server.saves.clear()
    decompose.goto(f"{server.url}/verify")
    expect(decompose.locator("#save-state")).to_contain_text("1 change from another page is waiting")
    decompose.get_by_text("1 change from another page is waiting").click()
    expect(decompose.locator("#unsaved")).to_contain_text("Typed on the decompose page")
    assert server.saves == []
    decompose.locator("#unsaved a", has_text="Open its page").click()
    state(decompose, "saved")
    assert server.values("claim:c1")["text"] == "Typed on the decompose page"


# --- refused --------------------------------------------------------------------------------------


def test_conflict_keep_mine(decompose: Page, server: FakeServer) -> None:
    server.change("claim:c1", "text", "Theirs")
    decompose.fill(C1, "Mine")
    dialog = decompose.locator("#conflict-dialog")
    expect(dialog).to_contain_text("Theirs")
    expect(dialog).to_contain_text("Mine")
    assert server.values("claim:c1")["text"] == "Theirs"
    assert len(kept(decompose)) == 1, "nothing is lost before the choice"
    dialog.get_by_text("Keep mine").click()
    state(decompose, "saved")
    assert server.values("claim:c1")["text"] == "Mine"
    expect(dialog).to_be_hidden()


def test_conflict_keep_theirs_and_go_on_from_there(decompose: Page, server: FakeServer) -> None:
    server.change("claim:c1", "text", "Theirs")
    decompose.fill(C1, "Mine")
    decompose.get_by_text("Keep the saved version").click()
    expect(decompose.locator(C1)).to_have_value("Theirs")
    state(decompose, "saved")
    assert kept(decompose) == []
    decompose.fill(C1, "Theirs, improved")
    state(decompose, "saved")
    assert server.values("claim:c1")["text"] == "Theirs, improved"


def test_a_conflict_put_off_stays_listed(decompose: Page, server: FakeServer) -> None:
    server.change("claim:c1", "text", "Theirs")
    decompose.fill(C1, "Mine")
    expect(decompose.locator("#conflict-dialog")).to_be_visible()
    decompose.keyboard.press("Escape")
    state(decompose, "not-saved")
    expect(decompose.locator(C1)).to_have_value("Mine")
    decompose.get_by_text("Show", exact=True).click()
    decompose.get_by_text("Show both texts").click()
    decompose.get_by_text("Keep mine").click()
    state(decompose, "saved")
    assert server.values("claim:c1")["text"] == "Mine"


def test_two_conflicts_are_shown_one_after_the_other(decompose: Page, server: FakeServer) -> None:
    server.change("claim:c1", "text", "Theirs 1")
    server.change("claim:c2", "text", "Theirs 2")
    server.delay = 0.5  # both are typed before the first panel opens
    decompose.fill(C1, "Mine 1")
    decompose.fill(C2, "Mine 2")
    dialog = decompose.locator("#conflict-dialog")
    dialog.get_by_text("Keep mine").click()
    expect(dialog).to_contain_text("Theirs 2")
    dialog.get_by_text("Keep mine").click()
    state(decompose, "saved")
    assert server.values("claim:c1")["text"] == "Mine 1"
    assert server.values("claim:c2")["text"] == "Mine 2"


def test_two_tabs_on_one_field(decompose: Page, server: FakeServer) -> None:
    other = decompose.context.new_page()
    other.goto(f"{server.url}/decompose")
    decompose.fill(C1, "From the first tab")
    state(decompose, "saved")
    other.fill(C1, "From the second tab")
    expect(other.locator("#conflict-dialog")).to_contain_text("From the first tab")


def test_a_refused_text_shows_the_reason_at_the_field_and_stays(decompose: Page, server: FakeServer) -> None:
    server.problem = "A claim needs words."
    decompose.fill(C1, "")
    expect(decompose.locator("#claim-c1 .problem")).to_have_text("A claim needs words.")
    expect(decompose.locator(C1)).to_have_attribute("aria-invalid", "true")
    expect(decompose.locator("#save-state")).to_contain_text("Not saved A claim needs words.")
    server.problem = None
    decompose.fill(C1, "Words.")
    state(decompose, "saved")
    expect(decompose.locator("#claim-c1 .problem")).to_have_count(0)


@pytest.mark.parametrize("status", [403, 404, 410])
def test_what_can_no_longer_be_saved_can_be_copied(decompose: Page, server: FakeServer, status: int) -> None:
    server.status = status
    decompose.fill(C1, "Mine all the same")
    expect(decompose.locator("#save-state")).to_contain_text("Said by the server.")
    decompose.get_by_text("Show", exact=True).click()
    expect(decompose.locator("#unsaved")).to_contain_text("Mine all the same")
    expect(decompose.get_by_text("Copy my text")).to_be_visible()
    assert len(kept(decompose)) == 1


def test_a_refusal_that_is_no_conflict_of_texts_says_its_reason(decompose: Page, server: FakeServer) -> None:
    server.status = 409
    decompose.fill(C1, "Mine")
    expect(decompose.locator("#save-state")).to_contain_text("Said by the server.")
    expect(decompose.locator("#conflict-dialog")).to_be_hidden()


def test_signed_out_stays_on_the_page(decompose: Page, server: FakeServer) -> None:
    server.status = 401
    decompose.fill(C1, "Typed after the session ended")
    expect(decompose.locator("#save-state")).to_contain_text("you are signed out")
    assert decompose.url.endswith("/decompose")
    decompose.get_by_text("Show", exact=True).click()
    expect(decompose.get_by_text("Sign in again")).to_have_attribute("href", "/login?next=/")


# --- swaps ----------------------------------------------------------------------------------------


def test_a_swap_never_overwrites_what_is_being_typed(decompose: Page, server: FakeServer) -> None:
    server.swap_record = True
    server.delay = 0.4
    decompose.fill(C1, "Begun")
    wait_until(decompose, lambda: len(server.saves) == 1, "the save is on its way")
    decompose.locator(C1).press_sequentially(" and still going", delay=60)  # the answer redraws the record meanwhile
    expect(decompose.locator(C1)).to_have_value("Begun and still going")
    expect(decompose.locator(C1)).to_be_focused()
    state(decompose, "saved")
    assert server.values("claim:c1")["text"] == "Begun and still going"


def test_a_swap_keeps_the_caret(decompose: Page, server: FakeServer) -> None:
    server.swap_record = True
    decompose.fill(C1, "abcdef")
    decompose.evaluate(f"document.querySelector('{C1}').setSelectionRange(3, 3)")
    state(decompose, "saved")
    decompose.keyboard.type("X")
    expect(decompose.locator(C1)).to_have_value("abcXdef")


def test_a_button_waits_for_the_outbox(decompose: Page, server: FakeServer) -> None:
    server.delay = 0.3
    decompose.fill(C1, "Before the split")
    decompose.locator("#claim-c1 button", has_text="Split").click()
    wait_until(decompose, lambda: server.posts == ["/split/claim/c1/"], "split arrives")
    assert server.saves[0]["value"] == "Before the split"
    assert server.values("claim:c1")["text"] == "Before the split"


def test_a_button_redrawn_while_it_is_pressed_still_works(decompose: Page, server: FakeServer) -> None:
    server.swap_record = True
    server.delay = 0.6
    decompose.fill(C1, "The answer to this redraws the record")
    wait_until(decompose, lambda: len(server.saves) == 1, "the save is on its way")
    decompose.locator("#claim-c1 button", has_text="Split").hover()
    decompose.mouse.down()
    expect(decompose.locator("#claim-c1-meta")).to_have_attribute("data-version", "2")
    decompose.mouse.up()
    wait_until(decompose, lambda: server.posts == ["/split/claim/c1/"], "the press counts")


def test_focus_and_current_row_survive_a_swap(decompose: Page) -> None:
    decompose.evaluate("document.querySelector('#claim-c2').dataset.old = ''")
    decompose.locator("#claim-c2 button", has_text="Reload").focus()
    decompose.keyboard.press("Enter")  # fetches the record anew, this button with it
    expect(decompose.locator("#claim-c2[data-old]")).to_have_count(0)
    expect(decompose.locator("#claim-c2 button", has_text="Reload")).to_be_focused()
    expect(decompose.locator("#claim-c2")).to_have_attribute("data-current", "")
    decompose.evaluate("document.querySelector('#claim-c2 [hx-get]').setAttribute('hx-get', '/record/c3/')")
    decompose.evaluate("htmx.process(document.querySelector('#claim-c2 [hx-get]'))")
    decompose.keyboard.press("Enter")  # now the button has no successor: its row takes the focus
    expect(decompose.locator("#claim-c3").first).to_be_focused()


def test_a_double_click_sends_once(decompose: Page, server: FakeServer) -> None:
    server.delay = 0.3
    decompose.locator("#claim-c1 button", has_text="Split").dblclick()
    decompose.wait_for_timeout(800)
    assert server.posts == ["/split/claim/c1/"]


def test_a_link_waits_for_the_outbox(decompose: Page, server: FakeServer) -> None:
    server.delay = 0.3
    decompose.fill(C1, "Typed just before leaving")
    decompose.get_by_role("link", name="Verify").click()
    decompose.wait_for_url("**/verify")
    assert server.values("claim:c1")["text"] == "Typed just before leaving"
    assert kept(decompose) == []


# --- keys and rows --------------------------------------------------------------------------------


def test_keys_act_and_never_while_typing(decompose: Page, server: FakeServer) -> None:
    decompose.keyboard.press("n")
    wait_until(decompose, lambda: server.posts == ["/add/"], "N presses its button")
    decompose.focus(C1)
    for key in ("n", "j", "1", "?", "s"):
        decompose.keyboard.press(key)
    expect(decompose.locator(C1)).to_have_value(re.compile(r"^nj1\?s"))
    assert server.posts == ["/add/"]
    expect(decompose.locator("#key-help")).to_be_hidden()
    decompose.keyboard.press("Escape")
    expect(decompose.locator("#claim-c1")).to_be_focused()
    state(decompose, "saved")
    decompose.keyboard.press("s")
    wait_until(decompose, lambda: server.posts[1:] == ["/split/claim/c1/"], "S acts in the current row")


def test_rows_numbers_and_going_on(decompose: Page, server: FakeServer) -> None:
    decompose.keyboard.press("j")
    expect(decompose.locator("#sentence-s1")).to_be_focused()
    decompose.keyboard.press("1")  # type of the sentence; importance is decided: on to the next open row
    expect(decompose.locator("#claim-c2")).to_be_focused()
    decompose.keyboard.press("2")  # its type is decided, so 2 is its importance
    expect(decompose.locator("#claim-c3")).to_be_focused()
    decompose.keyboard.press("4")
    decompose.keyboard.press("Escape")
    expect(decompose.locator("#claim-c3")).to_have_attribute("data-current", "")
    state(decompose, "saved")
    assert server.values("sentence:s1")["type"] == "factual"
    assert server.values("claim:c2")["importance"] == "intermediate"
    assert server.values("claim:c3")["type"] == "other"
    decompose.keyboard.press("k")
    decompose.keyboard.press("Enter")
    expect(decompose.locator(C2)).to_be_focused()
    decompose.keyboard.type(" And so on.")
    expect(decompose.locator(C2)).to_have_value("The Sydney Opera House was opened in 1975. And so on.")


def test_sequence_slash_and_submit(decompose: Page, server: FakeServer) -> None:
    decompose.keyboard.press("/")
    expect(decompose.locator("#search")).to_be_focused()
    decompose.keyboard.press("Control+Enter")
    wait_until(decompose, lambda: server.posts == ["/submit/"], "Ctrl+Enter works from a text field")
    decompose.keyboard.press("Escape")
    with decompose.context.expect_page() as guidelines:
        decompose.keyboard.press("g")
        decompose.keyboard.press("g")
    assert guidelines.value.url.endswith("/guidelines")
    decompose.keyboard.press("g")
    decompose.keyboard.press("v")
    decompose.wait_for_url("**/verify")


def test_keys_can_be_changed_and_turned_off(decompose: Page, server: FakeServer) -> None:
    decompose.keyboard.press("?")
    change = decompose.get_by_label("Change the key for Add a claim")
    change.click()
    decompose.keyboard.press("x")
    decompose.keyboard.press("Escape")
    expect(decompose.locator("#key-help")).to_be_hidden()
    decompose.keyboard.press("n")
    decompose.keyboard.press("x")
    wait_until(decompose, lambda: server.posts == ["/add/"], "X adds, N no longer")
    decompose.reload()
    expect(decompose.locator("button", has_text="Add a claim").locator("kbd")).to_have_text("X")
    decompose.keyboard.press("?")
    decompose.get_by_label("Turn all keys off").check()
    decompose.keyboard.press("Escape")
    decompose.keyboard.press("x")
    decompose.keyboard.press("j")
    decompose.wait_for_timeout(200)
    assert server.posts == ["/add/"]
    expect(decompose.locator("[data-current]")).to_have_count(0)


# --- diff, selection, notes, theme ----------------------------------------------------------------


def test_live_diff(decompose: Page) -> None:
    diff = decompose.locator("#claim-c1 .diff")
    expect(diff).to_have_text("Unchanged")
    decompose.fill(C1, "The Sydney Opera House was drawn by a Dane, Jørn Utzon.")
    expect(diff.locator("del")).to_have_text(["designed"])
    expect(diff.locator("ins")).to_have_text(["drawn", "a Dane,"])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("It was opened.", "The Sydney Opera House was opened."),
        ("", "all new"),
        ("gone", ""),
        ("a b c d e f", "f e d c b a"),
        ("Größe 1,5 m – naïve 🏛 x", "Größe 2,5 m – naïve 🏛🏛 x"),
        ("one two " * 300, "one three " * 300),
        ("x" * 50 + " ", " y"),
    ],
)
def test_diff_gives_both_texts_back(decompose: Page, before: str, after: str) -> None:
    runs = decompose.evaluate("([a, b]) => touchstone.diff(a, b)", [before, after])
    assert "".join(text for kind, text in runs if kind != "ins") == before
    assert "".join(text for kind, text in runs if kind != "del") == after


def test_diff_marks_whole_words_in_arabic(decompose: Page) -> None:
    runs = decompose.evaluate("([a, b]) => touchstone.diff(a, b)", ["عاصمة فرنسا في عام", "عاصمة ألمانيا في عام"])
    assert runs == [["same", "عاصمة "], ["del", "فرنسا"], ["ins", "ألمانيا"], ["same", " في عام"]]


def test_selected_words_count_in_code_points(page: Page, server: FakeServer) -> None:
    page.goto(f"{server.url}/verify")
    page.focus("#claim-text")
    for key in ("ArrowLeft", "Enter"):  # the last word, "1975."
        page.keyboard.press(key)
    page.keyboard.type("1973.")
    page.keyboard.press("Enter")
    wait_until(page, lambda: len(server.edits) == 1, "the form is sent")
    text = "The 🏛 Sydney Opera House was opened by Queen Elizabeth II in 1975."
    edit = server.edits[0]
    assert text[int(edit["start"]) : int(edit["end"])] == "1975." == edit["text"]
    assert (edit["kind"], edit["replacement"]) == ("replace", "1973.")


def test_selecting_by_mouse_offers_delete(page: Page, server: FakeServer) -> None:
    page.goto(f"{server.url}/verify")
    page.locator("#claim-text").dblclick(position={"x": 12, "y": 14})
    page.get_by_role("toolbar").get_by_text("Delete").click()
    wait_until(page, lambda: len(server.edits) == 1, "the form is sent")
    assert server.edits[0] == {"kind": "delete", "start": "0", "end": "3", "text": "The", "replacement": ""}


def test_checkbox_saves_its_value_and_nothing(page: Page, server: FakeServer) -> None:
    page.goto(f"{server.url}/verify")
    page.check("#reliable")
    state(page, "saved")
    page.uncheck("#reliable")
    state(page, "saved")
    assert [save["value"] for save in server.saves] == ["yes", ""]


def test_notes_are_dismissed_for_good_and_the_theme_is_remembered(decompose: Page) -> None:
    note = decompose.locator("[data-note]")
    expect(note).to_be_visible()
    note.get_by_text("Dismiss").click()
    expect(note).to_be_hidden()
    decompose.locator(".menu summary").click()
    decompose.locator(".menu-body label", has_text="Dark").click()
    expect(decompose.locator("html")).to_have_attribute("data-theme", "dark")
    decompose.reload()
    expect(decompose.locator("html")).to_have_attribute("data-theme", "dark")
    expect(note).to_be_hidden()


# --- the look -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["decompose", "verify", "overview", "login"])
def test_no_axe_violation_and_no_sideways_scroll(
    page: Page, server: FakeServer, name: str, width: int, scheme: str
) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{server.url}/{name}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
    results = Axe().run(page, options=options)
    assert results.violations_count == 0, results.generate_report()
