"""The saved copy of the page that a passage was cut from, opened at the passage.

It is text alone: no script, no picture and no request to another host, so it reads the same when the page is gone.
"""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotator.core.screens.common import document_for, person, render_domain_errors
from annotator.core.texts.quotes import pieces
from annotator.stages.queries.saved_pages import evidence_with_page, sees_evidence


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
