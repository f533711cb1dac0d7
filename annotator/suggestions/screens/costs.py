"""Costs: strategies side by side, each next to what its formula predicts, and, for owners, by service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotator.core import rules
from annotator.core.charts import rounded
from annotator.core.queries.progress import time_in_words
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import managed_benchmark, person, render_domain_errors
from annotator.suggestions.queries.costs import Compared, compared
from annotator.suggestions.queries.runs import strategy_label
from annotator.suggestions.queries.services import use_by_service


@dataclass(frozen=True, slots=True)
class CostRow:
    """One strategy at one stage. ``made`` and ``by_formula``: widths of its bars in percent of the widest."""

    entry: Compared
    label: str
    formula: str
    each: dict[str, float | None]
    lasting: str
    made: float
    by_formula: float | None


@require_GET
@render_domain_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """The table, with the calls of each step folded away below it."""
    from pipeline.catalogue import choices

    benchmark = managed_benchmark(request, slug)
    formulas = {choice.name: choice.formula for choice in choices()}
    found = compared(benchmark)
    widest = max((value for entry in found for value in _requests(entry)), default=0.0) or 1.0
    rows = []
    for entry in found:
        each = entry.per_document
        by_formula = each["formula"]
        rows.append(
            CostRow(
                entry,
                strategy_label(entry.strategy),
                formulas.get(entry.strategy, ""),
                each,
                time_in_words(entry.seconds),
                made=rounded(100 * (each["requests"] or 0) / widest),
                by_formula=None if by_formula is None else rounded(100 * by_formula / widest),
            )
        )
    sees_services = rules.can_change_services(person(request), benchmark)
    context: dict[str, Any] = {
        "rows": rows,
        "has_money": any(row.entry.use.money for row in rows),
        "services": use_by_service(benchmark) if sees_services else [],
    }
    return render(request, "suggestions/runs/costs.html", page_of_benchmark(request, benchmark, "Costs") | context)


def _requests(entry: Compared) -> list[float]:
    each = entry.per_document
    return [each["requests"] or 0.0, each["formula"] or 0.0]
