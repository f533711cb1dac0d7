"""The revise screen: the statements on the left, the revised response on the right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_POST

from annotator.core.actions.fields import BadValueError
from annotator.core.models import Annotation, ResponseRevision, RevisionSuggestion, SentenceRevision, User
from annotator.core.models.base import Record
from annotator.core.record_keys import KINDS
from annotator.core.screens.common import (
    document_for,
    is_htmx,
    own_annotation,
    person,
    render_domain_errors,
    seconds,
    stage_links,
)
from annotator.core.screens.questions import wrote_answer
from annotator.core.vocabulary import FlagReason, Stage
from annotator.stages import rules
from annotator.stages.actions import revise as actions
from annotator.stages.actions import saving
from annotator.stages.queries.machine_opinions import answers_of, made_by
from annotator.stages.queries.missing import missing_in_revision
from annotator.stages.queries.revision import StatementClaim, StatementRow, answer_of, start_problem, statements_of
from annotator.stages.screens.start import own_place, start_page

TEMPLATE = "stages/revise.html"
WITH, WITHOUT = "with", "without"


def context_of(annotation: Annotation, user: User, current: str = "") -> dict[str, Any]:
    """Everything the screen shows. The number of queries doesn't grow with sentences or claims.

    ``current`` names the sentence to show: by its own public id, its revision's, or that of one of its claims.
    """
    statements = statements_of(annotation)
    can_edit = rules.can_edit(user, annotation)
    answer = answer_of(annotation, statements)
    missing = missing_in_revision(annotation, statements, answer)
    lacking = {each.row for each in missing}
    here = next(
        (each for each in statements if current and current in _names(each)),
        next((each for each in statements if f"sentence-revision-{each.row.public_id}" in lacking), None),
    )
    cannot_start = start_problem(answer.row, statements)
    return {
        "annotation": annotation,
        "document": annotation.document,
        "benchmark": annotation.document.benchmark,
        "stage": Stage.REVISE,
        "stages": stage_links(annotation.document, Stage.REVISE),
        "flag_reasons": list(FlagReason),
        "statements": statements,
        "here": here or (statements[0] if statements else None),
        "answer": answer,
        "kept": round(answer.against.kept * 100),
        # Even a single changed character of a long response is shown.
        "decimals": 3 if 0 < answer.against.edit_distance < 0.01 else 2,
        "missing": missing,
        "machine_answers": machine_answers(annotation),
        "cannot_start": cannot_start,
        "can_start": not cannot_start,
        "can_edit": can_edit,
        "locked": not can_edit,
        "oob": False,
    }


@dataclass(frozen=True, slots=True)
class MachineAnswer:
    """One version of a response corrected by a strategy. ``id`` names the suggestion and the version."""

    id: str
    who: str
    words: str
    text: str


def machine_answers(annotation: Annotation) -> list[MachineAnswer]:
    """Both versions of each, one if they are the same; blank ones are left out."""
    found: list[MachineAnswer] = []
    for row in answers_of(annotation):
        same = row.with_prompt == row.without_prompt
        versions = (
            (WITH, "With or without the prompt" if same else "With the prompt", row.with_prompt),
            (WITHOUT, "Without the prompt", "" if same else row.without_prompt),
        )
        found += [
            MachineAnswer(f"{row.public_id}-{which}", made_by(row.run), words, text)
            for which, words, text in versions
            if text.strip()
        ]
    return found


def _names(statement: StatementRow) -> set[str]:
    claims: list[StatementClaim] = statement.claims
    return {statement.sentence.public_id, statement.row.public_id, *(each.claim.public_id for each in claims)}


@require_GET
@render_domain_errors
def show(request: HttpRequest, public_id: str) -> HttpResponse:
    """The screen; with htmx only the workspace."""
    document = document_for(request, public_id)
    annotation = own_place(document, Stage.REVISE, person(request))
    if annotation is None:
        return start_page(request, document, Stage.REVISE)
    template = f"{TEMPLATE}#workspace" if is_htmx(request) else TEMPLATE
    return render(request, template, context_of(annotation, person(request), request.GET.get("sentence", "")))


def workspace(request: HttpRequest, annotation: Annotation, current: str) -> HttpResponse:
    """The whole workspace after a structural change."""
    annotation = Annotation.objects.select_related("document__benchmark", "person").get(pk=annotation.pk)
    return render(request, f"{TEMPLATE}#workspace", context_of(annotation, person(request), current))


def saved(request: HttpRequest, annotation: Annotation, done: saving.Saved) -> HttpResponse:
    """The fragments that change when one field was saved.

    The revised response is the only text box among them: while it follows the statements, saving a statement renders it
    again. What someone is typing into it is put back by the page.
    """
    annotation = Annotation.objects.select_related("document__benchmark", "person").get(pk=annotation.pk)
    context = context_of(annotation, person(request))
    record = done.record
    of_answer = isinstance(record, ResponseRevision)
    changed = None if of_answer else _statement_of(context["statements"], record)
    context |= {
        "oob": True,
        "wrote": wrote_answer(request, record, annotation),
        "saved_record": record,
        "saved_kind": KINDS[type(record)],
        "changed": changed,
        "answer_redrawn": context["answer"].follows and isinstance(record, SentenceRevision),
    }
    return render(request, f"{TEMPLATE}#saved", context)


def _statement_of(statements: list[StatementRow], record: Record) -> StatementRow | None:
    """The statement that a sentence's or claim's revision belongs to."""
    return next(
        (each for each in statements if record == each.row or any(record == claim.revision for claim in each.claims)),
        None,
    )


@require_POST
@render_domain_errors
def change_response(request: HttpRequest, public_id: str, what: str) -> HttpResponse:
    """Merge again from the statements, or keep the text although they changed; then the whole workspace."""
    annotation = own_annotation(request, document_for(request, public_id), Stage.REVISE)
    if what == "merge-again":
        actions.merge_again(annotation, by=person(request), active_seconds=seconds(request))
    elif what == "keep":
        actions.keep_response(annotation, by=person(request), active_seconds=seconds(request))
    elif what == "take-answer":
        _take_answer(request, annotation)
    else:
        raise BadValueError(f"Unknown response action “{what}”.")
    return workspace(request, annotation, request.POST.get("sentence", ""))


def _take_answer(request: HttpRequest, annotation: Annotation) -> None:
    public_id, _, which = request.POST.get("suggestion", "").partition("-")
    suggestion = get_object_or_404(RevisionSuggestion, document=annotation.document_id, public_id=public_id)
    actions.take_answer(
        annotation, suggestion, with_prompt=which != WITHOUT, by=person(request), active_seconds=seconds(request)
    )


@require_POST
@render_domain_errors
def change_sentence(request: HttpRequest, public_id: str, row_id: str, what: str) -> HttpResponse:
    """Delete, restore, confirm, or apply the choices for its claims; then the whole workspace."""
    annotation = own_annotation(request, document_for(request, public_id), Stage.REVISE)
    row = get_object_or_404(
        SentenceRevision.objects.select_related("annotation"), annotation=annotation, public_id=row_id
    )
    by, active = person(request), seconds(request)
    if what in ("delete", "bring-back"):
        actions.set_deleted(row, what == "delete", by=by, active_seconds=active)
    elif what == "confirm":
        actions.confirm_sentence(row, by=by, active_seconds=active)
    elif what == "carry":
        _carry(annotation, row, by=by, active_seconds=active)
    else:
        raise BadValueError(f"Unknown sentence action “{what}”.")
    return workspace(request, annotation, row_id)


def _carry(annotation: Annotation, row: SentenceRevision, *, by: User, active_seconds: int) -> None:
    statement = _statement_of(statements_of(annotation), row)
    offer = statement.offer if statement else ""
    if not offer:
        raise BadValueError("This was already applied, or the sentence has changed. Review it again.")
    saving.save_field(row, "text", offer, by=by, version=row.version, active_seconds=active_seconds)
