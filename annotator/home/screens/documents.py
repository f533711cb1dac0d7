"""One document with its stages, its adjudicated version and its history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.gold_copies import check_may_begin
from annotator.core.models import Annotation, Document, Flag, SentBack, User
from annotator.core.queries.documents import adjudicated_of, prefilling_of
from annotator.core.queries.history import lines_of, visible_activities, visible_flags
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import document_for, person, render_domain_errors, wants_raw
from annotator.core.texts.markdown import is_formatted, reading
from annotator.core.vocabulary import (
    STAGES,
    AnnotationKind,
    AnnotationState,
    DiscardReason,
    Factuality,
    FlagReason,
    Phase,
    Stage,
)
from annotator.stages import rules as stages_rules
from annotator.stages.actions import documents as actions
from annotator.stages.actions.places import close_extra_places, reopen_annotation, take_back
from annotator.stages.queries.places import places_of, seats_at
from annotator.team.actions.batches import move_documents

HISTORY_PAGE = 50
REASON_LENGTH = 500

# --- one document ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StageRow:
    """A stage on the document's page: its state, and the button that is available now."""

    number: int
    stage: Stage
    state: str
    label: str = ""
    url: str = ""
    main: bool = False
    agree_url: str = ""

    @property
    def key(self) -> str:
        return f"g {self.stage.value[0]}"


@dataclass(frozen=True, slots=True)
class DocumentStanding:
    """The document's state for one person, in words. ``url``: the main button; "next": the next document. ``starts``:
    the button assigns the document first."""

    title: str
    text: str
    action: str = ""
    url: str = ""
    waits: bool = False
    starts: bool = False


@require_GET
@render_domain_errors
def show(request: HttpRequest, public_id: str) -> HttpResponse:
    """The page. ``?part=standing`` is the panel that polls while suggestions are being generated."""
    document, user = document_for(request, public_id), person(request)
    annotations = list(document.annotations.select_related("person"))
    flags = visible_flags(document, user)
    sent_back = list(document.sent_back.select_related("by", "claim").order_by("-pk"))
    prefilling = prefilling_of(document)
    standing = standing_of(document, user, annotations, flags, sent_back)
    context = {
        "document": document,
        "standing": standing,
        "stage_rows": stage_rows(document, annotations, user, standing),
        "prefilling": prefilling,
    }
    if getattr(request, "htmx", False) and request.GET.get("part") == "standing":
        return render(request, "home/document.html#standing", context)
    adjudicated = adjudicated_of(annotations)
    activities = visible_activities(document, user, annotations)
    history = Paginator(activities, HISTORY_PAGE).get_page(request.GET.get("page"))
    raw = wants_raw(request)
    context |= page_of_benchmark(request, document.benchmark, "Documents")
    context |= {
        "raw": raw,
        "is_formatted": is_formatted(document.response),
        "response": reading(document.response, raw=raw),
    }
    context |= {
        "agreed": adjudicated,
        "verdict_counts": [(word, adjudicated.count(word)) for word in Factuality],
        "flags": flags,
        "my_flag": any(flag.by_id == user.pk for flag in flags),
        "flag_reasons": list(FlagReason),
        "discard_reasons": list(DiscardReason),
        "sent_back": sent_back,
        "reopenable": [stage for stage in STAGES if stage in adjudicated.stages],
        "places": places_of(document, annotations) if context["can_manage"] else None,
        "history": lines_of(history),
        "history_page": history,
        "reason_length": REASON_LENGTH,
    }
    return render(request, "home/document.html", context)


def _own(annotations: Sequence[Annotation], stage: Stage, user: User) -> Annotation | None:
    """The person's work at a stage, except what they were unassigned from."""
    mine = (row for row in annotations if row.stage == stage and row.person_id == user.pk)
    return next((row for row in mine if row.seat is not None), None)


def _cannot_start(document: Document, annotations: Sequence[Annotation], user: User) -> str:
    """Why the person can't start the document's stage; "" if they can."""
    stage = Stage(document.stage)
    try:
        stages_rules.check_take_place(user, document, stage, seats=seats_at(annotations, stage))
        check_may_begin(user, document)
    except rules.NotAllowedError as refusal:
        return str(refusal)
    return ""


def standing_of(
    document: Document,
    user: User,
    annotations: Sequence[Annotation],
    flags: Sequence[Flag],
    sent_back: Sequence[SentBack],
) -> DocumentStanding:
    """What comes next on this document for this person, with one button."""
    stage, phase = Stage(document.stage), Phase(document.phase)
    if phase == Phase.DISCARDED:
        return DocumentStanding("Discarded", document.discarded_because, "Next document", "next")
    if document.is_gold and document.practice_for_id is not None:
        url = reverse("practice", args=[document.public_id])
        return DocumentStanding(
            "Practice complete", "This was a practice document, so it doesn’t count.", "View results", url
        )
    if document.is_gold:
        return DocumentStanding(
            "Gold", "All three stages are complete. The document is included in the export.", "Next document", "next"
        )
    before = STAGES.index(stage)
    previous = f"{STAGES[before - 1].label} is complete. " if before else ""
    if phase == Phase.PREFILLING:
        what, come = "Generating suggestions", "they are ready"
        if stage == Stage.VERIFY:
            what, come = "Retrieving evidence", "it is ready"
        return DocumentStanding(
            what, f"{previous}{stage.label} opens here when {come}; you don’t need to wait.", waits=True
        )
    if phase == Phase.CONSOLIDATING:
        title, text = f"{stage.label} is awaiting adjudication", "Everyone has submitted."
        if not stages_rules.can_consolidate(user, document, stage):
            return DocumentStanding(title, text, "Next document", "next")
        url = reverse("agree", args=[document.public_id, stage.value])
        return DocumentStanding(title, text, f"Adjudicate {stage.label.lower()}", url)
    if any(flag.by_id == user.pk for flag in flags):
        return DocumentStanding(
            "Flagged", "You flagged this document. An admin will review it.", "Next document", "next"
        )
    own, url = _own(annotations, stage, user), reverse(stage.value, args=[document.public_id])
    if own is not None and own.state == AnnotationState.SUBMITTED:
        return DocumentStanding(
            f"You submitted {stage.label.lower()}", "Other annotators haven’t yet.", "Next document", "next"
        )
    if own is not None and own.only_sent_back:
        number = sum(1 for row in sent_back if row.settled_at is None)
        came = "A claim was sent back" if number == 1 else f"{number} claims were sent back"
        return DocumentStanding(came, "Correct the sentence it belongs to and submit again.", "Correct", url)
    if own is not None:
        return DocumentStanding(
            f"{stage.label} in progress", f"{previous}Continue where you left off.", "Continue", url
        )
    refusal = _cannot_start(document, annotations, user)
    if refusal:
        return DocumentStanding(f"{stage.label} in progress", f"{previous}{refusal}", "Next document", "next")
    title = f"Next: {stage.label.lower()}" if before else f"Ready to {stage.label.lower()}"
    begun = seats_at(annotations, stage)
    free = "Someone else is working on it, and another annotator is needed." if begun else "Nobody has started it yet."
    return DocumentStanding(title, f"{previous}{free}", "Start", url, starts=True)


