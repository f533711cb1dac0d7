"""The geometry and the words of the charts on the agreement pages: dots with intervals, lines over time, heat tables.

Pure. The templates draw them as SVG; every chart says in words what it shows, and shapes tell what colours tell.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, sqrt

from annotator.measures.agreement.report import Part
from pipeline.metrics.agreement import Agreement, Estimate

# Dots: a column of names, the axis, a column of values. In units of the drawing.
NAMES, AXIS, ROW = 92, 250, 24
# Lines: the plot inside its margins.
LEFT, RIGHT, TOP, BOTTOM = 30, 310, 10, 96
POINTS_AT_LEAST = 2
HEATS = 5


def number(value: float) -> str:
    """Two places, with a real minus sign."""
    return f"{value:.2f}".replace("-", "−").replace("−0.00", "0.00")


def percent(value: float) -> str:
    """A whole percentage; 100% and 0% only where nothing is missing."""
    rounded = round(100 * value)
    if rounded == 100 and value < 1:
        return "over 99%"
    return "under 1%" if rounded == 0 and value > 0 else f"{rounded}%"


def interval(estimate: Estimate | None, words: str = "") -> str:
    """ "0.81 (0.74 to 0.87)", with the name of the figure in front; "" where the figure is not defined."""
    if estimate is None:
        return f"{words} not defined".strip()
    bounds = ""
    if estimate.low is not None and estimate.high is not None:
        bounds = f" ({number(estimate.low)} to {number(estimate.high)})"
    return f"{words} {number(estimate.value)}{bounds}".strip()


# --- dots with intervals --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dot:
    """One figure. ``mark``: dot, diamond, ring or square. ``references``: places of other people's figures."""

    name: str
    mark: str
    y: float
    x: float
    low: float | None
    high: float | None
    shown: str
    references: tuple[float, ...]

    @property
    def middle(self) -> float:
        """Where text stands so that its middle is at ``y``."""
        return self.y + 4

    @property
    def shape(self) -> str:
        """A diamond or square as a path."""
        x, y, r = self.x, self.y, 5
        if self.mark == "diamond":
            return f"M{x:.1f} {y - r - 1:.1f}l{r + 1} {r + 1}l{-r - 1} {r + 1}l{-r - 1} {-r - 1}z"
        return f"M{x - r:.1f} {y - r:.1f}h{2 * r}v{2 * r}h{-2 * r}z"


@dataclass(frozen=True, slots=True)
class Dots:
    """Figures on one axis, from ``lowest`` to 1. ``words``: what the drawing shows."""

    dots: tuple[Dot, ...]
    ticks: tuple[tuple[float, str], ...]
    words: str
    names: float = NAMES
    width: float = NAMES + AXIS + 58

    @property
    def bottom(self) -> float:
        return len(self.dots) * ROW

    @property
    def height(self) -> float:
        return self.bottom + 20


@dataclass(frozen=True, slots=True)
class Figure:
    """What is drawn as a dot: a name, how it is marked, the figure, and references in its row."""

    name: str
    mark: str
    estimate: Estimate | None
    is_percent: bool = False
    references: tuple[float, ...] = ()


def dots(figures: Sequence[Figure], words: str) -> Dots | None:
    """The drawing; None where no figure is defined."""
    defined = [(figure, figure.estimate) for figure in figures if figure.estimate is not None]
    if not defined:
        return None
    least = min(estimate.value if estimate.low is None else estimate.low for _, estimate in defined)
    lowest = 0.0 if least >= 0 else -0.5 if least >= -0.5 else -1.0

    def x(value: float) -> float:
        return round(NAMES + AXIS * (max(value, lowest) - lowest) / (1 - lowest), 1)

    drawn = [
        Dot(
            name=figure.name,
            mark=figure.mark,
            y=ROW / 2 + position * ROW,
            x=x(estimate.value),
            low=None if estimate.low is None else x(estimate.low),
            high=None if estimate.high is None else x(estimate.high),
            shown=percent(estimate.value) if figure.is_percent else number(estimate.value),
            references=tuple(x(value) for value in figure.references),
        )
        for position, (figure, estimate) in enumerate(defined)
    ]
    steps = 4 if lowest in (0.0, -1.0) else 3
    ticks = [lowest + (1 - lowest) * step / steps for step in range(steps + 1)]
    return Dots(tuple(drawn), tuple((x(tick), f"{tick:g}".replace("-", "−")) for tick in ticks), words)


