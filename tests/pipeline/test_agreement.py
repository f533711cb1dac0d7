"""The agreement coefficients: worked examples of the literature, three independent implementations, the intervals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from nltk.metrics.agreement import AnnotationTask
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa
from statsmodels.stats.proportion import proportion_confint

from pipeline.metrics import agreement as module
from pipeline.metrics.agreement import Agreement, Estimate, RatedItem, agreement, mean_estimate, ratio_estimate
from pipeline.metrics.intervals import expanded_tail, wilson

COEFFICIENTS = ("percent", "cohen", "fleiss", "alpha", "ac1")

# Krippendorff 2011, part C: twelve units, four observers, missing values; the last unit has one value only.
KRIPPENDORFF = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
# Fleiss 1971, table 1: 30 patients, six psychiatrists each, five diagnoses.
FLEISS = """
    00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
    00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
""".split()


def from_rows(rows: Sequence[str]) -> list[RatedItem]:
    """One row a rater, one character an item, a dot where the rater said nothing. Each item is a document."""
    return [
        RatedItem(number, {f"rater {rater}": label for rater, label in enumerate(column) if label != "."})
        for number, column in enumerate(zip(*rows, strict=True))
    ]


def from_counts(rows: Sequence[Sequence[int]]) -> list[RatedItem]:
    """One row an item: how many raters gave each label. Who gave it does not matter to the coefficients used."""
    return [
        RatedItem(number, dict(enumerate(str(label) for label, count in enumerate(row) for _ in range(count))))
        for number, row in enumerate(rows)
    ]


def two_by_two(both: int, first_only: int, second_only: int, neither: int) -> list[RatedItem]:
    said = [("yes", "yes")] * both + [("yes", "no")] * first_only + [("no", "yes")] * second_only
    pairs = said + [("no", "no")] * neither
    return [RatedItem(number, {"a": one, "b": other}) for number, (one, other) in enumerate(pairs)]


def values(found: Agreement) -> dict[str, float | None]:
    estimates: dict[str, Estimate | None] = {name: getattr(found, name) for name in COEFFICIENTS}
    return {name: estimate.value if estimate else None for name, estimate in estimates.items()}


def plain(items: Sequence[RatedItem], **options: Any) -> dict[str, float | None]:
    return values(agreement(items, resamples=0, **options))


def triples(items: Sequence[RatedItem]) -> list[tuple[Any, int, str]]:
    return [(rater, number, label) for number, item in enumerate(items) for rater, label in item.labels.items()]


# Items of two to four of five raters, with labels of which some are common.
LABELS = st.sampled_from(["true", "true", "true", "false", "not enough evidence"])
ITEMS = st.lists(
    st.builds(RatedItem, st.integers(0, 3), st.dictionaries(st.integers(1, 5), LABELS, min_size=2, max_size=4)),
    min_size=1,
    max_size=12,
)
PAIRS = st.lists(
    st.builds(RatedItem, st.integers(0, 3), st.fixed_dictionaries({"ann": LABELS, "ben": LABELS})),
    min_size=1,
    max_size=12,
)


# Worked examples.


def test_krippendorffs_example_with_missing_values() -> None:
    found = agreement(from_rows(KRIPPENDORFF))
    assert (found.items, found.left_out, len(found.raters)) == (11, 1, 4)
    assert found.labels == {"1": 9, "2": 13, "3": 10, "4": 5, "5": 3}
    assert values(found)["alpha"] == pytest.approx(0.743, abs=5e-4)


def test_fleiss_example_of_six_psychiatrists() -> None:
    found = agreement(from_counts([[int(count) for count in row] for row in FLEISS]))
    assert found.items == 30
    assert list(found.labels.values()) == [26, 26, 30, 55, 43]
    assert values(found)["percent"] == pytest.approx(0.556, abs=5e-4)
    assert values(found)["fleiss"] == pytest.approx(0.430, abs=5e-4)


def test_cohens_kappa_of_a_two_by_two_table() -> None:
    """Observed 35 of 50; by chance 0.5 x 0.6 + 0.5 x 0.4 = 0.5; kappa 0.2 / 0.5."""
    found = agreement(two_by_two(20, 5, 10, 15))
    assert values(found)["percent"] == pytest.approx(0.7)
    assert values(found)["cohen"] == pytest.approx(0.4)
    assert found.confusion == {"no": {"no": 15, "yes": 10}, "yes": {"no": 5, "yes": 20}}


def test_ac1_stays_high_where_kappa_collapses_on_skewed_labels() -> None:
    """By hand: 118 of 125 agree; yes has the share 243/250. AC1 expects 2 x 0.972 x 0.028 = 0.054432 by chance, kappa
    123/125 x 120/125 + 2/125 x 5/125 = 0.94528.
    """
    found = plain(two_by_two(118, 5, 2, 0))
    assert found["ac1"] == pytest.approx((0.944 - 0.054432) / (1 - 0.054432))
    assert found["ac1"] == pytest.approx(0.9408, abs=5e-5)
    assert found["cohen"] == pytest.approx((0.944 - 0.94528) / (1 - 0.94528))
    assert found["cohen"] == pytest.approx(-0.0234, abs=5e-5)


def test_three_raters_of_unequal_industry_by_hand() -> None:
    """Pairs agree by 1/3, 1 and 0, so 4/9. Shares: x (2/3 + 1 + 1/2) / 3 = 13/18, y 5/18; squared 194/324."""
    items = [
        RatedItem("d", {"a": "x", "b": "x", "c": "y"}),
        RatedItem("d", {"a": "x", "b": "x"}),
        RatedItem("e", {"b": "x", "c": "y"}),
    ]
    found = plain(items)
    assert found["percent"] == pytest.approx(4 / 9)
    assert found["fleiss"] == pytest.approx((4 / 9 - 194 / 324) / (1 - 194 / 324))
    assert found["ac1"] == pytest.approx((4 / 9 - 130 / 324) / (1 - 130 / 324))
    # Labels 5 x and 2 y: 20 of 42 ordered pairs differ by chance; observed (4/2 + 0 + 2/1) of 7 labels.
    assert found["alpha"] == pytest.approx(1 - (4 / 7) / (20 / 42))
    assert found["cohen"] is None


# Independent implementations.


def test_figures_that_irrcac_gives() -> None:
    """irrCAC 0.4.4 for Krippendorff's example without its last unit. It is no requirement: it demands an old SciPy."""
    found = plain(from_rows(KRIPPENDORFF))
    expected = {"percent": 0.81818182, "fleiss": 0.76248313, "alpha": 0.74342105, "ac1": 0.77515171, "cohen": None}
    assert found == pytest.approx(expected, abs=1e-8)


