"""The AVeriTeC score: the label is right, and the questions and answers found say what the gold ones say.

As described in Papelo's paper (sections 1 and 5): METEOR between gold and predicted question-answer pairs, summed over
the best assignment and divided by the number of gold pairs, must be above a threshold. As in the official scorer, only
the first ten predicted pairs count: with more, chance finds a partner for every gold pair.
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
    """Sum of METEOR over the best one-to-one assignment, divided by the number of gold pairs: 0 to 1. A gold pair
    that is left without a partner counts 0. Without a gold pair there is nothing to find: 1."""
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
    """Share of the claims whose label is right and whose evidence scores above the threshold, and each claim's evidence
    score; item i of the one is item i of the other. Of each prediction the first ``max_pairs`` pairs count.

    Raises ValueError when they differ in length or are empty.
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
