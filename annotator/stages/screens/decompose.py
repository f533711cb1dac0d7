"""The decompose screen: the response on the left, one sentence and its claims on the right."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_POST

from annotator.core.actions.fields import BadValueError, shown_suggestion
from annotator.core.fields import Kind, fields_of
from annotator.core.missing import Missing
from annotator.core.models import Annotation, Claim, SentBack, Sentence
from annotator.core.record_keys import KINDS
from annotator.core.screens.common import (
    document_for,
    is_htmx,
    own_annotation,
    person,
    render_domain_errors,
    seconds,
    stage_links,
    wants_raw,
    whole_number,
)
from annotator.core.screens.questions import wrote_answer
from annotator.core.texts.markdown import Stretch, Tag, is_formatted, reading
from annotator.core.vocabulary import REMOVAL_REASONS, FlagReason, SentenceType, Stage
from annotator.stages import rules
from annotator.stages.actions import decompose as actions
from annotator.stages.actions.saving import Saved
from annotator.stages.queries.decomposition import present_claims, sentences_of
from annotator.stages.queries.missing import missing_in_sentence
from annotator.stages.screens.start import own_place, start_page

TEMPLATE = "stages/decompose.html"


@dataclass(frozen=True, slots=True)
class Return:
    """A claim that was sent back from verify, by whom and why. ``claims``: the rows it was adjudicated from."""

    text: str
    reason: str
    by: str
    claims: list[int]


@dataclass(slots=True)
class SentencePanel:
    """A sentence in the map and in the panel."""

    number: int
    sentence: Sentence
    missing: list[Missing]
    editable: bool
    sent_back: list[Return] = field(default_factory=list)

    @property
    def locked(self) -> bool:
        return not self.editable

    @property
    def claims(self) -> list[Claim]:
        return present_claims(self.sentence)

    @property
    def returned_claims(self) -> list[Return]:
        """What was sent back and belongs to no claim here, because the adjudicated claim was made from another
        person's."""
        own = {claim.pk for claim in self.claims}
        return [each for each in self.sent_back if not own & set(each.claims)]

    @property
    def removed_claims(self) -> list[Claim]:
        return [claim for claim in self.sentence.claims.all() if claim.removed in set(REMOVAL_REASONS)]

    @property
    def is_folded(self) -> bool:
        """Claims are hidden once a person has labeled the sentence as not check-worthy."""
        return self.sentence.type not in ("", SentenceType.CHECKWORTHY)

    @property
    def open_suggestions(self) -> int:
        """Visible values that nobody has decided yet."""
        return open_fields(self.sentence) + sum(open_fields(claim) for claim in self.claims)

    @property
    def keeps_text(self) -> bool:
        """A decontextualized text that nobody suggested is yet to be written, or kept equal to the sentence."""
        sentence = self.sentence
        return sentence.suggestion_id is None and not sentence.decontext_origin and bool(sentence.decontext.strip())

    @property
    def open_claims(self) -> set[int]:
        """The claims (primary keys) with such values."""
        return {claim.pk for claim in self.claims if open_fields(claim)}


def open_fields(record: Sentence | Claim) -> int:
    """How many fields of a record show a suggestion that is yet to be decided. A field that the suggestion leaves blank
    is missing, not open: there is nothing to accept."""
    if record.suggestion_id is None:
        return 0
    return sum(
        1
        for each in fields_of(KINDS[type(record)])
        if each.is_suggested
        and each.has_origin
        and not getattr(record, f"{each.name}_origin")
        and (getattr(record, each.name) if each.kind == Kind.TEXT else shown_suggestion(record, each.name) is not None)
    )


def returns_of(annotation: Annotation) -> dict[int, list[Return]]:
    """What was sent back, by the person's sentence (primary key). Two queries."""
    rows = (
        SentBack.objects.filter(
            document=annotation.document_id,
            settled_at__isnull=True,
            claim__sentence__sources__annotation=annotation,
        )
        .annotate(own_sentence=F("claim__sentence__sources"))
        .select_related("by", "claim")
        .prefetch_related("claim__sources")
        .order_by("id")
    )
    found: dict[int, list[Return]] = {}
    for row in rows:
        claims = [source.pk for source in row.claim.sources.all()]
        found.setdefault(row.own_sentence, []).append(Return(row.claim.text, row.reason, str(row.by), claims))
    return found


