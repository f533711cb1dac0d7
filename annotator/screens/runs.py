"""Runs of the pipeline: what is on its way, with live progress; asking for suggestions; cancel and retry."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from annotator import rules
from annotator.actions import jobs
from annotator.actions import runs as actions
from annotator.models import Benchmark
from annotator.queries.runs import (
    RunProgress,
    claims_without_evidence,
    documents_to_prefill,
    failures_of,
    progress_of,
    runs_of,
)
from annotator.screens.benchmarks import page_of_benchmark
from annotator.screens.common import benchmark_for, person, speaks_errors
from annotator.vocabulary import Stage

INDEX = "runs/index.html"
RUN = "runs/run.html"
RUNS_SHOWN = 20
FAILURES_SHOWN = 50


def _managed(request: HttpRequest, slug: str) -> Benchmark:
    """The benchmark, for those who manage it. Raises NotAllowedError for its other members."""
    benchmark = benchmark_for(request, slug)
    rules.check_manage(person(request), benchmark)
    return benchmark


@require_GET
@speaks_errors
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """All runs, newest first, and what could be asked for."""
    benchmark = _managed(request, slug)
    page = Paginator(runs_of(benchmark), RUNS_SHOWN).get_page(request.GET.get("page"))
    rows = [progress_of(run) for run in page.object_list]
    context: dict[str, Any] = {
        "benchmark": benchmark,
        "runs": rows,
        "page_obj": page,
        "query": "",
        "is_moving": any(row.is_open or row.is_still_ending for row in rows),
    }
    if getattr(request, "htmx", False) and context["is_moving"]:
        return render(request, f"{INDEX}#runs", context)
    context |= {
        "strategy": benchmark.strategy,
        "corpus": benchmark.corpus,
        "without_suggestions": documents_to_prefill(benchmark).count(),
        "without_evidence": len(claims_without_evidence(benchmark)),
    }
    if getattr(request, "htmx", False):
        # Nothing moves any more: the counts above the list have changed too.
        response = render(request, f"{INDEX}#everything", context)
        response["HX-Retarget"] = "#everything"
        return response
    return render(request, INDEX, page_of_benchmark(request, benchmark, "") | context)


@require_POST
@speaks_errors
def start(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask for suggestions (stage decompose) or evidence (stage verify) for whatever lacks them."""
    benchmark = _managed(request, slug)
    try:
        stage = Stage(request.POST.get("stage", Stage.DECOMPOSE))
    except ValueError:
        raise Http404 from None
    runs = jobs.get_suggestions(benchmark=benchmark, stage=stage, by=person(request))
    if not runs:
        messages.info(request, "There was nothing to do: every document that could be helped has what it needs.")
    if len(runs) == 1:
        return redirect("run", slug, runs[0].public_id)
    return redirect("runs", slug)


@require_GET
@speaks_errors
def show(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """One run: counts, rate, time left, and what failed. Asked for once a second (htmx) until it is over."""
    benchmark = _managed(request, slug)
    row = _run(benchmark, run_id)
    context: dict[str, Any] = {"benchmark": benchmark, "row": row, "run": row.run}
    context["failures"] = list(failures_of(row.run)[:FAILURES_SHOWN])
    context["is_moving"] = row.is_open or row.is_still_ending
    if getattr(request, "htmx", False):
        response = render(request, f"{RUN}#numbers" if context["is_moving"] else f"{RUN}#run", context)
        if not context["is_moving"]:
            # Over: the whole panel is shown anew, with what can be done now, and the asking stops.
            response["HX-Retarget"] = "#run"
        return response
    return render(request, RUN, page_of_benchmark(request, benchmark, "") | context)


def _run(benchmark: Benchmark, run_id: str) -> RunProgress:
    return progress_of(get_object_or_404(runs_of(benchmark), public_id=run_id))


@require_POST
@speaks_errors
def change(request: HttpRequest, slug: str, run_id: str, what: str) -> HttpResponse:
    """Cancel a run, or try its failed and cancelled documents again."""
    benchmark = _managed(request, slug)
    row = _run(benchmark, run_id)
    if what == "cancel":
        if row.is_open:
            actions.cancel_run(row.run, by=person(request))
    elif what == "retry":
        if row.can_retry:
            actions.retry_failed(row.run, by=person(request))
    else:
        raise Http404
    return redirect("run", slug, run_id)
