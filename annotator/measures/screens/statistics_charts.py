"""The charts of the statistics page: bars, histograms and stacked bars over the tables of a report.

Pure. The templates draw them as SVG; every bar stands beside its words and number, and a glyph tells what a colour
tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core import charts
from annotator.core.released_labels import CHECKWORTHINESS, IMPORTANCE, NEEDS_EDIT, NOT_APPLICABLE, STANCE
from annotator.core.vocabulary import ClaimType, Factuality, Importance, SentenceType, StanceLabel
from annotator.measures.screens.agreement_charts import percent
from annotator.measures.statistics.figures import Rule
from annotator.measures.statistics.references import PAPER, REFERENCES
from annotator.measures.statistics.report import Report
from annotator.measures.statistics.tables import TABLES, table_of

# More columns than this are gathered into steps of equal width; more than that many have no number on top.
MOST_COLUMNS, NUMBERED_COLUMNS = 24, 14


@dataclass(frozen=True, slots=True)
class Look:
    """How a label is shown: its words, the tone of its bar, and the glyph that says the same as the tone."""

    words: str
    tone: str = "work"
    glyph: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    look: Look
    number: int
    percent: str
    width: float


@dataclass(frozen=True, slots=True)
class Step:
    """One column of a histogram; ``middle`` is where its words stand, in percent."""

    column: charts.Column
    middle: float
    is_labelled: bool


@dataclass(frozen=True, slots=True)
class Histogram:
    steps: tuple[Step, ...]
    words: str
    is_numbered: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart with its title, the paper's figure beside it, and either bars or a histogram."""

    name: str
    title: str
    reference: str
    of: str = ""
    bars: tuple[Bar, ...] = ()
    histogram: Histogram | None = None


@dataclass(frozen=True, slots=True)
class Stack:
    """Parts of a whole in one bar; ``bars`` are the same parts in words and numbers."""

    title: str
    number: int
    words: str
    parts: list[dict[str, str | float]]
    bars: tuple[Bar, ...]


_IMPORTANCE = {spelling: Look(Importance(word).label) for word, spelling in IMPORTANCE.items()}
_STANCE = {
    STANCE[StanceLabel.COMPLETELY_SUPPORT]: Look("Completely supports", "support", "✓"),
    STANCE[StanceLabel.PARTIALLY_SUPPORT]: Look("Partially supports", "partial", "◐"),
    STANCE[StanceLabel.REFUTE]: Look("Refutes", "refute", "✕"),
    STANCE[StanceLabel.IRRELEVANT]: Look("Irrelevant", "neutral", "–"),
}
_VERDICT = {
    NEEDS_EDIT[Factuality.TRUE]: Look("No: it is true", "support", "✓"),
    NEEDS_EDIT[Factuality.FALSE]: Look("Yes: it is false", "refute", "✕"),
    NEEDS_EDIT[Factuality.NOT_ENOUGH_EVIDENCE]: Look("Not enough evidence", "partial", "◐"),
}
_TRUTH = {
    "false": Look("False", "refute", "✕"),
    "true": Look("True", "support", "✓"),
    NOT_APPLICABLE: Look("Without a label", "neutral", "–"),
}
# By table: what its bars count together, and how its labels are shown.
_BARS: dict[str, tuple[str, Mapping[str, Look]]] = {
    "sentence-types": ("sentences", {CHECKWORTHINESS[word]: Look(word.label) for word in SentenceType}),
    "sentence-importance": ("sentences", _IMPORTANCE),
    "claim-types": ("claims", {word.value: Look(word.label) for word in ClaimType}),
    "claim-importance": ("claims", _IMPORTANCE),
    "evidence-enough": (
        "claims",
        {
            "yes": Look("Yes"),
            "no": Look("No: people searched further"),
            NOT_APPLICABLE: Look("Not asked: the claim is not checked", "waiting"),
        },
    ),
    "stances": ("passages", _STANCE),
    "needs-edit": ("claims", _VERDICT | {NOT_APPLICABLE: Look("Not asked: the claim is not checked", "waiting")}),
    "unsettled": (
        "claims",
        {
            NEEDS_EDIT[Factuality.TRUE]: Look("True after a search by hand", "support", "✓"),
            NEEDS_EDIT[Factuality.FALSE]: Look("False", "refute", "✕"),
            NEEDS_EDIT[Factuality.NOT_ENOUGH_EVIDENCE]: Look("Still not enough evidence", "partial", "◐"),
        },
    ),
}
_HISTOGRAMS = {"false-claims": "responses", "sentences": "responses", "claims": "sentences"}


