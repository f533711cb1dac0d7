"""Agreement on labels beyond chance, with intervals that account for labels of one document being correlated.

Every coefficient here is a short formula over sums over the items. The sums are kept per cluster (a document), so a
bootstrap resample only draws these rows anew and adds them up: a thousand resamples of 100,000 items take about a
second. Libraries for these coefficients take whole tables and would have to be called once per resample, which is why
the formulas are our own. The tests compare them with nltk, statsmodels, figures of irrCAC and worked examples from the
literature.

An interval is the middle of the resamples (percentile bootstrap; Efron and Tibshirani 1993, chapter 13): 95% of them,
and more with few clusters, because the plain percentiles of 47 documents hold the truth in 93%, those of five in 82%
(``expanded_tail``, ``benchmarks/intervals.py``). Whole clusters are drawn, because labels of one document aren't
independent (Field and Welsh 2007). Resamples with an undefined figure are left out.

If all resamples are alike (every answer is right), they can't say how much other documents would differ. A share then
has Wilson's interval (1927) with each cluster as one observation, and any other figure has none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.metrics.intervals import expanded_tail, wilson

Rater = int | str
_Floats = NDArray[np.float64]

RESAMPLES = 1000
# Resamples that differ by less are alike but for rounding.
_ALIKE = 1e-9
# Cluster draws held in memory at once; about 30 MB.
_DRAWS = 1_000_000


@dataclass(frozen=True, slots=True)
class RatedItem:
    """One labeled item with its document (cluster) and each rater's label.

    Raters are numbers or names, the same ones throughout. (A mapping's key type can't be widened, hence Any.)
    ``times``: how many items of the document got these labels.
    """

    cluster: Hashable
    labels: Mapping[Any, str]
    times: int = 1


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95% interval. The bounds are None with a single cluster, which can't be resampled, and for a
    figure other than a share if all resamples are alike."""

    value: float
    low: float | None
    high: float | None

    @property
    def interval(self) -> list[float] | None:
        """The bounds as JSON."""
        return None if self.low is None or self.high is None else [self.low, self.high]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement over the ``items`` with at least two labels; ``left_out`` counts those with one.

    ``fleiss_gwet`` and ``ac1_gwet`` include the latter in the label frequencies, as Gwet does; without any, they equal
    ``fleiss`` and ``ac1``.

    A coefficient is None if it is undefined. Without items, all are. If all labels are the same, the three that divide
    by the disagreement expected by chance (Cohen's and Fleiss' kappa, alpha) are undefined, while percent and AC1 are
    1.

    ``labels`` counts the labels given to these items. ``confusion[one][other]`` counts pairs of labels of an item. With
    exactly two raters, ``one`` is the label of ``raters[0]`` and ``other`` that of ``raters[1]``. With more, the table
    is symmetric, and a pair that disagrees is counted in both cells.
    """

    items: int
    left_out: int
    clusters: int
    raters: tuple[Rater, ...]
    labels: dict[str, int]
    percent: Estimate | None
    cohen: Estimate | None
    fleiss: Estimate | None
    alpha: Estimate | None
    ac1: Estimate | None
    fleiss_gwet: Estimate | None
    ac1_gwet: Estimate | None
    confusion: dict[str, dict[str, int]]

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON: an estimate is an object of value, low and high, or null."""
        return {**asdict(self), "raters": list(self.raters)}


def agreement(
    items: Iterable[RatedItem], *, scale: Sequence[str] = (), resamples: int = RESAMPLES, seed: int = 0
) -> Agreement:
    """Percent agreement, Cohen's kappa, Fleiss' kappa, Krippendorff's alpha and Gwet's AC1 of nominal labels.

    Items may have different raters, and different numbers of them. Cohen's kappa is given if exactly two raters occur.
    ``scale`` lists the labels that could be chosen, because AC1 also depends on labels nobody chose; without it, the
    labels that occur are used. The same items in the same order with the same ``seed`` give the same intervals;
    ``resamples=0`` skips the intervals.
    """
    given = list(items)
    table = _Table.of(given, scale)
    names = table.labels
    sums = table.per_cluster()

    whole = _Sums.of(sums.sum(axis=0, keepdims=True), len(names))
    drawn = _Sums.of(resampled(sums, resamples, seed), len(names))

    def estimate(coefficient: Callable[[_Sums], _Floats], shares: _Floats | None = None) -> Estimate | None:
        return estimate_of(coefficient(whole), coefficient(drawn), len(sums), shares=shares)

    if table.left_out:
        fleiss_gwet, ac1_gwet = _with_singles(given, scale, resamples, seed)
    else:
        fleiss_gwet, ac1_gwet = estimate(_fleiss), estimate(_ac1)
    return Agreement(
        items=int(table.times.sum()),
        left_out=table.left_out,
        clusters=len(sums),
        raters=table.raters,
        labels=dict(zip(names, (table.times @ table.counts).tolist(), strict=True)),
        percent=estimate(_percent, _percent(_Sums.of(sums, len(names)))),
        cohen=estimate(_cohen) if len(table.raters) == 2 else None,
        fleiss=estimate(_fleiss),
        alpha=estimate(_alpha),
        ac1=estimate(_ac1),
        fleiss_gwet=fleiss_gwet,
        ac1_gwet=ac1_gwet,
        confusion={
            name: dict(zip(names, row, strict=True))
            for name, row in zip(names, table.confusion().tolist(), strict=True)
        },
    )


