"""The report on suggestions, also as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotator.measures.suggestion_quality.accuracy import AccuracyFigure, observe
from annotator.measures.suggestion_quality.handling import Handled, HandledBy, HandledSuggestions, handled
from annotator.measures.suggestion_quality.measures import FASTFACT, MEASURES, STEPS, THRESHOLD
from annotator.measures.suggestion_quality.rows import ComparedDocument, Maker


@dataclass(slots=True)
class StrategyColumn:
    """One maker. ``figures``: against all gold; ``shown`` and ``blind_first``: against gold made after seeing
    suggestions, and before; both empty unless there are both."""

    maker: Maker
    documents: int = 0
    figures: dict[str, AccuracyFigure] = field(default_factory=dict)
    confusions: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    shown: dict[str, AccuracyFigure] = field(default_factory=dict)
    blind_first: dict[str, AccuracyFigure] = field(default_factory=dict)
    handled: HandledBy = field(default_factory=HandledBy)


@dataclass(frozen=True, slots=True)
class QualityReport:
    """``documents``: gold documents read, out of ``gold``; ``blind_first`` of those read. ``columns``: strategies (or
    single runs); ``learned``: suggesters trained on this benchmark's gold."""

    gold: int
    documents: int
    blind_first: int
    threshold: float
    columns: list[StrategyColumn]
    learned: list[StrategyColumn]


def report_of(documents: Sequence[ComparedDocument], *, gold: int, threshold: float = THRESHOLD) -> QualityReport:
    """The figures over these gold documents."""
    columns: dict[Maker, StrategyColumn] = {}

    def column(maker: Maker) -> StrategyColumn:
        return columns.setdefault(maker, StrategyColumn(maker))

    for maker, seen in observe(documents, threshold=threshold).items():
        column(maker).documents = len(seen.documents)
        column(maker).figures = seen.figures()
        column(maker).confusions = seen.confusions()
    blind = [each for each in documents if each.blind_first]
    if 0 < len(blind) < len(documents):
        for maker, seen in observe(blind, threshold=threshold).items():
            column(maker).blind_first = seen.figures()
        for maker, seen in observe((each for each in documents if not each.blind_first), threshold=threshold).items():
            column(maker).shown = seen.figures()
    for maker, became in handled(documents).items():
        column(maker).handled = became
    told = sorted(each for each in columns if columns[each].figures)
    return QualityReport(
        gold=gold,
        documents=len(documents),
        blind_first=len(blind),
        threshold=threshold,
        columns=[columns[each] for each in told if not each.by],
        learned=[columns[each] for each in told if each.by],
    )


# --- as JSON --------------------------------------------------------------------------------------


def as_json(report: QualityReport, people: Mapping[int, str]) -> dict[str, Any]:
    """All figures as JSON. ``people``: names by primary key; people not in it are left out."""
    return {
        "gold": report.gold,
        "documents": report.documents,
        "blind_first": report.blind_first,
        "threshold": report.threshold,
        "strategies": [
            {
                "strategy": each.maker.strategy,
                "model": each.maker.model or None,
                "run": each.maker.run or None,
                **_column(each, people),
            }
            for each in report.columns
        ],
        "learned": [{"suggester": each.maker.by, **_column(each, people)} for each in report.learned],
        "published": {
            "factcheck_bench": {name: each.paper for name, each in MEASURES.items() if each.paper is not None},
            "fastfact": [
                {"name": each.name, **{done.value: getattr(each, done) for done in HandledSuggestions}}
                for each in FASTFACT
            ],
        },
    }


def _column(column: StrategyColumn, people: Mapping[int, str]) -> dict[str, Any]:
    became = column.handled
    return {
        "documents": column.documents,
        "against_gold": _by_step(column.figures),
        "confusions": column.confusions,
        "against_gold_after_seeing": _by_step(column.shown),
        "against_gold_blind_first": _by_step(column.blind_first),
        "handled": {
            "agreed": handled_as_json(became.agreed),
            "blind_first": handled_as_json(became.blind_first),
            "people": {people[pk]: handled_as_json(each) for pk, each in became.people.items() if pk in people},
        },
    }


def _by_step(figures: Mapping[str, AccuracyFigure]) -> dict[str, dict[str, Any]]:
    found = {step.name: {each.name: figures.get(each.name) for each in step.measures} for step in STEPS}
    return {
        step: {name: _figure(each) for name, each in measures.items() if each is not None}
        for step, measures in found.items()
        if any(measures.values())
    }


def _figure(figure: AccuracyFigure) -> dict[str, Any]:
    estimate, baseline = figure.estimate, figure.baseline
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "items": figure.items,
        "documents": figure.documents,
        "baseline": baseline and {"value": baseline.value, "low": baseline.low, "high": baseline.high},
    }


def handled_as_json(handled: Handled) -> dict[str, dict[str, int]]:
    """By thing the counts, and over how many documents they are."""
    return {
        thing: {**{done.value: counts[done] for done in HandledSuggestions}, "documents": works}
        for thing, counts, works in handled.rows()
    }


def people_in(columns: Iterable[StrategyColumn]) -> set[int]:
    """Everyone whose work is counted (primary keys)."""
    return {person for each in columns for person in each.handled.people}
