"""How good suggestions are: strategies side by side against the gold, and what people did with what was suggested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotator.core import rules
from annotator.core.charts import ChartSpan, interval, percent, span
from annotator.core.models import PipelineRun, User
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, person, render_domain_errors
from annotator.core.vocabulary import Stage
from annotator.measures.queries.suggestion_quality import kept_quality_of, runs_over_gold
from annotator.measures.suggestion_quality.accuracy import AccuracyFigure
from annotator.measures.suggestion_quality.handling import THINGS, Handled, HandledSuggestions
from annotator.measures.suggestion_quality.measures import FASTFACT, STEPS, QualityMeasure
from annotator.measures.suggestion_quality.report import QualityReport, StrategyColumn, people_in
from annotator.suggestions.queries.runs import strategy_label

RUNS_TO_CHOOSE = 12
# What the table of people tells, in this order.
OF_PEOPLE = ("sentences", "claims", "claim_type", "stance", "correction")


@dataclass(frozen=True, slots=True)
class QualityCell:
    """A figure of one column: its value, the interval in words, how many items it covers, and what a trivial suggester
    scores on them ("" if the measure has no such baseline)."""

    value: str
    bounds: str
    items: int
    baseline: str

    @classmethod
    def of(cls, figure: AccuracyFigure | None) -> QualityCell | None:
        if figure is None:
            return None
        value, _, bounds = interval(figure.estimate).partition(" ")
        return cls(value, bounds.strip("()"), figure.items, (figure.baseline and interval(figure.baseline)) or "")


@dataclass(frozen=True, slots=True)
class QualityRow:
    """One measure across the columns, each with its name; ``paper``: the published figure, "" for none."""

    measure: QualityMeasure
    cells: list[tuple[str, QualityCell | None]]
    paper: str


@dataclass(frozen=True, slots=True)
class QualityBar:
    """A column's figure, with its trivial baseline if the measure has one."""

    label: str
    figure: ChartSpan
    baseline: ChartSpan | None

    @classmethod
    def of(cls, label: str, figure: AccuracyFigure) -> QualityBar:
        trivial = figure.baseline
        return cls(
            label,
            span(figure.estimate, interval(figure.estimate)),
            None if trivial is None else span(trivial, f", trivial baseline {interval(trivial)}"),
        )


@dataclass(frozen=True, slots=True)
class QualityChart:
    """The main measure of a step, a bar for each column. ``paper``: the place of the published figure."""

    title: str
    measure: str
    bars: list[QualityBar]
    paper: float | None
    paper_words: str


@dataclass(frozen=True, slots=True)
class Became:
    """One line of what became of suggestions. ``cells``: each word with its count, and that for one document."""

    label: str
    cells: list[tuple[str, int, str]]
    documents: int


@require_GET
@render_domain_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """Strategies side by side; with ``?run=`` (several times) single runs instead."""
    benchmark = benchmark_for(request, slug)
    user = person(request)
    rules.check_see_statistics(user, benchmark)
    choosable = runs_over_gold(benchmark, RUNS_TO_CHOOSE)
    chosen = [run for run in choosable if run.public_id in request.GET.getlist("run")]
    report = kept_quality_of(benchmark, runs=[run.public_id for run in chosen])
    every = [*report.columns, *report.learned]
    names = _names(every, choosable)
    context: dict[str, Any] = {
        "report": report,
        "tables": [
            (heading, [names[id(each)] for each in columns], _steps(columns, names))
            for heading, columns in (("Strategies", report.columns), ("Trained on this gold", report.learned))
            if columns
        ],
        "charts": _charts(every, names),
        "handled": _handled(every, names),
        "fastfact": [
            (each.name, [(done.label, f"{getattr(each, done):.2f}") for done in HandledSuggestions])
            for each in FASTFACT
        ],
        "blind": _blind(report, names),
        "runs": [(run, _run_words(run), run in chosen) for run in choosable],
        "chosen": chosen,
    }
    if rules.can_manage(user, benchmark):
        context["people"], context["of_people"] = _people(every, names), [THINGS[thing] for thing in OF_PEOPLE]
    return render(
        request, "measures/suggestion_quality.html", page_of_benchmark(request, benchmark, "Their quality") | context
    )


