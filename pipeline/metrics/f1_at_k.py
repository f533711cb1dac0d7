"""How factual a long response is: precision of its claims, and F1 relative to how many facts it should contain.

Counts can come from people's gold or a pipeline's labels. ``supported`` is S(r), a count. Claims that can't be verified
don't count as claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from statistics import median

import numpy as np
from numpy.typing import NDArray

# From FastFact's released code; the paper (section 4.4.2) has the formula without a value.
GAMMA = 0.1


@dataclass(frozen=True, slots=True)
class ClaimCounts:
    """The claims of one response: ``supported`` out of ``claims``. Raises ValueError for impossible counts."""

    supported: int
    claims: int

    def __post_init__(self) -> None:
        if not 0 <= self.supported <= self.claims:
            raise ValueError(f"{self.supported} supported of {self.claims} claims: not possible.")


def precision(counts: ClaimCounts) -> float:
    """The share of claims that are supported, 0 to 1 (FActScore; VeriScore 2.4 and FastFact equation 2). A response
    without claims has 0, because it contains no supported fact."""
    return counts.supported / counts.claims if counts.claims else 0.0


def domain_k(answers: Sequence[ClaimCounts]) -> float:
    """K of a domain: the median number of claims over all models' responses in it (VeriScore 2.4).

    Raises ValueError without a response.
    """
    if not answers:
        raise ValueError("K is the median over a domain's answers, and there is none.")
    return float(median(each.claims for each in answers))


def f1_at_k(counts: ClaimCounts, k: float) -> float:
    """Harmonic mean of precision and recall min(S / K, 1); 0 if nothing is supported (VeriScore 2.4).

    Raises ValueError unless K is greater than 0.
    """
    if k <= 0:
        raise ValueError(f"K is the number of facts a response should contain: {k:g} is too small, it must be above 0.")
    return _harmonic(precision(counts), min(counts.supported / k, 1.0)) if counts.supported else 0.0


def f1s_at_k(supported: NDArray[np.float64], claims: NDArray[np.float64], k: float) -> NDArray[np.float64]:
    """``f1_at_k`` for many responses at once."""
    precisions = np.divide(supported, claims, out=np.zeros_like(supported), where=claims > 0)
    recalls = np.minimum(supported / k, 1.0)
    total = precisions + recalls
    found: NDArray[np.float64] = np.divide(2 * precisions * recalls, total, out=np.zeros_like(total), where=total > 0)
    return found


def f1_at_k_prime(counts: ClaimCounts, k_prime: float, gamma: float = GAMMA) -> float:
    """Like ``f1_at_k``, with a recall that drops equally for too few and too many supported claims, ``2 / (1 +
    exp(gamma |S - K'|))``.

    K' is the number of valid claims that people found in this response (FastFact equations 5 and 6).

    Raises ValueError for a negative K'.
    """
    if k_prime < 0:
        raise ValueError(f"K' is a number of claims: {k_prime:g} is below 0.")
    recall = 2 / (1 + exp(min(gamma * abs(counts.supported - k_prime), 700.0)))
    return _harmonic(precision(counts), recall)


def _harmonic(first: float, second: float) -> float:
    return 2 * first * second / (first + second) if first + second else 0.0
