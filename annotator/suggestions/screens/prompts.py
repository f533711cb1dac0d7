"""The pipeline's prompts as a benchmark uses them: view, edit, compare with the shipped version, restore it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import managed_benchmark, person, render_domain_errors
from annotator.core.texts.markdown_diff import compare, stretches
from annotator.suggestions.actions.suggestions import StaleWordingError, write_wording
from annotator.suggestions.queries.prompts import PromptRow, history_of, prompt_rows


@require_GET
@render_domain_errors
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """All prompts with their purpose, current version and where they are used."""
    benchmark = managed_benchmark(request, slug)
    context = page_of_benchmark(request, benchmark, "Prompts") | {"rows": prompt_rows(benchmark)}
    return render(request, "suggestions/prompts/index.html", context)


@require_http_methods(["GET", "POST"])
@render_domain_errors
def show(request: HttpRequest, slug: str, strategy: str, step: str) -> HttpResponse:
    """One prompt: the current version to edit, its difference from the shipped one, and earlier versions. POST saves a
    version; with ``back``, it restores the shipped one."""
    benchmark = managed_benchmark(request, slug)
    row = next((each for each in prompt_rows(benchmark) if each.name == f"{strategy}/{step}"), None)
    if row is None:
        raise Http404
    if request.method == "POST":
        return _write(request, benchmark, row)
    return render(request, "suggestions/prompts/show.html", _context(request, benchmark, row))


def _context(request: HttpRequest, benchmark: Benchmark, row: PromptRow, text: str | None = None) -> dict[str, Any]:
    history = history_of(benchmark, row.name)
    raw = request.GET.get("wording", "")
    looked_at = next((each for each in history if raw == str(each.number)), None)
    return page_of_benchmark(request, benchmark, "Prompts") | {
        "row": row,
        "history": history,
        "looked_at": looked_at,
        "text": row.prompt.text if text is None else text,
        "based_on": row.version.number if row.version else 0,
        "stretches": _difference(row.shipped.text, looked_at.text if looked_at else row.prompt.text),
        "differs": (looked_at.text if looked_at else row.prompt.text) not in ("", row.shipped.text),
        "names": sorted(row.shipped.fields),
        "problem": "",
        "theirs": None,
    }


def _difference(old: str, new: str) -> list[Any]:
    return stretches(compare(old, new or old))


def _write(request: HttpRequest, benchmark: Benchmark, row: PromptRow) -> HttpResponse:
    text = "" if "back" in request.POST else request.POST.get("text", "")
    raw = request.POST.get("based_on", "0")
    context: dict[str, Any]
    try:
        if not text.strip() and "back" not in request.POST:
            raise BadValueError("The wording is blank. To use the shipped one, press “Restore the shipped wording”.")
        written = write_wording(
            benchmark, row.name, text, based_on=int(raw) if raw.isdecimal() else 0, by=person(request)
        )
    except StaleWordingError as stale:
        context = _context(request, benchmark, row, text) | {"problem": str(stale), "theirs": stale.newest}
        context["stretches"] = _difference(stale.newest.text or row.shipped.text, text)
        context["based_on"] = stale.newest.number
        return render(request, "suggestions/prompts/show.html", context, status=409)
    except BadValueError as refusal:
        context = _context(request, benchmark, row, text) | {"problem": str(refusal)}
        return render(request, "suggestions/prompts/show.html", context, status=422)
    if written is None:
        messages.info(request, "This wording is already in use.")
    else:
        messages.success(request, f"{row.name}: new runs use this wording. Started runs keep theirs.")
    return redirect("prompt", benchmark.slug, *row.name.split("/"))
