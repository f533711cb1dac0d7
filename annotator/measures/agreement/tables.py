"""A report as plain JSON and as table rows. docs/formats/agreement.md documents the JSON's keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from annotator.measures.agreement.references import REFERENCES
from annotator.measures.agreement.report import AgreementReport, ClaimFigures, LabelFigures, Part, TextFigures
from pipeline.metrics.agreement import Estimate
from pipeline.metrics.claim_matching import SAME_CLAIM

Names = Mapping[int, str]

# The available tables, each with its link text.
TABLES = {
    "fields": "Figures",
    "confusion": "Confusion matrices",
    "time": "Over time",
    "pairs": "Pairs",
    "batches": "Batches",
    "suggestions": "Without and with suggestions",
}


def as_json(report: AgreementReport, people: Names, batches: Names) -> dict[str, Any]:
    """The whole report. ``people`` and ``batches``: names by primary key."""
    return {
        "documents": report.documents,
        "stages": {
            each.stage.value: {
                "documents": each.documents,
                "labels": _labels(each.labels, people),
                "claims": None if each.claims is None else _claims(each.claims),
                "texts": {text.field.name: _text(text) for text in each.texts},
            }
            for each in report.stages
        },
        "over_time": {day.isoformat(): _parts(parts) for day, parts in report.periods.items()},
        "pairs": [
            {"people": [people.get(one, ""), people.get(other, "")], "fields": _parts(parts)}
            for (one, other), parts in report.pairs.items()
        ],
        "batches": [
            {"batch": None if batch is None else batches.get(batch, ""), "fields": _parts(parts)}
            for batch, parts in report.batches.items()
        ],
        "blind_first": {
            "without_suggestions": _labels(report.unaided, people),
            "with_suggestions": _labels(report.aided, people),
        },
        "references": [asdict(each) for each in REFERENCES],
    }


def _labels(fields: Iterable[LabelFigures], people: Names) -> dict[str, Any]:
    found = {}
    for each in fields:
        figures = each.figures.as_json()
        figures["documents"] = figures.pop("clusters")
        figures["raters"] = [people.get(int(rater), "") for rater in each.figures.raters]
        found[each.field.name] = figures
    return found


def _claims(figures: ClaimFigures) -> dict[str, Any]:
    return asdict(figures) | {"threshold": SAME_CLAIM}


def _text(figures: TextFigures) -> dict[str, Any]:
    return {
        "pairs": figures.pairs,
        "documents": figures.documents,
        "edit_distance": figures.edit_distance and asdict(figures.edit_distance),
        "word_overlap": figures.word_overlap and asdict(figures.word_overlap),
    }


def _parts(parts: Iterable[Part]) -> dict[str, Any]:
    return {
        each.field.name: {"items": each.items, "percent": each.percent, "alpha": each.alpha, "ac1": each.ac1}
        for each in parts
    }


# --- tables ---------------------------------------------------------------------------------------


def table_of(report: AgreementReport, which: str, people: Names, batches: Names) -> list[list[Any]]:
    """One of ``TABLES`` with a header row."""
    if which == "fields":
        return _fields_table(report)
    if which == "confusion":
        return [["stage", "field", "one", "other", "times"], *_confusion_rows(report)]
    if which == "suggestions":
        heads = ["suggestions", "field", "figure", "value", "low", "high", "items", "documents"]
        shown = [("without", report.unaided), ("with", report.aided)]
        return [heads, *([word, *row] for word, fields in shown for row in _figure_rows(fields))]
    heads = ["field", "items", "percent", "alpha", "ac1"]
    if which == "time":
        return [["from", *heads], *_part_rows((([day.isoformat()], parts) for day, parts in report.periods.items()))]
    if which == "pairs":
        named = (([people.get(one, ""), people.get(other, "")], parts) for (one, other), parts in report.pairs.items())
        return [["one", "other", *heads], *_part_rows(named)]
    rows = (([batches.get(batch or 0, "no batch")], parts) for batch, parts in report.batches.items())
    return [["batch", *heads], *_part_rows(rows)]


def _fields_table(report: AgreementReport) -> list[list[Any]]:
    rows: list[list[Any]] = [["stage", "field", "figure", "value", "low", "high", "items", "documents"]]
    for stage in report.stages:
        rows += [[stage.stage.value, *row] for row in _figure_rows(stage.labels)]
        if stage.claims is not None:
            counts = [stage.claims.claims, stage.claims.documents]
            for name, estimate in (("matched f1", stage.claims.f1), ("similarity", stage.claims.similarity)):
                rows.append([stage.stage.value, "claims", name, *_bounds(estimate), *counts])
        for text in stage.texts:
            counts = [text.pairs, text.documents]
            for name, estimate in (("edit distance", text.edit_distance), ("word overlap", text.word_overlap)):
                rows.append([stage.stage.value, text.field.name, name, *_bounds(estimate), *counts])
    return rows


def _figure_rows(fields: Sequence[LabelFigures]) -> list[list[Any]]:
    return [
        [each.field.name, name, *_bounds(estimate), each.figures.items, each.figures.clusters]
        for each in fields
        for name, estimate in each.coefficients.items()
    ]


def _bounds(estimate: Estimate | None) -> list[Any]:
    figures = (None, None, None) if estimate is None else (estimate.value, estimate.low, estimate.high)
    return ["" if figure is None else round(figure, 6) for figure in figures]


def _confusion_rows(report: AgreementReport) -> list[list[Any]]:
    return [
        [stage.stage.value, each.field.name, one, other, times]
        for stage in report.stages
        for each in stage.labels
        for one, row in each.figures.confusion.items()
        for other, times in row.items()
    ]


def _part_rows(named: Iterable[tuple[list[str], Sequence[Part]]]) -> list[list[Any]]:
    return [
        [
            *names,
            each.field.name,
            each.items,
            *("" if figure is None else round(figure, 6) for figure in (each.percent, each.alpha, each.ac1)),
        ]
        for names, parts in named
        for each in parts
    ]