@given(ITEMS)
def test_alpha_is_that_of_nltk(items: list[RatedItem]) -> None:
    alpha = plain(items)["alpha"]
    assume(alpha is not None)
    assert alpha == pytest.approx(AnnotationTask(triples(items)).alpha(), abs=1e-9)


@given(PAIRS)
def test_two_raters_kappas_are_those_of_nltk_and_statsmodels(items: list[RatedItem]) -> None:
    found = agreement(items, resamples=0)
    assume(found.cohen is not None and found.fleiss is not None)
    figures, task = values(found), AnnotationTask(triples(items))
    table = np.array([list(row.values()) for row in found.confusion.values()])
    assert figures["cohen"] == pytest.approx(task.kappa(), abs=1e-9)
    assert figures["cohen"] == pytest.approx(cohens_kappa(table, return_results=False), abs=1e-9)
    assert figures["fleiss"] == pytest.approx(task.pi(), abs=1e-9)
    assert figures["percent"] == pytest.approx(task.avg_Ao(), abs=1e-9)


@given(st.lists(st.lists(LABELS, min_size=4, max_size=4), min_size=1, max_size=12))
def test_fleiss_kappa_is_that_of_statsmodels(rows: list[list[str]]) -> None:
    fleiss = plain([RatedItem(0, dict(enumerate(row))) for row in rows])["fleiss"]
    assume(fleiss is not None)
    names = sorted({label for row in rows for label in row})
    assert fleiss == pytest.approx(fleiss_kappa(np.array([[row.count(name) for name in names] for row in rows])))


