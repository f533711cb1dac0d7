"""Figures of groups of documents, against the same by hand and against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.metrics.agreement import Estimate
from pipeline.metrics.groups import Group, group_estimates
from pipeline.metrics.intervals import expanded_tail, student_t, wilson

Floats = NDArray[np.float64]


def share(sums: Floats) -> list[Floats]:
    with np.errstate(invalid="ignore"):
        return [sums[:, 0] / sums[:, 1]]


def test_a_group_has_what_each_draw_of_all_documents_takes_of_it() -> None:
    sums = np.array([[1.0, 2.0], [3.0, 3.0], [0.0, 4.0], [2.0, 5.0]])
    picked = np.array([0, 2, 3])
    [[found]] = group_estimates([Group(picked, sums[picked], share)], 4, resamples=60, seed=7)
    assert found is not None and found.value == 3 / 11
    values = []
    for resample in np.random.default_rng(7).integers(4, size=(60, 4)):
        kept = [document for document in resample if document != 1]
        if kept:
            values.append(sum(sums[each][0] for each in kept) / sum(sums[each][1] for each in kept))
    tail = expanded_tail(3)
    assert found.interval == pytest.approx(np.percentile(values, [tail, 100 - tail]).tolist())


def test_tails_are_those_of_student_s_distribution() -> None:
    stats = pytest.importorskip("scipy.stats")
    for documents in (5, 8, 20, 100, 5000):
        assert student_t(documents - 1) == pytest.approx(stats.t.ppf(0.975, documents - 1), rel=0.003)
        t = stats.t.ppf(0.975, documents - 1) * (documents / (documents - 1)) ** 0.5
        assert expanded_tail(documents) == pytest.approx(100 * stats.norm.cdf(-t), rel=0.04)


def test_intervals_of_five_documents_hold_the_truth() -> None:
    """Plain percentiles hold it in 82% of the cases."""
    random = np.random.default_rng(4)
    covered = 0
    for _ in range(400):
        items = random.integers(2, 15, 47)
        right = random.binomial(items, random.beta(4.2, 1.8, 47))
        five = np.column_stack([right, items]).astype(float)[:5]
        [[found]] = group_estimates([Group(np.arange(5), five, share)], 47, resamples=250)
        assert found is not None and found.low is not None and found.high is not None
        covered += found.low <= 0.7 <= found.high
    assert 0.90 <= covered / 400 <= 0.97


def test_a_group_without_errors_is_not_certain() -> None:
    """Eight documents, of which two have no items: Wilson's interval over six, and none for what is no share."""
    sums = np.array([[3.0, 3.0]] * 6 + [[0.0, 0.0]] * 2)
    [[right]] = group_estimates([Group(np.arange(8), sums, share)], 20, resamples=60)
    assert right == Estimate(1.0, *wilson(6, 6))
    [[macro]] = group_estimates([Group(np.arange(8), sums, share, others=(0,))], 20, resamples=60)
    assert macro == Estimate(1.0, None, None)


def test_what_is_not_defined_over_a_group_is_none() -> None:
    assert group_estimates([Group(np.arange(5), np.zeros((5, 2)), share)], 9, resamples=20) == [[None]]
    assert group_estimates([], 9) == []