def place_of(rows: list[SentencePanel], current: str) -> tuple[int | None, str]:
    """The place of a sentence or claim: the position of its row, and the id of the element to scroll to.

    For a claim that is gone, the next one, otherwise the one before it, otherwise the sentence.
    """
    for position, row in enumerate(rows):
        if row.sentence.public_id == current:
            return position, f"sentence-{current}"
        claims = list(row.sentence.claims.all())
        at = next((i for i, claim in enumerate(claims) if claim.public_id == current), None)
        if at is None:
            continue
        near = next((claim for claim in [*claims[at:], *reversed(claims[:at])] if not claim.removed), None)
        return position, f"claim-{near.public_id}" if near else f"sentence-{row.sentence.public_id}"
    return None, ""


def context_of(annotation: Annotation, user: Any, current: str = "", *, raw: bool = False) -> dict[str, Any]:
    """Everything the screen shows: rows in order, the current one, what is missing. A constant number of queries.

    ``current`` is the public id of the sentence or claim to show; without it, the first open one. ``raw``: the response
    as raw text.
    """
    sentences = sentences_of(annotation)
    can_edit = rules.can_edit(user, annotation)
    open_only = rules.sent_back_sentences(annotation) if annotation.only_sent_back else None
    returns = returns_of(annotation) if annotation.only_sent_back else {}
    rows = [
        SentencePanel(
            number,
            sentence,
            missing_in_sentence(sentence, number),
            can_edit and (open_only is None or sentence.pk in open_only),
            returns.get(sentence.pk, []),
        )
        for number, sentence in enumerate(sentences, start=1)
    ]
    position, mark = place_of(rows, current) if current else (None, "")
    if position is None:
        editable = [i for i, row in enumerate(rows) if row.editable]
        position = next((i for i in editable if rows[i].missing), editable[0] if editable else 0)
    here = rows[position] if rows else None
    is_repair = can_edit and open_only is not None
    return {
        "annotation": annotation,
        "document": annotation.document,
        "benchmark": annotation.document.benchmark,
        "stage": Stage.DECOMPOSE,
        "rows": rows,
        "here": here,
        "mark": mark or (f"sentence-{here.sentence.public_id}" if here else ""),
        "is_repair": is_repair,
        "focus": False,
        "open_rows": [row for row in rows if row.editable] if is_repair else [],
        "previous": rows[position - 1] if position > 0 else None,
        "next": rows[position + 1] if position + 1 < len(rows) else None,
        "complete": sum(1 for row in rows if not row.missing),
        "left": sum(1 for row in rows if row.missing),
        "missing": [each for row in rows for each in row.missing],
        "can_edit": can_edit,
        "removal_reasons": REMOVAL_REASONS,
        "stages": stage_links(annotation.document, Stage.DECOMPOSE),
        "flag_reasons": list(FlagReason),
        "pieces": pieces_of(annotation.document.response, rows, raw=raw),
        "raw": raw,
        "is_formatted": is_formatted(annotation.document.response),
    }


@dataclass(frozen=True, slots=True)
class MapPiece:
    """A stretch of the response on the map: a sentence, the text between two, or the border of a block."""

    part: Tag | Stretch
    row: SentencePanel | None = None


def pieces_of(response: str, rows: list[SentencePanel], *, raw: bool = False) -> list[MapPiece]:
    """The response split at its sentences, as rendered Markdown or ``raw``."""
    parts = reading(response, ((row.sentence.start, row.sentence.end, row.sentence.text) for row in rows), raw=raw)
    return [
        MapPiece(part, rows[part.sentence] if isinstance(part, Stretch) and part.sentence is not None else None)
        for part in parts
    ]


@require_GET
@render_domain_errors
def show(request: HttpRequest, public_id: str) -> HttpResponse:
    """The screen; with htmx only the panel of a sentence; with ``?missing`` the list of what is missing."""
    document = document_for(request, public_id)
    annotation = own_place(document, Stage.DECOMPOSE, person(request))
    if annotation is None:
        return start_page(request, document, Stage.DECOMPOSE)
    context = context_of(annotation, person(request), request.GET.get("sentence", ""), raw=wants_raw(request))
    if is_htmx(request) and "missing" in request.GET:
        return render(request, f"{TEMPLATE}#missing_list", context)
    return panel(request, context) if is_htmx(request) else render(request, TEMPLATE, context)


