"""Several systems on the same items: p-values corrected for multiple comparisons, and the uncertainty of each rank."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.metrics.agreement import RESAMPLES, resampled

_Floats = NDArray[np.float64]
Cluster = TypeVar("Cluster", bound=Hashable)
_INTERVAL = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class RankInterval:
    """The rank over all documents, 1 being the best, and the middle 95% of its ranks over resamples of documents."""

    rank: int
    low: int
    high: int


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrected p-values in the given order (Holm 1979): the smallest times the number of comparisons, the next times
    one less, and so on, never below the previous one and never above 1."""
    adjusted = [0.0] * len(p_values)
    least = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda each: p_values[each])):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = least
    return adjusted


def rank_intervals(
    systems: Sequence[Mapping[Cluster, Sequence[float]]],
    figure: Callable[[_Floats], _Floats],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[RankInterval]:
    """The rank of each system with its 95% interval (percentile bootstrap over clusters, all systems on the same
    resamples; Goldstein and Spiegelhalter 1996 describe intervals of ranks). Equal values share the better rank.

    ``systems`` hold each cluster's sums. ``figure`` computes the value to rank by from sums, one row per resample;
    higher is better, NaN ranks last. Raises ValueError unless there are at least two systems with the same clusters.
    """
    if not systems or any(each.keys() != systems[0].keys() for each in systems) or len(systems[0]) < 2:
        raise ValueError("Systems are ranked over the same documents, two at least.")
    clusters = list(systems[0])
    width = len(systems[0][clusters[0]])
    rows = np.hstack([np.array([each[key] for key in clusters], dtype=np.float64) for each in systems])
    whole = rows.sum(axis=0, keepdims=True)
    drawn = resampled(rows, resamples, seed)
    parts = [slice(number * width, (number + 1) * width) for number in range(len(systems))]
    ranks, ranks_drawn = (
        _ranks(np.column_stack([np.nan_to_num(figure(sums[:, part]), nan=-np.inf) for part in parts]))
        for sums in (whole, drawn)
    )
    low, high = np.percentile(ranks_drawn, _INTERVAL, axis=0, method="inverted_cdf")
    return [RankInterval(int(rank), int(one), int(other)) for rank, one, other in zip(ranks[0], low, high, strict=True)]


def _ranks(values: _Floats) -> NDArray[np.int64]:
    """The number of better systems plus 1: a row per resample, a column per system."""
    # Sums in another order aren't the same float.
    better = values[:, None, :] > values[:, :, None] + 1e-12
    found: NDArray[np.int64] = 1 + better.sum(axis=2)
    return found