def mean_estimate(
    values: Sequence[tuple[Hashable, float]], *, resamples: int = RESAMPLES, seed: int = 0
) -> Estimate | None:
    """The mean of ``values``, each given with its cluster. None without values."""
    return ratio_estimate([(cluster, value, 1.0) for cluster, value in values], resamples=resamples, seed=seed)


def ratio_estimate(
    pairs: Sequence[tuple[Hashable, float, float]], *, resamples: int = RESAMPLES, seed: int = 0
) -> Estimate | None:
    """The sum of all numerators divided by the sum of all denominators; a pair comes with its cluster in front.

    For example, pooled F1 of matched claims is 2 x matched over found + gold. None if the denominators sum to 0.
    """
    rows = [(cluster, (above, below)) for cluster, above, below in pairs]
    [estimate] = sums_estimates(rows, 2, lambda sums: [_divide(sums[:, 0], sums[:, 1])], resamples=resamples, seed=seed)
    return estimate


def sums_estimates(
    rows: Sequence[tuple[Hashable, Sequence[float]]],
    width: int,
    figures: Callable[[_Floats], Sequence[_Floats]],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    others: Collection[int] = (),
) -> list[Estimate | None]:
    """Figures computed from sums over ``rows`` of ``width`` numbers, each given with its cluster.

    ``figures`` takes sums, one row per resample, and returns one value per row for each figure, NaN if undefined. All
    figures come from the same resamples. A figure that is undefined over all rows is None. ``others``: the indexes of
    figures that aren't shares, such as macro averages.
    """
    clusters = _numbered([cluster for cluster, _ in rows])
    values = np.array([numbers for _, numbers in rows], dtype=np.float64).reshape(-1, width)
    return estimates(_summed(values, clusters), figures, resamples=resamples, seed=seed, others=others)


def estimates(
    sums: _Floats,
    figures: Callable[[_Floats], Sequence[_Floats]],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    others: Collection[int] = (),
) -> list[Estimate | None]:
    """The same from the ``sums`` of each cluster, one row a cluster."""
    whole, drawn, alone = (
        figures(each) for each in (sums.sum(axis=0, keepdims=True), resampled(sums, resamples, seed), sums)
    )
    return [
        estimate_of(value, each, len(sums), shares=None if place in others else shares)
        for place, (value, each, shares) in enumerate(zip(whole, drawn, alone, strict=True))
    ]


# The coefficients. Each takes sums over items, one row per resample, and returns one figure per row, NaN if undefined.


@dataclass(frozen=True, slots=True)
class _Sums:
    """The input of the coefficients: sums over items, one row per resample, label columns in a fixed order.

    With n the labels of an item and n_k how many of them are k: ``agreeing`` sums the share of its pairs that agree,
    ``differing`` its ordered pairs that differ divided by n - 1, ``counts`` n_k, ``shares`` n_k / n. ``first`` and
    ``second`` count each rater's labels if there are exactly two.
    """

    items: _Floats
    agreeing: _Floats
    differing: _Floats
    counts: _Floats
    shares: _Floats
    first: _Floats
    second: _Floats

    @classmethod
    def of(cls, table: _Floats, labels: int) -> _Sums:
        """Reads the columns in the order in which ``_Table.per_cluster`` writes them."""
        wide = np.split(table[:, 3:], [labels, 2 * labels, 3 * labels], axis=1)
        return cls(table[:, 0], table[:, 1], table[:, 2], *wide)


def _percent(sums: _Sums) -> _Floats:
    """Observed agreement: the share of agreeing pairs of raters, averaged over items."""
    return _divide(sums.agreeing, sums.items)


