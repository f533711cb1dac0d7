"""The verify screen: the claims on the left, one claim with its evidence in the middle, the verdict on the right."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotator.core.actions.fields import BadValueError
from annotator.core.missing import Missing
from annotator.core.models import Activity, Annotation, Evidence, Sentence, Stance, User, Verdict, VerdictSuggestion
from annotator.core.models.base import Record
from annotator.core.record_keys import key_of
from annotator.core.screens.common import (
    document_for,
    is_htmx,
    own_annotation,
    person,
    problem,
    render_domain_errors,
    seconds,
    stage_links,
    whole_number,
)
from annotator.core.screens.questions import wrote_answer
from annotator.core.texts import edits
from annotator.core.vocabulary import Confidence, EditKind, Factuality, FlagReason, Stage, StanceLabel
from annotator.stages import rules, verdict_hints
from annotator.stages.actions import documents, search_again
from annotator.stages.actions import verify as actions
from annotator.stages.actions.saving import Saved
from annotator.stages.queries.machine_opinions import held_of
from annotator.stages.queries.missing import missing_in_claim
from annotator.stages.queries.saved_pages import changed_pages
from annotator.stages.queries.verification import (
    ClaimWork,
    adjudicated_sentences,
    claim_work,
    claims_to_verify,
    last_search,
)
from annotator.stages.screens.start import own_place, start_page
from annotator.stages.screens.verify_rows import ClaimRow, card_rows, edit_rows, groups_of

TEMPLATE = "stages/verify.html"

RELIABLE = [
    {"value": "yes", "label": "Yes", "key": "r", "key_label": "Reliable"},
    {"value": "no", "label": "No", "key": "Shift+R", "key_label": "Not reliable"},
]
SUFFICIENT = [
    {"value": "yes", "label": "Yes", "key": "s", "key_label": "Sufficient on its own"},
    {"value": "no", "label": "No", "key": "Shift+S", "key_label": "Not sufficient on its own"},
]
CAN_DECIDE = [
    {"value": "yes", "label": "Yes", "key": "y"},
    {"value": "no", "label": "No (searched further)", "key": "x"},
]
# Short words: three choices fit on one line of the narrow column.
FACTUALITY = [
    {"value": Factuality.TRUE.value, "label": "True", "key": "t", "glyph": "✓", "tone": "support"},
    {"value": Factuality.FALSE.value, "label": "False", "key": "f", "glyph": "✕", "tone": "refute"},
    {
        "value": Factuality.NOT_ENOUGH_EVIDENCE.value,
        "label": "Not enough evidence",
        "key": "u",
        "glyph": "?",
        "tone": "neutral",
    },
]
ANSWERING = ("save", "rest-irrelevant", "accept-stances", "rewrite-claim", "add-edit")
# A form's refusal is shown at the form.
PLACES = {
    "add-evidence": "#add-evidence-problem",
    "search-again": "#search-problem",
    "add-edit": "#edit-problem",
    "rewrite": "#correction-problem",
    "delete-claim": "#correction-problem",
    "send-back": "#send-back-problem",
    "take-correction": "#machine-problem",
}


def context_of(annotation: Annotation, user: User, current: str = "") -> dict[str, Any]:
    """Everything the screen shows. The number of queries doesn't grow with claims or evidence."""
    sentences = adjudicated_sentences(annotation)
    works = claims_to_verify(annotation, sentences)
    groups = groups_of(sentences, works, annotation.document.response)
    rows = [row for group in groups for row in group.rows]
    at = next((i for i, row in enumerate(rows) if row.id == current), None)
    if at is None:
        at = next((i for i, row in enumerate(rows) if row.missing), 0)
    here = rows[at] if rows else None
    around = [*rows[at + 1 :], *rows[:at]] if rows else []
    benchmark = annotation.document.benchmark
    can_edit = rules.can_edit(user, annotation)
    context: dict[str, Any] = {
        "annotation": annotation,
        "document": annotation.document,
        "benchmark": benchmark,
        "stage": Stage.VERIFY,
        "stages": stage_links(annotation.document, Stage.VERIFY),
        "flag_reasons": list(FlagReason),
        "groups": groups,
        "rows": rows,
        "here": here,
        # In the ids of fragments, so that a late response never ends up on another claim's page.
        "key": here.id if here else "none",
        "previous": rows[at - 1] if at > 0 else None,
        "next": rows[at + 1] if at + 1 < len(rows) else None,
        "next_open": next((row for row in around if row.missing), None),
        "open_elsewhere": [row for row in rows if row.missing and row is not here],
        "complete": sum(1 for row in rows if not row.missing),
        "all_done": all(not row.missing for row in rows),
        "can_edit": can_edit,
        "locked": not can_edit,
        "can_search": bool(benchmark.strategy and benchmark.corpus_id),
        "confidences": list(Confidence),
        "reliable_options": RELIABLE,
        "sufficient_options": SUFFICIENT,
        "can_decide_options": CAN_DECIDE,
        "factuality_options": FACTUALITY,
        "oob": False,
    }
    return context | (_context_here(annotation, here) if here else {})


