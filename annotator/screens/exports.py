"""Export: choose a format and what goes in, take the file away as a stream."""

from __future__ import annotations

from typing import cast

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from annotator import rules
from annotator.actions.fields import BadValueError
from annotator.actions.jobs import note_export
from annotator.models import Activity
from annotator.queries.export import FORMATS, INCLUDE, count_documents, export_lines
from annotator.screens.benchmarks import page_of_benchmark
from annotator.screens.common import benchmark_for, person, speaks_errors

TEMPLATE = "exports/export.html"
EXPORTS_SHOWN = 10

FORMAT_WORDS = {
    "factcheck-bench": (
        "Factcheck-Bench",
        "One document a line, with the field names, words and nesting of the released file (JSON lines).",
    ),
}


@require_GET
@speaks_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """What can be exported, and what was."""
    benchmark = benchmark_for(request, slug)
    rules.check_export(person(request), benchmark)
    gold = count_documents(benchmark, include="gold")
    everything = count_documents(benchmark, include="all")
    context = page_of_benchmark(request, benchmark, "Export") | {
        "formats": [(name, *FORMAT_WORDS.get(name, (name, ""))) for name in FORMATS],
        "gold": gold,
        "everything": everything,
        "in_work": everything - gold,
        "exports": Activity.objects.filter(benchmark=benchmark, action="export").select_related("by")[:EXPORTS_SHOWN],
    }
    return render(request, TEMPLATE, context)


@require_POST
@speaks_errors
def download(request: HttpRequest, slug: str) -> HttpResponse:
    """The file, streamed: memory does not grow with the number of documents. A POST, since it is put on record."""
    benchmark = benchmark_for(request, slug)
    format, include = request.POST.get("format", FORMATS[0]), request.POST.get("include", INCLUDE[0])
    if format not in FORMATS:
        raise BadValueError(f"“{format}” is no format that can be exported: {', '.join(FORMATS)}.")
    if include not in INCLUDE:
        raise BadValueError(f"“{include}” is neither {' nor '.join(INCLUDE)}.")
    note_export(
        benchmark=benchmark,
        format=format,
        include=include,
        count=count_documents(benchmark, include=include),
        by=person(request),
    )
    part = "" if include == INCLUDE[0] else f"-{include}"
    name = f"{benchmark.slug}-{format}{part}-{timezone.localdate():%Y-%m-%d}.jsonl"
    response = StreamingHttpResponse(
        export_lines(benchmark, format=format, include=include),
        content_type="application/jsonl; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
    return cast(HttpResponse, response)  # no subclass of it, yet just as good for every middleware
