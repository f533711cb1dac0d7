"""The services of a benchmark, for its owners: a model and a search instead of the installation's."""

from __future__ import annotations

import math
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, is_htmx, person, render_domain_errors
from annotator.suggestions.actions.services import ServiceForm, ask_for_test, remove_service, save_service
from annotator.suggestions.models.service import CHAT, KINDS
from annotator.suggestions.queries.services import service_settings, services_of

INDEX = "suggestions/services.html"
_PRICES = ("price_prompt", "price_answer", "price_query")


@require_GET
@render_domain_errors
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """One form for each kind of service. Keys are never shown."""
    benchmark = benchmark_for(request, slug)
    rules.check_change_services(person(request), benchmark)
    context = _context(request, benchmark)
    if is_htmx(request):  # a test is under way
        return render(request, f"{INDEX}#tests", context)
    return render(request, INDEX, context)


@require_POST
@render_domain_errors
def change(request: HttpRequest, slug: str, kind: str) -> HttpResponse:
    """Save a service; with ``test`` find out what it can do, with ``remove`` go back to the installation's."""
    benchmark = benchmark_for(request, slug)
    rules.check_change_services(person(request), benchmark)
    if kind not in dict(KINDS):
        raise Http404
    if "remove" in request.POST:
        remove_service(benchmark, kind, by=person(request))
        messages.success(request, "The service was removed and its key deleted.")
        return redirect("services", benchmark.slug)
    if "test" in request.POST:
        ask_for_test(benchmark, kind, by=person(request))
        return redirect("services", benchmark.slug)
    try:
        save_service(benchmark, kind, _form(request), by=person(request))
    except BadValueError as refusal:
        context = _context(request, benchmark, kind, str(refusal))
        return render(request, INDEX, context, status=422)
    messages.success(request, "The service was saved. Runs use it from their next document on.")
    return redirect("services", benchmark.slug)


def _form(request: HttpRequest) -> ServiceForm:
    given = {name: request.POST.get(name, "").strip() for name in ("provider", "url", "model", "key", *_PRICES)}
    prices = {name: _price(given[name]) for name in _PRICES}
    key = "" if "forget_key" in request.POST else given["key"] or None
    return ServiceForm(provider=given["provider"], url=given["url"], model=given["model"], key=key, **prices)


def _price(raw: str) -> float:
    try:
        price = float(raw or 0)
    except ValueError:
        price = math.nan
    if not math.isfinite(price):
        raise BadValueError(f"“{raw}” isn't a number. Enter a price like 0.15, or leave it blank.")
    return price


def _context(request: HttpRequest, benchmark: Benchmark, kind: str = "", problem: str = "") -> dict[str, Any]:
    from pipeline.catalogue import MODELS, PROVIDERS, described  # loads what strategies need: late

    added = services_of(benchmark)
    used = described(service_settings(benchmark, has_corpus=benchmark.corpus_id is not None))
    providers = {CHAT: list(MODELS)}
    rows = [
        {
            "kind": name,
            "label": label,
            "service": added.get(name),
            "used": used.get(name, ""),
            "providers": providers.get(name, [each for each in PROVIDERS if each != "corpus"]),
            "chosen": request.POST.get("provider") if name == kind else getattr(added.get(name), "provider", ""),
            "typed": request.POST if name == kind else {},
            "problem": problem if name == kind else "",
        }
        for name, label in KINDS
    ]
    return page_of_benchmark(request, benchmark, "Services") | {
        "rows": rows,
        "is_waiting": any(row.test.get("waiting") for row in added.values()),
    }