@given(ITEMS)
def test_the_others_follow_their_definitions_slowly(items: list[RatedItem]) -> None:
    """Percent, Fleiss and AC1 written down as Gwet defines them: pair by pair, label by label."""
    rows = [list(item.labels.values()) for item in items]
    names = {label for row in rows for label in row}
    agreeing = [sum(one == other for one, other in permutations(row, 2)) / (len(row) * (len(row) - 1)) for row in rows]
    observed = sum(agreeing) / len(rows)
    share = {name: sum(row.count(name) / len(row) for row in rows) / len(rows) for name in names}
    found = plain(items)
    assert found["percent"] == pytest.approx(observed)
    if len(names) == 1:
        assert found["ac1"] == 1
        return
    for name, chance in (
        ("fleiss", sum(each**2 for each in share.values())),
        ("ac1", sum(each * (1 - each) for each in share.values()) / (len(names) - 1)),
    ):
        assert found[name] == pytest.approx((observed - chance) / (1 - chance), abs=1e-9)


# Properties and edges.


@given(ITEMS, st.permutations([1, 2, 3, 4, 5]), st.permutations(["true", "false", "not enough evidence"]))
def test_other_names_for_raters_and_labels_change_no_figure(
    items: list[RatedItem], raters: list[int], labels: list[str]
) -> None:
    named = dict(zip(["true", "false", "not enough evidence"], labels, strict=True))
    renamed = [
        RatedItem(item.cluster, {raters[rater - 1]: named[label] for rater, label in item.labels.items()})
        for item in items
    ]
    before, after = agreement(items, resamples=20), agreement(renamed, resamples=20)
    for name in COEFFICIENTS:
        one, other = getattr(before, name), getattr(after, name)
        assert (one and asdict(one)) == pytest.approx(other and asdict(other), abs=1e-9)
    assert {named[label]: count for label, count in before.labels.items()} == after.labels


@given(st.lists(LABELS, min_size=2, max_size=12))
def test_perfect_agreement_is_one(said: list[str]) -> None:
    assume(len(set(said)) > 1)
    found = agreement(
        [RatedItem(number, {"ann": label, "ben": label}) for number, label in enumerate(said)], resamples=20
    )
    assert found.percent == Estimate(1.0, *wilson(len(said), len(said)))
    assert all(getattr(found, name) == Estimate(1.0, None, None) for name in COEFFICIENTS if name != "percent")


def test_one_label_alone_leaves_what_corrects_for_chance_undefined() -> None:
    found = agreement([RatedItem(number, {"ann": "true", "ben": "true"}) for number in range(3)])
    assert (found.percent, found.ac1) == (Estimate(1.0, *wilson(3, 3)), Estimate(1.0, None, None))
    assert found.cohen is found.fleiss is found.alpha is None


@pytest.mark.parametrize("items", [[], [RatedItem(1, {}), RatedItem(1, {"ann": "true"})]])
def test_without_a_second_label_there_is_no_figure(items: list[RatedItem]) -> None:
    found = agreement(items)
    assert (found.items, found.left_out, found.clusters, found.raters) == (0, len(items), 0, ())
    assert (found.labels, found.confusion) == ({}, {})
    assert set(values(found).values()) == {None}


def test_an_item_with_one_label_counts_nowhere_else() -> None:
    items = two_by_two(20, 5, 10, 15)
    alone = [RatedItem("another", {"c": "maybe"})]
    with_it, without = agreement(items + alone), agreement(items)
    assert with_it.left_out == 1
    own = {"left_out": 1, "fleiss_gwet": with_it.fleiss_gwet and asdict(with_it.fleiss_gwet)}
    own["ac1_gwet"] = with_it.ac1_gwet and asdict(with_it.ac1_gwet)
    assert asdict(with_it) == {**asdict(without), **own}


def test_gwets_frequencies_count_items_with_one_label() -> None:
    """What irrCAC 0.4 gives for Krippendorff's example, whose last item has one label."""
    found = agreement(from_rows(KRIPPENDORFF))
    assert found.left_out == 1 and found.ac1_gwet is not None and found.fleiss_gwet is not None
    assert found.ac1_gwet.value == pytest.approx(0.77544, abs=5e-6)
    assert found.fleiss_gwet.value == pytest.approx(0.76117, abs=5e-6)
    assert found.ac1 is not None and found.ac1.value != pytest.approx(0.77544, abs=1e-4)
    assert found.ac1_gwet.low < found.ac1_gwet.value < found.ac1_gwet.high  # type: ignore[operator]


