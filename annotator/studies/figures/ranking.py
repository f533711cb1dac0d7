"""Win rates and Bradley-Terry strengths of compared candidates, with bootstrap intervals over items.

Strengths are fitted by evalica (Ustalov 2025); a draw counts as half a win for each. Items with the same outcomes are
drawn together, so each resample is a single multinomial draw, however many items there are. Without the `science`
packages, strengths are None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 200
_SEED = 0
_Floats = NDArray[np.float64]
Contests = Mapping[int, Mapping[tuple[str, str], tuple[int, int, int]]]


@dataclass(frozen=True, slots=True)
class Strength:
    """A source's win rate (draws count half) and Bradley-Terry strength (strengths sum to 1), each with the central 95%
    of the resamples. ``contests`` counts its comparisons with another candidate."""

    source: str
    contests: int
    win_rate: float
    win_low: float
    win_high: float
    strength: float | None
    low: float | None
    high: float | None


def strengths(contests: Contests, sources: Sequence[str], *, resamples: int = RESAMPLES) -> tuple[Strength, ...]:
    """The sources, strongest first; empty if there are no contests."""
    pairs = sorted({pair for each in contests.values() for pair in each})
    if not pairs:
        return ()
    patterns = Counter(tuple(each.get(pair, (0, 0, 0)) for pair in pairs) for each in contests.values())
    table = np.array([[value for pair in pattern for value in pair] for pattern in patterns], dtype=np.float64)
    times = np.array(list(patterns.values()), dtype=np.int64)
    drawn = np.random.default_rng(_SEED).multinomial(times.sum(), times / times.sum(), size=resamples)
    sums = np.vstack([times @ table, drawn @ table])
    sums = sums.reshape(len(sums), len(pairs), 3)
    index = {source: number for number, source in enumerate(sources)}
    rates, contested = _win_rates(sums, pairs, index)
    fitted = _bradley_terry(sums, pairs, index)
    found = []
    for source, number in index.items():
        low, high = _interval(rates[1:, number])
        bounds = (None, None) if fitted is None else _interval(fitted[1:, number])
        whole = None if fitted is None else float(fitted[0, number])
        found.append(Strength(source, int(contested[0, number]), float(rates[0, number]), low, high, whole, *bounds))
    return tuple(sorted(found, key=lambda each: (-(each.strength or 0), -each.win_rate, each.source)))


def _interval(values: _Floats) -> tuple[float, float]:
    low, high = np.nanpercentile(values, [2.5, 97.5])
    return float(low), float(high)


def _win_rates(sums: _Floats, pairs: Sequence[tuple[str, str]], index: Mapping[str, int]) -> tuple[_Floats, _Floats]:
    wins, contested = np.zeros((len(sums), len(index))), np.zeros((len(sums), len(index)))
    for number, (one, other) in enumerate(pairs):
        first, draws, second = sums[:, number, 0], sums[:, number, 1], sums[:, number, 2]
        total = first + draws + second
        wins[:, index[one]] += first + draws / 2
        wins[:, index[other]] += second + draws / 2
        contested[:, index[one]] += total
        contested[:, index[other]] += total
    with np.errstate(invalid="ignore", divide="ignore"):
        return wins / contested, contested


def _evalica() -> ModuleType | None:
    try:
        import evalica
    except ImportError:
        return None
    found: ModuleType = evalica
    return found


def _bradley_terry(sums: _Floats, pairs: Sequence[tuple[str, str]], index: Mapping[str, int]) -> _Floats | None:
    library = _evalica()
    if library is None:
        return None
    winners = [library.Winner.X, library.Winner.Draw, library.Winner.Y] * len(pairs)
    xs = [one for one, _ in pairs for _ in range(3)]
    ys = [other for _, other in pairs for _ in range(3)]
    found = np.full((len(sums), len(index)), np.nan)
    for number, row in enumerate(sums):
        scores = library.bradley_terry(xs, ys, winners, weights=row.ravel().tolist()).scores
        total = float(scores.sum())
        for source, score in scores.items():
            found[number, index[source]] = float(score) / total
    return found