# --- lines over time ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    percent: float
    alpha: float | None
    words: str

    @property
    def diamond(self) -> str:
        if self.alpha is None:
            return ""
        return f"M{self.x:.1f} {self.alpha - 4:.1f}l4 4l-4 4l-4 -4z"


@dataclass(frozen=True, slots=True)
class Trend:
    """One field over time: the share of equal labels (solid, dots) and alpha (dashed, diamonds)."""

    label: str
    points: tuple[Point, ...]
    first: str
    last: str
    latest: str
    words: str
    left: float = LEFT
    right: float = RIGHT
    # Places of 100%, 50% and 0% (alpha 1, 0.5 and 0).
    levels: tuple[tuple[float, str], ...] = (
        (TOP, "100%"),
        ((TOP + BOTTOM) / 2, "50%"),
        (BOTTOM, "0%"),
    )

    @property
    def percent_line(self) -> str:
        return " ".join(f"{point.x:.1f},{point.percent:.1f}" for point in self.points)

    @property
    def alpha_lines(self) -> list[str]:
        """The dashed line, in pieces where alpha is not defined in between."""
        return [
            f"{one.x:.1f},{one.alpha:.1f} {other.x:.1f},{other.alpha:.1f}"
            for one, other in pairwise(self.points)
            if one.alpha is not None and other.alpha is not None
        ]


def trends(periods: Mapping[dt.date, Sequence[Part]]) -> list[Trend]:
    """A drawing for each field with two points at least."""
    fields = {part.field.name: part.field for parts in periods.values() for part in parts}
    found = []
    for name, field in fields.items():
        series = [(day, part) for day, parts in periods.items() for part in parts if part.field.name == name]
        if len(series) < POINTS_AT_LEAST:
            continue
        start, length = series[0][0], (series[-1][0] - series[0][0]).days
        points = tuple(
            Point(
                x=LEFT + 8 + (RIGHT - LEFT - 16) * (day - start).days / length,
                percent=_height(part.percent),
                alpha=None if part.alpha is None else _height(part.alpha),
                words=f"From {_date(day)}: {part_words(part)}, {part.items:,} {field.thing}",
            )
            for day, part in series
        )
        latest = series[-1][1]
        words = f"{field.label} over time. " + ". ".join(point.words for point in points) + "."
        found.append(Trend(field.label, points, _date(start), _date(series[-1][0]), part_words(latest), words))
    return found


def part_words(part: Part) -> str:
    """ "92% the same, alpha 0.81"."""
    alpha = "" if part.alpha is None else f", alpha {number(part.alpha)}"
    return f"{percent(part.percent)} the same{alpha}"


def _height(value: float) -> float:
    """The place of a share or an alpha; an alpha below 0 stands on the ground line."""
    return round(BOTTOM - (BOTTOM - TOP) * max(value, 0.0), 1)


def _date(day: dt.date) -> str:
    return f"{day.day} {day:%b %Y}"


# --- who said what --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cell:
    times: int
    heat: int
    is_same: bool


@dataclass(frozen=True, slots=True)
class Heat:
    """A confusion table: columns, then rows of a label with its cells. ``of_two``: rows are one person's labels,
    columns the other's; else pairs of labels, and what differs stands in two places."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    of_two: bool


def heat(figures: Agreement, words: Mapping[str, str]) -> Heat:
    """The table with a shade for each number."""
    return heat_of(figures.confusion, words, of_two=len(figures.raters) == 2)


def heat_of(confusion: Mapping[str, Mapping[str, int]], words: Mapping[str, str], *, of_two: bool) -> Heat:
    """The same from the counts of pairs of labels; ``words``: how a label reads."""
    most = max((times for row in confusion.values() for times in row.values()), default=0)
    rows = tuple(
        (
            words.get(one, one),
            tuple(Cell(times, _shade(times, most), one == other) for other, times in row.items()),
        )
        for one, row in confusion.items()
    )
    return Heat(tuple(words.get(label, label) for label in confusion), rows, of_two)


def _shade(times: int, most: int) -> int:
    """0 for none to 4 for the most; by the square root, as the agreeing cells outnumber all others."""
    return ceil((HEATS - 1) * sqrt(times / most)) if times else 0
