"""Marks join to the passage exactly, whatever is in it, and say what a reader would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.texts.highlight import EXCERPT, SENTENCE_REACH, HighlightPiece, excerpt, mark


def marked(claim: str, passage: str) -> list[str]:
    return [piece.text for piece in mark(claim, passage) if piece.marked]


@given(st.text(max_size=60), st.text(max_size=300))
def test_pieces_join_to_the_passage(claim: str, passage: str) -> None:
    pieces = mark(claim, passage)
    assert "".join(piece.text for piece in pieces) == passage
    assert all(piece.text for piece in pieces)
    assert not any(a.marked and b.marked for a, b in zip(pieces, pieces[1:], strict=False))


@pytest.mark.parametrize(
    ("claim", "passage", "expected"),
    [
        ("The house opened in 1973.", "It opens on 20 October 1973.", ["opens", "1973"]),
        ("Queen Elizabeth II opened it.", "Then Queen Elizabeth II opened it.", ["Queen Elizabeth II opened"]),
        ("He was in the house of it.", "He was in the park of it.", []),
        ("He studied rocks.", "She studies a rock while studying.", ["studies", "rock", "studying"]),
        ("It cost 1,234.5 dollars.", "1,234.5 is not 1,234 or 5", ["1,234.5"]),
        ("Mary sang", "Marie sang", ["sang"]),
        ("In 1973", "In 1974", []),
        ("Ο Σωκράτης", "ο σωκράτησ", ["σωκράτησ"]),
        ("Anything", "", []),
    ],
)
def test_marks_what_the_claim_speaks_of(claim: str, passage: str, expected: list[str]) -> None:
    assert marked(claim, passage) == expected


def shown(claim: str, passage: str) -> str:
    pieces = excerpt(mark(claim, passage))
    assert pieces is not None
    return "".join(piece.text for piece in pieces)


def test_a_short_passage_stays_whole() -> None:
    assert excerpt(mark("house", "x " * ((EXCERPT + SENTENCE_REACH) // 2))) is None
    assert excerpt(mark("house", "x " * (EXCERPT + SENTENCE_REACH))) is not None


def test_an_excerpt_is_where_most_different_words_of_the_claim_stand() -> None:
    far = "Far away from it all. " * 40
    text = shown("The house opened in 1973", f"The house, the house. {far}The house opened in 1973. {far}")
    assert "The house opened in 1973." in text
    assert text.startswith("… Far away")
    assert text.endswith("it all. …")
    assert len(text) <= EXCERPT + 2 * SENTENCE_REACH + 4


def test_an_excerpt_keeps_its_marks_and_the_passage_s_words() -> None:
    passage = f"{'nothing here ' * 60}the house opened {'again and again ' * 60}"
    pieces = excerpt(mark("house opened", passage))
    assert pieces is not None
    assert [piece.text for piece in pieces if piece.marked] == ["house opened"]
    assert shown("house opened", passage).strip("… ") in passage


def test_the_end_of_a_passage_is_not_cut_off() -> None:
    text = shown("the bridge", f"{'Nothing here. ' * 60}They built the bridge.")
    assert text.startswith("… ")
    assert text.endswith("They built the bridge.")


def test_a_long_passage_without_a_mark_shows_its_beginning() -> None:
    pieces = excerpt(mark("house", "far away " * 200))
    assert pieces is not None
    assert [piece.marked for piece in pieces] == [False, False]
    assert pieces[0].text.startswith("far away")
    assert pieces[1] == HighlightPiece(" …", False)


def test_a_passage_without_blanks_is_cut_at_its_length() -> None:
    text = shown("house", "字" * 2000)
    assert len(text) <= EXCERPT + SENTENCE_REACH + 4
