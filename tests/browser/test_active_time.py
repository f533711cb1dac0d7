"""Active time counts focused time only: the page in front, with the focus, and a sign of the person within a minute."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

SCRIPT = Path(__file__).resolve().parents[2] / "static" / "js" / "active-time.js"


@pytest.fixture
def reading(page: Page) -> Page:
    """A page with the script, whose time, focus and visibility the test sets."""
    page.clock.install()
    page.goto("about:blank")
    page.set_content("<main><textarea></textarea></main>")
    page.evaluate(
        """() => {
          window.inFront = window.inFocus = true;
          document.hasFocus = () => window.inFocus;
          Object.defineProperty(document, "hidden", { get: () => !window.inFront });
        }"""
    )
    page.add_script_tag(path=SCRIPT)
    return page


def taken(page: Page) -> int:
    seconds = page.evaluate("touchstone.active.take()")
    assert isinstance(seconds, int)
    return seconds


def wait(page: Page, seconds: int) -> None:
    page.clock.run_for(seconds * 1000)


def test_seconds_in_front_and_with_focus_count_and_are_taken_once(reading: Page) -> None:
    wait(reading, 30)
    assert taken(reading) == 30
    assert taken(reading) == 0
    reading.evaluate("touchstone.active.giveBack(12)")
    assert taken(reading) == 12


@pytest.mark.parametrize("lost", ["inFocus", "inFront"])
def test_without_focus_or_behind_another_page_nothing_counts(reading: Page, lost: str) -> None:
    reading.evaluate(f"window.{lost} = false")
    wait(reading, 30)
    assert taken(reading) == 0
    reading.evaluate(f"window.{lost} = true")
    wait(reading, 5)
    assert taken(reading) == 5


def test_who_goes_away_from_an_open_page_is_not_counted_beyond_a_minute(reading: Page) -> None:
    wait(reading, 600)
    assert taken(reading) == 59
    reading.locator("textarea").press("a")
    wait(reading, 10)
    assert taken(reading) == 10
