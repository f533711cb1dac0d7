"""Actions of the revise screen beyond single fields: deleting or confirming a sentence, merging the response again.

While the response follows its statements, its text is derived from them on every read. It is stored when a person edits
it and on submission.
"""

from __future__ import annotations

from django.db import transaction

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.locking import lock_document
from annotator.core.actions.recorder import Action, for_annotation
from annotator.core.models import Annotation, ResponseRevision, RevisionSuggestion, SentenceRevision, User
from annotator.core.vocabulary import Origin
from annotator.stages import rules as stages_rules
from annotator.stages.queries.machine_opinions import may_see_revisions
from annotator.stages.queries.revision import start_problem, statements_of


def _begin(name: str, annotation: Annotation, by: User, active_seconds: int, reason: str = "") -> Action:
    lock_document(annotation.document_id)
    annotation = Annotation.objects.select_related("document__benchmark").get(pk=annotation.pk)
    stages_rules.check_edit(by, annotation)
    return for_annotation(name, annotation, by=by, reason=reason, active_seconds=active_seconds)


def set_deleted(row: SentenceRevision, deleted: bool, *, by: User, active_seconds: int = 0) -> None:
    """Delete a sentence from the response, or restore it with its text."""
    with transaction.atomic():
        name = "delete-sentence" if deleted else "restore-sentence"
        action = _begin(name, row.annotation, by, active_seconds)
        row = SentenceRevision.objects.get(pk=row.pk)
        action.set(row, deleted=deleted)
        action.write()


def confirm_sentence(row: SentenceRevision, *, by: User, active_seconds: int = 0) -> None:
    """Confirm that a sentence is right as is, although an edit of its claims couldn't be placed in it."""
    with transaction.atomic():
        action = _begin("confirm-sentence", row.annotation, by, active_seconds)
        row = SentenceRevision.objects.get(pk=row.pk)
        # Pressed twice, or corrected in another tab: the decision is already known.
        action.set(row, text_origin=row.text_origin or Origin.HUMAN.value)
        action.write()


def merge_again(annotation: Annotation, *, by: User, active_seconds: int = 0) -> None:
    """Let the response follow its statements again. What was typed stays in the history, and undo restores it."""
    with transaction.atomic():
        action = _begin("merge-again", annotation, by, active_seconds)
        response = ResponseRevision.objects.get(annotation=annotation)
        action.set(response, follows_statements=True, text="", text_origin="", suggestion_id=None)
        action.write()


def take_answer(
    annotation: Annotation, suggestion: RevisionSuggestion, *, with_prompt: bool, by: User, active_seconds: int = 0
) -> None:
    """Start from a strategy's corrected response. Undo reverts it, and the response records its source.

    Raises BadValueError if it would replace what a person wrote, or there is nothing to accept; NotAllowedError while
    the suggestion may not be seen.
    """
    with transaction.atomic():
        action = _begin("take-answer", annotation, by, active_seconds)
        text = suggestion.with_prompt if with_prompt else suggestion.without_prompt
        if not may_see_revisions(annotation):
            raise rules.NotAllowedError("Submit your response first; then you see the model’s revision.")
        if suggestion.document_id != annotation.document_id or not text.strip():
            raise BadValueError("There is no response to start from.")
        response = ResponseRevision.objects.get(annotation=annotation)
        problem = start_problem(response, statements_of(annotation))
        if problem:
            raise BadValueError(problem)
        action.set(
            response,
            text=text,
            text_origin=Origin.ACCEPTED.value,
            follows_statements=False,
            suggestion_id=suggestion.pk,
        )
        action.write()


def keep_response(annotation: Annotation, *, by: User, active_seconds: int = 0) -> None:
    """Keep the response as it was edited, although its statements have changed since. Nothing else changes."""
    with transaction.atomic():
        reason = "The edited response is kept although statements changed."
        _begin("keep-response", annotation, by, active_seconds, reason).write()
