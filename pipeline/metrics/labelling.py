"""Predicted labels against the gold, with intervals that account for labels of one document being correlated."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.metrics.agreement import RESAMPLES, Estimate, sums_estimates

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LabelledSpan:
    """One item with its gold and predicted labels, and its document (cluster)."""

    cluster: Hashable
    gold: str
    predicted: str


@dataclass(frozen=True, slots=True)
class ConstantAnswer:
    """The scores of always answering ``label``, the most frequent label of the gold, on the same items."""

    label: str
    accuracy: Estimate | None
    precision: Estimate | None
    recall: Estimate | None
    f1: Estimate | None


@dataclass(frozen=True, slots=True)
class Labelling:
    """Accuracy, and macro averages over the labels of the gold: a prediction with another label is an error, but adds
    no label on which every system would score 0. None without items."""

    accuracy: Estimate | None
    precision: Estimate | None
    recall: Estimate | None
    f1: Estimate | None
    confusion: dict[str, dict[str, int]]
    constant: ConstantAnswer | None


def labelling(items: Sequence[LabelledSpan], *, resamples: int = RESAMPLES, seed: int = 0) -> Labelling:
    """The scores of all items with 95% intervals by bootstrap over clusters.

    ``confusion[gold][predicted]`` is a count. Every label that occurs is present in both directions. The averages of a
    resample are over the gold labels of the whole sample; a resample without one of these labels has no averages.
    """
    if not items:
        return Labelling(None, None, None, None, {}, None)
    names = sorted({label for item in items for label in (item.gold, item.predicted)})
    place = {name: number for number, name in enumerate(names)}
    size = len(names)
    # One row per cluster: its confusion table, flattened.
    tables: dict[Hashable, list[float]] = {}
    for item in items:
        table = tables.setdefault(item.cluster, [0.0] * (size * size))
        table[place[item.gold] * size + place[item.predicted]] += 1
    whole = np.array(list(tables.values())).reshape(-1, size, size).sum(axis=0)
    gold = whole.sum(axis=1)
    # Among equally frequent labels, the first by name.
    most = int(gold.argmax())

    def figures(sums: _Floats) -> list[_Floats]:
        drawn = sums.reshape(len(sums), size, size)
        return [*scores_of_tables(drawn, gold > 0), *scores_of_tables(constant_tables(drawn, most), gold > 0)]

    # Accuracies are shares; macro averages aren't.
    accuracy, precision, recall, f1, *constant = sums_estimates(
        list(tables.items()), size * size, figures, resamples=resamples, seed=seed, others=(1, 2, 3, 5, 6, 7)
    )
    confusion = {one: {other: int(whole[place[one], place[other]]) for other in names} for one in names}
    return Labelling(accuracy, precision, recall, f1, confusion, ConstantAnswer(names[most], *constant))


def constant_tables(tables: _Floats, label: int) -> _Floats:
    """The confusion tables (resample, gold, predicted) of a system that always predicts the label at this index."""
    found: _Floats = np.zeros_like(tables)
    found[:, :, label] = tables.sum(axis=2)
    return found


def scores_of_tables(tables: _Floats, averaged: Sequence[bool] | NDArray[np.bool_] = ()) -> list[_Floats]:
    """Accuracy, macro precision, recall and F1 of confusion tables (resample, gold, predicted); NaN for empty ones.

    ``averaged`` says for each label whether it counts in the averages of every table; by default all do. A label that
    is never predicted has precision 0. If such a label occurs neither in a table's gold nor in its predictions, the
    averages of that table are undefined, because another set of labels would be another figure.
    """
    right = np.diagonal(tables, axis1=1, axis2=2)
    gold, predicted = tables.sum(axis=2), tables.sum(axis=1)
    over = np.array(averaged, dtype=bool) if len(averaged) else np.ones(tables.shape[1], dtype=bool)
    is_whole = ((gold + predicted)[:, over] > 0).all(axis=1) & over.any()
    shares = (_shares(right, predicted), _shares(right, gold), _shares(2 * right, gold + predicted))
    macro = [np.where(is_whole, each[:, over].sum(axis=1) / max(over.sum(), 1), np.nan) for each in shares]
    return [_divided(right.sum(axis=1), gold.sum(axis=1)), *macro]


def _shares(above: _Floats, below: _Floats) -> _Floats:
    """Division that returns 0 for a zero denominator."""
    found: _Floats = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
    return found


def _divided(above: _Floats, below: _Floats) -> _Floats:
    """Division that returns NaN for a zero denominator."""
    found: _Floats = np.divide(above, below, out=np.full_like(below, np.nan), where=below > 0)
    return found
