"""Statistics of the gold: what the paper tells in its section 3.3, with pictures, and the data behind each picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from annotator.core import rules
from annotator.core.models import Benchmark
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, person, speaks_errors
from annotator.core.screens.spreadsheet import csv_of
from annotator.measures.queries.statistics import sources_of, statistics_of
from annotator.measures.screens.agreement_charts import number, percent
from annotator.measures.screens.statistics_charts import chart_of, reference_of, stance_stacks, truth_stacks
from annotator.measures.statistics.figures import Figures, Rule
from annotator.measures.statistics.irregular import IRREGULARITIES
from annotator.measures.statistics.references import OTHER_BENCHMARKS
from annotator.measures.statistics.report import Report
from annotator.measures.statistics.tables import TABLES, table_of

SENTENCES = ("sentences", "sentence-types", "sentence-importance", "claims")
CLAIMS = ("evidence-enough", "stances", "needs-edit", "claim-importance", "claim-types")


@require_GET
@speaks_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """The figures under the source and the rule in the address."""
    benchmark = benchmark_for(request, slug)
    rules.check_see_statistics(person(request), benchmark)
    asked = _asked(request, benchmark)
    report = asked.report
    context = page_of_benchmark(request, benchmark, "Statistics") | {
        "report": report,
        "rule": asked.rule,
        "rules": list(Rule),
        "sources": asked.sources,
        "query": urlencode({name: value for name, value in asked.query.items() if value}),
    }
    if report.gold:
        context |= _figures(report, asked.rule)
    return render(request, "measures/statistics/show.html", context)


@require_GET
@speaks_errors
def download(request: HttpRequest, slug: str) -> HttpResponse:
    """The data of one chart under the source in the address, as CSV: ``?part=`` names it."""
    benchmark = benchmark_for(request, slug)
    rules.check_see_statistics(person(request), benchmark)
    part = request.GET.get("part", "sizes")
    if part not in TABLES:
        raise Http404(f"There is no table “{part}”.")
    asked = _asked(request, benchmark)
    return csv_of(table_of(asked.report, part), f"{benchmark.slug}-statistics-{part}")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is looked at: the figures, the rule by which responses are false, and the sources there are to choose."""

    report: Report
    rule: Rule
    sources: list[str]

    @property
    def query(self) -> dict[str, str]:
        return {"source": self.report.source, "rule": "" if self.rule == Rule.PAPER else self.rule.value}


def _asked(request: HttpRequest, benchmark: Benchmark) -> Asked:
    """What the address asks for; what is not there to choose is left aside."""
    counted = sources_of(benchmark)
    sources = sorted(each.source for each in counted if each.source)
    source, rule = request.GET.get("source", ""), request.GET.get("rule", "")
    report = statistics_of(benchmark, counted, source if source in sources else "")
    return Asked(report, Rule(rule) if rule in set(Rule) else Rule.PAPER, sources)


# --- what the page shows --------------------------------------------------------------------------


def _figures(report: Report, rule: Rule) -> dict[str, Any]:
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
        "constants": table_of(report, "constants")[1:],
        "irregular": [(IRREGULARITIES[name], times) for name, times in report.irregular.items()],
        "references": {name.replace("-", "_"): reference_of(name) for name in TABLES},
    }


def _table2(report: Report, rule: Rule) -> list[dict[str, Any]]:
    """Sources with their false responses, and all together; nothing where no document says where it is from."""
    rows = []
    for source, collected, gold, *false in table_of(report, "sources")[1:]:
        by_rule = dict(zip(Rule, false, strict=True))
        rows.append({"source": source or "Not said", "collected": collected, "gold": gold, "false": by_rule[rule]})
    if len(rows) > 1:
        together = {name: sum(row[name] for row in rows) for name in ("collected", "gold", "false")}
        rows.append({"source": "All", **together})
    return [row | {"share": percent(row["false"] / row["gold"]) if row["gold"] else ""} for row in rows]


def _settled(figures: Figures) -> str:
    """How often automatic evidence sufficed, in a sentence."""
    enough, not_enough = figures.sufficient[True], figures.sufficient[False]
    asked = enough + not_enough
    if not asked:
        return "Nobody has answered yet whether automatic evidence was enough."
    return (
        f"Automatic evidence was enough for {enough:,} of {asked:,} claims ({percent(enough / asked)}); "
        f"for {not_enough:,} people had to search further."
    )


def _revision(figures: Figures) -> list[dict[str, Any]]:
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
                        ("Edit distance", number(distance), _width(distance)),
                        ("Word overlap", number(overlap), _width(overlap)),
                    ],
                }
            )
    return rows


def _width(share: float) -> float:
    """A share as the width of a bar in percent."""
    return round(100 * share, 2)
