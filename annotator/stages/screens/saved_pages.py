"""Saved pages: the copy of one, opened at its passage, and for managers the recheck of all of them.

The copy is only text: no scripts, pictures or requests to other hosts, so it stays readable when the page is gone.
"""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import pluralize
from django.views.decorators.http import require_GET, require_POST

from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import document_for, is_htmx, managed_benchmark, person, render_domain_errors
from annotator.core.texts.quotes import pieces
from annotator.stages.actions.rechecks import cancel_recheck, reopen_verdicts, start_recheck
from annotator.stages.queries.saved_pages import (
    CONCERNING,
    concerned_verdicts,
    evidence_with_page,
    last_recheck,
    pages_of,
    sees_evidence,
)

INDEX = "stages/saved_pages.html"
MAX_PAGES = 200  # how many of the changed ones are listed


@require_GET
@render_domain_errors
def show(request: HttpRequest, public_id: str) -> HttpResponse:
    """The page's text with the passage marked; its first mark is the anchor ``quote``."""
    evidence = evidence_with_page(public_id)
    if evidence is None:
        raise Http404("There is no saved copy of this page.")
    document = document_for(request, evidence.claim.sentence.annotation.document.public_id)
    if not sees_evidence(person(request), document, evidence):
        raise Http404("There is no saved copy of this page.")
    snapshot = evidence.snapshot
    assert snapshot is not None
    cut = pieces(snapshot.text, evidence.passage)
    context = {
        "document": document,
        "benchmark": document.benchmark,
        "page": snapshot,
        "pieces": cut,
        "first": next((piece for piece in cut if piece.quoted), None),
    }
    return render(request, "stages/saved_page.html", context)


@require_GET
@render_domain_errors
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """What the last check of the saved pages found, and the verdicts it affects; its progress while it runs."""
    benchmark = managed_benchmark(request, slug)
    last = last_recheck(benchmark)
    concerned = concerned_verdicts(last.recheck) if last else []
    checks = last.recheck.checks.filter(outcome__in=CONCERNING).select_related("snapshot") if last else None
    context = page_of_benchmark(request, benchmark, "") | {
        "number": pages_of(benchmark).count(),
        "last": last,
        "pages": checks[:MAX_PAGES] if checks is not None else [],
        "concerned": concerned,
        "all_verdicts": len({row.verdict.pk for row in concerned}),
        "gone_verdicts": len({row.verdict.pk for row in concerned if not row.still_there}),
    }
    return render(request, f"{INDEX}#state" if is_htmx(request) else INDEX, context)


@require_POST
@render_domain_errors
def change(request: HttpRequest, slug: str, what: str) -> HttpResponse:
    """Start or cancel a check; reopen the affected verdicts."""
    benchmark = managed_benchmark(request, slug)
    last = last_recheck(benchmark)
    if what == "check":
        start_recheck(benchmark, by=person(request))
    elif what == "cancel" and last is not None:
        cancel_recheck(last.recheck, by=person(request))
        messages.success(request, "The check was canceled. What it found so far is kept.")
    elif what in ("reopen-all", "reopen-gone") and last is not None:
        number = reopen_verdicts(last.recheck, only_gone=what == "reopen-gone", by=person(request))
        messages.success(request, f"{number} verdict{pluralize(number)} reopened. All others stay as they are.")
    else:
        raise Http404
    return redirect("saved-pages", benchmark.slug)
