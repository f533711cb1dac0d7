"""Splits of a release: properties that hold whatever the documents are."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.vocabulary import GroupedBy, Split
from annotator.exchange.releases.splits import Shares, SplitDocument, SplitError, groups_of, split_documents

SEEDS = st.integers(0, 2**31 - 1)
NAMES = st.sampled_from([f"source: {name}" for name in "abcdefgh"])
GROUPED = st.dictionaries(st.text(min_size=1, max_size=6), NAMES, max_size=80)


@st.composite
def shares(draw: st.DrawFn) -> Shares:
    train = draw(st.integers(0, 100))
    dev = draw(st.integers(0, 100 - train))
    return Shares(train, dev, 100 - train - dev)


def single(count: int) -> dict[str, str]:
    """So many documents, each by itself."""
    return {f"d{number}": f"document: d{number}" for number in range(count)}


@given(GROUPED, shares(), SEEDS)
def test_every_document_is_in_one_split_and_no_group_in_two(groups, parts, seed):
    found = split_documents(groups, parts, seed=seed)
    assert set(found) == set(groups)
    for group in set(groups.values()):
        assert len({found[each] for each in groups if groups[each] == group}) == 1


@given(GROUPED, shares(), SEEDS)
def test_the_shares_are_met_as_near_as_the_groups_allow(groups, parts, seed):
    found = Counter(split_documents(groups, parts, seed=seed).values())
    largest = max(Counter(groups.values()).values(), default=0)
    for split, slack in ((Split.TRAIN, largest / 2), (Split.DEV, largest), (Split.TEST, largest / 2)):
        assert abs(found[split] - len(groups) * parts.of(split) / 100) <= slack
        if parts.of(split) == 0:
            assert found[split] == 0


@given(GROUPED, shares(), SEEDS, st.randoms(use_true_random=False))
def test_the_order_of_the_documents_does_not_matter(groups, parts, seed, random_):
    shuffled = list(groups.items())
    random_.shuffle(shuffled)
    assert split_documents(dict(shuffled), parts, seed=seed) == split_documents(groups, parts, seed=seed)


@given(st.integers(1, 60), st.integers(0, 20), shares(), SEEDS)
def test_new_documents_move_few_of_the_old_ones(count, more, parts, seed):
    before = split_documents(single(count), parts, seed=seed)
    after = split_documents(single(count + more), parts, seed=seed)
    moved = [each for each in before if before[each] != after[each]]
    # At each of the two cuts at most as many as came in, and one for the rounding.
    assert len(moved) <= 2 * (more + 1)


@given(GROUPED, GROUPED, shares(), shares(), SEEDS)
def test_what_was_kept_stays_and_the_rest_of_its_group_follows(old, new, parts, others, seed):
    groups = new | old  # who was there keeps its group
    kept = split_documents(old, others, seed=seed + 1)
    found = split_documents(groups, parts, seed=seed, kept=kept)
    assert {each: found[each] for each in old} == kept
    for group in set(groups.values()):
        assert len({found[each] for each in groups if groups[each] == group}) == 1


def test_new_documents_fill_up_what_the_kept_ones_lack():
    kept = dict.fromkeys(single(50), Split.TRAIN)
    found = split_documents(single(100), Shares(50, 20, 30), seed=1, kept=kept)
    assert Counter(found.values()) == {Split.TRAIN: 50, Split.DEV: 20, Split.TEST: 30}


def test_documents_kept_in_two_splits_cannot_be_one_group():
    with pytest.raises(SplitError, match=r"Documents in the same group \(source: bing\) are in train and in test"):
        split_documents(
            {"a": "source: bing", "b": "source: bing"},
            Shares(50, 0, 50),
            seed=1,
            kept={"a": Split.TRAIN, "b": Split.TEST},
        )


def test_another_seed_gives_other_splits_and_the_same_seed_the_same():
    groups = single(200)
    first = split_documents(groups, Shares(50, 0, 50), seed=1)
    assert first == split_documents(groups, Shares(50, 0, 50), seed=1)
    changed = sum(first[each] != split for each, split in split_documents(groups, Shares(50, 0, 50), seed=2).items())
    assert 60 < changed < 140  # about half of them


def test_the_splits_are_the_same_for_ever():
    """A change here would give every benchmark other splits for the same seed."""
    found = split_documents(single(10), Shares(60, 20, 20), seed=42)
    assert " ".join(found.values()) == "dev train train train train train test test dev train"


@pytest.mark.parametrize(
    ("parts", "words"),
    [((80, 10, 5), "add up to 95%"), ((80, 20, 10), "add up to 110%"), ((110, -10, 0), "cannot be negative")],
)
def test_shares_that_do_not_add_up_are_refused(parts, words):
    with pytest.raises(SplitError, match=words):
        Shares(*parts)


def test_grouping():
    rows = [
        SplitDocument("a", source="bing", prompt="Who  was Ada?"),
        SplitDocument("b", source="bing", prompt="who was ada?"),
        SplitDocument("c"),
        SplitDocument("d"),
    ]
    assert len(set(groups_of(rows, GroupedBy.NOTHING).values())) == 4
    by_source = groups_of(rows, GroupedBy.SOURCE)
    assert by_source["a"] == by_source["b"] == "source: bing"
    assert by_source["c"] != by_source["d"], "without a source they have nothing in common"
    by_prompt = groups_of(rows, GroupedBy.PROMPT)
    assert by_prompt["a"] == by_prompt["b"] != by_prompt["c"]