def _cohen(sums: _Sums) -> _Floats:
    """Cohen (1960): by chance, each rater keeps their own label frequencies."""
    by_chance = _divide((sums.first * sums.second).sum(axis=1), sums.items**2)
    return _divide(_percent(sums) - by_chance, 1 - by_chance)


def _fleiss(sums: _Sums) -> _Floats:
    """Fleiss (1971), generalized to varying numbers of raters as in Gwet, Handbook of Inter-Rater Reliability (2014),
    chapter 2: a label's frequency is its share of an item's labels, averaged over items, so that all items have the
    same weight. With equal numbers of raters it is Fleiss' original; with two raters, Scott's pi.

    Gwet counts items with one label toward the frequencies: that is ``fleiss_gwet``. Here they are left out, as in all
    other figures.
    """
    by_chance = (_divide(sums.shares, sums.shares.sum(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return _divide(_percent(sums) - by_chance, 1 - by_chance)


def _alpha(sums: _Sums) -> _Floats:
    """Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), part C: nominal data, missing labels allowed."""
    labels = sums.counts.sum(axis=1)
    expected = labels**2 - (sums.counts**2).sum(axis=1)
    return 1 - _divide((labels - 1) * sums.differing, expected)


def _ac1(sums: _Sums) -> _Floats:
    """Gwet, Computing inter-rater reliability and its variance in the presence of high agreement (2008): AC1 for
    several raters, with label frequencies as in ``_fleiss``. Unlike kappa, it stays stable for skewed labels.
    """
    shares = _divide(sums.shares, sums.shares.sum(axis=1, keepdims=True))
    by_chance = (shares * (1 - shares)).sum(axis=1) / max(shares.shape[1] - 1, 1)
    return _divide(_percent(sums) - by_chance, 1 - by_chance)


def _with_singles(items: Sequence[RatedItem], scale: Sequence[str], resamples: int, seed: int) -> list[Estimate | None]:
    """Fleiss' kappa and AC1 with the label frequencies of all items that have a label (Gwet 2014, section 2.4): items
    with one label contribute a share of 1 and no pair. None if no item has two labels."""
    single = [item for item in items if len(item.labels) == 1]
    table = _Table.of(items, [*scale, *sorted({label for item in single for label in item.labels.values()})])
    if not len(table.counts):
        return [None, None]
    width = len(table.labels)
    counted = table.per_item()
    alone = np.zeros((len(single), counted.shape[1]))
    for row, item in enumerate(single):
        [label] = item.labels.values()
        alone[row, 3 + width + table.labels.index(label)] = item.times
    clusters = _numbered(item.cluster for item in [*(each for each in items if len(each.labels) > 1), *single])
    sums = _summed(np.concatenate([counted, alone]), clusters)
    whole, drawn = sums.sum(axis=0, keepdims=True), resampled(sums, resamples, seed)
    return [
        estimate_of(coefficient(_Sums.of(whole, width)), coefficient(_Sums.of(drawn, width)), len(sums))
        for coefficient in (_fleiss, _ac1)
    ]


# From items to sums.


@dataclass(frozen=True, slots=True)
class _Table:
    """The items as arrays. Row i is an item with at least two labels that stands for ``times[i]`` items."""

    clusters: NDArray[np.int64]  # numbered from 0
    times: NDArray[np.int64]
    counts: NDArray[np.int64]  # how many raters gave each label
    # The label of the first and of the second rater, by index; empty unless there are exactly two raters.
    said: NDArray[np.int64]
    labels: tuple[str, ...]
    raters: tuple[Rater, ...]
    left_out: int

    @classmethod
    def of(cls, items: Iterable[RatedItem], scale: Sequence[str]) -> _Table:
        given = list(items)
        counted = [item for item in given if len(item.labels) > 1]
        found = {label for item in counted for label in item.labels.values()}
        labels = (*dict.fromkeys(scale), *sorted(found.difference(scale)))
        # Numbers before names, because the two can't be compared.
        raters = tuple(
            sorted({rater for item in counted for rater in item.labels}, key=lambda each: (isinstance(each, str), each))
        )
        index = {label: number for number, label in enumerate(labels)}
        # One number per label given: its cell in the table of counts.
        cells = [row * len(labels) + index[label] for row, item in enumerate(counted) for label in item.labels.values()]
        counts = np.bincount(np.array(cells, dtype=np.int64), minlength=len(counted) * len(labels))
        pairs = [[index[item.labels[rater]] for rater in raters] for item in counted] if len(raters) == 2 else []
        return cls(
            clusters=_numbered([item.cluster for item in counted]),
            times=np.array([item.times for item in counted], dtype=np.int64),
            counts=counts.reshape(len(counted), len(labels)),
            said=np.array(pairs, dtype=np.int64).reshape(-1, 2),
            labels=labels,
            raters=raters,
            left_out=sum(item.times for item in given) - sum(item.times for item in counted),
        )

    def per_cluster(self) -> _Floats:
        """The sums described in ``_Sums``, one row per cluster."""
        return _summed(self.per_item(), self.clusters)

    def per_item(self) -> _Floats:
        """The same, one row per item."""
        counts = self.counts.astype(np.float64)
        size = counts.sum(axis=1)
        same = (counts**2).sum(axis=1)
        one_hot = np.eye(len(self.labels))
        columns = [
            np.ones(len(counts)),
            (same - size) / (size * (size - 1)),
            (size**2 - same) / (size - 1),
            counts,
            counts / size[:, None],
            *(one_hot[self.said[:, rater]] if len(self.said) else np.zeros_like(counts) for rater in (0, 1)),
        ]
        return np.asarray(np.column_stack(columns) * self.times[:, None], dtype=np.float64)

    def confusion(self) -> NDArray[np.int64]:
        """Counts of pairs of labels on the same item; see ``Agreement``."""
        width = len(self.labels)
        if len(self.said):
            cells = self.said[:, 0] * width + self.said[:, 1]
            table = np.zeros(width * width, dtype=np.int64)
            np.add.at(table, cells, self.times)
            return table.reshape(width, width)
        pairs = self.counts.T @ (self.counts * self.times[:, None])
        np.fill_diagonal(pairs, self.times @ (self.counts * (self.counts - 1) // 2))
        return pairs


# Sums and resamples.


def _numbered(clusters: Iterable[Hashable]) -> NDArray[np.int64]:
    """A number for each cluster, from 0, in order of first occurrence."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters], dtype=np.int64)


def _summed(rows: _Floats, clusters: NDArray[np.int64]) -> _Floats:
    """The sum of the rows of each cluster."""
    sums = np.zeros((int(clusters.max(initial=-1)) + 1, rows.shape[1]))
    np.add.at(sums, clusters, rows)
    return sums


def resampled(sums: _Floats, resamples: int, seed: int) -> _Floats:
    """One row per resample: the sum of as many rows as there are, drawn with replacement. None for a single row."""
    if len(sums) < 2:
        return np.empty((0, sums.shape[1]))
    return np.concatenate([times @ sums for times in draws(len(sums), resamples, seed)] or [sums[:0]])


def draws(rows: int, resamples: int, seed: int) -> Iterator[_Floats]:
    """How often each of ``rows`` is drawn in each resample (resamples x rows), in chunks that fit into memory."""
    random = np.random.default_rng(seed)
    step = max(1, _DRAWS // rows)
    for start in range(0, resamples, step):
        many = min(step, resamples - start)
        drawn = random.integers(rows, size=(many, rows))
        drawn += np.arange(many)[:, None] * rows  # so that one count serves all resamples of the chunk
        yield np.bincount(drawn.ravel(), minlength=many * rows).reshape(many, rows).astype(np.float64)


def _divide(above: _Floats, below: _Floats) -> _Floats:
    """Division that returns NaN for a zero denominator, without a warning."""
    below = np.broadcast_to(below, above.shape)
    quotient: _Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)
    return quotient


def estimate_of(value: _Floats, drawn: _Floats, clusters: int, *, shares: _Floats | None = None) -> Estimate | None:
    """The figure in ``value`` with the interval of ``drawn``. None if it is undefined. ``shares``: if the figure is a
    share, 0 to 1, the same of each cluster alone, NaN if undefined; None for other figures."""
    figure = float(value[0])
    if np.isnan(figure):
        return None
    defined = drawn[~np.isnan(drawn)]
    if not len(defined):
        return Estimate(figure, None, None)
    tail = expanded_tail(clusters)
    low, high = np.percentile(defined, (tail, 100 - tail))
    if high - low > _ALIKE:
        return Estimate(figure, float(low), float(high))
    if shares is None or not 0 <= figure <= 1:
        return Estimate(figure, None, None)
    observations = int((~np.isnan(shares)).sum())
    if not observations:
        return Estimate(figure, None, None)
    return Estimate(figure, *wilson(figure * observations, observations))
