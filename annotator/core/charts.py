"""Charts that the server draws as SVG. Screens pass rows, templates draw these classes. Pure.

Positions are percentages of the drawing, measured from the top left, so that a chart can be as wide as the page while
its text keeps its size. Dots and trends have their text inside the drawing and use its own units. Every chart also says
in words what it shows, and shapes repeat what colors say. Written by hand because the arithmetic is short; a chart
library would draw in the browser or bring its own styles.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise

from pipeline.metrics.agreement import Estimate

DAY = dt.timedelta(days=1)
# Dots: a column for names, the axis, a column for values.
NAMES, AXIS, ROW = 92, 250, 24
# Trends: the plot inside its margins.
LEFT, RIGHT, TOP, BOTTOM = 30, 310, 10, 96
# Above this number of columns, values are grouped into bins of equal width; above the second number, columns have no
# number on top.
MAX_COLUMNS, NUMBERED_COLUMNS = 24, 14
HEATS = 5

Part = dict[str, str | float]


# --- numbers in words -----------------------------------------------------------------------------


def rounded(number: float) -> float:
    """Two digits are finer than any screen and keep the page short."""
    return round(number, 2)


def number(value: float) -> str:
    """Two places, with a real minus sign."""
    return f"{value:.2f}".replace("-", "−").replace("−0.00", "0.00")


def percent(value: float) -> str:
    """A whole percentage. 100% and 0% appear only where they are exact."""
    whole = round(100 * value)
    if whole == 100 and value < 1:
        return "over 99%"
    return "under 1%" if whole == 0 and value > 0 else f"{whole}%"


def interval(estimate: Estimate | None, words: str = "") -> str:
    """ "0.81 (0.74 to 0.87)", with the name of the figure in front; "" where the figure is not defined."""
    if estimate is None:
        return f"{words} not defined".strip()
    bounds = ""
    if estimate.low is not None and estimate.high is not None:
        bounds = f" ({number(estimate.low)} to {number(estimate.high)})"
    return f"{words} {number(estimate.value)}{bounds}".strip()


def day_words(day: dt.date) -> str:
    """A day on an axis: "Nov 3"."""
    return f"{day:%b} {day.day}"


# --- bars -----------------------------------------------------------------------------------------


def parts(numbers: Iterable[tuple[str, int]], whole: int) -> list[Part]:
    """A bar of several parts, for components/stacked.html and phases.html: each with its kind, its start and its width.
    Empty parts are left out."""
    drawn = list(numbers)
    starts = accumulate((number for _, number in drawn), initial=0)
    return [
        {"kind": kind, "x": rounded(100 * start / whole), "width": rounded(100 * number / whole)}
        for (kind, number), start in zip(drawn, starts, strict=False)
        if number
    ]


def in_words(numbers: Iterable[tuple[int, str]], otherwise: str) -> str:
    """ "38 train, 5 dev": the parts in words, shown next to the bar."""
    return ", ".join(f"{number:,} {word}" for number, word in numbers if number) or otherwise


@dataclass(frozen=True, slots=True)
class StackLook:
    """How a label is shown: its words, the tone of its bar, and a glyph that repeats the tone."""

    words: str
    tone: str = "work"
    glyph: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """One label with its count, out of ``whole``."""

    look: StackLook
    number: int
    whole: int

    @property
    def percent(self) -> str:
        return percent(self.number / self.whole)

    @property
    def width(self) -> float:
        return rounded(100 * self.number / self.whole)


def bars(counted: Sequence[tuple[StackLook, int]]) -> tuple[Bar, ...]:
    """A bar for each label; empty if nothing is counted."""
    whole = sum(number for _, number in counted)
    return tuple(Bar(look, number, whole) for look, number in counted if whole)


@dataclass(frozen=True, slots=True)
class Stack:
    """Parts of a whole in one bar; ``bars`` holds the same parts as words and numbers."""

    title: str
    bars: tuple[Bar, ...]

    @property
    def number(self) -> int:
        return sum(bar.number for bar in self.bars)

    @property
    def parts(self) -> list[Part]:
        return parts(((bar.look.tone, bar.number) for bar in self.bars), self.number)

    @property
    def words(self) -> str:
        told = (f"{bar.look.words.lower()} {bar.number:,} ({bar.percent})" for bar in self.bars)
        return f"{self.title}: {', '.join(told) or 'none'}"


# --- columns --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """One column of a histogram: what it counts, how many, and its position."""

    label: str
    value: int
    x: float
    width: float
    y: float
    height: float

    @property
    def middle(self) -> float:
        """The position of its label."""
        return rounded(self.x + self.width / 2)


def columns(values: Sequence[tuple[str, int]], *, gap: float = 0.15) -> list[ChartColumn]:
    """Columns of equal width; the highest fills the drawing. ``gap`` is the share of each slot that stays empty."""
    highest = max((value for _, value in values), default=0) or 1
    place = 100 / max(len(values), 1)
    return [
        ChartColumn(
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
    """How many values fall into each bin of ``width``: from 0 to ``up_to``, then one bin for everything above. In
    words, too."""
    counted = [0] * (up_to // width + 1)
    for value in values:
        counted[min(int(value // width), up_to // width)] += 1
    words = [f"{start} to {start + width} {unit}" for start in range(0, up_to, width)]
    return list(zip([*words, f"{up_to} {unit} and more"], counted, strict=True))


@dataclass(frozen=True, slots=True)
class Histogram:
    """Columns with their numbers on top and labels below. If there are many, only every ``step``-th is labeled and none
    has a number."""

    columns: list[ChartColumn]
    words: str

    @property
    def step(self) -> int:
        return math.ceil(len(self.columns) / NUMBERED_COLUMNS)

    @property
    def is_numbered(self) -> bool:
        return self.step == 1


def histogram(counted: Sequence[tuple[int, int]], thing: str) -> Histogram | None:
    """Columns in numeric order, grouped into bins if there are many. Empty without any numbers."""
    if not counted:
        return None
    width = math.ceil(len(counted) / MAX_COLUMNS)
    gathered = []
    for start in range(0, len(counted), width):
        group = counted[start : start + width]
        first, last = group[0][0], group[-1][0]
        gathered.append((str(first) if first == last else f"{first}–{last}", sum(times for _, times in group)))
    words = ", ".join(f"{label}: {times:,}" for label, times in gathered if times)
    return Histogram(columns(gathered), f"Number of {thing} with {words}")


# --- lines over days ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick on an axis with its label."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One line of a chart over time. ``points`` is in the form that an SVG polyline takes; ``last`` is the newest
    value."""

    name: str
    kind: str
    points: str
    last: int


