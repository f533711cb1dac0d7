"""Typed edits: what a person does to a claim, and what reproduces an imported pair of texts exactly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.texts.edits import EditError, EditPiece, Operation, apply, check, delete_words, from_texts, pieces
from annotator.core.vocabulary import EditKind

CLAIM = "The oldest justice in 1980 was William O. Douglas."
REPLACE, DELETE, DELETE_CLAIM = EditKind.REPLACE, EditKind.DELETE, EditKind.DELETE_CLAIM

# Words that repeat, spaces of several kinds and signs beyond the basic plane, so that the matcher has to choose.
TEXTS = st.one_of(
    st.text(),
    st.lists(st.sampled_from(["a", "b", "Mr.", "1,234.5", " ", "  ", "\n", "😀", ".", "نص"])).map("".join),
    st.lists(st.sampled_from(["red", "green", "the", "cat"])).map(" ".join),
)


def test_operations_are_literal_and_may_come_in_any_order() -> None:
    operations = [Operation(REPLACE, 31, 49, "Brennan"), Operation(REPLACE, 22, 26, "1981")]
    assert apply(CLAIM, operations) == "The oldest justice in 1981 was Brennan."
    assert apply(CLAIM, [Operation(DELETE, 4, 10)]) == "The  justice in 1980 was William O. Douglas."


def test_pieces_are_exactly_the_operations() -> None:
    operations = [Operation(REPLACE, 4, 7, "dog"), Operation(DELETE, 0, 4)]
    assert pieces("the cat sat", operations) == [
        EditPiece("del", "the "),
        EditPiece("del", "cat"),
        EditPiece("ins", "dog"),
        EditPiece("same", " sat"),
    ]
    assert pieces("the cat", [Operation(DELETE_CLAIM, 0, 7)]) == [EditPiece("del", "the cat")]
    assert pieces("the cat sat", [Operation(REPLACE, 4, 7, "dog")]) == [
        EditPiece("same", "the "),
        EditPiece("del", "cat"),
        EditPiece("ins", "dog"),
        EditPiece("same", " sat"),
    ]


def test_deleting_the_claim_leaves_nothing() -> None:
    assert apply(CLAIM, [Operation(DELETE_CLAIM, 0, len(CLAIM))]) == ""


@pytest.mark.parametrize(
    ("operations", "says"),
    [
        ([Operation(DELETE, 10, 900)], "has 50"),
        ([Operation(DELETE, -1, 4)], "has 50"),
        ([Operation(DELETE, 4, 4)], "Select words in the claim"),
        ([Operation(REPLACE, 4, 10)], "“oldest”"),
        ([Operation(REPLACE, 4, 10, "oldest")], "with the same words"),
        ([Operation(DELETE, 4, 10, "youngest")], "Choose “Replace”"),
        ([Operation(REPLACE, 0, 10, "A"), Operation(DELETE, 4, 10)], "“oldest”"),
        ([Operation(DELETE_CLAIM, 0, 50), Operation(DELETE, 4, 10)], "The whole claim is deleted"),
        ([Operation(DELETE, 0, 50)], "Delete claim"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(operations: list[Operation], says: str) -> None:
    with pytest.raises(EditError, match=says):
        apply(CLAIM, operations)


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("The ", "oldest justice in 1980 was William O. Douglas."),
        ("The", "oldest justice in 1980 was William O. Douglas."),
        ("in 1980", "The oldest justice was William O. Douglas."),
        ("Douglas", "The oldest justice in 1980 was William O.."),
        ("was William O. Douglas.", "The oldest justice in 1980"),
        ("old", "The est justice in 1980 was William O. Douglas."),
    ],
)
def test_deleting_words_leaves_no_double_space(words: str, left: str) -> None:
    start = CLAIM.index(words)
    assert apply(CLAIM, [delete_words(CLAIM, start, start + len(words))]) == left


def test_two_texts_become_few_word_level_operations() -> None:
    revised = "In total the oldest justice in 1981 was really William J. Douglas."
    operations = from_texts(CLAIM, revised)
    assert [(CLAIM[each.start : each.end], each.replacement) for each in operations] == [
        ("The", "In total the"),
        ("1980", "1981"),
        ("was", "was really"),
        ("O", "J"),
    ]
    assert {each.kind for each in operations} == {REPLACE}


def test_words_only_taken_out_become_a_deletion() -> None:
    [operation] = from_texts(CLAIM, "The oldest justice was William O. Douglas.")
    assert operation.kind == DELETE
    assert CLAIM[operation.start : operation.end].strip() == "in 1980"


def test_the_ends_of_the_scale() -> None:
    assert from_texts(CLAIM, CLAIM) == []
    assert from_texts(CLAIM, "") == [Operation(DELETE_CLAIM, 0, len(CLAIM))]
    assert from_texts(CLAIM, " \n") == [Operation(REPLACE, 0, len(CLAIM), " \n")]
    assert from_texts("", "New.") == [Operation(REPLACE, 0, 0, "New.")]


@given(TEXTS, TEXTS)
def test_operations_from_two_texts_reproduce_the_second(original: str, revised: str) -> None:
    operations = from_texts(original, revised)
    check(original, operations)
    assert apply(original, operations) == revised


def test_all_released_revisions_are_reproduced(data_dir: Path) -> None:
    pairs = 0
    for line in (data_dir / "factcheck-bench.dev.jsonl").read_text(encoding="utf-8").splitlines():
        for sentence in json.loads(line)["sentences"].values():
            for claim, revised in zip(sentence["claims"], sentence["revised_claims"], strict=False):
                assert apply(claim, from_texts(claim, revised)) == revised
                pairs += 1
    assert pairs == 343
