"""The AVeriTeC score: the label is right, and the predicted questions and answers match the gold ones.

As described in Papelo's paper (sections 1 and 5): METEOR between gold and predicted question-answer pairs, summed over
the best assignment and divided by the number of gold pairs, must exceed a threshold. As in the official scorer, only
the first ten predicted pairs count: with more, every gold pair finds a partner by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.metrics.alignment import assign
from pipeline.metrics.meteor import meteor

THRESHOLD = 0.25
MAX_PAIRS = 10


@dataclass(frozen=True, slots=True)
class CheckedClaimLabel:
    """A claim's label and its question-answer pairs, each as one text."""

    label: str
    pairs: tuple[str, ...]


def evidence_score(gold: Sequence[str], found: Sequence[str]) -> float:
    """The sum of METEOR over the best one-to-one assignment, divided by the number of gold pairs: 0 to 1. A gold pair
    without a partner counts 0. Without gold pairs the score is 1."""
    if not gold:
        return 1.0
    if not found:
        return 0.0
    table = [[meteor(one, two) for two in found] for one in gold]
    return sum(table[row][column] for row, column in enumerate(assign(table)) if column is not None) / len(gold)


def averitec_score(
    gold: Sequence[CheckedClaimLabel],
    predicted: Sequence[CheckedClaimLabel],
    *,
    threshold: float = THRESHOLD,
    max_pairs: int = MAX_PAIRS,
) -> tuple[float, list[float]]:
    """The share of claims whose label is right and whose evidence scores above the threshold, and each claim's evidence
    score. Item i of one sequence belongs to item i of the other. Only the first ``max_pairs`` pairs of a prediction
    count.

    Raises ValueError if they differ in length or are empty.
    """
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold claims but {len(predicted)} predictions: every claim needs both.")
    if not gold:
        raise ValueError("No claims to score.")
    scores = [evidence_score(one.pairs, two.pairs[:max_pairs]) for one, two in zip(gold, predicted, strict=True)]
    right = sum(
        one.label == two.label and score > threshold for one, two, score in zip(gold, predicted, scores, strict=True)
    )
    return right / len(gold), scores