def panel(request: HttpRequest, context: dict[str, Any], **events: dict[str, Any]) -> HttpResponse:
    """Only the panel of one sentence, if the page shows the current sentences: the map of a long response is many times
    larger. ``touchstone:here`` tells the page which sentence it is (static/js/decompose.js)."""
    here: SentencePanel | None = context["here"]
    if here is None:
        return render(request, f"{TEMPLATE}#workspace", context)
    response = render(request, f"{TEMPLATE}#panel", context)
    response["HX-Retarget"], response["HX-Reswap"] = "#panel", "outerHTML"
    response["HX-Trigger"] = json.dumps({**events, "touchstone:here": {"id": here.sentence.public_id}})
    return response


def workspace(request: HttpRequest, annotation: Annotation, current: str) -> HttpResponse:
    """The whole workspace after a structural change. ``current``: the sentence or claim it was about, which gets the
    focus."""
    annotation = Annotation.objects.select_related("document__benchmark", "person").get(pk=annotation.pk)
    context = context_of(annotation, person(request), current, raw=wants_raw(request))
    return render(request, f"{TEMPLATE}#workspace", context | {"focus": bool(current)})


def saved(request: HttpRequest, annotation: Annotation, done: Saved) -> HttpResponse:
    """What a save changed on the page, and nothing else; never the text boxes. No query: all claims of the sentence
    have been read.

    The map and the counts of the whole response aren't rendered again: ``touchstone:sentence`` tells the page the state
    of the sentence (static/js/decompose.js).
    """
    record, activity = done.record, done.activity
    assert isinstance(record, Sentence | Claim)
    sentence = record if isinstance(record, Sentence) else record.sentence
    here = SentencePanel(0, sentence, missing_in_sentence(sentence, 0), editable=True)
    changes = activity.changes if activity is not None else []
    # Without an activity, the response to an earlier attempt was lost, so whatever that attempt may have changed is
    # sent again.
    changed = {change["field"] for change in changes} | {request.POST.get("field", "")}
    context = {
        "document": annotation.document,
        "here": here,
        "record": record,
        "kind": KINDS[type(record)],
        "changed": changed,
        "everything": activity is None,
        "offers_changed": any(_is_decision(record, change) for change in changes),
        "revealed": annotation.document.blind_first and isinstance(record, Sentence),
        "words_changed": isinstance(record, Claim) and "text" in changed,
        "wrote": wrote_answer(request, record, annotation),
        "oob": True,
    }
    response = render(request, f"{TEMPLATE}#saved", context)
    response["HX-Trigger"] = json.dumps({"touchstone:sentence": state_of(here)})
    return response


def _is_decision(record: Sentence | Claim, change: dict[str, Any]) -> bool:
    """Did this change decide a suggestion that was open, or reopen one? The button that accepts all of them counts
    those."""
    if not change["field"].endswith("_origin") or (change["before"] and change["after"]):
        return False
    return record.suggestion_id is not None or change["field"] == "decontext_origin"


def state_of(row: SentencePanel) -> dict[str, Any]:
    """The state of a sentence, for the map. ``at`` grows with every change of the sentence and its claims, so that a
    late response isn't mistaken for the newest."""
    return {
        "id": row.sentence.public_id,
        "complete": not row.missing,
        "folded": row.is_folded,
        "at": row.sentence.version + sum(claim.version for claim in row.sentence.claims.all()),
    }


def _sentence(request: HttpRequest, public_id: str, sentence_id: str) -> Sentence:
    annotation = own_annotation(request, document_for(request, public_id), Stage.DECOMPOSE)
    return get_object_or_404(
        Sentence.objects.select_related("annotation__document__benchmark"),
        annotation=annotation,
        public_id=sentence_id,
    )


