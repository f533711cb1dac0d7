"""Saving one field from any screen, undo and redo, history, submit: what all three screens have in common."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotator.core import missing, rules
from annotator.core.actions import recorder
from annotator.core.actions.fields import BadValueError, clean_text
from annotator.core.fields import MAX_TEXT, field_of
from annotator.core.models import Activity, Annotation, Claim, Document, Stance
from annotator.core.models.base import Record
from annotator.core.protocol import Question, chosen
from annotator.core.queries.history import versions_of
from annotator.core.queries.protocols import added_question
from annotator.core.record_keys import KINDS, find_record, key_of
from annotator.core.screens.common import (
    document_for,
    is_htmx,
    own_annotation,
    person,
    render_domain_errors,
    seconds,
    whole_number,
)
from annotator.core.screens.questions import as_sent
from annotator.core.texts import spans
from annotator.core.vocabulary import Stage
from annotator.stages import rules as stages_rules
from annotator.stages.actions import saving, submit
from annotator.stages.actions.verify import note_in_view
from annotator.stages.queries.missing import missing_in
from annotator.stages.queries.submit_review import review_of, seconds_to_read
from annotator.stages.queries.verification import claims_to_verify
from annotator.stages.screens import adjudicate, decompose, revise, verify

SCREENS: dict[Stage, Any] = {Stage.DECOMPOSE: decompose, Stage.VERIFY: verify, Stage.REVISE: revise}


def _own_record(request: HttpRequest, key: str) -> tuple[Record, Annotation]:
    """A record of one's own work. Other people's records aren't found, so nothing leaks."""
    record = find_record(key)
    if isinstance(record, Document):
        raise Http404
    annotation = recorder.annotation_of(record)
    if annotation.person_id != person(request).pk:
        raise Http404
    rules.check_see_benchmark(person(request), annotation.document.benchmark)
    return record, annotation


@require_POST
@render_domain_errors
def save(request: HttpRequest, key: str) -> HttpResponse:
    """Save one field; return the fragments that change, or both texts if it was changed in the meantime.

    Other people's records aren't found, so nothing leaks.
    """
    name, raw = request.POST.get("field", ""), request.POST.get("value", "")
    try:
        version = whole_number(request, "version")
    except BadValueError:
        _own_record(request, key)  # whose work it is comes first
        raise
    try:
        saved = saving.save_named(
            key,
            name,
            raw,
            by=person(request),
            version=version,
            active_seconds=seconds(request),
            with_repeated=True,
        )
    except saving.StaleSaveError as stale:
        note_in_view(recorder.annotation_of(stale.record), verify.in_view(request))
        return conflict(request, stale)
    except saving.NotOwnWorkError as refusal:
        raise Http404(str(refusal)) from None
    annotation = recorder.annotation_of(saved.record)
    note_in_view(annotation, verify.in_view(request))
    screen = SCREENS[Stage(annotation.stage)]
    return screen.saved(request, annotation, saved)  # type: ignore[no-any-return]


def conflict(request: HttpRequest, stale: saving.StaleSaveError) -> HttpResponse:
    """Both values side by side, for the person to choose; nothing was written."""
    activity = stale.activity
    own = activity is not None and activity.by_id == person(request).pk
    name = str(activity.by) if activity is not None and activity.by else "Touchstone"
    benchmark = recorder.annotation_of(stale.record).document.benchmark
    question = added_question(benchmark, KINDS[type(stale.record)], stale.field)
    context = {
        "record": key_of(stale.record),
        "field": stale.field,
        "label": question.ask if question else field_of(KINDS[type(stale.record)], stale.field).label,
        "version": stale.record.version,
        "who": "You, in another tab," if own else name,
        "mine": as_sent(stale.mine) if question else _as_sent(stale.mine),
        "theirs": as_sent(stale.theirs) if question else _as_sent(stale.theirs),
        "mine_shown": _as_read(stale, stale.mine, question),
        "theirs_shown": _as_read(stale, stale.theirs, question),
    }
    return render(request, "components/conflict.html", context, status=409)


def _as_sent(value: Any) -> str:
    """A value as the form would send it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return spans.written(value)
    return "" if value is None else str(value)


def _as_read(stale: saving.StaleSaveError, value: Any, question: Question | None) -> str:
    """A value as people read it: the label of a value, the text itself, or a note that it is empty."""
    if isinstance(stale.record, Stance) and isinstance(value, list):
        quotes = spans.words(value, stale.record.evidence.passage)
        return ", ".join(f"“{each}”" for each in quotes) or "(empty)"
    if question is not None:
        return ", ".join(question.words_of(each) for each in sorted(chosen(value))) or "(empty)"
    choices = dict(getattr(stale.record._meta.get_field(stale.field), "flatchoices", []))
    return str(choices.get(value, "")) or _as_sent(value).capitalize() if choices else _as_sent(value) or "(empty)"


@require_POST
@render_domain_errors
def undo(request: HttpRequest, public_id: str, stage: str, what: str) -> HttpResponse:
    """Undo or redo one's own last change at this stage; then the whole workspace."""
    document = document_for(request, public_id)
    if stage not in SCREENS:
        raise Http404
    annotation = own_annotation(request, document, Stage(stage))
    step = saving.undo if what == "undo" else saving.redo
    activity = step(annotation, by=person(request))
    return SCREENS[Stage(stage)].workspace(request, annotation, row_of(activity))  # type: ignore[no-any-return]


