"""The metrics: definitions that reproduce published figures, and properties that any input must keep."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.metrics.alignment import Match, PrecisionRecall, align, assign, match_score
from pipeline.metrics.classification import classify
from pipeline.metrics.text import edit_distance, token_f1, word_overlap


def documents(data_dir: Path) -> list[dict[str, Any]]:
    text = (data_dir / "factcheck-bench.dev.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def statistics(data_dir: Path) -> dict[str, Any]:
    return dict(json.loads((data_dir / "factcheck-bench.dev.statistics.json").read_text(encoding="utf-8")))


def test_revision_figures_are_reproduced(data_dir: Path) -> None:
    """Over the false documents by the paper's rule: a claim is false or undetermined."""
    false = [
        document
        for document in documents(data_dir)
        if {"yes", "not_enough_evidence"}
        & {edit for sentence in document["sentences"].values() for edit in sentence["if_claim_needs_edit"]}
    ]
    expected = statistics(data_dir)["revision_false_docs"]
    pairs = [(document["response"], document["revised_response"]) for document in false]
    assert len(pairs) == expected["n"]
    assert sum(edit_distance(*pair) for pair in pairs) / len(pairs) == pytest.approx(expected["norm_edit"], abs=6e-4)
    assert sum(word_overlap(*pair) for pair in pairs) / len(pairs) == pytest.approx(expected["word_overlap"], abs=6e-4)


@pytest.mark.parametrize(
    ("field", "figures"), [("sentence_checkworthiness", "sentence"), ("claim_checkworthiness", "claim")]
)
def test_majority_baseline_is_reproduced(data_dir: Path, field: str, figures: str) -> None:
    gold: list[str] = []
    for document in documents(data_dir):
        for sentence in document["sentences"].values():
            gold += sentence[field] if isinstance(sentence[field], list) else [sentence[field]]
    if figures == "sentence":
        gold = [label if label == "yes" else "no" for label in gold]
    report = classify(gold, [max(set(gold), key=gold.count)] * len(gold))
    expected = statistics(data_dir)["table3_majority"][figures]
    found = {"acc": report.accuracy, "prec": report.precision, "recall": report.recall, "f1": report.f1}
    assert found == pytest.approx(expected, abs=6e-4)


def test_word_overlap_is_measured_on_the_longer_text() -> None:
    assert word_overlap("a b c d", "a b") == 0.5
    assert word_overlap("a b", "a b c d") == 0.5
    assert word_overlap("a a a b", "a c") == 0.75
    assert word_overlap("", " ") == 1.0


@given(st.text(), st.text())
def test_measures_stay_within_bounds_and_know_equality(first: str, second: str) -> None:
    for measure in (edit_distance, word_overlap, token_f1):
        assert 0 <= measure(first, second) <= 1
    assert edit_distance(first, first) == 0
    assert word_overlap(first, first) == token_f1(first, first) == 1
    assert token_f1(first, second) == token_f1(second, first)


@given(
    st.integers(1, 4).flatmap(
        lambda columns: st.lists(
            st.lists(st.integers(0, 9), min_size=columns, max_size=columns), min_size=1, max_size=4
        )
    )
)
def test_assignment_is_the_best_of_all(worth: list[list[int]]) -> None:
    chosen = assign(worth)
    taken = [column for column in chosen if column is not None]
    assert len(taken) == len(set(taken)) == min(len(worth), len(worth[0]))
    padded = [*range(len(worth[0])), *[None] * len(worth)]
    best = max(
        sum(worth[row][column] for row, column in enumerate(order) if column is not None)
        for order in set(itertools.permutations(padded, len(worth)))
    )
    assert sum(worth[row][column] for row, column in enumerate(chosen) if column is not None) == best


def test_claims_are_aligned_across_their_order() -> None:
    found = ["The tower is in Paris.", "It was built in 1889.", "Cats purr."]
    gold = ["It was built in 1889.", "The tower is in Paris, France."]
    assert align(found, gold, threshold=0.5) == [Match(0, 1, 10 / 11), Match(1, 0, 1.0)]
    score = match_score(found, gold, threshold=0.95)
    assert (score.matched, score.precision, score.recall, score.f1) == (1, 1 / 3, 1 / 2, 2 / 5)


def test_nothing_against_nothing_is_right_and_against_something_wrong() -> None:
    assert PrecisionRecall(0, 0, 0).f1 == PrecisionRecall(0, 0, 0).precision == 1
    assert match_score([], ["a"], threshold=0.5).f1 == match_score(["a"], [], threshold=0.5).precision == 0
    assert PrecisionRecall(1, 2, 3) + PrecisionRecall(1, 1, 1) == PrecisionRecall(2, 3, 4)


def test_labels_in_gold_or_predictions_weigh_alike() -> None:
    report = classify(["a", "a", "a", "b"], ["a", "a", "c", "a"])
    assert report.accuracy == 0.5
    assert report.f1 == pytest.approx((2 * 2 / 6 + 0 + 0) / 3)
    assert report.confusion["b"] == {"a": 1, "b": 0, "c": 0}
    assert (report.labels["a"].gold, report.labels["a"].predicted) == (3, 3)


def test_labels_that_do_not_pair_up_are_refused() -> None:
    with pytest.raises(ValueError, match="2 gold labels but 1"):
        classify(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="nothing"):
        classify([], [])
