"""The formulas behind 95% intervals of few observations. Our own because SciPy and statsmodels aren't part of the core;
the tests compare them with both."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

_Z = NormalDist().inv_cdf(0.975)


def wilson(count: float, total: int) -> tuple[float, float]:
    """The 95% score interval of a share (Wilson 1927)."""
    if not total:
        return 0.0, 1.0
    share, square = min(1.0, count / total), _Z**2
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = _Z * sqrt(share * (1 - share) / total + square / (4 * total**2)) / (1 + square / total)
    # Rounding must not move a bound past the share itself.
    return max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share))


def expanded_tail(documents: int) -> float:
    """The percentile of the resamples at which the interval of so many documents starts: 2.5 for many, less for few, so
    that it is as wide as with Student's t (Hesterberg, What Teachers Should Know About the Bootstrap, 2015, section
    5.3). 2.5 for a single document, which can't be resampled."""
    if documents < 2:
        return 2.5
    return 100 * NormalDist().cdf(-sqrt(documents / (documents - 1)) * student_t(documents - 1))


def student_t(degrees: int) -> float:
    """The 97.5% quantile of Student's t (Abramowitz and Stegun 1964, 26.7.5), within 0.3% from 4 degrees of
    freedom."""
    z = _Z
    return (
        z
        + (z**3 + z) / (4 * degrees)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3)
    )
