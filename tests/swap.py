"""What htmx does to a page with an answer, in Python: so that the page after a swap can be compared with a fresh
load (the habit of les-emplois)."""

from __future__ import annotations

from bs4 import BeautifulSoup, Tag


def soup_of(html: str | bytes) -> BeautifulSoup:
    """A page or fragment, parsed."""
    return BeautifulSoup(html, "html.parser")


def with_out_of_band(page: BeautifulSoup, answer: str | bytes) -> BeautifulSoup:
    """The page with every out-of-band element of the answer put in the place of the one with its id.

    Raises AssertionError where the page has no such element: htmx would drop it silently.
    """
    for fragment in soup_of(answer).select("[hx-swap-oob]"):
        del fragment["hx-swap-oob"]
        target = page.find(id=fragment["id"])
        assert isinstance(target, Tag), f"The answer swaps #{fragment['id']}, which the page does not have."
        target.replace_with(fragment)
    return page


def with_swapped(page: BeautifulSoup, answer: str | bytes, target_id: str) -> BeautifulSoup:
    """The page with one element replaced by the answer (hx-swap="outerHTML")."""
    target = page.find(id=target_id)
    assert isinstance(target, Tag), f"The page has no #{target_id}."
    target.replace_with(soup_of(answer))
    return page


def comparable(page: BeautifulSoup, target_id: str) -> str:
    """An element without what differs between two loads for good reason: the CSRF token."""
    element = page.find(id=target_id)
    assert isinstance(element, Tag), f"The page has no #{target_id}."
    for token in element.select("[name=csrfmiddlewaretoken]"):
        token["value"] = ""
    return soup_of(str(element)).prettify()
