"""Marks join to the passage exactly, whatever is in it, and say what a reader would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.texts.highlight import COLLAPSE_OVER, HighlightPiece, mark, shortened


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


def test_a_short_passage_stays_whole() -> None:
    assert shortened(mark("house", "x " * (COLLAPSE_OVER // 2))) is None


def test_a_long_passage_keeps_every_mark_and_some_words_around_it() -> None:
    far = "far away from it all " * 40
    short = shortened(mark("house opened", f"{far}the house was {far}opened again {far}"))
    assert short is not None
    assert [piece.text for piece in short if piece.marked] == ["house", "opened"]
    text = "".join(piece.text for piece in short)
    assert text.startswith("… ")
    assert text.endswith(" …")
    assert "from it all the house was far away" in text
    assert len(text) < 400


def test_a_long_passage_without_a_mark_shows_its_beginning() -> None:
    short = shortened(mark("house", "far away " * 200))
    assert short is not None
    assert short == [HighlightPiece(short[0].text, False)]
    assert short[0].text.startswith("far away")
    assert len(short[0].text) < COLLAPSE_OVER


def test_marks_all_over_a_long_passage_leave_nothing_to_shorten() -> None:
    assert shortened(mark("house", "the house is there " * 60)) is None