def _context_here(annotation: Annotation, here: ClaimRow) -> dict[str, Any]:
    verdict = here.work.verdict
    changed = changed_pages(card.evidence.snapshot_id for card in here.work.cards)
    cards = card_rows(annotation, here.work, changed)
    return {
        "verdict": verdict,
        "claim": here.work.claim,
        "cards": cards,
        "in_order": sorted(cards, key=lambda row: row.card.number),
        "folded": sum(1 for row in cards if row.card.folded),
        "first_open": next((row.card.number for row in cards if not row.card.stance.label), 0),
        "just_added": 0,
        "suggested_open": sum(1 for row in cards if row.card.suggested and not row.card.stance.label),
        "hint": hint_of(here.work),
        "web_search": settings.WEB_SEARCH_URL + quote(here.work.claim.text),
        "edits": edit_rows(verdict),
        "revised": edits.pieces(verdict.claim.text, verdict.edit()),
        "revised_text": verdict.revised_claim(),
        "last_search": last_search(annotation, here.work),
        "held": held_of(annotation, here.work),
    }


@require_GET
@render_domain_errors
def show(request: HttpRequest, public_id: str) -> HttpResponse:
    """The screen; with htmx only the workspace; with ``?searching`` what a search has found so far."""
    document = document_for(request, public_id)
    current = request.GET.get("claim", "")
    if is_htmx(request) and "searching" in request.GET:
        context = context_of(own_annotation(request, document, Stage.VERIFY), person(request), current)
        waiting = context.get("last_search") is not None and context["last_search"].is_waiting
        return render(
            request, f"{TEMPLATE}#{'search_state' if waiting else 'searched'}", context | {"oob": not waiting}
        )
    annotation = own_place(document, Stage.VERIFY, person(request))
    if annotation is None:
        return start_page(request, document, Stage.VERIFY)
    template = f"{TEMPLATE}#workspace" if is_htmx(request) else TEMPLATE
    return render(request, template, context_of(annotation, person(request), current))


def workspace(request: HttpRequest, annotation: Annotation, current: str) -> HttpResponse:
    """The whole workspace after a structural change."""
    annotation = Annotation.objects.select_related("document__benchmark", "person").get(pk=annotation.pk)
    return render(request, f"{TEMPLATE}#workspace", context_of(annotation, person(request), current))


def saved(request: HttpRequest, annotation: Annotation, done: Saved) -> HttpResponse:
    """What a save changed on the page; never the text boxes.

    A stance that doesn't change whether the claim is complete changes only its own card, the hint and the number of
    missing answers. Any other save may change anything about the claim.
    """
    record = done.record
    if isinstance(record, Stance) and not annotation.document.blind_first:
        work = claim_work(annotation, done.beside)
        missing = missing_in_claim(work)
        labels = [each for each in (done.activity.changes if done.activity else []) if each["field"] == "label"]
        is_news = not labels or any(not each["before"] or not each["after"] for each in labels)
        if missing or not is_news or request.POST.get("field") == "rationale":
            return _saved_stance(request, annotation, done, work, missing)
    annotation = Annotation.objects.select_related("document__benchmark", "person").get(pk=annotation.pk)
    return _saved_all(request, annotation, record)


