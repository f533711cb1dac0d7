"""Figures of groups of documents, with intervals that are valid for few documents, too (see ``agreement``).

All groups share the same resamples. A group's size in a resample then varies as in the sample itself, and many
breakdowns of a large file cost one resampling.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

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
    return [
        estimate_of(
            value,
            resampled,
            len(group.sums),
            shares=None if place in group.others else shares,
        )
        for place, (value, resampled, shares) in enumerate(zip(values, group.figures(drawn), alone, strict=True))
    ]