def chart_of(report: Report, name: str) -> Chart:
    """The chart over one of the tables. Raises KeyError for a table that has none."""
    _, *rows = table_of(report, name)
    reference = reference_of(name)
    if name in _HISTOGRAMS:
        return Chart(name, TABLES[name], reference, histogram=_histogram(rows, _HISTOGRAMS[name]) if rows else None)
    thing, looks = _BARS[name]
    whole = sum(number for _, number, _ in rows)
    return Chart(name, TABLES[name], reference, f"{whole:,} {thing}", _bars([(row[0], row[1]) for row in rows], looks))


def reference_of(name: str) -> str:
    """What the paper says there; "" where it says nothing."""
    return f"{PAPER}, {REFERENCES[name]}" if name in REFERENCES else ""


def truth_stacks(report: Report) -> dict[str, Stack]:
    """Responses that are true and false, by each rule."""
    _, *rows = table_of(report, "factuality")
    return {
        rule.value: _stack(rule.label, [(row[0], row[place]) for row in rows], _TRUTH)
        for place, rule in enumerate(Rule, start=1)
    }


def stance_stacks(report: Report) -> list[Stack]:
    """Stances where automatic evidence decided the claim, and where it did not (Figure 6)."""
    _, *rows = table_of(report, "stances-by-evidence")
    titles = {"yes": "Automatic evidence was enough", "no": "Automatic evidence was not enough"}
    stacks = [
        _stack(title, [(label, number) for each, label, number, _ in rows if each == answer], _STANCE)
        for answer, title in titles.items()
    ]
    return [stack for stack in stacks if stack.number]


def _bars(counted: Sequence[tuple[str, int]], looks: Mapping[str, Look]) -> tuple[Bar, ...]:
    whole = sum(number for _, number in counted)
    return tuple(
        Bar(looks.get(label, Look("Not answered", "waiting")), number, percent(number / whole), _width(number, whole))
        for label, number in counted
        if whole
    )


def _width(number: int, whole: int) -> float:
    return charts.rounded(100 * number / whole)


def _stack(title: str, counted: Sequence[tuple[str, int]], looks: Mapping[str, Look]) -> Stack:
    bars = _bars(counted, looks)
    whole = sum(bar.number for bar in bars)
    return Stack(
        title,
        whole,
        f"{title}: " + ", ".join(f"{bar.look.words.lower()} {bar.number:,} ({bar.percent})" for bar in bars),
        charts.parts({bar.look.tone: bar.number for bar in bars}, whole),
        bars,
    )


def _histogram(rows: Sequence[Sequence[Any]], thing: str) -> Histogram:
    """Columns in the order of their numbers; where there are many, in steps of several numbers."""
    width = -(-len(rows) // MOST_COLUMNS)
    gathered = [rows[start : start + width] for start in range(0, len(rows), width)]
    counted = [(_range(group[0][0], group[-1][0]), sum(row[1] for row in group)) for group in gathered]
    columns = charts.columns(counted)
    every = -(-len(columns) // NUMBERED_COLUMNS)
    steps = [
        Step(column, charts.rounded(column.x + column.width / 2), number % every == 0)
        for number, column in enumerate(columns)
    ]
    words = ", ".join(f"{label}: {number:,}" for label, number in counted if number)
    return Histogram(tuple(steps), f"Number of {thing} with {words}", len(columns) <= NUMBERED_COLUMNS)


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"
