"""People: what each has done in a period, as a page and as CSV."""

from __future__ import annotations

import datetime as dt

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from annotator.core.actions.downloads import note_download
from annotator.core.actions.fields import BadValueError
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import managed_benchmark, person, render_domain_errors
from annotator.core.screens.spreadsheet import csv_of
from annotator.measures.queries.people_report import people_report, table_of


@require_GET
@render_domain_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """The table of everyone between two days; ``?format=csv`` takes it away."""
    benchmark = managed_benchmark(request, slug)
    since, until = _day(request, "since"), _day(request, "until")
    rows = people_report(benchmark, since=since, until=until)
    if request.GET.get("format") == "csv":
        note_download("people", by=person(request), benchmark=benchmark)
        return csv_of(table_of(rows), f"{benchmark.slug}-people")
    period = {name: day.isoformat() for name, day in (("since", since), ("until", until)) if day}
    context = page_of_benchmark(request, benchmark, "People") | {
        "rows": rows,
        "since": since,
        "until": until,
        "csv_query": urlencode({**period, "format": "csv"}),
    }
    return render(request, "measures/people.html", context)


def _day(request: HttpRequest, name: str) -> dt.date | None:
    """A day in the address; None without one. Raises BadValueError."""
    raw = request.GET.get(name, "")
    try:
        day = dt.date.fromisoformat(raw) if raw else None
    except ValueError:
        raise BadValueError(f"“{raw[:40]}” isn’t a day. Write it as 2026-01-31.") from None
    if day is not None and not 1900 <= day.year < 3000:  # the days beside the first and the last one can't be computed
        raise BadValueError(f"{raw[:40]} is too far away. Choose a year from 1900 to 2999.")
    return day
