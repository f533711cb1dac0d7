"""Do two domains rank the same models alike? Our own implementation because SciPy is only in the extra ``science``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import sqrt


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Kendall's tau-b of two sequences of the same length, -1 to 1; None if one of them has no ranking (fewer than two
    values, or all equal). Quadratic: meant for dozens of models or domains.

    Raises ValueError if they differ in length. (VeriScore 4 and Figure 3 compares domains this way; ties by Kendall
    1945.)
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values against {len(second)}: every model needs both.")
    pairs = list(combinations(zip(first, second, strict=True), 2))
    agreeing = sum(_sign(a[0] - b[0]) * _sign(a[1] - b[1]) for a, b in pairs)
    ranked_first = sum(a[0] != b[0] for a, b in pairs)
    ranked_second = sum(a[1] != b[1] for a, b in pairs)
    if not ranked_first or not ranked_second:
        return None
    return agreeing / sqrt(ranked_first * ranked_second)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
