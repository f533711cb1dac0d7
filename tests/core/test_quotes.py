"""Finding a passage in the text of its page."""

from __future__ import annotations

import time

import pytest

from annotator.core.texts.quotes import is_still_quoted, pieces, places_of
from pipeline.retrieval.passages import passages

PAGE = (
    "The fort of Ema\n\nThe fort of Ema was built in 1820 by masons\nfrom the coast. Log in\n\n"
    "Its walls are four metres thick. A fire destroyed the upper floor in 1901."
)


def quoted(text: str, passage: str) -> list[str]:
    return [text[start:end] for start, end in places_of(text, passage)]


def test_white_space_does_not_matter() -> None:
    found = quoted(PAGE, "was built in 1820 by masons from the coast.")
    assert found == ["was built in 1820 by masons\nfrom the coast"]


def test_what_was_left_out_of_the_passage_is_not_quoted() -> None:
    passage = "by masons from the coast. Its walls are four metres thick."
    assert quoted(PAGE, passage) == ["by masons\nfrom the coast", "Its walls are four metres thick"]


@pytest.mark.parametrize("passage", ["Nothing of it.", "", "…"])
def test_what_is_not_there_is_not_found(passage: str) -> None:
    assert quoted(PAGE, passage) == []
    assert not is_still_quoted(PAGE, PAGE, passage)


def test_a_passage_is_still_quoted_while_its_words_stand() -> None:
    passage = "was built in 1820 by masons from the coast."
    assert is_still_quoted(PAGE, f"News! {PAGE.replace('Log in', 'Sign up')}", passage)
    assert is_still_quoted(PAGE, PAGE.replace("\n", "  "), passage)
    assert not is_still_quoted(PAGE, PAGE.replace("1820", "1825"), passage)
    assert not is_still_quoted(PAGE, PAGE.replace("1820", "18203"), passage)


def test_short_passages_are_found() -> None:
    assert quoted(PAGE, "Thick") == ["thick"]


@pytest.mark.parametrize("passage", ["", "Its walls are four metres thick.", "nowhere to be found at all"])
def test_pieces_join_to_the_text(passage: str) -> None:
    assert "".join(piece.text for piece in pieces(PAGE, passage)) == PAGE


def test_every_passage_that_is_cut_from_a_page_is_found_there() -> None:
    long = "Word after word " * 30 + "ends here."
    page = "\n\n".join([PAGE, long, "We use cookies. Its roof is of slate and came by ship. It was never taken."])
    cut = passages(page)
    assert len(cut) > 1
    assert all(is_still_quoted(page, page, each) for each in cut)
    for each in cut:
        first = places_of(page, each)[0]
        assert not is_still_quoted(page, page.replace(page[first[0] : first[1]], "Gone."), each)


def test_a_long_page_takes_no_long_time() -> None:
    page = " ".join(f"The year {number} was the one of the fort and of the sea." for number in range(20_000))
    began = time.process_time()
    assert places_of(page, "The year 19999 was the one of the fort and of the sea.")[-1][1] == len(page) - 1
    assert time.process_time() - began < 5
