"""What difference between two systems a set of labels can detect: 80% power at the 5% level, drawing whole documents.

Two systems are simulated on the gold's own labels and documents. Each gets a share of the items right. How that share
varies between documents is estimated from the gold: the intraclass correlation of a constant answer being right, which
is the best estimate before any system has been scored. The two make independent errors. Real systems tend to err on the
same items, so they are slightly easier to tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from pipeline.metrics.labelling import scores_of_tables

_Floats = NDArray[np.float64]

POWER, LEVEL = 0.8, 0.05
ACCURACY = 0.7
SIMULATIONS = 400
# Fewer simulations for more items than this: about a second in all.
_ITEMS = 4_000_000
# With higher correlations, documents would be all right or all wrong.
_HIGHEST = 0.95


@dataclass(frozen=True, slots=True)
class Power:
    """``correlation``: intraclass, within documents. ``accuracy`` and ``f1_macro``: the smallest difference detected in
    80% of the simulations, None if it can't be determined (fewer than two documents or labels)."""

    items: int
    documents: int
    correlation: float | None
    accuracy: float | None
    f1_macro: float | None

    def documents_for(self, difference: float, *, metric: str = "accuracy") -> int | None:
        """How many documents of this kind would detect the difference: the error falls with the square root of their
        number."""
        found = getattr(self, metric)
        return None if found is None else max(2, ceil(self.documents * (found / difference) ** 2))

    def with_documents(self, documents: int, *, metric: str = "accuracy") -> float | None:
        """The difference that this many documents of this kind would detect."""
        found = getattr(self, metric)
        return None if found is None else float(found * (self.documents / documents) ** 0.5)


def power_of(
    documents: Sequence[Sequence[str]],
    *,
    accuracy: float = ACCURACY,
    simulations: int = SIMULATIONS,
    seed: int = 0,
) -> Power:
    """``documents`` holds the gold labels of each document; ``accuracy`` is that of the two systems, above 0 and below
    1. Raises ValueError for another."""
    if not 0 < accuracy < 1:
        raise ValueError(f"An accuracy between 0 and 1 is needed, not {accuracy:g}.")
    given = [labels for labels in documents if labels]
    names = sorted({label for labels in given for label in labels})
    items = sum(map(len, given))
    if len(given) < 2 or len(names) < 2:
        return Power(items, len(given), None, None, None)
    majority = max(names, key=lambda name: sum(labels.count(name) for labels in given))
    correlation = intraclass([[float(label == majority) for label in labels] for labels in given])
    place = {name: number for number, name in enumerate(names)}
    gold = np.array([place[label] for labels in given for label in labels])
    of_document = np.repeat(np.arange(len(given)), [len(labels) for labels in given])
    random = np.random.default_rng(seed)
    found = [
        _figures(gold, _system(gold, of_document, len(names), accuracy, correlation or 0.0, random), len(names))
        for _ in range(2 * max(25, min(simulations, _ITEMS // items)))
    ]
    differences = np.array(found[0::2]) - np.array(found[1::2])
    reach = NormalDist().inv_cdf(1 - LEVEL / 2) + NormalDist().inv_cdf(POWER)
    error = np.nanstd(differences, axis=0)
    return Power(items, len(given), correlation, float(reach * error[0]), float(reach * error[1]))


def intraclass(clusters: Sequence[Sequence[float]]) -> float | None:
    """The intraclass correlation of values in clusters of different sizes, by analysis of variance (Donner 1986,
    equation 2.3), at least 0. None if every cluster has one value or all values are equal."""
    sizes = np.array([len(each) for each in clusters], dtype=np.float64)
    total, number = sizes.sum(), len(clusters)
    if number < 2 or total <= number:
        return None
    means = np.array([sum(each) / len(each) for each in clusters])
    mean = float((means * sizes).sum() / total)
    between = float((sizes * (means - mean) ** 2).sum() / (number - 1))
    within = sum(float(((np.array(each) - own) ** 2).sum()) for each, own in zip(clusters, means, strict=True)) / (
        total - number
    )
    size = (total - float((sizes**2).sum()) / total) / (number - 1)
    whole = between + (size - 1) * within
    return None if whole <= 0 else float(max(0.0, (between - within) / whole))


def _system(
    gold: NDArray[np.int64],
    of_document: NDArray[np.int64],
    labels: int,
    accuracy: float,
    correlation: float,
    random: np.random.Generator,
) -> NDArray[np.int64]:
    """One system's answers: right with a probability drawn for each document (beta-binomial), else any other label."""
    documents = int(of_document[-1]) + 1
    rho = min(correlation, _HIGHEST)
    shares = (
        random.beta(accuracy * (1 - rho) / rho, (1 - accuracy) * (1 - rho) / rho, size=documents)
        if rho > 0
        else np.full(documents, accuracy)
    )
    wrong = (gold + random.integers(1, labels, size=len(gold))) % labels
    return np.where(random.random(len(gold)) < shares[of_document], gold, wrong)


def _figures(gold: NDArray[np.int64], said: NDArray[np.int64], labels: int) -> tuple[float, float]:
    """Accuracy and macro-F1."""
    table = np.bincount(gold * labels + said, minlength=labels**2).reshape(1, labels, labels).astype(np.float64)
    accuracy, _, _, f1 = scores_of_tables(table)
    return float(accuracy[0]), float(f1[0])
