"""Statistics of the gold: what the paper tells in its section 3.3, with pictures, and the data behind each picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from annotator.core import rules
from annotator.core.actions.downloads import note_download
from annotator.core.charts import Bar, Histogram, Stack, StackLook, bars, histogram, number, percent, rounded
from annotator.core.models import Benchmark
from annotator.core.released_labels import CHECKWORTHINESS, IMPORTANCE, NEEDS_EDIT, NOT_APPLICABLE, STANCE
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, person, render_domain_errors
from annotator.core.screens.spreadsheet import csv_of
from annotator.core.vocabulary import ClaimType, DiscardReason, Factuality, Importance, SentenceType, StanceLabel
from annotator.measures.queries.power import DIFFERENCES, powers_of
from annotator.measures.queries.statistics import sources_of, statistics_of
from annotator.measures.statistics.breakdowns import BREAKDOWNS, FEWEST_DOCUMENTS, FEWEST_ITEMS
from annotator.measures.statistics.figures import GoldFigures, Rule
from annotator.measures.statistics.gold_breakdowns import FIGURES as GOLD_FIGURES
from annotator.measures.statistics.gold_breakdowns import LABEL_FIGURES
from annotator.measures.statistics.irregular import IRREGULARITIES
from annotator.measures.statistics.references import OTHER_BENCHMARKS, PAPER, REFERENCES
from annotator.measures.statistics.report import StatisticsReport
from annotator.measures.statistics.tables import TABLES, table_of
from pipeline.metrics.power import ACCURACY

SENTENCES = ("sentences", "sentence-types", "sentence-importance", "claims")
CLAIMS = ("evidence-enough", "stances", "needs-edit", "claim-importance", "claim-types")


@require_GET
@render_domain_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """The figures under the source and the rule in the address."""
    benchmark = benchmark_for(request, slug)
    rules.check_see_statistics(person(request), benchmark)
    asked = _asked(request, benchmark)
    report = asked.report
    context = page_of_benchmark(request, benchmark, "Statistics") | {
        "report": report,
        "discards": [(DiscardReason(code).label, number) for code, number in report.discards.items()],
        "rule": asked.rule,
        "rules": list(Rule),
        "sources": asked.sources,
        "query": urlencode({name: value for name, value in asked.query.items() if value}),
    }
    if report.gold:
        context |= _figures(report, asked.rule) | {"powers": _powers(benchmark, report.source)}
    return render(request, "measures/statistics/show.html", context)


@require_GET
@render_domain_errors
def download(request: HttpRequest, slug: str) -> HttpResponse:
    """The data of one chart under the source in the address, as CSV: ``?part=`` names it."""
    benchmark = benchmark_for(request, slug)
    rules.check_see_statistics(person(request), benchmark)
    part = request.GET.get("part", "sizes")
    if part not in TABLES:
        raise Http404(f"Unknown table “{part}”.")
    asked = _asked(request, benchmark)
    note_download(f"statistics, {part}", by=person(request), benchmark=benchmark)
    return csv_of(table_of(asked.report, part), f"{benchmark.slug}-statistics-{part}")


@dataclass(frozen=True, slots=True)
class AskedFigures:
    """What is looked at: the figures, the rule by which responses are false, and the sources there are to choose."""

    report: StatisticsReport
    rule: Rule
    sources: list[str]

    @property
    def query(self) -> dict[str, str]:
        return {"source": self.report.source, "rule": "" if self.rule == Rule.PAPER else self.rule.value}


def _asked(request: HttpRequest, benchmark: Benchmark) -> AskedFigures:
    """What the address asks for; what is not there to choose is left aside."""
    counted = sources_of(benchmark)
    sources = sorted(each.source for each in counted if each.source)
    source, rule = request.GET.get("source", ""), request.GET.get("rule", "")
    report = statistics_of(benchmark, counted, source if source in sources else "")
    return AskedFigures(report, Rule(rule) if rule in set(Rule) else Rule.PAPER, sources)


# --- what the page shows --------------------------------------------------------------------------


def _figures(report: StatisticsReport, rule: Rule) -> dict[str, Any]:
    figures = report.figures
    return {
        "figures": figures,
        "truths": truth_stacks(report),
        "false_claims": chart_of(report, "false-claims"),
        "table2": _table2(report, rule),
        "lengths": [(each.name, each.granularity, each.revision, each.length, each.size) for each in OTHER_BENCHMARKS],
        "sentence_charts": [chart_of(report, name) for name in SENTENCES],
        "claim_charts": [chart_of(report, name) for name in CLAIMS],
        "unsettled": chart_of(report, "unsettled"),
        "settled_words": _settled(figures),
        "stances": stance_stacks(report),
        "revision": _revision(figures),
        "breakdowns": _breakdowns(report, rule),
        "fewest": (FEWEST_ITEMS, FEWEST_DOCUMENTS),
        "constants": table_of(report, "constants")[1:],
        "irregular": [(IRREGULARITIES[name], times) for name, times in report.irregular.items()],
        "references": {name.replace("-", "_"): reference_of(name) for name in TABLES},
    }


def _table2(report: StatisticsReport, rule: Rule) -> list[dict[str, Any]]:
    """Sources with their false responses, and all together; nothing where no document says where it is from."""
    rows = []
    for source, collected, gold, *false in table_of(report, "sources")[1:]:
        by_rule = dict(zip(Rule, false, strict=True))
        rows.append({"source": source or "Not specified", "collected": collected, "gold": gold, "false": by_rule[rule]})
    if len(rows) > 1:
        together = {name: sum(row[name] for row in rows) for name in ("collected", "gold", "false")}
        rows.append({"source": "All", **together})
    return [row | {"share": percent(row["false"] / row["gold"]) if row["gold"] else ""} for row in rows]


def _breakdowns(report: StatisticsReport, rule: Rule) -> list[tuple[str, list[str], list[dict[str, Any]]]]:
    """The title, the heads and the groups of each breakdown, under the rule that is chosen."""
    other = "false_responses_released" if rule == Rule.PAPER else "false_responses"
    found = []
    for name, groups in report.breakdowns.items():
        names = LABEL_FIGURES if name == "label" else [each for each in GOLD_FIGURES if each != other]
        heads = [GOLD_FIGURES[each].removesuffix(", by the released field") for each in names]
        found.append((BREAKDOWNS[name], heads, [_group(each, names, heads) for each in groups]))
    return found


def _group(group: Mapping[str, Any], names: Iterable[str], heads: Iterable[str]) -> dict[str, Any]:
    figures, intervals = group["figures"] or {}, group["intervals"] or {}
    cells = [
        (head, _figure(figures.get(name)), _interval(intervals.get(name)))
        for name, head in zip(names, heads, strict=True)
    ]
    return {
        "name": group["group"].replace("_", " "),
        "documents": group["documents"],
        "items": group["items"],
        "cells": cells,
        "is_small": group["figures"] is None,
    }


def _figure(value: float | None) -> str:
    return "–" if value is None else number(value)


def _interval(interval: Iterable[float] | None) -> str:
    return " to ".join(number(each) for each in interval) if interval else ""


def _powers(benchmark: Benchmark, source: str) -> dict[str, Any]:
    """What differences between systems this gold tells, by task."""
    rows = []
    for each in powers_of(benchmark, source=source):
        power = each.power
        rows.append(
            {
                "task": each.task.label,
                "items": power.items,
                "documents": power.documents,
                "correlation": "–" if power.items == power.documents else _or_too_few(power.correlation),
                "accuracy": _or_too_few(power.accuracy),
                "f1": _or_too_few(power.f1_macro),
                "needed": [(number(wanted), power.documents_for(wanted)) for wanted in DIFFERENCES],
            }
        )
    return {"rows": rows, "differences": [number(each) for each in DIFFERENCES], "assumed": number(ACCURACY)}


def _or_too_few(value: float | None) -> str:
    return "too few" if value is None else number(value)


def _settled(figures: GoldFigures) -> str:
    """How often automatic evidence sufficed, in a sentence."""
    enough, not_enough = figures.sufficient[True], figures.sufficient[False]
    asked = enough + not_enough
    if not asked:
        return "No one has recorded yet whether automatic evidence was sufficient."
    return (
        f"Automatic evidence was sufficient for {enough:,} of {asked:,} claims ({percent(enough / asked)}); "
        f"annotators searched further for {not_enough:,}."
    )


def _revision(figures: GoldFigures) -> list[dict[str, Any]]:
    rows = []
    for rule in Rule:
        found = figures.revision[rule]
        distance, overlap = found.mean_edit_distance, found.mean_word_overlap
        if distance is not None and overlap is not None:
            rows.append(
                {
                    "rule": rule,
                    "documents": found.documents,
                    "measures": [
                        ("Edit distance", number(distance), rounded(100 * distance)),
                        ("Word overlap", number(overlap), rounded(100 * overlap)),
                    ],
                }
            )
    return rows


# --- its charts -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StatisticsChart:
    """One chart with its title, the paper's figure beside it, and either bars or a histogram."""

    name: str
    title: str
    reference: str
    of: str = ""
    bars: tuple[Bar, ...] = ()
    histogram: Histogram | None = None


