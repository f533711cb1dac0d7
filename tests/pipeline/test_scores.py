"""Scores of answers and of checked claims, against figures worked out by hand and scipy's tau."""

from __future__ import annotations

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from pipeline.metrics.averitec import CheckedClaimLabel, averitec_score, evidence_score
from pipeline.metrics.f1_at_k import ClaimCounts, domain_k, f1_at_k, f1_at_k_prime, precision
from pipeline.metrics.meteor import meteor, variant
from pipeline.metrics.rank_correlation import kendall_tau


def test_f1_at_k_by_hand() -> None:
    counts = ClaimCounts(supported=6, claims=8)
    assert precision(counts) == 0.75
    assert f1_at_k(counts, 12) == pytest.approx(2 * 0.75 * 0.5 / 1.25)
    assert f1_at_k(counts, 3) == pytest.approx(2 * 0.75 / 1.75)  # recall stops at 1
    assert f1_at_k(ClaimCounts(0, 5), 4) == 0.0
    assert f1_at_k(ClaimCounts(0, 0), 4) == precision(ClaimCounts(0, 0)) == 0.0


def test_k_of_a_domain_is_the_median_number_of_claims() -> None:
    assert domain_k([ClaimCounts(1, 3), ClaimCounts(0, 10), ClaimCounts(2, 4), ClaimCounts(2, 5)]) == 4.5
    with pytest.raises(ValueError, match="there is none"):
        domain_k([])


def test_too_many_claims_cost_as_much_as_too_few() -> None:
    few, many = ClaimCounts(8, 8), ClaimCounts(12, 12)
    recall = 2 / (1 + exp(0.2))
    assert f1_at_k_prime(few, 10) == f1_at_k_prime(many, 10) == pytest.approx(2 * recall / (1 + recall))
    assert f1_at_k_prime(ClaimCounts(10, 10), 10) == 1.0
    assert f1_at_k_prime(ClaimCounts(100_000, 100_000), 0) == pytest.approx(0, abs=1e-9)  # no overflow


@pytest.mark.parametrize(("k", "words"), [(0, "above 0"), (-1, "above 0")])
def test_a_k_that_says_nothing_is_refused(k: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        f1_at_k(ClaimCounts(1, 2), k)


def test_counts_must_be_possible() -> None:
    with pytest.raises(ValueError, match="3 supported of 2 claims"):
        ClaimCounts(3, 2)


def test_meteor_knows_stems_and_says_that_it_knows_no_synonyms() -> None:
    assert meteor("The cats were sleeping.", "the cat was sleeping.") > meteor("The cats slept.", "A dog barked.")
    assert meteor("", "anything") == meteor("anything", "") == 0.0
    # Six of seven words match in two chunks: P = R = 6/7, penalty 0.5 * (2/6)^3.
    assert meteor("on the mat sat the small cat", "on the mat sat the old cat") == pytest.approx(
        6 / 7 * (1 - 0.5 * (2 / 6) ** 3)
    )
    assert "stem" in variant()


def test_evidence_is_scored_over_the_best_assignment() -> None:
    gold = ["Who won the race? Ada won.", "When was it? In 1901."]
    assert evidence_score(gold, list(reversed(gold))) == pytest.approx(evidence_score(gold, gold))
    assert evidence_score(gold, gold[:1]) == pytest.approx(evidence_score(gold[:1], gold[:1]) / 2)
    assert evidence_score(gold, []) == 0.0
    assert evidence_score([], ["anything"]) == 1.0


def test_the_label_and_the_evidence_must_both_be_right() -> None:
    pair = ("Who won the race? Ada won it in 1901.",)
    gold = [CheckedClaimLabel("Supported", pair)] * 3
    answers = [
        CheckedClaimLabel("Supported", pair),
        CheckedClaimLabel("Refuted", pair),
        CheckedClaimLabel("Supported", ("Nothing alike here?",)),
    ]
    score, each = averitec_score(gold, answers)
    assert score == pytest.approx(1 / 3)
    assert each[0] == each[1] > 0.9 > 0.25 > each[2]
    with pytest.raises(ValueError, match="3 gold claims but 1"):
        averitec_score(gold, answers[:1])


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12))
def test_tau_is_that_of_scipy(values: list[tuple[int, int]]) -> None:
    first, second = zip(*values, strict=True)
    ours = kendall_tau(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert ours is None
    else:
        assert ours == pytest.approx(kendalltau(first, second).statistic)
