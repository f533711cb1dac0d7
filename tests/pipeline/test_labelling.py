"""Labels against gold: the same scores as ``classify``, with intervals that draw documents."""

from __future__ import annotations

import random

import pytest
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from annotator.measures.suggestion_quality.rows import ComparedSentence
from pipeline.metrics.agreement import Estimate
from pipeline.metrics.classification import classify
from pipeline.metrics.decomposition import apart_in_order, pair_sentences, same_cuts
from pipeline.metrics.intervals import wilson
from pipeline.metrics.labelling import LabelledSpan, labelling


def test_scores_are_those_of_scikit_learn() -> None:
    draw = random.Random(1)
    items = [LabelledSpan(number % 13, draw.choice("aabc"), draw.choice("abcd")) for number in range(200)]
    ours = labelling(items)
    gold, said = [each.gold for each in items], [each.predicted for each in items]
    assert ours.constant is not None and ours.constant.label == "a"
    for found, predicted in ((ours, said), (ours.constant, ["a"] * len(gold))):
        # Averages are over the labels of the gold: "d" is an error, but no label of its own.
        theirs = precision_recall_fscore_support(
            gold, predicted, labels=["a", "b", "c"], average="macro", zero_division=0
        )
        for name, expected in zip(("precision", "recall", "f1"), theirs, strict=False):
            estimate = getattr(found, name)
            assert estimate.value == pytest.approx(expected), name
            # Always the same answer has a macro recall of 1/3 in every resample.
            if found is ours.constant and name == "recall":
                assert estimate.interval is None
            else:
                assert estimate.low < estimate.value < estimate.high
        assert found.accuracy is not None and found.accuracy.value == pytest.approx(accuracy_score(gold, predicted))
    assert ours.confusion == classify(gold, said).confusion


def test_one_document_has_no_interval_and_none_no_scores() -> None:
    alone = labelling([LabelledSpan(1, "a", "a"), LabelledSpan(1, "a", "b")])
    assert alone.accuracy is not None and alone.f1 is not None
    assert (alone.accuracy.value, alone.accuracy.low, alone.accuracy.high) == (0.5, None, None)
    assert alone.f1.value == pytest.approx(2 / 3), "only a is in the gold"
    empty = labelling([])
    assert (empty.accuracy, empty.f1, empty.confusion, empty.constant) == (None, None, {}, None)


def test_a_resample_without_a_label_does_not_average_over_it() -> None:
    """Always right, but "b" is in one document only: every resample scores 1, also those that miss it. Resamples that
    are all alike give a macro average no interval, and an accuracy Wilson's over the three documents."""
    found = labelling([LabelledSpan(1, "a", "a"), LabelledSpan(2, "a", "a"), LabelledSpan(3, "b", "b")])
    assert found.f1 == Estimate(1.0, None, None)
    assert found.accuracy == Estimate(1.0, *wilson(3, 3))


# --- decompositions -------------------------------------------------------------------------------


def cut(text: str, start: int | None) -> ComparedSentence:
    return ComparedSentence(0, text, start, None if start is None else start + len(text), text, "", "", ())


def test_cuts_are_the_same_where_start_and_end_are() -> None:
    gold = [cut("One two.", 0), cut("Three.", 9), cut("Not in the answer.", None)]
    found = [cut("One two.", 0), cut("Three. Four.", 9)]
    score = same_cuts(found, gold)
    assert (score.matched, score.found, score.gold) == (1, 2, 2)


def test_sentences_pair_by_place_then_by_text_and_never_twice() -> None:
    gold = [cut("The sky is blue.", 0), cut("The sky is very blue.", 30), cut("The sky is blue.", None)]
    found = [cut("The sky is blue indeed.", 60), cut("The sky is blue.", 0)]
    assert pair_sentences(gold, found) == [1, None, 0]
    assert pair_sentences(gold, []) == [None, None, None]


def test_claims_are_compared_in_order_only_where_there_are_as_many() -> None:
    assert apart_in_order(["a b"], ["a b", "c"]) is None
    assert apart_in_order(["a b", "c"], ["a b ", "d"]) == [(0.0, 1.0), (1.0, 0.0)]
    assert apart_in_order([], []) == []
