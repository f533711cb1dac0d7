"""Accuracy, precision, recall and F1 of predicted labels, per label and macro-averaged.

Our own implementation because scoring must work without the extra that has scikit-learn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LabelScore:
    """Scores of one label. A label that is never predicted has precision 0; one that isn't in the gold has recall 0."""

    precision: float
    recall: float
    f1: float
    gold: int
    predicted: int


@dataclass(frozen=True, slots=True)
class ClassificationReport:
    """Scores over all items. Macro averages give every label in the gold or the predictions the same weight.

    ``confusion[gold][predicted]`` is a count. Every label that occurs is present in both directions.
    """

    accuracy: float
    precision: float
    recall: float
    f1: float
    labels: dict[str, LabelScore]
    confusion: dict[str, dict[str, int]]


def classify(gold: Sequence[str], predicted: Sequence[str]) -> ClassificationReport:
    """Compares two sequences of labels of the same length, item by item.

    Raises ValueError if they differ in length or are empty.
    """
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold labels but {len(predicted)} predictions: every item needs both.")
    if not gold:
        raise ValueError("No labels to compare: scores of nothing are not defined.")
    return classify_counts(Counter(zip(gold, predicted, strict=True)))


def classify_counts(pairs: Counter[tuple[str, str]]) -> ClassificationReport:
    """The same from counts of gold and predicted pairs. Raises ValueError without any."""
    total = pairs.total()
    if not total:
        raise ValueError("No labels to compare: scores of nothing are not defined.")
    names = sorted({name for pair, count in pairs.items() if count for name in pair})
    scores = {name: _label_score(name, pairs) for name in names}
    return ClassificationReport(
        accuracy=sum(pairs[name, name] for name in names) / total,
        precision=_mean([score.precision for score in scores.values()]),
        recall=_mean([score.recall for score in scores.values()]),
        f1=_mean([score.f1 for score in scores.values()]),
        labels=scores,
        confusion={row: {column: pairs[row, column] for column in names} for row in names},
    )


def _label_score(name: str, pairs: Counter[tuple[str, str]]) -> LabelScore:
    right = pairs[name, name]
    gold = sum(count for (actual, _), count in pairs.items() if actual == name)
    predicted = sum(count for (_, guess), count in pairs.items() if guess == name)
    return LabelScore(
        precision=right / predicted if predicted else 0.0,
        recall=right / gold if gold else 0.0,
        f1=2 * right / (gold + predicted),
        gold=gold,
        predicted=predicted,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