def test_without_items_of_one_label_gwets_figures_are_the_others() -> None:
    found = agreement(two_by_two(20, 5, 10, 15))
    assert (found.ac1_gwet, found.fleiss_gwet) == (found.ac1, found.fleiss)


def test_cohens_kappa_needs_exactly_two_raters() -> None:
    items = [*two_by_two(20, 5, 10, 15), RatedItem("another", {"a": "yes", "c": "yes"})]
    assert agreement(items).cohen is None
    assert agreement(items[:-1]).cohen is not None


def test_two_raters_who_never_agree_have_defined_figures() -> None:
    found = plain([RatedItem(number, {"ann": "true", "ben": "false"}) for number in range(4)])
    assert found == pytest.approx({"percent": 0, "cohen": 0, "fleiss": -1, "alpha": 1 - 7 * 8 / 32, "ac1": -1})


def test_labels_that_nobody_chose_count_for_ac1_alone() -> None:
    items = two_by_two(118, 5, 2, 0)
    narrow, wide = agreement(items, resamples=0), agreement(items, scale=["yes", "no", "unsure"], resamples=0)
    assert wide.labels == {"yes": 243, "no": 7, "unsure": 0}
    assert values(wide)["ac1"] == pytest.approx((0.944 - 0.054432 / 2) / (1 - 0.054432 / 2))
    assert {**values(wide), "ac1": 0} == pytest.approx({**values(narrow), "ac1": 0})


def test_the_confusion_of_several_raters_counts_each_pair_in_both_directions() -> None:
    found = agreement([RatedItem(1, {"a": "x", "b": "x", "c": "y"}), RatedItem(1, {"b": "y", "c": "y"})], resamples=0)
    assert found.confusion == {"x": {"x": 1, "y": 2}, "y": {"x": 2, "y": 1}}


def test_raters_stand_in_order_numbers_before_names() -> None:
    found = agreement([RatedItem(1, {"ben": "x", 10: "x"}), RatedItem(1, {9: "x", "ann": "y"})], resamples=0)
    assert found.raters == (9, 10, "ann", "ben")


def test_the_result_is_json() -> None:
    found = json.loads(json.dumps(agreement(two_by_two(20, 5, 10, 15)).as_json(), allow_nan=False))
    assert list(found) == [
        "items",
        "left_out",
        "clusters",
        "raters",
        "labels",
        *COEFFICIENTS,
        "fleiss_gwet",
        "ac1_gwet",
        "confusion",
    ]
    assert found["raters"] == ["a", "b"]
    assert found["cohen"]["value"] == pytest.approx(0.4)
    assert found["cohen"]["low"] < 0.4 < found["cohen"]["high"]
    assert json.loads(json.dumps(agreement([]).as_json()))["alpha"] is None


# Intervals.


def test_intervals_are_those_of_drawing_whole_documents_by_hand() -> None:
    """The same documents drawn, their items put together, and each resample computed for itself."""
    shape = [("d", 20, 5), ("e", 7, 2), ("f", 9, 0), ("g", 4, 0), ("h", 13, 0)]
    items = [
        RatedItem(document, {"ann": "true", "ben": "true" if number < agree else "false"})
        for document, agree, differ in shape
        for number in range(agree + differ)
    ]
    drawn = [
        plain([item for place in draw for item in items if item.cluster == shape[place][0]])
        for draw in np.random.default_rng(7).integers(len(shape), size=(100, len(shape)))
    ]
    found = agreement(items, resamples=100, seed=7)
    assert any(figures["alpha"] is None for figures in drawn), "a resample without a second label belongs to the test"
    for name in COEFFICIENTS:
        defined = [figures[name] for figures in drawn if figures[name] is not None]
        estimate = getattr(found, name)
        if name == "cohen":  # always 0, because Ann has one label
            assert set(defined) == {0.0} and estimate.interval is None
        else:
            tail = expanded_tail(len(shape))
            assert 0 < tail < 2.5, "wider than the middle 95%, because five documents are few"
            assert estimate.interval == pytest.approx(np.percentile(np.array(defined), [tail, 100 - tail]))