_IMPORTANCE = {spelling: StackLook(Importance(word).label) for word, spelling in IMPORTANCE.items()}
_STANCE = {
    STANCE[StanceLabel.COMPLETELY_SUPPORT]: StackLook("Completely supports", "support", "✓"),
    STANCE[StanceLabel.PARTIALLY_SUPPORT]: StackLook("Partially supports", "partial", "◐"),
    STANCE[StanceLabel.REFUTE]: StackLook("Refutes", "refute", "✕"),
    STANCE[StanceLabel.IRRELEVANT]: StackLook("Irrelevant", "neutral", "–"),
}
_VERDICT = {
    NEEDS_EDIT[Factuality.TRUE]: StackLook("No: it is true", "support", "✓"),
    NEEDS_EDIT[Factuality.FALSE]: StackLook("Yes: it is false", "refute", "✕"),
    NEEDS_EDIT[Factuality.NOT_ENOUGH_EVIDENCE]: StackLook("Not enough evidence", "partial", "◐"),
}
_TRUTH = {
    "false": StackLook("False", "refute", "✕"),
    "true": StackLook("True", "support", "✓"),
    NOT_APPLICABLE: StackLook("No label", "neutral", "–"),
}
# By table: what its bars count together, and how its labels are shown.
_BARS: dict[str, tuple[str, Mapping[str, StackLook]]] = {
    "sentence-types": ("sentences", {CHECKWORTHINESS[word]: StackLook(word.label) for word in SentenceType}),
    "sentence-importance": ("sentences", _IMPORTANCE),
    "claim-types": ("claims", {word.value: StackLook(word.label) for word in ClaimType}),
    "claim-importance": ("claims", _IMPORTANCE),
    "evidence-enough": (
        "claims",
        {
            "yes": StackLook("Yes"),
            "no": StackLook("No: annotators searched further"),
            NOT_APPLICABLE: StackLook("Not asked: not check-worthy", "waiting"),
        },
    ),
    "stances": ("passages", _STANCE),
    "needs-edit": ("claims", _VERDICT | {NOT_APPLICABLE: StackLook("Not asked: not check-worthy", "waiting")}),
    "unsettled": (
        "claims",
        {
            NEEDS_EDIT[Factuality.TRUE]: StackLook("True after manual search", "support", "✓"),
            NEEDS_EDIT[Factuality.FALSE]: StackLook("False", "refute", "✕"),
            NEEDS_EDIT[Factuality.NOT_ENOUGH_EVIDENCE]: StackLook("Still not enough evidence", "partial", "◐"),
        },
    ),
}
_HISTOGRAMS = {"false-claims": "responses", "sentences": "responses", "claims": "sentences"}


