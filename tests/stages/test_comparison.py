"""What follows by itself from what several people say, what has to be decided, and which decisions stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from annotator.core.models import Claim, Decision
from annotator.core.vocabulary import Importance
from annotator.stages.comparison.comparison import (
    ABSENT,
    ComparedItem,
    Comparison,
    FieldRow,
    Option,
    key_for,
    label_row,
    settled_origin,
    take_row,
    text_row,
    voted,
    whole_row,
)

NONE: Mapping[str, Decision] = {}


def importance(*said: Any, decisions: Mapping[str, Decision] = NONE) -> FieldRow:
    return label_row("k", "importance", "Importance", list(said), Importance, decisions)


def decided(value: Any, choice: int | None = None, *, is_settled: bool = True) -> dict[str, Decision]:
    return {"k": Decision(key="k", choice=choice, value=value, is_settled=is_settled)}


@pytest.mark.parametrize(
    ("said", "follows", "tied"),
    [
        (["a", "a"], "a", False),
        (["a", "b"], ABSENT, False),
        (["a", "a", "b"], "a", False),
        (["a", "b", "c"], ABSENT, True),
        (["a", "a", "b", "b"], ABSENT, True),
        (["b", "a", "a", "b", "c"], ABSENT, True),
        (["a", "a", "a", "b", "b"], "a", False),
        (["a", "a", "b", ABSENT], "a", False),
        (["a", "b", ABSENT], ABSENT, False),
        ([ABSENT, "a", ABSENT], "a", False),
        ([ABSENT, ABSENT], ABSENT, False),
        ([], ABSENT, False),
    ],
)
def test_a_majority_is_more_than_half_of_those_who_answered(said: list[Any], follows: Any, tied: bool) -> None:
    assert voted(said) == (follows, tied)


def test_a_label_offers_what_was_chosen_first_and_says_it_in_words() -> None:
    row = importance("less", "most", ABSENT, "less", "")
    assert row.options[:3] == [
        Option("less", "Less", (0, 3)),
        Option("most", "Most", (1,)),
        Option("", "not answered", (4,)),
    ]
    assert row.options[3:] == [Option("intermediate", "Intermediate")]
    assert [option.choice for option in row.options] == [0, 1, 4, None]
    assert row.words == ["Less", "Most", "", "Less", "not answered"]
    assert (row.kind, row.tied, row.differs) == ("label", True, True)
    assert label_row("k", "n", "N", [1, 2], {2: "two"}, NONE).words == ["not answered", "two"]


def test_texts_that_differ_in_space_alone_are_the_same() -> None:
    row = text_row("k", "text", "Text", [" Ada  wrote.", "Ada wrote. ", ABSENT], NONE)
    assert (row.kind, row.values, row.words) == (
        "text",
        ["Ada wrote.", "Ada wrote.", ABSENT],
        ["Ada wrote."] * 2 + [""],
    )
    assert (row.auto, row.differs, row.settled, row.settled_by) == ("Ada wrote.", False, "Ada wrote.", [0, 1])
    assert text_row("k", "text", "Text", ["b", "a", "b"], NONE).options == [
        Option("b", "b", (0, 2)),
        Option("a", "a", (1,)),
    ]


def test_whether_an_item_is_taken_in_has_two_answers() -> None:
    row = take_row("k", "Claim", [True, False], NONE)
    assert (row.kind, row.name, row.differs) == ("take", "take", True)
    assert {option.value: option.label for option in row.options} == {True: "Include", False: "Exclude"}
    assert take_row("k", "Claim", [True, True, False], NONE).settled is True


def test_a_version_as_a_whole_is_always_asked_and_three_people_ask_the_third_rater() -> None:
    row = whole_row("k", "cut", "Cut", ["1 sentence", "2 sentences"], NONE)
    assert (row.kind, row.values, row.differs, row.tied) == ("whole", [0, 1], True, False)
    assert row.options == [Option(0, "1 sentence", (0,)), Option(1, "2 sentences", (1,))]
    assert whole_row("k", "cut", "Cut", ["1", "2", "3"], NONE).tied
    chosen = whole_row("k", "cut", "Cut", ["1 sentence", "2 sentences"], decided(1, 1))
    assert (chosen.settled, chosen.settled_by, chosen.settled_words) == (1, [1], "2 sentences")


def test_an_open_difference_is_settled_by_a_decision_that_stands() -> None:
    assert importance("less", "most").is_open
    for decisions in (decided("most", 1), decided("intermediate")):
        row = importance("less", "most", decisions=decisions)
        assert row.differs and row.is_decided and not row.is_open
        assert row.settled == decisions["k"].value
    assert importance("less", "most", decisions=decided("most", 1)).settled_by == [1]
    assert importance("less", "most", decisions=decided("intermediate")).settled_by == []
    assert importance("less", "most", decisions=decided("intermediate")).settled_words == "Intermediate"
    assert text_row("k", "text", "Text", ["a", "b"], decided("c")).settled_words == "c"


@pytest.mark.parametrize(
    ("said", "decisions"),
    [
        (("less", "most"), decided("most", 1, is_settled=False)),  # opened again
        (("less", "intermediate"), decided("most", 1)),  # that person says something else now
        (("less", "most"), decided("most", 2)),  # that person is no part of it any more
        (("most", "most"), decided("less", 0)),  # they have come to agree
    ],
)
def test_a_decision_falls_where_what_it_settled_has_changed(said: tuple[str, ...], decisions: Any) -> None:
    row = importance(*said, decisions=decisions)
    assert not row.is_decided
    assert row.settled == ("most" if said == ("most", "most") else ABSENT)


def test_shared_is_what_two_people_answered_and_unanimous_what_all_who_did_say() -> None:
    rows = [
        importance(*said) for said in (["less", ABSENT], ["less", "less", ABSENT], ["less", "most"], [ABSENT, ABSENT])
    ]
    assert [row.is_shared for row in rows] == [False, True, True, False]
    assert [row.is_unanimous for row in rows] == [True, True, False, True]
    assert rows[3].settled_words == ""


def test_a_comparison_counts_what_two_people_answered_and_what_needs_a_hand() -> None:
    alone, same, split = importance("less", ABSENT), importance("less", "less"), importance("less", "most")
    settled = label_row("s", "importance", "Importance", ["less", "most"], Importance, {"s": decided("most", 1)["k"]})
    hidden = importance("less", "most")
    hidden.is_active = False
    hidden.key = "hidden"
    first = ComparedItem("one", "claim", "1", [["a"], ["b"]], [alone, same, hidden])
    second = ComparedItem("two", "claim", "2", [["a"], ["b"]], [split, settled])
    board = Comparison(2, [first, second])
    assert board.rows == [same, split, settled]
    assert (board.total, board.agreeing, board.decided, board.open) == (3, 1, 1, 1)
    assert (first.differs, first.is_open, second.differs, second.is_open) == (False, False, True, True)
    assert not hidden.differs and not hidden.is_open
    assert board.find("hidden") is hidden and board.find("none") is None
    assert board.item_of("two") is board.item_of("s") is second and board.item_of("none") is None


def test_an_origin_is_the_peoples_own_where_all_came_to_the_value_in_the_same_way() -> None:
    assert settled_origin(importance("less", "less"), ["accepted", "accepted"]) == "accepted"
    assert settled_origin(importance("less", "less"), ["accepted", "human"]) == "consolidated"
    assert settled_origin(importance("less", "less"), ["", ""]) == "consolidated"
    assert settled_origin(importance("less", "less", "most"), ["human"] * 3) == "consolidated"
    assert settled_origin(importance("less", "most", decisions=decided("most", 1)), ["human"] * 2) == "consolidated"


def test_a_key_is_made_of_the_rows_compared_in_their_order_and_of_who_has_none() -> None:
    one, two = Claim(public_id="one"), Claim(public_id="two")
    keys = [key_for("claim", rows) for rows in ([one, two], [two, one], [one, None], [None, one])]
    assert len(set(keys)) == 4 and key_for("claim", [one, two]) == keys[0]
    assert keys[0].startswith("claim-") and len(keys[0]) == len("claim-") + 16