@dataclass(frozen=True, slots=True)
class OverTime:
    """Lines over days with both axes."""

    lines: tuple[ChartLine, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]


def ticks(highest: float, most: int = 5) -> list[int]:
    """Whole numbers from 0 in equal steps of 1, 2 or 5 (times ten and so on), the last one at or above ``highest``."""
    step, digit = 1, 0
    while step * (most - 1) < highest:
        digit += 1
        step = (1, 2, 5)[digit % 3] * 10 ** (digit // 3)
    number = max(math.ceil(highest / step), 1)  # the axis needs a length
    return [step * each for each in range(number + 1)]


def day_ticks(first: dt.date, last: dt.date, most: int = 5) -> list[dt.date]:
    """At most ``most`` days from the first to the last, at equal distances."""
    step = math.ceil(((last - first).days + 1) / most)
    return [first + DAY * number for number in range(0, (last - first).days + 1, step)]


def over_time(days: Sequence[dt.date], series: Iterable[tuple[str, str, Sequence[int]]], highest: int) -> OverTime:
    """Values per day as lines. Each of ``series`` is (name, kind, one value for each of ``days``).

    A line stays flat until the day on which its value changes, because documents are adjudicated one at a time.
    """
    first, last = days[0], days[-1]
    up = ticks(highest)

    def across(day: dt.date) -> float:
        return rounded(100 * (day - first).days / max((last - first).days, 1))

    def height(value: float) -> float:
        return rounded(100 - 100 * value / up[-1])

    lines = []
    for name, kind, values in series:
        points = [(across(day), height(value)) for day, value in zip(days, values, strict=True)]
        steps = [points[0]]
        for (_, before), (x, y) in pairwise(points):
            steps += [(x, before), (x, y)] if before != y else [(x, y)]
        if len(days) == 1:
            steps.append((100.0, points[0][1]))
        lines.append(ChartLine(name, kind, " ".join(f"{x},{y}" for x, y in steps), values[-1]))
    return OverTime(
        tuple(lines),
        tuple(Tick(across(day), day_words(day)) for day in day_ticks(first, last)),
        tuple(Tick(height(value), f"{value:,}") for value in up),
    )


# --- figures with intervals -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChartSpan:
    """A figure on an axis with its interval; the bounds are None if it has none."""

    x: float
    low: float | None
    high: float | None
    words: str


def span(estimate: Estimate, words: str, lowest: float = 0.0) -> ChartSpan:
    """A figure on an axis from ``lowest`` to 1. Values outside are drawn at the end of the axis."""

    def place(value: float | None) -> float | None:
        return None if value is None else rounded(100 * _share(value, lowest))

    return ChartSpan(rounded(100 * _share(estimate.value, lowest)), place(estimate.low), place(estimate.high), words)


def _share(value: float, lowest: float) -> float:
    return (min(max(value, lowest), 1.0) - lowest) / (1 - lowest)


@dataclass(frozen=True, slots=True)
class DotFigure:
    """One row of dots: its name, its marker (dot, diamond, ring or square), its figure, and other people's figures."""

    name: str
    mark: str
    estimate: Estimate | None
    is_percent: bool = False
    references: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Dot:
    """One figure with its position."""

    name: str
    mark: str
    y: float
    x: float
    low: float | None
    high: float | None
    shown: str
    references: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Dots:
    """Figures on one axis that ends at 1. ``words`` describes the drawing."""

    dots: tuple[Dot, ...]
    ticks: tuple[Tick, ...]
    words: str
    width: float = NAMES + AXIS + 58

    @property
    def bottom(self) -> float:
        return len(self.dots) * ROW

    @property
    def height(self) -> float:
        return self.bottom + 20


def dots(figures: Sequence[DotFigure], words: str) -> Dots | None:
    """The drawing, or None if no figure is defined."""
    defined = [(figure, figure.estimate) for figure in figures if figure.estimate is not None]
    if not defined:
        return None
    least = min(estimate.value if estimate.low is None else estimate.low for _, estimate in defined)
    lowest = 0.0 if least >= 0 else -0.5 if least >= -0.5 else -1.0

    def x(value: float) -> float:
        return round(NAMES + AXIS * _share(value, lowest), 1)

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
    steps = 3 if lowest == -0.5 else 4
    levels = [lowest + (1 - lowest) * step / steps for step in range(steps + 1)]
    return Dots(tuple(drawn), tuple(Tick(x(level), f"{level:g}".replace("-", "−")) for level in levels), words)


# --- a share and a coefficient over time ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Period:
    """One day of a trend: its share, its coefficient if defined, and both as text."""

    day: dt.date
    percent: float
    alpha: float | None
    words: str
    items: str


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    percent: float
    alpha: float | None
    words: str


@dataclass(frozen=True, slots=True)
class Trend:
    """One field over time: the percentage of equal labels (solid line, dots) and alpha (dashed line, diamonds)."""

    label: str
    points: tuple[Point, ...]
    first: str
    last: str
    latest: str
    left: float = LEFT
    right: float = RIGHT
    levels: tuple[Tick, ...] = (Tick(TOP, "100%"), Tick((TOP + BOTTOM) / 2, "50%"), Tick(BOTTOM, "0%"))

    @property
    def words(self) -> str:
        return f"{self.label} over time. " + ". ".join(point.words for point in self.points) + "."

    @property
    def percent_line(self) -> str:
        return " ".join(f"{point.x},{point.percent}" for point in self.points)

    @property
    def alpha_lines(self) -> list[str]:
        """The dashed line, broken where alpha is undefined."""
        pieces = groupby(self.points, key=lambda point: point.alpha is not None)
        return [" ".join(f"{point.x},{point.alpha}" for point in piece) for defined, piece in pieces if defined]


def trend(label: str, periods: Sequence[Period]) -> Trend | None:
    """The drawing, or None with fewer than two points."""
    if len(periods) < 2:
        return None
    start, end = periods[0].day, periods[-1].day
    points = tuple(
        Point(
            x=round(LEFT + 8 + (RIGHT - LEFT - 16) * (each.day - start).days / (end - start).days, 1),
            percent=_height(each.percent),
            alpha=None if each.alpha is None else _height(each.alpha),
            words=f"From {_date(each.day)}: {each.words}, {each.items}",
        )
        for each in periods
    )
    return Trend(label, points, _date(start), _date(end), periods[-1].words)


def _height(value: float) -> float:
    """The height of a share or an alpha; an alpha below 0 is drawn on the base line."""
    return round(BOTTOM - (BOTTOM - TOP) * max(value, 0.0), 1)


def _date(day: dt.date) -> str:
    return f"{day:%b} {day.day}, {day:%Y}"


# --- who said what --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HeatCell:
    times: int
    heat: int
    is_same: bool


@dataclass(frozen=True, slots=True)
class Heat:
    """A confusion table: columns, then rows, each a label with its cells. With ``of_two``, rows are one annotator's
    labels and columns the other's. Otherwise it counts pairs of labels, so each disagreement appears in two cells."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatCell, ...]], ...]
    of_two: bool


def heat(confusion: Mapping[str, Mapping[str, int]], words: Mapping[str, str], *, of_two: bool) -> Heat:
    """The table with a shade for each pair of labels; ``words`` gives a label's display text.

    Shades run from 0 (none) to 4 (the most) by square root, because the cells of agreement far outnumber all others.
    """
    most = max((times for row in confusion.values() for times in row.values()), default=0)
    rows = tuple(
        (
            words.get(one, one),
            tuple(
                HeatCell(times, math.ceil((HEATS - 1) * math.sqrt(times / most)) if times else 0, one == other)
                for other, times in row.items()
            ),
        )
        for one, row in confusion.items()
    )
    return Heat(tuple(words.get(label, label) for label in confusion), rows, of_two)
