"""Sentences that a model gives are found in the response, and nothing of the response is lost."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sentences.boundaries import split_sentences
from pipeline.sentences.places import pieces_of

RESPONSE = "Ada wrote notes, in 1843.  She built\nnothing herself! See Proc. R. Soc. 5, pp. 1-9. It is known."


def placed(response: str, said: list[str]) -> list[tuple[str, int | None]]:
    """Texts with the one sentence of the model that each is, None for none."""
    found = pieces_of(response, said)
    assert all(len(piece.said) <= 1 for piece in found)
    return [(piece.text, piece.said[0] if piece.said else None) for piece in found]


def test_exact_sentences_are_found_white_space_aside() -> None:
    assert placed(RESPONSE, ["Ada wrote notes, in 1843.", "She built nothing herself!"])[:2] == [
        ("Ada wrote notes, in 1843.", 0),
        ("She built\nnothing herself!", 1),
    ]


def test_a_model_may_join_what_rules_cut_and_cut_what_they_join() -> None:
    assert len(split_sentences("See Ottomar et. al. (Proc. Roy. Zool. 5). It is known.")) >= 2
    joined = "See Ottomar et. al. (Proc. Roy. Zool. 5)."
    assert placed(f"{joined} It is known.", [joined, "It is known."]) == [(joined, 0), ("It is known.", 1)]
    assert placed("Ada wrote, and Bo read.", ["Ada wrote,", "and Bo read."]) == [("Ada wrote,", 0), ("and Bo read.", 1)]


def test_what_was_not_given_stays_in_pieces_by_rules() -> None:
    found = placed("One is here. Two is there. Three is gone.", ["Two is there."])
    assert found == [("One is here.", None), ("Two is there.", 0), ("Three is gone.", None)]
    assert placed("Ada wrote, and Bo read.", ["Ada wrote,"]) == [("Ada wrote,", 0), ("and Bo read.", None)]


def test_a_reworded_sentence_goes_to_the_one_most_like_it() -> None:
    text = "He was born in Lund in 1801. He was born in Turku in 1802. Bees dance."
    assert placed(text, ["Ole Dahl was born in Turku in 1802."])[1] == ("He was born in Turku in 1802.", 0)
    assert placed(text, ["Whales sing at night."]) == [(span.text, None) for span in split_sentences(text)]


def test_two_sentences_made_of_one_share_its_piece() -> None:
    text = "Earth and Mars have solid ground, whereas the ground of Saturn and Jupiter is gas. Bees dance."
    said = ["Earth and Mars have solid ground whereas the ground of Saturn is gas.", "The ground of Jupiter is gas."]
    found = pieces_of(text, said)
    assert [(piece.text[:5], piece.said) for piece in found] == [("Earth", (0, 1)), ("Bees ", ())]
    halves = ["Mars and Earth have solid ground.", "whereas the ground of Saturn and Jupiter is gas."]
    assert [piece.said for piece in pieces_of(text, halves)] == [(0,), (1,), ()]


def test_list_markers_and_closing_signs_stay_with_their_sentence() -> None:
    text = "Two of them:\n1. Ada Byron\n2. **Bo Dahl**\n"
    assert placed(text, ["Two of them", "Ada Byron", "Bo Dahl"]) == [
        ("Two of them:", 0),
        ("1. Ada Byron", 1),
        ("2. **Bo Dahl**", 2),
    ]


def test_a_sentence_that_occurs_twice_is_found_twice_in_order() -> None:
    assert placed("It is so. Why? It is so.", ["It is so.", "Why?", "It is so."]) == [
        ("It is so.", 0),
        ("Why?", 1),
        ("It is so.", 2),
    ]


def test_a_sentence_does_not_begin_within_a_word() -> None:
    assert placed("Unable. Able.", ["Able."]) == [("Unable.", None), ("Able.", 0)]


def test_the_whole_answer_is_no_sentence() -> None:
    text = " ".join(f"Number {number} is here with {'very ' * 20}many words." for number in range(5))
    assert [said for _, said in placed(text, [text])] == [None] * 5


_sentence = st.text(alphabet="ab. !\n1é*", min_size=0, max_size=12)


@given(st.text(alphabet="ab. !?\n1-é*:", max_size=120), st.lists(_sentence, max_size=6), st.data())
def test_pieces_never_overlap_and_hold_every_word(response: str, said: list[str], data: st.DataObject) -> None:
    if response:  # some that are really in it
        start = data.draw(st.integers(0, len(response) - 1))
        said.append(response[start : data.draw(st.integers(start, len(response)))])
    pieces = pieces_of(response, said)
    end = 0
    for piece in pieces:
        assert end <= piece.start < piece.end
        assert response[piece.start : piece.end] == piece.text == piece.text.strip()
        end = piece.end
    assert re.findall(r"\w", "".join(piece.text for piece in pieces)) == re.findall(r"\w", response)
    given_by_model = [which for piece in pieces for which in piece.said]
    assert len(given_by_model) == len(set(given_by_model))


@pytest.mark.parametrize("said", [[], [""], ["..."], [" \n"]])
def test_without_sentences_of_the_model_the_rules_stand(said: list[str]) -> None:
    assert placed(RESPONSE, said) == [(span.text, None) for span in split_sentences(RESPONSE)]


def test_the_sentences_of_the_release_are_found(data_dir: Path) -> None:
    """People and ChatGPT cut and reworded them: of 163 every one has its place in the 47 answers."""
    with (data_dir / "factcheck-bench.dev.jsonl").open(encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    for document in documents:
        said = [sentence["text"] for sentence in document["sentences"].values()]
        placed = sorted(which for piece in pieces_of(document["response"], said) for which in piece.said)
        assert placed == list(range(len(said)))