def chart_of(report: StatisticsReport, name: str) -> StatisticsChart:
    """The chart over one of the tables. Raises KeyError for a table that has none."""
    rows = [(row[0], row[1]) for row in table_of(report, name)[1:]]
    reference = reference_of(name)
    if name in _HISTOGRAMS:
        return StatisticsChart(name, TABLES[name], reference, histogram=histogram(rows, _HISTOGRAMS[name]))
    thing, looks = _BARS[name]
    whole = sum(number for _, number in rows)
    return StatisticsChart(name, TABLES[name], reference, f"{whole:,} {thing}", _bars(rows, looks))


def reference_of(name: str) -> str:
    """What the paper says there; "" where it says nothing."""
    return f"{PAPER}, {REFERENCES[name]}" if name in REFERENCES else ""


def truth_stacks(report: StatisticsReport) -> dict[str, Stack]:
    """Responses that are true and false, by each rule."""
    rows = table_of(report, "factuality")[1:]
    return {
        rule.value: Stack(rule.label, _bars(((row[0], row[place]) for row in rows), _TRUTH))
        for place, rule in enumerate(Rule, start=1)
    }


def stance_stacks(report: StatisticsReport) -> list[Stack]:
    """Stances where automatic evidence decided the claim, and where it did not (Figure 6)."""
    rows = table_of(report, "stances-by-evidence")[1:]
    titles = {"yes": "Automatic evidence was sufficient", "no": "Automatic evidence was insufficient"}
    stacks = [
        Stack(title, _bars(((label, number) for each, label, number, _ in rows if each == answer), _STANCE))
        for answer, title in titles.items()
    ]
    return [stack for stack in stacks if stack.number]


def _bars(counted: Iterable[tuple[str, int]], looks: Mapping[str, StackLook]) -> tuple[Bar, ...]:
    return bars([(looks.get(label, StackLook("Not answered", "waiting")), number) for label, number in counted])