def _claim(request: HttpRequest, public_id: str, claim_id: str) -> Claim:
    annotation = own_annotation(request, document_for(request, public_id), Stage.DECOMPOSE)
    return get_object_or_404(
        Claim.objects.select_related("sentence__annotation__document__benchmark"),
        sentence__annotation=annotation,
        public_id=claim_id,
    )


@require_POST
@render_domain_errors
def change_sentence(request: HttpRequest, public_id: str, sentence_id: str, what: str) -> HttpResponse:
    """Accept, add a claim, split, merge with the next; then the whole workspace."""
    sentence = _sentence(request, public_id, sentence_id)
    by, active = person(request), seconds(request)
    current = sentence.public_id
    if what == "take-over":
        seen = request.POST.get("seen", "").split()
        suggested = actions.accept_sentence(sentence, by=by, seen=seen, active_seconds=active)
        _, following = next_incomplete(sentence.annotation, sentence)
        told = f"{'Accepted' if suggested else 'Kept as is'}. Press Z to undo"
        return _accepted(request, sentence, following, told)
    elif what == "add-claim":
        current = actions.add_claim(sentence, by=by, active_seconds=active).public_id
    elif what == "split":
        current = actions.split_sentence(sentence, whole_number(request, "at"), by=by, active_seconds=active).public_id
    elif what == "merge":
        actions.merge_sentence_with_next(sentence, by=by, active_seconds=active)
    else:
        raise BadValueError(f"Unknown sentence action “{what}”.")
    return workspace(request, sentence.annotation, current)


def _accepted(request: HttpRequest, sentence: Sentence, current: str, told: str) -> HttpResponse:
    """The sentence to continue with, and the state of the one that was accepted."""
    annotation = Annotation.objects.select_related("document__benchmark", "person").get(pk=sentence.annotation_id)
    context = context_of(annotation, person(request), current, raw=wants_raw(request)) | {"focus": True}
    accepted = next(row for row in context["rows"] if row.sentence.pk == sentence.pk)
    if accepted.open_suggestions:
        told = "Accepted what has been in view. Read the rest, then press A again"
    events = {"touchstone:sentence": state_of(accepted), "touchstone:told": {"text": told}}
    return panel(request, context, **events)


def next_incomplete(annotation: Annotation, sentence: Sentence) -> tuple[int, str]:
    """The number of a sentence, and where the focus goes when it is complete: to the next incomplete one, or nowhere
    else."""
    rows = sentences_of(annotation)
    ids = [row.pk for row in rows]
    here = ids.index(sentence.pk) if sentence.pk in ids else 0
    if rows and missing_in_sentence(rows[here], here + 1):
        return here + 1, sentence.public_id
    for position in [*range(here + 1, len(rows)), *range(here)]:
        if missing_in_sentence(rows[position], position + 1):
            return here + 1, rows[position].public_id
    return here + 1, sentence.public_id


@require_POST
@render_domain_errors
def change_claim(request: HttpRequest, public_id: str, claim_id: str, what: str) -> HttpResponse:
    """Accept, remove, restore, split, merge, move; then the whole workspace."""
    claim = _claim(request, public_id, claim_id)
    by, active = person(request), seconds(request)
    current = claim.public_id
    if what == "take-over":
        actions.accept_claim(claim, by=by, active_seconds=active)
    elif what == "remove":
        reason, note = request.POST.get("reason", ""), request.POST.get("note", "")
        actions.remove_claim(claim, reason, note=note, by=by, active_seconds=active)
    elif what == "restore":
        actions.restore_claim(claim, by=by, active_seconds=active)
    elif what == "split":
        current = actions.split_claim(claim, whole_number(request, "at"), by=by, active_seconds=active).public_id
    elif what == "merge":
        actions.merge_claim_with_next(claim, by=by, active_seconds=active)
    elif what in ("up", "down"):
        actions.move_claim(claim, -1 if what == "up" else 1, by=by, active_seconds=active)
    elif what == "to-sentence":
        target = _sentence(request, public_id, request.POST.get("sentence", ""))
        actions.move_claim_to_sentence(claim, target, by=by, active_seconds=active)
        current = claim.sentence.public_id  # continue at the same place
    else:
        raise BadValueError(f"Unknown claim action “{what}”.")
    return workspace(request, claim.sentence.annotation, current)