def _saved_stance(
    request: HttpRequest, annotation: Annotation, done: Saved, work: ClaimWork, missing: list[Missing]
) -> HttpResponse:
    """The response to a label of a passage. No query."""
    changed = {each["record"] for each in (done.activity.changes if done.activity else [])} | {key_of(done.record)}
    context = {
        "annotation": annotation,
        "document": annotation.document,
        "benchmark": annotation.document.benchmark,
        "here": ClaimRow(work, missing, Sentence(pk=work.claim.sentence_id)),  # which the response doesn't show
        "label_changed": request.POST.get("field") == "label",
        "choices_changed": request.POST.get("field") in ("reliable", "sufficient"),
        "key": work.claim.public_id,
        "changed_cards": [{"card": card} for card in work.cards if key_of(card.stance) in changed],
        "first_open": next((card.number for card in work.cards if not card.stance.label), 0),
        "hint": hint_of(work),
        "reliable_options": RELIABLE,
        "sufficient_options": SUFFICIENT,
        "can_edit": True,
        "locked": False,
        "wrote": wrote_answer(request, done.record, annotation),
        "oob": True,
    }
    return render(request, f"{TEMPLATE}#saved_stance", context)


def hint_of(work: ClaimWork) -> verdict_hints.Hint:
    """What the stances suggest about the verdict."""
    return verdict_hints.hint([(StanceLabel(c.stance.label), c.stance.reliable) for c in work.cards if c.stance.label])


def _saved_all(request: HttpRequest, annotation: Annotation, record: Record) -> HttpResponse:
    """The fragments that change when one field was saved; never the text boxes.

    Events tell the page where the focus goes: ``touchstone:claim-complete`` if this save gave the claim its last
    answer, ``touchstone:claim-false`` if the edit is asked next, ``touchstone:claim-undecided`` if the question is
    whether the person searched.
    """
    claim = record.evidence.claim if isinstance(record, Stance) else record.claim  # type: ignore[attr-defined]
    context = context_of(annotation, person(request), claim.public_id)
    changed = [
        row
        for row in context.get("cards", [])
        # Equal means the same row of the same table. Repeated passages get the stance of the first.
        if record in (row.card.stance, row.card.evidence) or row.card.folded
    ]
    context |= {
        "oob": True,
        "wrote": wrote_answer(request, record, annotation),
        "changed_cards": changed,
        "verdict_changed": isinstance(record, Verdict),
        "edit_changed": request.POST.get("field") == "factuality",
        # With blind first, the last of these answers reveals the suggestion.
        "machine_changed": annotation.document.blind_first and request.POST.get("field") in ("factuality", "label"),
    }
    return _with_event(request, annotation, context)


def _with_event(
    request: HttpRequest, annotation: Annotation, context: dict[str, Any], part: str = "saved"
) -> HttpResponse:
    """A part of the page, with the event that tells where the focus goes."""
    response = render(request, f"{TEMPLATE}#{part}", context)
    here: ClaimRow | None = context["here"]
    event = _event_of(annotation, here) if here is not None else ""
    if here is not None and event:
        response["HX-Trigger-After-Settle"] = json.dumps({event: {"claim": here.id}})
    return response


def _event_of(annotation: Annotation, here: ClaimRow) -> str:
    """Did the newest change answer what was missing last, or make the claim false while it has no edit?"""
    newest = Activity.objects.filter(annotation=annotation).order_by("-id").first()
    changes = newest.changes if newest and newest.action in ANSWERING else []
    verdict = here.work.verdict
    edited = bool(verdict.operations.all())
    if not here.missing:
        answered = any(
            (change["field"] == "operations" and not change["before"])
            or (
                change["field"] in ("label", "factuality", "evidence_sufficient")
                # A false claim without an edit was incomplete, too.
                and (change["before"] in ("", None) or (change["before"] == Factuality.FALSE and not edited))
            )
            for change in changes
        )
        return "touchstone:claim-complete" if answered else ""
    if verdict.evidence_sufficient is None and any(
        c["field"] == "factuality" and c["after"] == Factuality.NOT_ENOUGH_EVIDENCE for c in changes
    ):
        return "touchstone:claim-undecided"
    now_false = any(c["field"] == "factuality" and c["after"] == Factuality.FALSE for c in changes)
    return "touchstone:claim-false" if now_false and not edited else ""