def test_intervals_do_not_depend_on_the_parts_they_are_computed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    items = two_by_two(20, 5, 10, 15)
    at_once = agreement(items, resamples=100)
    monkeypatch.setattr(module, "_DRAWS", 150)  # three resamples of 50 documents at a time
    in_parts = agreement(items, resamples=100)
    assert at_once == in_parts
    assert at_once != agreement(items, resamples=100, seed=1)


def test_many_labels_of_few_documents_do_not_narrow_the_interval() -> None:
    """Ten times the items within each document say no more about other documents."""
    items = two_by_two(20, 5, 10, 15)
    again = [item for item in items for _ in range(10)]
    apart = [RatedItem(number, item.labels) for number, item in enumerate(again)]
    once, repeated, independent = (agreement(each).as_json()["cohen"] for each in (items, again, apart))
    assert repeated == pytest.approx(once)
    assert independent["high"] - independent["low"] < (once["high"] - once["low"]) / 2


def test_a_single_document_has_no_interval() -> None:
    found = agreement([RatedItem("d", item.labels) for item in two_by_two(20, 5, 10, 15)])
    assert found.cohen is not None
    assert (found.cohen.low, found.cohen.high) == (None, None)
    assert mean_estimate([("d", 0.5), ("d", 1.0)]) == Estimate(0.75, None, None)


def test_a_mean_weighs_values_and_its_interval_draws_documents() -> None:
    assert mean_estimate([]) is None
    assert mean_estimate([("d", 0.5), ("e", 0.5)]) == Estimate(0.5, *wilson(1, 2)), "not certainly one half"
    # Drawn are d twice, e twice, or both: the means 0, 1 and 1/3 (two values of d, one of e).
    assert mean_estimate([("d", 0.0), ("d", 0.0), ("e", 1.0)]) == Estimate(1 / 3, 0.0, 1.0)


def test_a_ratio_pools_before_it_divides() -> None:
    """Matched-claim F1 of two documents: 2 x 3 of 6 and 2 x 1 of 10, not the mean of 1 and 0.2."""
    assert ratio_estimate([("d", 6, 6), ("e", 2, 10)]) == Estimate(0.5, 0.2, 1.0)
    assert ratio_estimate([]) is None
    assert ratio_estimate([("d", 0, 0), ("e", 0, 0)]) is None
    assert ratio_estimate([("d", 0, 0), ("e", 1, 2)]) == Estimate(0.5, *wilson(0.5, 1)), "d has nothing to say"


def test_resamples_that_are_all_alike_claim_no_certainty() -> None:
    """All right in five documents: with statsmodels' Wilson interval, the documents as observations."""
    [low, high] = proportion_confint(5, 5, method="wilson")
    right = mean_estimate([(document, 1.0) for document in range(5) for _ in range(20)])
    assert right is not None and right.interval == pytest.approx([low, high]) and high == 1
    assert low == pytest.approx(0.566, abs=5e-4)
    items = [RatedItem(document, {1: label, 2: label}) for document in range(5) for label in "ab"]
    same = agreement(items)
    assert same.percent is not None and same.percent.interval == pytest.approx([low, high])
    assert same.alpha == Estimate(1.0, None, None), "a coefficient beyond chance is no share"
    for count, total in ((0, 7), (3, 7), (7, 7), (1, 1), (250, 1000)):
        assert wilson(count, total) == pytest.approx(proportion_confint(count, total, method="wilson"), abs=1e-12)


def to_12_digits(figure: str) -> float:
    return round(float(figure), 12)


def test_an_item_that_stands_for_several_counts_like_as_many_of_them():
    said = [("yes", "yes"), ("yes", "no"), ("no", "no"), ("yes",)]
    for raters in (said, [(*each, "yes") for each in said]):
        once = [RatedItem(number % 2, dict(enumerate(labels)), 1 + number) for number, labels in enumerate(raters)]
        each = [RatedItem(item.cluster, item.labels) for item in once for _ in range(item.times)]
        found, expected = (
            json.loads(json.dumps(agreement(items, scale=["yes", "no", "other"]).as_json()), parse_float=to_12_digits)
            for items in (once, each)
        )
        assert found == expected
