"""The overview of a benchmark: how far it is, how the groups get on, who waits for whom."""

from __future__ import annotations

import csv

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotator import rules
from annotator.queries import dashboard
from annotator.queries import overview as figures
from annotator.queries.pace import LONGEST, NEWEST, PAPER_MINUTES, STEP
from annotator.screens.benchmarks import page_of_benchmark
from annotator.screens.common import benchmark_for, person, speaks_errors


def _place(minutes: int) -> float:
    """Where so many minutes stand on a histogram's axis, in percent; its last step takes all above."""
    return round(100 * minutes / (LONGEST + STEP), 2)


MINUTE_TICKS = [
    (f"{minutes}{'' if minutes < LONGEST else '+ min'}", _place(minutes)) for minutes in (0, 15, 30, 45, 60)
]
BAND = (_place(PAPER_MINUTES[0]), _place(PAPER_MINUTES[1] - PAPER_MINUTES[0]))


@require_GET
@speaks_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """The figures. Groups and times are for who manages the benchmark, and without names for who reads its gold."""
    benchmark = benchmark_for(request, slug)
    page = page_of_benchmark(request, benchmark, "Overview")
    progress = dashboard.progress_of(benchmark)
    sees_team = page["can_manage"] or page["can_export"]
    context = page | {
        "progress": progress,
        "newest": NEWEST,
        "sees_agreement": rules.can_see_agreement(person(request), benchmark),
        "missing": figures.whats_missing(benchmark),
        "team": dashboard.team_of(benchmark, progress) if sees_team else None,
        "runs": figures.latest_runs(benchmark),
        "people": figures.people_of(benchmark),
        "paper": PAPER_MINUTES,
        "minute_ticks": MINUTE_TICKS,
        "band": BAND,
    }
    return render(request, "benchmarks/overview.html", context)


@require_GET
@speaks_errors
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