def in_view(request: HttpRequest) -> list[str]:
    """The passages that have been in view since the page's last request (public ids of their stances)."""
    return request.POST.get("in_view", "").split()


def _work(annotation: Annotation, claim_id: str) -> Verdict:
    """The verdict of a claim in one's own annotation, or 404."""
    return get_object_or_404(
        Verdict.objects.select_related("claim__sentence__annotation", "annotation__document__benchmark"),
        annotation=annotation,
        claim__public_id=claim_id,
    )


def _evidence(request: HttpRequest, verdict: Verdict) -> Evidence:
    """A passage that this person sees on this claim, or 404."""
    return get_object_or_404(
        Evidence.objects.select_related("annotation"),
        claim=verdict.claim_id,
        removed="",
        public_id=request.POST.get("evidence", ""),
        stances__annotation=verdict.annotation_id,
    )


@require_POST
@render_domain_errors
def change_claim(request: HttpRequest, public_id: str, claim_id: str, what: str) -> HttpResponse:
    """Evidence, edits, evidence used, search again, send back; then the whole workspace."""
    annotation = own_annotation(request, document_for(request, public_id), Stage.VERIFY)
    actions.note_in_view(annotation, in_view(request))
    verdict = _work(annotation, claim_id)
    change = CHANGES.get(what)
    if change is None:
        raise BadValueError(f"Unknown claim action “{what}”.")
    try:
        answer = change(request, verdict)
    except BadValueError as refusal:
        return _refused(request, what, str(refusal))
    return answer or workspace(request, annotation, claim_id)


def _refused(request: HttpRequest, what: str, message: str) -> HttpResponse:
    """A refusal beside its form. The workspace stays as it is, with what was typed in it."""
    if what not in PLACES:
        response = problem(request, message, status=422)
        response["HX-Reswap"] = "none"
        return response
    response = render(request, f"{TEMPLATE}#refusal", {"message": message}, status=422)
    response["HX-Retarget"] = PLACES[what]
    response["HX-Reswap"] = "innerHTML"
    return response


def _add_evidence(request: HttpRequest, verdict: Verdict) -> HttpResponse:
    """The new passage is labeled next, even if others are open."""
    fields = {name: request.POST.get(name, "") for name in ("url", "passage", "title", "query", "stance")}
    evidence = actions.add_evidence(
        verdict.annotation, verdict.claim, by=person(request), active_seconds=seconds(request), **fields
    )
    context = context_of(verdict.annotation, person(request), verdict.claim.public_id)
    number = next(row.card.number for row in context["cards"] if row.card.evidence == evidence)
    return render(request, f"{TEMPLATE}#workspace", context | {"first_open": number, "just_added": number})


def _rest_irrelevant(request: HttpRequest, verdict: Verdict) -> HttpResponse:
    """The open passages that have been in view become irrelevant, and the page goes to the first that hasn't. If none
    is left open, a verdict can be given at the same time."""
    actions.mark_irrelevant(
        verdict,
        request.POST.get("stances", "").split(),
        factuality=request.POST.get("factuality", ""),
        version=whole_number(request, "version") if "version" in request.POST else 0,
        by=person(request),
        active_seconds=seconds(request),
    )
    return _several(request, verdict)


def _accept_stances(request: HttpRequest, verdict: Verdict) -> HttpResponse:
    """The suggested stances on passages that have been in view."""
    seen = request.POST.get("stances", "").split()
    actions.accept_stances(verdict, seen, by=person(request), active_seconds=seconds(request))
    return _several(request, verdict)


