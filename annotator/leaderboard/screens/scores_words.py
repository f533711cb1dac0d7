"""Scores in words and as drawings: names of figures, labels, baselines and options, dots with whiskers, confusion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.charts import ChartSpan, Heat, heat, span
from annotator.core.vocabulary import Task
from annotator.leaderboard.models import Evaluation
from annotator.leaderboard.scoring.joining import KINDS
from annotator.measures.statistics.breakdowns import BREAKDOWNS
from pipeline.metrics.agreement import Estimate

FIGURES = {
    "score": "Score",
    "accuracy": "Accuracy",
    "precision_macro": "Precision",
    "recall_macro": "Recall",
    "f1_macro": "F1",
    "precision": "Precision",
    "recall": "Recall",
    "f1": "F1",
    "edit_distance": "Edit distance",
    "word_overlap": "Word overlap",
    "exact_match": "Exact match",
    "same_number": "Same number of claims",
    "claim_precision": "Claims, precision",
    "claim_recall": "Claims, recall",
    "claim_f1": "Claims, F1",
    "verdict_f1": "Claims with verdict, F1",
}
# What a person should know to read the figures of a task.
READING = {
    Task.REVISION: "Against the gold’s revised response. Edit distance: 0 for equal texts; word overlap: 1.",
    Task.DECOMPOSITION: "Claims are matched one to one by shared words. Edit distance and word overlap compare "
    "sentences with the same number of claims as the gold.",
    Task.EVIDENCE: "Recall: the share of gold passages found. Precision: the share of found passages that are gold.",
    Task.END_TO_END: "Accuracy, precision, recall and F1 are computed over responses; the other figures over the "
    "claims that the rows list.",
}
# The trivial baseline of a group, where it isn't always answering the group's most frequent label.
TRIVIAL = {
    Task.REVISION: "Trivial baseline: the unchanged response.",
    Task.DECOMPOSITION: "Trivial baseline: every sentence as one claim.",
    Task.EVIDENCE: "Trivial baseline: all retrieved passages.",
}
TRIVIAL_LABEL = "Trivial baseline: always the group’s most frequent gold label."
LABELS_READING = (
    "Precision, recall, and F1 are macro-averages over the labels in the gold; a prediction with another label counts "
    "as an error."
)
OTHER_READING = "Averaged over the labels in the gold or the predictions instead, F1 is {}."
ANSWERS = {
    Task.SENTENCE_CHECKWORTHINESS: ("a sentence", "label: yes, no"),
    Task.CLAIM_CHECKWORTHINESS: ("a claim", "label: factual, opinion, not_a_claim, other"),
    Task.STANCE: (
        "a passage for a check-worthy claim",
        "label: completely-support, partially-support, refute, irrelevant; with three labels: support, refute, "
        "irrelevant",
    ),
    Task.CLAIM_FACTUALITY: ("a check-worthy claim", "label: true, false, not_enough_evidence"),
    Task.REVISION: ("a response; only false responses are scored", "revised: the corrected response"),
    Task.DECOMPOSITION: ("a sentence, or a response", "claims: a list of texts"),
    Task.EVIDENCE: (
        "a check-worthy claim",
        "evidence: a list of passages, as texts or as objects with id, text or url",
    ),
    Task.END_TO_END: (
        "a response",
        "label: true, false; and/or claims: a list of objects with text and label",
    ),
}
_BASELINES = {
    "always_true": "Always “true”",
    "always_false": "Always “false”",
    "unchanged": "Response unchanged",
    "sentence_as_claim": "Each sentence as one claim",
    "all_retrieved": "All retrieved passages",
    "first_retrieved": "The first retrieved passage",
}
_UNDETERMINED = {
    "left_out": "claims without enough evidence excluded",
    "false": "claims without enough evidence count as false",
    "own_label": "not enough evidence as a third label",
}


def label_words(label: str) -> str:
    """A label as people read it."""
    return label.replace("_", " ").replace("-", " ")


def baseline_words(name: str) -> str:
    if name in _BASELINES:
        return _BASELINES[name]
    if name.startswith("always_"):
        return f"Always “{label_words(name.removeprefix('always_'))}”"
    return label_words(name).capitalize()


def option_words(options: Mapping[str, Any]) -> str:
    """The options of a task in a few words; "" where it has none."""
    said: dict[str, Mapping[Any, str]] = {
        "stance_labels": {3: "three labels", 4: "four labels"},
        "undetermined": _UNDETERMINED,
        "level": {"sentence": "by sentence", "document": "by response"},
        "by_address": {True: "passages matched by URL", False: "passages matched by text"},
        "all_responses": {True: "true and false responses", False: "false responses"},
    }
    words = [said[name][value] for name, value in options.items() if name in said]
    if "threshold" in options:
        words.append(f"claims matched at token F1 {options['threshold']:g}")
    return ", ".join(words)


def figure_words(value: float | None) -> str:
    """Three places, as the papers' tables have them."""
    return "–" if value is None else f"{value:.3f}".replace("-", "−")


