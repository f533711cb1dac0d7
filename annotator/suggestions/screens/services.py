"""The services of a benchmark, for its owners, and those of the installation, for superusers: a model and a search."""

from __future__ import annotations

import math
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, is_htmx, person, render_domain_errors
from annotator.suggestions.actions.services import ServiceForm, ask_for_test, remove_service, save_service
from annotator.suggestions.models.service import CHAT, KINDS
from annotator.suggestions.queries.services import (
    first_of_month,
    own_services,
    service_settings,
    settings_with,
    use_by_service,
)

INDEX = "suggestions/services.html"
_PRICES = ("price_prompt", "price_answer", "price_query")


@require_GET
@render_domain_errors
def index(request: HttpRequest, slug: str = "") -> HttpResponse:
    """One form for each kind of service, of a benchmark or (no slug) of the installation. Keys are never shown."""
    benchmark = _benchmark(request, slug)
    context = _context(request, benchmark)
    if is_htmx(request):  # a test is under way
        return render(request, f"{INDEX}#tests", context)
    return render(request, INDEX, context)


@require_POST
@render_domain_errors
def change(request: HttpRequest, kind: str, slug: str = "") -> HttpResponse:
    """Save a service; with ``test`` find out what it can do, with ``remove`` do without it."""
    benchmark = _benchmark(request, slug)
    if kind not in dict(KINDS):
        raise Http404
    if "remove" in request.POST:
        remove_service(benchmark, kind, by=person(request))
        messages.success(request, "The service was removed and its key deleted.")
        return redirect(_address(benchmark))
    if "test" in request.POST:
        ask_for_test(benchmark, kind, by=person(request))
        return redirect(_address(benchmark))
    try:
        save_service(benchmark, kind, _form(request), by=person(request))
    except BadValueError as refusal:
        context = _context(request, benchmark, kind, str(refusal))
        return render(request, INDEX, context, status=422)
    messages.success(request, "The service was saved. Runs use it from their next document on.")
    return redirect(_address(benchmark))


def _benchmark(request: HttpRequest, slug: str) -> Benchmark | None:
    """The benchmark whose services are shown, None for the installation. Raises NotAllowedError for all but owners."""
    benchmark = benchmark_for(request, slug) if slug else None
    rules.check_change_services(person(request), benchmark)
    return benchmark


def _address(benchmark: Benchmark | None) -> str:
    return reverse("services", args=[benchmark.slug]) if benchmark else reverse("services-all")


def _form(request: HttpRequest) -> ServiceForm:
    given = {name: request.POST.get(name, "").strip() for name in ("provider", "url", "model", "key", *_PRICES)}
    prices = {name: _number(given[name], "a price like 0.15") or 0.0 for name in _PRICES}
    calls = request.POST.get("calls_per_minute", "").strip()
    if calls and (not calls.isdecimal() or len(calls) > 6):
        raise BadValueError(f"“{calls}” isn't a whole number of calls. Enter a limit like 60, or leave it blank.")
    return ServiceForm(
        provider=given["provider"],
        url=given["url"],
        model=given["model"],
        key="" if "forget_key" in request.POST else given["key"] or None,
        calls_per_minute=int(calls) if calls else None,
        money_per_month=_number(request.POST.get("money_per_month", "").strip(), "a limit like 20"),
        **prices,
    )


def _number(raw: str, example: str) -> float | None:
    """A number as it was typed, None for a blank field. Raises BadValueError."""
    if not raw:
        return None
    try:
        number = float(raw)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadValueError(f"“{raw}” isn't a number. Enter {example}, or leave it blank.")
    return number


def _context(request: HttpRequest, benchmark: Benchmark | None, kind: str = "", problem: str = "") -> dict[str, Any]:
    from pipeline.catalogue import MODELS, PROVIDERS, described  # loads what strategies need: late

    added = own_services(benchmark)
    if benchmark is None:
        page: dict[str, Any] = {"benchmark": None, "tabs": []}
        used = described(settings_with(added))
    else:
        page = page_of_benchmark(request, benchmark, "Services")
        used = described(service_settings(benchmark, has_corpus=benchmark.corpus_id is not None))
    providers = {CHAT: list(MODELS)}
    rows = [
        {
            "kind": name,
            "label": label,
            "service": added.get(name),
            "action": reverse("services-change", args=[benchmark.slug, name])
            if benchmark
            else reverse("services-all-change", args=[name]),
            "used": used.get(name, ""),
            "providers": providers.get(name, [each for each in PROVIDERS if each != "corpus"]),
            "chosen": request.POST.get("provider") if name == kind else getattr(added.get(name), "provider", ""),
            "typed": request.POST if name == kind else {},
            "problem": problem if name == kind else "",
        }
        for name, label in KINDS
    ]
    return page | {
        "rows": rows,
        "address": _address(benchmark),
        "month": use_by_service(benchmark, since=first_of_month()),
        "is_waiting": any(row.test.get("waiting") for row in added.values()),
    }
