"""Viewing a stage doesn't assign it: without an assignment, a page asks first. "My work" and the document's page have
buttons that assign it, so people rarely see this page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotator.core.gold_copies import check_may_begin
from annotator.core.models import Annotation, Document, User
from annotator.core.queries.own_rows import own_annotation_of
from annotator.core.screens.common import is_htmx, person, stage_links
from annotator.core.vocabulary import AnnotationState, Stage
from annotator.stages import rules
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.queries.places import seats_at


def own_place(document: Document, stage: Stage, user: User) -> Annotation | None:
    """The person's own annotation, with rows added since; None without an assignment."""
    own, lacks_rows = own_annotation_of(document, stage, user)
    return open_annotation(document, stage, by=user) if lacks_rows else own


def start_page(request: HttpRequest, document: Document, stage: Stage) -> HttpResponse:
    """One button that assigns the document. Raises NotAllowedError with the reason if no place is free."""
    annotations = list(document.annotations.filter(stage=stage, seat__isnull=False))
    user = person(request)
    rules.check_take_place(user, document, stage, seats=seats_at(annotations, stage))
    check_may_begin(user, document)
    if is_htmx(request):  # the assignment was withdrawn while the screen was open
        return HttpResponse(status=204, headers={"HX-Redirect": request.path})
    context = {
        "document": document,
        "benchmark": document.benchmark,
        "stage": stage,
        "stages": stage_links(document, stage),
        "is_begun": bool(annotations),
        "was_taken_back": document.annotations.filter(
            stage=stage, person=user, state=AnnotationState.TAKEN_BACK
        ).exists(),
    }
    return render(request, "stages/start.html", context)
