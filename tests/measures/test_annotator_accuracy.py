"""The share of labels that equal the gold's, with its interval and what a constant answer would have scored."""

from __future__ import annotations

from collections import Counter

import pytest

from annotator.core.models import Annotation, User
from annotator.core.vocabulary import Stage
from annotator.measures.queries.annotator_accuracy import FieldScore, Score
from annotator.measures.queries.practice import PracticeRow, Scored
from pipeline.metrics.intervals import wilson


def scored(document: int, right: int, **gold: int) -> Scored:
    counted = FieldScore("Type", right, sum(gold.values()), Counter(gold))
    texts = FieldScore("Revised sentence", 0, 0)
    return Scored(Annotation(document_id=document), Score(Stage.DECOMPOSE, {"claim:type": counted, "text": texts}))


def test_a_share_has_its_interval_and_a_constant_beside_it() -> None:
    row = PracticeRow(User(), scored=[scored(1, 9, factual=9, opinion=1), scored(2, 3, factual=2, opinion=4)])
    accuracy, constant = row.accuracy, row.constant
    assert accuracy is not None and constant is not None
    assert (accuracy.value, accuracy.interval) == (12 / 16, [0.5, 0.9]), "each document is drawn twice, or both once"
    assert constant.value == pytest.approx(11 / 16), "“factual” is the most frequent label of both documents together"
    assert row.beside == "50% to 90%; trivial baseline 69%"


def test_no_error_in_two_documents_is_not_certain() -> None:
    row = PracticeRow(User(), scored=[scored(1, 10, factual=10), scored(2, 6, factual=6)])
    assert row.accuracy is not None and row.accuracy.interval == pytest.approx(wilson(2, 2))
    assert row.beside == "34% to 100%; trivial baseline 100%", "where the gold has one label, anyone is right"


def test_without_labels_nothing_stands_beside() -> None:
    assert PracticeRow(User()).beside == ""
