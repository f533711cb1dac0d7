"""The arithmetic of charts: axes that hold every value, lines that step, columns and bars that fill their place."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core import charts

MONDAY = dt.date(2026, 11, 2)


@pytest.mark.parametrize(
    ("highest", "expected"),
    [
        (0, [0, 1]),
        (1, [0, 1]),
        (4, [0, 1, 2, 3, 4]),
        (5, [0, 2, 4, 6]),
        (61, [0, 20, 40, 60, 80]),
        (100_000, [0, 50_000, 100_000]),
    ],
)
def test_ticks_are_whole_even_and_hold_the_highest_value(highest: int, expected: list[int]) -> None:
    assert charts.ticks(highest) == expected


@given(st.integers(0, 10**7))
def test_an_axis_never_has_more_than_five_ticks_and_wastes_at_most_half_of_itself(highest: int) -> None:
    found = charts.ticks(highest)
    assert 2 <= len(found) <= 5 and found[-1] >= highest
    assert found[-2] < max(highest, 1)


def test_days_on_an_axis_begin_with_the_first_and_are_few() -> None:
    found = charts.day_ticks(MONDAY, MONDAY + dt.timedelta(days=9))
    assert [day.day for day in found] == [2, 4, 6, 8, 10]
    assert charts.day_ticks(MONDAY, MONDAY) == [MONDAY]
    assert len(charts.day_ticks(MONDAY, MONDAY + dt.timedelta(days=900))) <= 5
    assert charts.day_words(MONDAY) == "Nov 2"


def test_a_line_keeps_its_value_until_the_day_on_which_it_changes() -> None:
    days = [MONDAY, MONDAY + dt.timedelta(days=1), MONDAY + dt.timedelta(days=4)]
    chart = charts.over_time(days, [("Gold", "gold", [0, 2, 4])], highest=4)
    [line] = chart.lines
    assert line.points == "0.0,100.0 25.0,100.0 25.0,50.0 100.0,50.0 100.0,0.0"
    assert line.last == 4
    assert [(tick.at, tick.label) for tick in chart.up][-1] == (0.0, "4")
    assert [tick.label for tick in chart.across] == ["Nov 2", "Nov 3", "Nov 4", "Nov 5", "Nov 6"]


def test_a_single_day_is_a_level_line() -> None:
    [line] = charts.over_time([MONDAY], [("Gold", "gold", [3])], highest=4).lines
    assert line.points == "0.0,25.0 100.0,25.0"


def test_columns_share_the_width_and_the_highest_is_as_high_as_the_drawing() -> None:
    first, second = charts.columns([("a", 1), ("b", 4)], gap=0.2)
    assert (first.x, first.width, first.y, first.height) == (5.0, 40.0, 75.0, 25.0)
    assert (second.x, second.y, second.height) == (55.0, 0.0, 100.0)
    assert [column.height for column in charts.columns([("a", 0), ("b", 0)])] == [0.0, 0.0]
    assert charts.columns([]) == []


def test_every_value_falls_into_one_step_and_the_last_takes_all_above() -> None:
    found = charts.binned([0, 4.9, 5, 14, 15, 400], width=5, up_to=15, unit="min")
    assert found == [("0 to 5 min", 2), ("5 to 10 min", 1), ("10 to 15 min", 1), ("15 min and more", 2)]


def test_parts_of_a_bar_follow_each_other_and_empty_ones_are_not_drawn() -> None:
    assert charts.parts([("agreed", 1), ("agree", 0), ("work", 3)], 8) == [
        {"kind": "agreed", "x": 0.0, "width": 12.5},
        {"kind": "work", "x": 12.5, "width": 37.5},
    ]
    assert charts.parts([("agreed", 0)], 0) == []