def _names(columns: Sequence[StrategyColumn], runs: Sequence[PipelineRun]) -> dict[int, str]:
    """What each column is called, by its identity."""
    by_id = {run.public_id: run for run in runs}
    found = {}
    for each in columns:
        maker = each.maker
        words = [strategy_label(maker.strategy), maker.model] if maker.strategy else [maker.by]
        if maker.run in by_id:
            words.append(f"{by_id[maker.run].created_at:%b %-d, %Y, %H:%M}")
        found[id(each)] = ", ".join(filter(None, words))
    return found


def _run_words(run: PipelineRun) -> str:
    model = str(run.plan.get("model") or "")
    return ", ".join(filter(None, (strategy_label(run.strategy), model, Stage(run.stage).label.lower())))


# --- against the gold -----------------------------------------------------------------------------


def _steps(columns: Sequence[StrategyColumn], names: Mapping[int, str]) -> list[tuple[str, list[QualityRow]]]:
    """By step the measures that any column has a figure of."""
    found = []
    for step in STEPS:
        rows = [
            QualityRow(
                each,
                [(names[id(column)], QualityCell.of(column.figures.get(each.name))) for column in columns],
                "" if each.paper is None else f"{each.paper:.3g}",
            )
            for each in step.measures
            if not each.is_detail and any(each.name in column.figures for column in columns)
        ]
        if rows:
            found.append((step.label, rows))
    return found


def _charts(columns: Sequence[StrategyColumn], names: Mapping[int, str]) -> list[QualityChart]:
    charts = []
    for step in STEPS:
        for measure in step.measures:
            bars = [
                QualityBar.of(names[id(column)], figure)
                for column in columns
                if measure.is_main and (figure := column.figures.get(measure.name))
            ]
            if bars:
                paper = measure.paper
                words = "" if paper is None else f", in the paper {paper:.3g}"
                charts.append(
                    QualityChart(
                        step.label, _lowered(measure.label), bars, None if paper is None else 100 * paper, words
                    )
                )
    return charts


def _lowered(words: str) -> str:
    """Words to go on with within a line."""
    return words[0].lower() + words[1:]


def _blind(
    report: QualityReport, names: Mapping[int, str]
) -> list[tuple[str, list[tuple[str, QualityCell | None, QualityCell | None]]]]:
    """For each column the main measures: where people saw suggestions first, and where they labeled first."""
    found = []
    for column in (*report.columns, *report.learned):
        rows = [
            (
                f"{step.label}: {_lowered(measure.label)}",
                QualityCell.of(column.shown.get(measure.name)),
                QualityCell.of(column.blind_first.get(measure.name)),
            )
            for step in STEPS
            for measure in step.measures
            if measure.is_main and measure.name in column.blind_first
        ]
        if rows:
            found.append((names[id(column)], rows))
    return found


# --- what became of them --------------------------------------------------------------------------


def _handled(columns: Sequence[StrategyColumn], names: Mapping[int, str]) -> list[dict[str, Any]]:
    return [
        {
            "name": names[id(each)],
            "rows": _became(each.handled.agreed),
            "has_claims": bool(each.handled.agreed.works["claims"]),
            "blind_first": _became(each.handled.blind_first),
        }
        for each in columns
        if each.handled.agreed.works or each.handled.blind_first.works
    ]


def _became(handled: Handled) -> list[Became]:
    return [
        Became(
            THINGS[thing],
            [(done.label, counts[done], f"{counts[done] / works:.2f}") for done in HandledSuggestions],
            works,
        )
        for thing, counts, works in handled.rows()
    ]


_PersonRow = tuple[str, list[tuple[str, str]]]


def _people(columns: Sequence[StrategyColumn], names: Mapping[int, str]) -> list[tuple[str, list[_PersonRow]]]:
    """For each column everyone who was shown its suggestions, with the share that they left unchanged."""
    people = {user.pk: str(user) for user in User.objects.filter(pk__in=people_in(columns))}
    found = []
    for column in columns:
        rows = [
            (people[pk], [(THINGS[thing], _share(*handled.unchanged(thing))) for thing in OF_PEOPLE])
            for pk, handled in column.handled.people.items()
        ]
        if rows:
            found.append((names[id(column)], sorted(rows)))
    return found


def _share(unchanged: int, shown: int) -> str:
    return f"{percent(unchanged / shown)} of {shown:,}" if shown else "–"