def whisker(value: float | None, interval: Sequence[float] | None) -> ChartSpan | None:
    """A figure from 0 to 1 as a dot with its interval; None where it is not defined."""
    if value is None:
        return None
    words = figure_words(value)
    if interval is None:
        return span(Estimate(value, None, None), words)
    low, high = interval
    return span(Estimate(value, low, high), f"{words}, 95% interval {figure_words(low)} to {figure_words(high)}")


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """One figure of a system: its name, the value, the interval ("" for none)."""

    name: str
    value: str
    bounds: str

    @classmethod
    def of(cls, figure: str, value: float | None, interval: Sequence[float] | None) -> ScoreCell:
        return cls(FIGURES.get(figure, figure), figure_words(value), _bounds(interval))


@dataclass(frozen=True, slots=True)
class ScoreTableRow:
    """The figures of one system or baseline, and the one that ranks as a drawing."""

    name: str
    is_baseline: bool
    cells: Sequence[ScoreCell]
    whisker: ChartSpan | None


def row_of(name: str, scores: Mapping[str, Any], figure: str, *, is_baseline: bool = False) -> ScoreTableRow:
    """The row of a report, or of one of its baselines."""
    cells = [ScoreCell.of(each, scores[each], interval) for each, interval in scores["intervals"].items()]
    return ScoreTableRow(name, is_baseline, cells, whisker(scores[figure], scores["intervals"][figure]))


def baselines_of(baselines: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """The baselines with their names in words; the most frequent label stands there as a constant already."""
    return [(baseline_words(name), scores) for name, scores in baselines.items() if name != "majority"]


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group of items as it is drawn; ``value`` says "too few" where it has no figure."""

    name: str
    items: int
    documents: int
    value: str
    bounds: str
    whisker: ChartSpan | None
    baseline: str


@dataclass(frozen=True, slots=True)
class BreakdownTable:
    """The groups of one breakdown with one figure of each. ``baseline``: whether the groups have a trivial one."""

    title: str
    figure: str
    rows: Sequence[GroupRow]
    baseline: bool


def breakdown_tables(breakdowns: Mapping[str, Sequence[Mapping[str, Any]]], figure: str) -> list[BreakdownTable]:
    """What leaderboard/breakdowns.html draws: of items with one gold label the share that is right, where labels are
    the answer."""
    tables = []
    for name, groups in breakdowns.items():
        figures: Mapping[str, Any] = next((each["figures"] for each in groups if each["figures"]), {})
        shown = figure if figure in figures or not figures else "accuracy"
        rows = [_group(name, each, shown) for each in groups]
        tables.append(BreakdownTable(BREAKDOWNS[name], FIGURES[shown], rows, any(each.baseline for each in rows)))
    return tables


def _group(breakdown: str, group: Mapping[str, Any], figure: str) -> GroupRow:
    value, interval, baseline = None, None, None
    if group["figures"]:
        value, interval = group["figures"][figure], group["intervals"][figure]
        # Gold labels have none, nor have reports that were scored before baselines were kept.
        baseline = (group.get("baseline") or {}).get(figure)
    return GroupRow(
        label_words(group["group"]) if breakdown == "label" else group["group"],
        group["items"],
        group["documents"],
        figure_words(value) if group["figures"] else "too few",
        _bounds(interval),
        whisker(value, interval),
        "" if baseline is None else figure_words(baseline),
    )


def _bounds(interval: Sequence[float] | None) -> str:
    return f"{figure_words(interval[0])} to {figure_words(interval[1])}" if interval else ""


@dataclass(frozen=True, slots=True)
class Named:
    label: str


@dataclass(frozen=True, slots=True)
class Confusion:
    """What agreement/confusion.html draws: gold labels down, predicted ones across."""

    heat: Heat
    field: Named
    raters: tuple[str, str] = ("the gold", "the prediction")

    @classmethod
    def of(cls, task: Task, confusion: Mapping[str, Mapping[str, int]]) -> Confusion | None:
        if not confusion:
            return None
        words = {label: label_words(label) for label in confusion}
        return cls(heat(confusion, words, of_two=True), Named(task.label))


def fault_words(evaluation: Evaluation) -> list[tuple[str, int]]:
    """What is wrong with the file, each kind with its number."""
    return [
        (words.capitalize(), evaluation.counts[kind]) for kind, words in KINDS.items() if evaluation.counts.get(kind)
    ]
