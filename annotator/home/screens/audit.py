"""The audit log of a benchmark for those who manage it, and of the installation for superusers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from annotator.core.actions.downloads import note_download
from annotator.core.models import Benchmark
from annotator.core.rules import NotAllowedError
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import managed_benchmark, person, render_domain_errors
from annotator.core.screens.spreadsheet import csv_lines
from annotator.home.queries.audit import KINDS, SHOWN, entries, newest

HEADS = ("at", "who", "what", "detail", "benchmark", "address")


@require_GET
@render_domain_errors
def of_benchmark(request: HttpRequest, slug: str) -> HttpResponse:
    """The newest entries of a benchmark."""
    benchmark = managed_benchmark(request, slug)
    context = page_of_benchmark(request, benchmark, "Audit log") | _page(request, benchmark)
    return render(request, "home/audit.html", context)


@require_GET
@render_domain_errors
def of_installation(request: HttpRequest) -> HttpResponse:
    """The newest entries of the installation."""
    _superusers_only(request)
    return render(request, "home/audit.html", _page(request, None) | {"benchmark": None, "tabs": []})


@never_cache
@require_GET
@render_domain_errors
def download_benchmark(request: HttpRequest, slug: str) -> HttpResponse:
    """All entries of a benchmark as CSV."""
    return _csv(request, managed_benchmark(request, slug), f"{slug}-audit")


@never_cache
@require_GET
@render_domain_errors
def download_installation(request: HttpRequest) -> HttpResponse:
    """All entries as CSV."""
    _superusers_only(request)
    return _csv(request, None, "audit")


def _superusers_only(request: HttpRequest) -> None:
    if not person(request).is_superuser:
        raise NotAllowedError("Only superusers can see the audit log of the whole installation.")


def _asked(request: HttpRequest) -> dict[str, str]:
    kind = request.GET.get("kind", "")
    return {"kind": kind if kind in KINDS else "", "name": request.GET.get("name", "").strip()[:150]}


def _page(request: HttpRequest, benchmark: Benchmark | None) -> dict[str, Any]:
    asked = _asked(request)
    address = reverse("audit-download", args=[benchmark.slug]) if benchmark else reverse("audit-all-download")
    return {
        "entries": newest(benchmark, **asked),
        "most": SHOWN,
        "kinds": KINDS.items(),
        "asked": asked,
        "download": f"{address}?{request.GET.urlencode()}",
    }


def _csv(request: HttpRequest, benchmark: Benchmark | None, name: str) -> HttpResponse:
    note_download("audit log", by=person(request), benchmark=benchmark)

    def rows() -> Iterator[tuple[str, ...]]:
        yield HEADS
        for entry in entries(benchmark, **_asked(request)):
            yield (entry.at.isoformat(), entry.who, entry.what, entry.detail, entry.benchmark, entry.address)

    answer = StreamingHttpResponse(csv_lines(rows()), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return cast(HttpResponse, answer)
