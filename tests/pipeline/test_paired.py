"""Paired tests of two systems, against figures worked out by hand and scipy's binomial test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from pipeline.metrics.paired import mcnemar, randomisation


def share(sums: Any) -> list[Any]:
    return [sums[:, 0] / sums[:, 1]]


def test_mcnemar_by_hand() -> None:
    # Two-sided: 2 * (1 + 8) / 2^8 for one of eight.
    assert mcnemar(7, 1) == mcnemar(1, 7) == pytest.approx(2 * (1 + 8) / 256)
    assert mcnemar(0, 0) == mcnemar(5, 5) == 1.0


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test(first: int, second: int) -> None:
    expected = binomtest(first, first + second, 0.5).pvalue if first + second else 1.0
    assert mcnemar(first, second) == pytest.approx(expected)


def test_many_items_go_by_the_normal_distribution() -> None:
    assert mcnemar(1100, 1000) == pytest.approx(binomtest(1100, 2100, 0.5).pvalue, rel=0.02)
    assert mcnemar(100_000, 50_000) == pytest.approx(0, abs=1e-12)
    assert mcnemar(50_000, 50_000) == 1.0


def test_randomisation_by_hand() -> None:
    # Four documents of one item each, all right against all wrong: of 16 ways to share them out two are as extreme.
    right = {name: [1.0, 1.0] for name in "abcd"}
    wrong = {name: [0.0, 1.0] for name in "abcd"}
    [found] = randomisation(right, wrong, share, shuffles=20_000)
    assert found is not None
    assert found.value == 1.0
    assert found.p == pytest.approx(2 / 16, abs=0.01)
    [back] = randomisation(wrong, right, share, shuffles=20_000)
    assert back is not None
    assert (back.value, back.p) == (-1.0, found.p)


def test_the_same_system_twice_is_no_difference() -> None:
    rows = {name: [float(name % 2), 1.0] for name in range(30)}
    [found] = randomisation(rows, dict(rows), share)
    assert found is not None
    assert (found.value, found.p) == (0.0, 1.0)


def test_the_observed_difference_counts_among_the_drawn_ones_so_that_p_is_never_zero() -> None:
    # Of 2^40 ways to share the documents out two are as extreme as the observed one: 99 draws never meet them.
    right = {name: [1.0, 1.0] for name in range(40)}
    wrong = {name: [0.0, 1.0] for name in range(40)}
    [found] = randomisation(right, wrong, share, shuffles=99)
    assert found is not None
    assert found.p == 1 / 100


def test_documents_and_not_items_change_hands() -> None:
    # The same 20 items in 20 documents and in two: only in the first case is there enough to tell.
    many = [{name: [hit, 1.0] for name in range(20)} for hit in (1.0, 0.0)]
    few = [{name: [10 * hit, 10.0] for name in range(2)} for hit in (1.0, 0.0)]
    [sure], [unsure] = (randomisation(each[0], each[1], share) for each in (many, few))
    assert sure is not None and unsure is not None
    assert sure.p < 0.01 < 0.4 < unsure.p


def test_what_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="these differ"):
        randomisation({"a": [1.0, 1.0]}, {"b": [1.0, 1.0]}, share)
    with pytest.raises(ValueError, match="No documents"):
        randomisation({}, {}, share)
    undefined = randomisation({"a": [1.0]}, {"a": [0.0]}, lambda sums: [np.full(len(sums), np.nan)])
    assert undefined == [None]