def _several(request: HttpRequest, verdict: Verdict) -> HttpResponse:
    """Everything that may have changed when several passages were labeled at once, and where the focus goes."""
    context = context_of(verdict.annotation, person(request), verdict.claim.public_id)
    with_verdict = bool(request.POST.get("factuality"))
    context |= {
        "oob": True,
        "changed_cards": context["cards"],
        "verdict_changed": with_verdict,
        "edit_changed": with_verdict,
        "machine_changed": verdict.annotation.document.blind_first,
    }
    return _with_event(request, verdict.annotation, context)


def _remove_evidence(request: HttpRequest, verdict: Verdict) -> None:
    actions.remove_evidence(_evidence(request, verdict), by=person(request), active_seconds=seconds(request))


def _add_edit(request: HttpRequest, verdict: Verdict) -> None:
    actions.add_operation(
        verdict,
        kind=request.POST.get("kind", ""),
        start=whole_number(request, "start"),
        end=whole_number(request, "end"),
        replacement=request.POST.get("replacement", ""),
        by=person(request),
        active_seconds=seconds(request),
    )


def _delete_claim(request: HttpRequest, verdict: Verdict) -> HttpResponse:
    actions.add_operation(verdict, kind=EditKind.DELETE_CLAIM, by=person(request), active_seconds=seconds(request))
    return _edited(request, verdict)


def _remove_edit(request: HttpRequest, verdict: Verdict) -> None:
    edit = request.POST.get("edit", "")
    actions.remove_operation(verdict, edit, by=person(request), active_seconds=seconds(request))


def _rewrite(request: HttpRequest, verdict: Verdict) -> HttpResponse:
    text = request.POST.get("text", "")
    actions.set_revised_claim(verdict, text, by=person(request), active_seconds=seconds(request))
    return _edited(request, verdict)


def _edited(request: HttpRequest, verdict: Verdict) -> HttpResponse:
    """The workspace; on to the next claim if the edit was all that was missing."""
    context = context_of(verdict.annotation, person(request), verdict.claim.public_id)
    return _with_event(request, verdict.annotation, context, "workspace")


def _take_correction(request: HttpRequest, verdict: Verdict) -> None:
    suggestion = get_object_or_404(
        VerdictSuggestion, claim=verdict.claim_id, public_id=request.POST.get("suggestion", "")
    )
    actions.take_correction(verdict, suggestion, by=person(request), active_seconds=seconds(request))


def _rests_on(request: HttpRequest, verdict: Verdict) -> HttpResponse:
    evidence, rests = _evidence(request, verdict), request.POST.get("rests") == "yes"
    actions.set_rests_on(verdict, evidence, rests, by=person(request), active_seconds=seconds(request))
    verdict.refresh_from_db()
    return _saved_all(request, verdict.annotation, verdict)


def _search_again(request: HttpRequest, verdict: Verdict) -> None:
    search_again.search_again(verdict.annotation, verdict.claim, request.POST.get("query", ""), by=person(request))


def _send_back(request: HttpRequest, verdict: Verdict) -> HttpResponse:
    """The document goes back to decompose, so this screen closes; the document's page says what comes next."""
    documents.send_back(verdict.claim, request.POST.get("reason", ""), by=person(request))
    response = HttpResponse(status=204 if is_htmx(request) else 303)
    response["HX-Redirect" if is_htmx(request) else "Location"] = reverse(
        "document", args=[verdict.annotation.document.public_id]
    )
    return response


CHANGES: dict[str, Callable[[HttpRequest, Verdict], HttpResponse | None]] = {
    "add-evidence": _add_evidence,
    "rest-irrelevant": _rest_irrelevant,
    "accept-stances": _accept_stances,
    "remove-evidence": _remove_evidence,
    "add-edit": _add_edit,
    "delete-claim": _delete_claim,
    "remove-edit": _remove_edit,
    "rewrite": _rewrite,
    "take-correction": _take_correction,
    "rests-on": _rests_on,
    "search-again": _search_again,
    "send-back": _send_back,
}
