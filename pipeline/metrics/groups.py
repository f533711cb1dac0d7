"""Figures of groups of documents, with intervals that are valid for few documents, too.

All groups share the same resamples. A group's size in a resample then varies as in the sample itself, and many
breakdowns of a large file cost one resampling.

An interval is the expanded percentile interval (Hesterberg, What Teachers Should Know About the Bootstrap, 2015,
section 5.3): plain percentile intervals of five documents contain the true value in 82% of cases, these in 93%
(``benchmarks/intervals.py``). A share whose resamples are all alike has Wilson's (see ``agreement``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from pipeline.metrics.agreement import RESAMPLES, Estimate, draws, estimate_of

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Group:
    """A group. ``documents`` has the index of each of its documents, counted from 0 over all documents, ``sums``
    (documents x width) the sums over their items. ``figures`` takes sums, one row per resample, and returns one value
    per row for each figure, NaN if undefined. ``others``: the indexes of figures that aren't shares."""

    documents: NDArray[np.int64]
    sums: _Floats
    figures: Callable[[_Floats], Sequence[_Floats]]
    others: Collection[int] = ()


def group_estimates(
    groups: Sequence[Group], documents: int, *, resamples: int = RESAMPLES, seed: int = 0
) -> list[list[Estimate | None]]:
    """The figures of each group. A figure that is undefined over the whole group is None."""
    drawn: list[list[_Floats]] = [[] for _ in groups]
    for times in draws(documents, resamples, seed):
        # One row per document, because picking whole rows is several times faster than picking columns.
        of_document = np.ascontiguousarray(times.T)
        for group, found in zip(groups, drawn, strict=True):
            found.append((group.sums.T @ of_document[group.documents]).T)
    return [
        _estimates(group, np.concatenate(found or [group.sums[:0]])) for group, found in zip(groups, drawn, strict=True)
    ]


def _estimates(group: Group, drawn: _Floats) -> list[Estimate | None]:
    values, alone = group.figures(group.sums.sum(axis=0, keepdims=True)), group.figures(group.sums)
    tail = expanded_tail(len(group.sums))
    return [
        estimate_of(
            value,
            resampled,
            percentiles=(tail, 100 - tail),
            shares=None if place in group.others else shares,
        )
        for place, (value, resampled, shares) in enumerate(zip(values, group.figures(drawn), alone, strict=True))
    ]


def expanded_tail(documents: int) -> float:
    """The percentile at which the 95% interval of two or more documents starts, instead of 2.5."""
    return 100 * NormalDist().cdf(-sqrt(documents / (documents - 1)) * student_t(documents - 1))


def student_t(degrees: int) -> float:
    """The 97.5% quantile of Student's t (Abramowitz and Stegun 1964, 26.7.5), within 0.3% from 4 degrees of freedom.
    Our own, because SciPy isn't part of the core."""
    z = NormalDist().inv_cdf(0.975)
    return (
        z
        + (z**3 + z) / (4 * degrees)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3)
    )