def stage_rows(
    document: Document, annotations: Sequence[Annotation], user: User, standing: DocumentStanding
) -> list[StageRow]:
    """The three stages, each with its state and, if possible, a button; with its adjudication for those who may see
    it."""
    here = STAGES.index(Stage(document.stage))
    over = {
        row.stage
        for row in annotations
        if row.kind == AnnotationKind.CONSOLIDATED and row.state == AnnotationState.SUBMITTED
    }
    rows = []
    for position, stage in enumerate(STAGES):
        url = reverse(stage.value, args=[document.public_id])
        own = _own(annotations, stage, user)
        if stage in over:
            state = "Complete"
        elif position == here:
            state = Phase(document.phase).label
            if document.phase == Phase.INDEPENDENT and not any(row.stage == stage for row in annotations):
                state = "Not started"
        else:
            state = f"Opens when {STAGES[position - 1].label.lower()} is complete" if position > here else "Reopened"
        agree_url = ""
        people = [
            row for row in annotations if row.stage == stage and row.state == AnnotationState.SUBMITTED and row.seat
        ]
        if stage in over and len(people) > 1 and stages_rules.can_look_back(user, document, stage):
            agree_url = reverse("agree", args=[document.public_id, stage.value])
        if position == here and standing.url == url:
            rows.append(StageRow(position + 1, stage, state, main=True))  # its button is the one above
        elif own is not None:
            rows.append(StageRow(position + 1, stage, state, "View", url, agree_url=agree_url))
        else:
            rows.append(StageRow(position + 1, stage, state, agree_url=agree_url))
    return rows


# --- what happens to a document as a whole --------------------------------------------------------


@require_POST
@render_domain_errors
def change(request: HttpRequest, public_id: str, what: str) -> HttpResponse:
    """Reopen, discard, restore, flag, or clear a flag. Then reload the page; after a flag, open the next document."""
    document, user = document_for(request, public_id), person(request)
    reason = request.POST.get("reason", "")[:REASON_LENGTH]
    if what == "reopen":
        stage = _stage(request)
        actions.reopen(document, stage, reason, by=user)
        messages.success(request, f"{stage.label} was reopened.")
    elif what == "discard":
        actions.discard(document, reason, by=user, code=request.POST.get("code", DiscardReason.OTHER))
        messages.success(request, "The document was discarded. You can restore it here.")
    elif what == "bring-back":
        actions.bring_back(document, by=user)
        messages.success(request, "The document was restored with its work.")
    elif what == "flag":
        actions.flag(document, reason, by=user, note=request.POST.get("note", "")[:REASON_LENGTH])
        messages.success(request, f"{document} was flagged and removed from your queue.")
        return redirect("home")
    elif what == "clear-flag":
        key = request.POST.get("flag", "")
        row = get_object_or_404(document.flags, pk=int(key) if key.isdecimal() and len(key) < 19 else 0)
        actions.clear_flag(row, by=user)
        messages.success(request, f"The flag was cleared. The document is back in {row.by}’s queue.")
    elif what in ("take-back", "reopen-annotation"):
        work = get_object_or_404(
            document.annotations.select_related("person", "document__benchmark"),
            public_id=request.POST.get("annotation", ""),
            kind=AnnotationKind.INDIVIDUAL,
        )
        if what == "take-back":
            take_back(work, by=user, reason=reason)
            messages.success(request, f"{work.person} was unassigned. The work done so far is kept.")
        else:
            reopen_annotation(work, reason, by=user)
            messages.success(request, f"{work.get_stage_display()} was reopened for {work.person}.")
    elif what == "close-places":
        close_extra_places(document, by=user)
        messages.success(request, "The document continues with its current annotators.")
    elif what == "move":
        chosen = request.POST.get("batch", "")
        batch = get_object_or_404(document.benchmark.batches, public_id=chosen) if chosen else None
        move_documents([document], batch, by=user)
        messages.success(request, f"The document is in {batch} now." if batch else "The document isn’t in a batch now.")
    else:
        raise Http404(f"A document cannot “{what}”.")
    return redirect("document", public_id=document.public_id)


def _stage(request: HttpRequest) -> Stage:
    try:
        return Stage(request.POST.get("stage", ""))
    except ValueError:
        raise BadValueError("Choose a stage to reopen: decompose, verify or revise.") from None
