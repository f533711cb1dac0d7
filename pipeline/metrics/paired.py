"""Is one of two systems better on the same items, or could the difference be due to chance?"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, erfc, sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
Cluster = TypeVar("Cluster", bound=Hashable)
SHUFFLES = 2000
# From this number of items on, McNemar's test uses the normal approximation.
MAX_EXACT = 2000
# Random signs held in memory at once; about 30 MB.
_SIGNS = 4_000_000


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """First minus second, with its two-sided p-value."""

    value: float
    p: float


def mcnemar(first_only: int, second_only: int) -> float:
    """The two-sided exact p-value from the numbers of items that only one of the two has right (McNemar 1947; with the
    binomial distribution instead of chi-square, so that few items do no harm). 1 without such items."""
    number, fewer = first_only + second_only, min(first_only, second_only)
    # Integers, so that many items lose nothing to rounding before the single division.
    if number > MAX_EXACT:
        return _normal(number, fewer)
    tail = sum(comb(number, each) for each in range(fewer + 1))
    return min(1.0, float(Fraction(2 * tail, 2**number)))


def _normal(number: int, fewer: int) -> float:
    """The same for many items, with the normal approximation and a continuity correction."""
    distance = max(0.0, number / 2 - fewer - 0.5)
    return min(1.0, erfc(distance / sqrt(number / 2)))


def randomisation(
    first: Mapping[Cluster, Sequence[float]],
    second: Mapping[Cluster, Sequence[float]],
    figures: Callable[[_Floats], Sequence[_Floats]],
    *,
    shuffles: int = SHUFFLES,
    seed: int = 0,
) -> list[PairedDifference | None]:
    """Approximate randomization (Noreen 1989; Yeh 2000): the sums of each cluster (a document) are assigned to the two
    systems at random, many times. p is the share of differences at least as large as the observed one, which is
    counted, too. Whole clusters are swapped, because items of one document are correlated.

    ``figures`` takes sums, one row per resample, and returns one value per row for each figure, NaN if undefined; then
    the difference is None. Raises ValueError unless both have the same clusters.
    """
    if first.keys() != second.keys():
        raise ValueError("Two systems are compared over the same documents, and these differ.")
    one = np.array([first[key] for key in first], dtype=np.float64)
    two = np.array([second[key] for key in first], dtype=np.float64)
    if not len(one):
        raise ValueError("No documents to compare two systems over.")
    half_sum, half_difference = (one + two).sum(axis=0) / 2, (one - two) / 2

    def differences(signs: _Floats) -> list[_Floats]:
        swing = signs @ half_difference
        return [left - right for left, right in zip(figures(half_sum + swing), figures(half_sum - swing), strict=True)]

    observed = [float(each[0]) for each in differences(np.ones((1, len(one))))]
    random = np.random.default_rng(seed)
    beyond = np.zeros(len(observed))
    step = max(1, _SIGNS // len(one))
    for start in range(0, shuffles, step):
        signs = random.integers(2, size=(min(step, shuffles - start), len(one))).astype(np.float64) * 2 - 1
        for place, drawn in enumerate(differences(signs)):
            # A small tolerance, because the same sum in another order isn't the same float.
            beyond[place] += int((np.abs(np.nan_to_num(drawn)) >= abs(observed[place]) - 1e-12).sum())
    return [
        None if np.isnan(value) else PairedDifference(value, float((1 + count) / (1 + shuffles)))
        for value, count in zip(observed, beyond, strict=True)
    ]
