"""Sourcing: pools of candidates, each with its filters and their counts as a funnel."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.file_problems import FileError
from annotator.core.models import Benchmark
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, managed_benchmark, person, render_domain_errors
from annotator.core.vocabulary import DiscardReason, PoolFilter
from annotator.exchange.actions.pools import add_to_benchmark, create_pool, filter_pool, undo_filter
from annotator.exchange.models import Pool
from annotator.exchange.queries.pools import funnel_of

MAX_UPLOAD = 100 * 1024 * 1024
ROWS_SHOWN = 10
CANDIDATES_SHOWN = 50


@require_http_methods(["GET", "POST"])
@render_domain_errors
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """The benchmark's pools, and the form for a new one."""
    benchmark = managed_benchmark(request, slug)
    problems: list[Any] = []
    if request.method == "POST":
        upload = request.FILES.get("file")
        if upload is None or upload.file is None:
            raise BadValueError("Choose a file with candidates.")
        if (upload.size or 0) > MAX_UPLOAD:
            raise BadValueError("A file of candidates can have at most 100 MB.")
        name = request.POST.get("name", "")
        try:
            pool, report = create_pool(
                benchmark,
                upload.file,  # type: ignore[arg-type]
                name=name,
                filename=upload.name or "",
                by=person(request),
            )
        except FileError as refusal:
            raise BadValueError(str(refusal)) from None
        if pool is not None:
            return redirect("pool", slug=slug, pool_id=pool.public_id)
        problems = report.problems[:ROWS_SHOWN]
    context = page_of_benchmark(request, benchmark, "Import")
    context |= {"pools": benchmark.pools.order_by("-id"), "problems": problems}
    return render(request, "exchange/pools/index.html", context, status=422 if problems else 200)


def _pool(benchmark: Benchmark, pool_id: str) -> Pool:
    return get_object_or_404(Pool.objects.select_related("benchmark"), benchmark=benchmark, public_id=pool_id)


@require_GET
@render_domain_errors
def show(request: HttpRequest, slug: str, pool_id: str) -> HttpResponse:
    """The funnel of a pool, its filters, and the remaining candidates."""
    benchmark = benchmark_for(request, slug)
    rules.check_manage(person(request), benchmark)
    pool = _pool(benchmark, pool_id)
    funnel = funnel_of(pool)
    whole = funnel[0].left
    left = pool.candidates.filter(step=None).order_by("order")
    context = page_of_benchmark(request, benchmark, "Import") | {
        "pool": pool,
        "funnel": [(row, round(row.share(whole), 1)) for row in funnel],
        "sources": sorted(source for source in funnel[0].by_source if source),
        "filters": [each for each in PoolFilter if each != PoolFilter.BY_HAND],
        "reasons": list(DiscardReason),
        "left": left[:CANDIDATES_SHOWN],
        "left_count": left.count(),
        "gone": pool.candidates.exclude(step=None).select_related("step").order_by("order")[:CANDIDATES_SHOWN],
        "can_undo": pool.added_at is None and pool.steps.exists(),
    }
    return render(request, "exchange/pools/show.html", context)


@require_POST
@render_domain_errors
def change(request: HttpRequest, slug: str, pool_id: str, what: str) -> HttpResponse:
    """Apply a filter, undo the last one, or turn the remaining candidates into documents."""
    pool, by = _pool(managed_benchmark(request, slug), pool_id), person(request)
    if what == "filter":
        values: dict[str, Any] = {
            name: request.POST[name].strip()
            for name in ("at_least", "at_most", "field", "alike", "reason", "text")
            if request.POST.get(name, "").strip()
        }
        values |= {name: request.POST.getlist(name) for name in ("ids", "sources") if request.POST.getlist(name)}
        step = filter_pool(pool, request.POST.get("kind", ""), values, by=by)
        messages.success(request, f"{step.before - step.after} candidates taken out; {step.after} are left.")
    elif what == "undo":
        undo_filter(pool, by=by)
        messages.success(request, "The last filter was undone.")
    elif what == "add":
        report = add_to_benchmark(pool, by=by)
        messages.success(request, f"{report.imported} documents added to the benchmark.")
    else:
        raise Http404
    return redirect("pool", slug=slug, pool_id=pool_id)
