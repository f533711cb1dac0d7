"""Clusters of claims of several annotators, and what is offered as a split or a merge."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.metrics.alignment import align
from pipeline.metrics.clusters import ClaimGroup, Cluster, cluster, split_or_merge

ANN = [
    "Marie Curie was born in Warsaw in 1867.",
    "Marie Curie won the Nobel Prize in Physics in 1903.",
    "Pierre Curie was a French physicist.",
]
BEN = [
    "Marie Curie was born in Warsaw.",
    "Marie Curie was born in 1867.",
    "In 1903 Marie Curie won the Nobel Prize in Physics.",
    "The Eiffel Tower was finished in 1889.",
]
CLEO = [
    "Marie Curie was born in Warsaw in 1867.",
    "The Eiffel Tower was finished in 1889.",
    "Marie Curie won the Nobel Prize in Physics in 1903.",
    "Polonium is named after Poland.",
]

# Texts of few words, so that many are alike or the same.
TEXTS = st.lists(st.lists(st.sampled_from("abcde"), max_size=4).map(" ".join), max_size=5)


def members(sets: Sequence[Sequence[str]], threshold: float = 0.5) -> list[tuple[int | None, ...]]:
    return [each.members for each in cluster(sets, threshold=threshold)]


def groups(first: Sequence[str], second: Sequence[str], threshold: float = 0.5) -> list[ClaimGroup]:
    return split_or_merge(first, second, cluster([first, second], threshold=threshold))


def test_two_annotators_claims_are_aligned_and_the_rest_stands_in_reading_order() -> None:
    assert members([ANN, BEN]) == [(0, 0), (None, 1), (1, 2), (None, 3), (2, None)]


def test_three_annotators_are_clustered_around_the_one_most_like_the_others() -> None:
    """Cleo is the medoid: her order holds. Pierre is Ann's alone and follows her claim before; so does Ben's year."""
    assert members([ANN, BEN, CLEO]) == [
        (0, 0, 0),
        (None, 1, None),
        (None, 3, 1),
        (1, 2, 2),
        (2, None, None),
        (None, None, 3),
    ]


def test_what_the_medoid_lacks_is_clustered_among_the_others() -> None:
    tower = "The Eiffel Tower was finished in 1889."
    sets = [[tower, ANN[0]], [ANN[0], ANN[1]], [ANN[1], ANN[0]], [ANN[0], ANN[1], tower]]
    # The last is most like the others; without it the tower would be two claims.
    assert members(sets)[-1] == (0, None, None, 2)
    # Without the last one's tower, the others' towers meet in the second round.
    sets = [[ANN[0], tower], [ANN[0], ANN[1]], [ANN[0], tower], [ANN[0], ANN[1]], [ANN[0], ANN[1]]]
    assert members(sets) == [(0, 0, 0, 0, 0), (1, None, 1, None, None), (None, 1, None, 1, 1)]


def test_a_claim_before_all_others_of_its_set_opens_the_list() -> None:
    assert members([[ANN[0]], [ANN[2], ANN[0]]]) == [(None, 0), (0, 1)]


def test_equally_good_yardsticks_go_to_the_first_annotator() -> None:
    assert members([ANN, ANN[::-1], ANN]) == [(0, 2, 0), (1, 1, 1), (2, 0, 2)]
    assert members([ANN[::-1], ANN, ANN]) == [(0, 2, 2), (1, 1, 1), (2, 0, 0)]


def test_the_threshold_parts_what_is_only_a_little_alike() -> None:
    pair = [["Marie Curie was born in Warsaw."], ["Pierre Curie was born in Paris."]]
    assert members(pair, threshold=0.5) == [(0, 0)]
    assert members(pair, threshold=0.9) == [(None, 0), (0, None)]


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ([], []),
        ([[], []], []),
        ([ANN], [(0,), (1,), (2,)]),
        ([[], ANN[:2]], [(None, 0), (None, 1)]),
        ([ANN[:2], []], [(0, None), (1, None)]),
        ([[], ANN[:1], [], ANN[:1]], [(None, 0, None, 0)]),
        ([["Same."] * 2, ["Same."] * 3], [(0, 0), (1, 1), (None, 2)]),
        ([["Same."], ["Same."] * 2, ["Same."] * 2], [(0, 0, 0), (None, 1, 1)]),
        ([[""], [""]], [(0, 0)]),
    ],
)
def test_empty_and_repeated_claims(sets: list[list[str]], expected: list[tuple[int | None, ...]]) -> None:
    assert members(sets) == expected


@given(st.lists(TEXTS, max_size=4), st.sampled_from([0.0, 0.5, 0.9]))
def test_each_claim_is_in_exactly_one_cluster(sets: list[list[str]], threshold: float) -> None:
    found = members(sets, threshold)
    for who, texts in enumerate(sets):
        assert sorted(index for each in found if (index := each[who]) is not None) == list(range(len(texts)))
    assert all(len(each) == len(sets) and any(index is not None for index in each) for each in found)


@given(TEXTS, TEXTS, st.sampled_from([0.0, 0.5, 0.9]))
def test_two_sets_are_what_align_says(first: list[str], second: list[str], threshold: float) -> None:
    found = members([first, second], threshold)
    matched = [pair for pair in found if None not in pair]
    assert matched == [(match.first, match.second) for match in align(first, second, threshold=threshold)]
    assert [one for one, _ in found if one is not None] == list(range(len(first)))


def test_a_claim_in_two_parts_is_offered_as_a_split() -> None:
    assert groups(ANN, BEN) == [((0,), (0, 1)), ((1,), (2,)), ((), (3,)), ((2,), ())]
    assert groups(BEN, ANN) == [((0, 1), (0,)), ((2,), (1,)), ((), (2,)), ((3,), ())]


def test_a_claim_in_three_parts_takes_them_all() -> None:
    whole = ["Marie Curie was born in Warsaw in 1867 and won the Nobel Prize in Physics."]
    parts = [BEN[1], "Marie Curie won the Nobel Prize in Physics.", BEN[0]]
    assert groups(whole, parts) == [((0,), (0, 1, 2))]
    assert groups(parts, whole) == [((0, 1, 2), (0,))]


def test_an_unmatched_claim_that_adds_nothing_stays_single() -> None:
    whole = ["Marie Curie was born in Warsaw in 1867."]
    assert groups(whole, [whole[0], "Marie Curie was born."]) == [((0,), (0,)), ((), (1,))]


def test_a_claim_about_something_else_is_no_part_for_sharing_some_words() -> None:
    """Beside a loose match, "in 1867" alone would make the two claims together more similar to the whole."""
    whole = ["Marie Curie was born in Warsaw in 1867."]
    loose = ["Warsaw is the town of Marie Curie.", "In 1867 the Eiffel Tower stood only on paper."]
    assert groups(whole, loose, threshold=0.4) == [((0,), (0,)), ((), (1,))]


def test_a_part_goes_to_the_match_that_it_completes_best() -> None:
    whole = ["Lyon is a city in France with 500,000 people.", "Lyon is a city in France on the Rhône."]
    parts = ["Lyon is a city in France.", "Lyon is in France.", "Lyon is on the Rhône."]
    found = groups(whole, parts, threshold=0.4)
    assert [group for group in found if len(group.second) > 1] == [((1,), (1, 2))]


def test_several_are_never_set_against_several() -> None:
    """Either side has a part that would complete the match: only the better one joins."""
    first = ["Ada Lovelace was a mathematician born in London.", "A writer."]
    second = ["Ada Lovelace was a mathematician and a writer.", "Born in London."]
    assert groups(first, second[:1], threshold=0.6) == [((0, 1), (0,))]
    assert groups(first, second, threshold=0.6) == [((0,), (0, 1)), ((1,), ())]


@given(TEXTS, TEXTS, st.sampled_from([0.0, 0.5]))
def test_groups_keep_each_claim_once_and_mirror(first: list[str], second: list[str], threshold: float) -> None:
    clusters = cluster([first, second], threshold=threshold)
    found = split_or_merge(first, second, clusters)
    assert sorted(index for group in found for index in group.first) == list(range(len(first)))
    assert sorted(index for group in found for index in group.second) == list(range(len(second)))
    assert all(min(len(group.first), len(group.second)) <= 1 for group in found)
    mirrored = split_or_merge(second, first, [Cluster(each.members[::-1]) for each in clusters])
    assert mirrored == [(group.second, group.first) for group in found]


def test_nothing_to_group_is_no_group() -> None:
    assert split_or_merge([], [], []) == []
    assert groups([], ["Alone."]) == [((), (0,))]
