"""Pipeline runs: live progress, requesting suggestions, cancel and retry."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from annotator.core import rules
from annotator.core.models import Benchmark
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import managed_benchmark, person, render_domain_errors
from annotator.core.vocabulary import Stage
from annotator.suggestions.actions import get_suggestions
from annotator.suggestions.actions import runs as actions
from annotator.suggestions.actions.plans import choice_of, obstacle
from annotator.suggestions.queries.costs import costs_of, with_formula
from annotator.suggestions.queries.runs import (
    RunProgress,
    claims_without_evidence,
    documents_to_prefill,
    failures_of,
    notes_of,
    progress_of,
    readable_plan,
    runs_of,
    strategy_label,
)
from annotator.suggestions.queries.services import can_search
from annotator.suggestions.screens.run_form import begin, budget_of

INDEX = "suggestions/runs/index.html"
RUN = "suggestions/runs/run.html"
RUNS_SHOWN = 20
FAILURES_SHOWN = 50
NOTES_SHOWN = 20


@require_GET
@render_domain_errors
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """All runs, newest first, and what could be requested."""
    benchmark = managed_benchmark(request, slug)
    page = Paginator(runs_of(benchmark).defer("plan"), RUNS_SHOWN).get_page(request.GET.get("page"))
    rows = [progress_of(run) for run in page.object_list]
    context: dict[str, Any] = {
        "benchmark": benchmark,
        "runs": rows,
        "page_obj": page,
        "query": "",
        "is_moving": any(row.is_moving for row in rows),
    }
    if getattr(request, "htmx", False) and context["is_moving"]:
        return render(request, f"{INDEX}#runs", context)
    context |= {
        "strategy": strategy_label(benchmark.strategy) if benchmark.strategy else "",
        "obstacles": _obstacles(benchmark),
        "corpus": benchmark.corpus,
        "can_search": can_search(benchmark),
        "may_add_services": rules.can_change_services(person(request), benchmark),
        "without_suggestions": documents_to_prefill(benchmark).count(),
        "without_evidence": len(claims_without_evidence(benchmark)),
    }
    if getattr(request, "htmx", False):
        # All runs are over, so the counts above the list have changed, too.
        response = render(request, f"{INDEX}#everything", context)
        response["HX-Retarget"] = "#everything"
        return response
    return render(request, INDEX, page_of_benchmark(request, benchmark, "Runs") | context)


def _obstacles(benchmark: Benchmark) -> dict[str, str]:
    """Why the benchmark's strategy cannot work here, by stage; nothing where it can."""
    choice = choice_of(benchmark)
    if choice is None:
        return {}
    return {stage.value: obstacle(benchmark, choice, stage) for stage in choice.stages}


@require_POST
@render_domain_errors
def start(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask for suggestions (stage decompose) or evidence (stage verify) for whatever lacks them; or, from the form of a
    new run, for what was chosen there."""
    benchmark = managed_benchmark(request, slug)
    if "strategy" in request.POST:
        return begin(request, benchmark)
    try:
        stage = Stage(request.POST.get("stage", Stage.DECOMPOSE))
    except ValueError:
        raise Http404 from None
    runs = get_suggestions.get_suggestions(benchmark=benchmark, stage=stage, by=person(request))
    if not runs:
        messages.info(request, "Nothing to do: every eligible document already has what it needs.")
    if len(runs) == 1:
        return redirect("run", slug, runs[0].public_id)
    return redirect("runs", slug)


@require_GET
@render_domain_errors
def show(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """One run: counts, rate, time left, and what failed. Asked for once a second (htmx) until it is over."""
    benchmark = managed_benchmark(request, slug)
    row = _run(benchmark, run_id)
    context: dict[str, Any] = {"benchmark": benchmark, "row": row, "run": row.run, "is_moving": row.is_moving}
    context["failures"] = list(failures_of(row.run)[:FAILURES_SHOWN])
    costs = costs_of(row.run)
    context["costs"] = costs if row.is_moving else with_formula(costs, row.run)
    context["has_money"] = bool(costs.total.money or row.run.budget_money is not None)
    context["notes"] = notes_of(row.run, NOTES_SHOWN)
    context["sees_services"] = rules.can_change_services(person(request), benchmark)
    context["plan"] = readable_plan(row.run, services=context["sees_services"])
    if getattr(request, "htmx", False):
        response = render(request, f"{RUN}#numbers" if context["is_moving"] else f"{RUN}#run", context)
        if not context["is_moving"]:
            # Over: replace the whole panel with the actions now available, which also stops the polling.
            response["HX-Retarget"] = "#run"
        return response
    return render(request, RUN, page_of_benchmark(request, benchmark, "Runs") | context)


def _run(benchmark: Benchmark, run_id: str) -> RunProgress:
    return progress_of(get_object_or_404(runs_of(benchmark), public_id=run_id))


@require_POST
@render_domain_errors
def change(request: HttpRequest, slug: str, run_id: str, what: str) -> HttpResponse:
    """Pause a run, resume it with the budget as it is typed, cancel it, or try what failed or was cancelled again."""
    benchmark = managed_benchmark(request, slug)
    row, user = _run(benchmark, run_id), person(request)
    if what == "pause":
        actions.pause_run(row.run, by=user)
    elif what == "resume":
        tokens, money = budget_of(request)
        actions.resume_run(row.run, by=user, budget_tokens=tokens, budget_money=money)
    elif what == "cancel":
        if row.is_open or row.is_paused:
            actions.cancel_run(row.run, by=user)
    elif what == "retry":
        if row.can_retry:
            actions.retry_failed(row.run, by=user)
    else:
        raise Http404
    return redirect("run", slug, run_id)
