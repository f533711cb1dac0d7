"""The overview of a benchmark: its progress, the groups' progress, and who is waiting for whom."""

from __future__ import annotations

import csv

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, is_htmx, render_domain_errors
from annotator.home.queries import dashboard, overview
from annotator.home.queries.setup import setup_steps
from annotator.measures.queries.pace import NEWEST, PAPER_MINUTES


@require_GET
@render_domain_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """The figures. Groups and times are shown to those who manage the benchmark and, without names, to those who read
    its gold.

    If the page has no figures or old ones, it fetches ``?part=figures`` once loaded, which counts them anew.
    """
    benchmark = benchmark_for(request, slug)
    page = page_of_benchmark(request, benchmark, "Overview")
    sees_team = page["can_manage"] or page["can_export"]
    is_part = request.GET.get("part") == "figures" and is_htmx(request)
    read = dashboard.counted_figures if is_part else dashboard.figures_at_once
    figures = read(benchmark, with_team=sees_team)
    shown = {
        "progress": figures.progress if figures else None,
        "team": figures.team if figures else None,
        "fetches_figures": not is_part
        and (figures is None or (figures.is_old and dashboard.may_count(benchmark, with_team=sees_team))),
        "newest": NEWEST,
        "sees_agreement": page["can_export"],
        "paper": PAPER_MINUTES,
    }
    if is_part:
        return render(request, "home/overview.html#figures", page | shown)
    around = {
        "missing": overview.whats_missing(benchmark),
        "setup": setup_steps(benchmark) if page["can_manage"] else [],
        "runs": overview.latest_runs(benchmark),
        "people": overview.people_of(benchmark),
    }
    return render(request, "home/overview.html", page | shown | around)


@require_GET
@render_domain_errors
def burn_up(request: HttpRequest, slug: str) -> HttpResponse:
    """The burn-up chart's numbers as CSV."""
    benchmark = benchmark_for(request, slug)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{benchmark.slug}-burn-up.csv"'
    writer = csv.writer(response)
    writer.writerow(["day", "decompose_agreed", "verify_agreed", "gold", "documents"])
    found = dashboard.progress_of(benchmark).burn_up
    writer.writerows([day.isoformat(), *numbers, found.total] for day, *numbers in found.rows)
    return response
