"""Export: choose a format and its contents, download the file as a stream, watch the progress."""

from __future__ import annotations

from typing import Any, cast

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, is_htmx, person, render_domain_errors
from annotator.core.screens.document_filters import filter_of, query_of
from annotator.exchange.actions.downloads import start_download, streamed
from annotator.exchange.exports.catalogue import FORMATS, UnknownFormatError, formats_named
from annotator.exchange.exports.downloads import latest_downloads
from annotator.exchange.queries.export import INCLUDE, among_of, count_documents

TEMPLATE = "exchange/export.html"


@require_GET
@render_domain_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """What can be exported, and what was; once a second while something is on its way (htmx) the latter alone. A filter
    in the address, as the document list writes it, narrows the documents."""
    benchmark = benchmark_for(request, slug)
    rules.check_export(person(request), benchmark)
    context = _downloads(benchmark)
    if is_htmx(request):
        return render(request, f"{TEMPLATE}#downloads", context)
    query, among = _narrowed(request, benchmark, request.GET)
    gold = count_documents(benchmark, include="gold", among=among)
    everything = count_documents(benchmark, include="all", among=among)
    context |= page_of_benchmark(request, benchmark, "Export") | {
        "formats": [(each, each.missing()) for each in FORMATS.values()],
        "gold": gold,
        "everything": everything,
        "in_work": everything - gold,
        "filter": query,
        "can_name": rules.can_export_people(person(request), benchmark),
    }
    return render(request, TEMPLATE, context)


def _narrowed(request: HttpRequest, benchmark: Benchmark, params: QueryDict) -> tuple[str, Q | None]:
    """The filter in an address, and the documents that it leaves; "" and None without one."""
    narrowed = filter_of(params, manages=rules.can_manage(person(request), benchmark))
    return query_of(narrowed), among_of(benchmark, narrowed)


def _downloads(benchmark: Benchmark) -> dict[str, Any]:
    downloads = latest_downloads(benchmark)
    return {
        "benchmark": benchmark,
        "downloads": downloads,
        "is_any_open": any(each.is_open for each in downloads),
    }


@require_http_methods(["GET", "POST"])
@render_domain_errors
def download(request: HttpRequest, slug: str) -> HttpResponse:
    """The file, streamed, so that memory doesn't grow with the number of documents. The page uses POST; scripts may use
    GET."""
    benchmark = benchmark_for(request, slug)
    asked = request.POST if request.method == "POST" else request.GET
    # The form sends a blank name besides those that are checked, so that none is told from a script that names none.
    names = asked.getlist("format") or [next(iter(FORMATS))]
    try:
        format = formats_named(filter(None, names))
    except UnknownFormatError as error:
        raise BadValueError(str(error)) from None
    people = asked.get("people", "pseudonyms")
    if people not in ("pseudonyms", "named"):
        raise BadValueError(f"“{people}” isn’t valid; choose pseudonyms or named.")
    _, among = _narrowed(request, benchmark, QueryDict(asked.get("filter", "")))
    taken = start_download(
        benchmark=benchmark,
        format=format,
        include=asked.get("include", INCLUDE[0]),
        named=people == "named",
        by=person(request),
        among=among,
    )
    part = "" if taken.include == INCLUDE[0] else f"-{taken.include}"
    name = f"{benchmark.slug}-{format.in_file_name}{part}-{timezone.localdate():%Y-%m-%d}{format.suffix}"
    response = StreamingHttpResponse(
        streamed(taken, format, among),
        content_type=format.media_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
    return cast(HttpResponse, response)  # not a subclass, but every middleware treats it the same
