"""Arithmetic of the charts that the server draws as SVG: scales, ticks, points, columns. Pure.

All places are in percent of the drawing, from the top left, so that a chart is as wide as the page while its words
keep their size. Templates draw what stands here (``templates/components/chart_*.html``).
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

DAY = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis with its words."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a histogram: what it counts, how many, and where it stands."""

    label: str
    value: int
    x: float
    width: float
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart over time. ``points`` is what an SVG polyline takes; ``last`` is its newest value."""

    name: str
    kind: str
    points: str
    last: int


@dataclass(frozen=True, slots=True)
class OverTime:
    """Lines over days with both axes."""

    lines: tuple[Line, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]


def rounded(number: float) -> float:
    """Two digits are finer than any screen, and keep the page short."""
    return round(number, 2)


def ticks(highest: float, most: int = 5) -> list[int]:
    """Whole numbers from 0 in equal steps of 1, 2 or 5 (times ten and so on), the last one at or above ``highest``."""
    step, digit = 1, 0
    while step * (most - 1) < highest:
        digit += 1
        step = (1, 2, 5)[digit % 3] * 10 ** (digit // 3)
    number = max(math.ceil(highest / step), 1)  # never an axis of 0 alone
    return [step * each for each in range(number + 1)]


def day_ticks(first: dt.date, last: dt.date, most: int = 5) -> list[dt.date]:
    """Days from the first to the last in equal steps, at most so many."""
    step = math.ceil(((last - first).days + 1) / most)
    return [first + DAY * number for number in range(0, (last - first).days + 1, step)]


def day_words(day: dt.date) -> str:
    """A day on an axis: "3 Nov"."""
    return f"{day.day} {day:%b}"


def over_time(days: Sequence[dt.date], series: Iterable[tuple[str, str, Sequence[int]]], highest: int) -> OverTime:
    """Lines of values per day: each of ``series`` is (name, kind, one value for each of ``days``).

    A line keeps its value until the day on which it changes, since documents are agreed one by one, not in a slope.
    """
    first, last = days[0], days[-1]
    span = max((last - first).days, 1)
    up = ticks(highest)
    lines = []
    for name, kind, values in series:
        points: list[str] = []
        before: float | None = None
        y = 100.0
        for day, value in zip(days, values, strict=True):
            x, y = rounded(100 * (day - first).days / span), rounded(100 - 100 * value / up[-1])
            if before is not None and before != y:
                points.append(f"{x},{before}")
            points.append(f"{x},{y}")
            before = y
        if len(days) == 1:
            points.append(f"100,{y}")
        lines.append(Line(name, kind, " ".join(points), values[-1]))
    return OverTime(
        tuple(lines),
        tuple(Tick(rounded(100 * (day - first).days / span), day_words(day)) for day in day_ticks(first, last)),
        tuple(Tick(rounded(100 - 100 * value / up[-1]), f"{value:,}") for value in up),
    )


def columns(values: Sequence[tuple[str, int]], *, gap: float = 0.15) -> list[Column]:
    """Columns of equal width, the highest as high as the drawing; ``gap`` is the share of a place that stays free."""
    highest = max((value for _, value in values), default=0) or 1
    place = 100 / max(len(values), 1)
    return [
        Column(
            label,
            value,
            x=rounded(place * (number + gap / 2)),
            width=rounded(place * (1 - gap)),
            y=rounded(100 - 100 * value / highest),
            height=rounded(100 * value / highest),
        )
        for number, (label, value) in enumerate(values)
    ]


def binned(values: Iterable[float], *, width: int, up_to: int, unit: str) -> list[tuple[str, int]]:
    """How many values fall into each step of ``width``: from 0 to ``up_to``, then one for all above, with words."""
    counted = [0] * (up_to // width + 1)
    for value in values:
        counted[min(int(value // width), up_to // width)] += 1
    words = [f"{start} to {start + width} {unit}" for start in range(0, up_to, width)]
    return list(zip([*words, f"{up_to} {unit} and more"], counted, strict=True))


def parts(numbers: Mapping[str, int], whole: int) -> list[dict[str, str | float]]:
    """A bar of several parts, for components/phases.html: each with its kind, where it begins and how wide it is."""
    drawn: list[dict[str, str | float]] = []
    x = 0.0
    for kind, number in numbers.items():
        width = 100 * number / whole if whole else 0.0
        if number:
            drawn.append({"kind": kind, "x": rounded(x), "width": rounded(width)})
        x += width
    return drawn
