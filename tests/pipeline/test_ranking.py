"""Ranks with intervals, and p-values for several comparisons."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.metrics.ranking import holm, rank_intervals


def test_holm_by_hand() -> None:
    # 3 x 0.01; then 2 x 0.02; the last is not below the one before.
    assert holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([]) == [] and holm([0.3]) == [0.3] and holm([0.9, 0.8]) == [1.0, 1.0]


# Few lists: statsmodels collects garbage at each call, a second each in a long run.
@pytest.mark.parametrize("values", [[0.2], [0.04, 0.01, 0.02], [0.0, 1.0, 0.5, 0.5], [0.011, 0.6, 0.012, 0.3, 0.013]])
def test_holm_is_that_of_statsmodels(values: list[float]) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    assert holm(values) == pytest.approx(list(multitest.multipletests(values, method="holm")[1]))


def test_ranks_of_systems_that_differ_everywhere_are_certain() -> None:
    systems = [{number: [each, 1.0] for number in range(20)} for each in (0.2, 0.9, 0.5, 0.9)]
    found = rank_intervals(systems, lambda sums: sums[:, 0] / sums[:, 1])
    assert [(each.rank, each.low, each.high) for each in found] == [(4, 4, 4), (1, 1, 1), (3, 3, 3), (1, 1, 1)]


def test_ranks_of_systems_that_differ_by_chance_are_not() -> None:
    random = np.random.default_rng(1)
    systems = [{number: [float(random.random()), 1.0] for number in range(20)} for _ in range(3)]
    found = rank_intervals(systems, lambda sums: sums[:, 0] / sums[:, 1])
    assert sorted(each.rank for each in found) == [1, 2, 3]
    assert any(each.high > each.low for each in found)
    assert found == rank_intervals(systems, lambda sums: sums[:, 0] / sums[:, 1])


def test_systems_of_other_documents_are_refused() -> None:
    with pytest.raises(ValueError, match="same documents"):
        rank_intervals([{1: [1.0], 2: [1.0]}, {1: [1.0], 3: [1.0]}], lambda sums: sums[:, 0])