def row_of(activity: Activity) -> str:
    """The sentence or claim that an activity was about, so that the screen can show it.

    Many changes also change the order of other rows, so the order counts only if nothing else was changed.
    """
    for change in sorted(activity.changes, key=lambda each: each["field"] == "order"):
        record = find_record(change["record"])
        if isinstance(record, Claim):
            return record.public_id
        for name in ("claim", "sentence"):
            if hasattr(record, name):
                return str(getattr(record, name).public_id)
        if hasattr(record, "evidence"):
            return str(record.evidence.claim.public_id)
        return record.public_id
    return ""


@require_POST
@render_domain_errors
def note(request: HttpRequest, public_id: str) -> HttpResponse:
    """Save the private note on one's own work. It isn't part of the work: no history, no lock."""
    annotation = get_object_or_404(Annotation, public_id=public_id, person=person(request))
    annotation.note = clean_text(request.POST.get("note", ""))[:MAX_TEXT]
    annotation.save(update_fields=["note"])
    return HttpResponse(status=204, headers={"HX-Trigger": json.dumps({"touchstone:told": {"text": "Note saved."}})})


@require_GET
@render_domain_errors
def history(request: HttpRequest, key: str, field: str) -> HttpResponse:
    """Every version of one field, newest first, with who and when."""
    record, annotation = _own_record(request, key)
    context = {
        "record": key,
        "field": field,
        "versions": versions_of(record, annotation, field),
        "can_edit": stages_rules.can_edit(person(request), annotation),
    }
    return render(request, "components/history.html", context)


@require_POST
@render_domain_errors
def restore(request: HttpRequest, key: str, field: str) -> HttpResponse:
    """Restore an earlier version of a field; with which=before, the version before that activity."""
    record, annotation = _own_record(request, key)
    activity = get_object_or_404(Activity, annotation=annotation, public_id=request.POST.get("activity", ""))
    original = request.POST.get("which") == "before"
    saved = saving.restore(record, field, activity, by=person(request), original=original)
    screen = SCREENS[Stage(annotation.stage)]
    return screen.workspace(request, annotation, row_of(saved.activity) if saved.activity else "")  # type: ignore[no-any-return]


@require_POST
@render_domain_errors
def submit_stage(request: HttpRequest, public_id: str, stage: str) -> HttpResponse:
    """Submit. What is missing is returned as links; after a completed stage, redirect to the document's page or to
    adjudication."""
    document = document_for(request, public_id)
    try:
        chosen = Stage(stage)
    except ValueError:
        raise BadValueError("There are three stages: decompose, verify, revise.") from None
    annotation = own_annotation(request, document, chosen)
    note_in_view(annotation, verify.in_view(request))
    review = review_of(claims_to_verify(annotation)) if chosen == Stage.VERIFY else None
    reason = " ".join(request.POST.get("reason", "").split())
    try:
        if review and review.concerns and not missing_in(annotation):
            unexplained = bool(review.contradictions) and not reason
            if unexplained or "confirmed" not in request.POST:
                context = {
                    "review": review,
                    "document": document,
                    "asked": "confirmed" in request.POST,
                    "continues": "continue" in request.POST,
                }
                return render(request, "stages/review.html", context, status=422)
            reason = "; ".join([*(each.text for each in review.contradictions), reason]) if reason else ""
        submit.submit(annotation, by=person(request), active_seconds=seconds(request), confirmed=reason)
    except missing.IncompleteError as incomplete:
        context = {
            "missing": incomplete.missing,
            "annotation": annotation,
            "document": document,
            "stage": chosen,
        }
        return render(request, "components/incomplete.html", context, status=422)
    annotation.refresh_from_db()
    if annotation.too_fast:
        took, needs = annotation.active_seconds, seconds_to_read(annotation)
        messages.info(
            request,
            f"You spent {took} s on this; reading it takes about {needs} s. If you skipped something, ask the owner to "
            "reopen it.",
        )
    if "continue" in request.POST and not document.practice_for_id and is_htmx(request):
        return HttpResponse(status=204, headers={"HX-Trigger": "touchstone:submitted"})  # the page starts the next
    response = HttpResponse(status=204 if is_htmx(request) else 303)
    document.refresh_from_db()
    # New annotators see at once how they did; whoever submits last goes on to adjudicate with the others.
    target = reverse("practice" if document.practice_for_id else "document", args=[public_id])
    if adjudicate.is_open(document, chosen) and stages_rules.can_consolidate(person(request), document, chosen):
        target = reverse("agree", args=[public_id, chosen.value])
    response["HX-Redirect" if is_htmx(request) else "Location"] = target
    return response
