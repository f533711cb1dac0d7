"""Step 8: the revised sentences and the revised response of one annotation."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core.actions.fields import BadValueError
from annotator.core.models import Annotation, RevisionSuggestion, SentenceRevision
from annotator.core.vocabulary import Factuality, Stage
from annotator.integrations.api.fields import ActiveInput, RecordBaseSerializer, declared, word
from annotator.integrations.api.schema import operation
from annotator.stages.actions import revise as actions
from annotator.stages.actions import saving
from annotator.stages.api.stages import AnnotationQuery, AnnotationSerializer, MissingSerializer, StageView, can_edit
from annotator.stages.queries.machine_opinions import answers_of, made_by
from annotator.stages.queries.missing import missing_in_revision
from annotator.stages.queries.revision import answer_of, statements_of

TAG = "revise"


class ClaimRevisionSerializer(RecordBaseSerializer, declared("claim-revision")):  # type: ignore[misc]
    """How a claim without enough evidence is handled."""


class StatementClaimSerializer(serializers.Serializer):
    """An adjudicated claim of the sentence, with its adjudicated verdict."""

    id = serializers.CharField(source="claim.public_id")
    number = serializers.CharField()
    text = serializers.CharField(source="claim.text")
    factuality = word(Factuality, may_be_blank=True)
    revision = ClaimRevisionSerializer(allow_null=True)


class SentenceRevisionSerializer(RecordBaseSerializer, declared("sentence-revision")):  # type: ignore[misc]
    """The revised sentence; a deleted one keeps its text."""


class StatementSerializer(serializers.Serializer):
    """A sentence, its revision, and what still needs attention."""

    number = serializers.IntegerField()
    id = serializers.CharField(source="sentence.public_id")
    text = serializers.CharField(source="sentence.text")
    revision = SentenceRevisionSerializer(source="row")
    claims = StatementClaimSerializer(many=True)
    open_edits = serializers.ListField(child=serializers.CharField())
    offer = serializers.CharField(help_text="The sentence with your choices for its claims applied; blank if none.")


class RevisedAnswerSerializer(serializers.Serializer):
    """The revised response, compared with the original on a scale from 0 to 1."""

    id = serializers.CharField(source="row.public_id")
    version = serializers.IntegerField(source="row.version")
    text = serializers.CharField()
    follows = serializers.BooleanField(help_text="It is merged from the statements.")
    is_behind = serializers.BooleanField(help_text="Edited by hand, and the statements have changed since.")
    edit_distance = serializers.FloatField(source="against.edit_distance")
    word_overlap = serializers.FloatField(source="against.word_overlap")


class MachineAnswerSerializer(serializers.Serializer):
    """A strategy's revised response, with and without the prompt."""

    id = serializers.CharField()
    who = serializers.CharField()
    with_prompt = serializers.CharField()
    without_prompt = serializers.CharField()


class RevisionSerializer(serializers.Serializer):
    """A revise annotation."""

    annotation = AnnotationSerializer()
    can_edit = serializers.BooleanField()
    statements = StatementSerializer(many=True)
    answer = RevisedAnswerSerializer()
    machine_answers = MachineAnswerSerializer(many=True)
    missing = MissingSerializer(many=True)


class DeletedInput(ActiveInput):
    """Whether the sentence is deleted."""

    deleted = serializers.BooleanField()


class TakeAnswerInput(ActiveInput):
    """Which model's response, and which version of it."""

    suggestion = serializers.CharField(max_length=32)
    with_prompt = serializers.BooleanField(default=True)


class ReviseAnswer(StageView):
    stage = Stage.REVISE

    def answer(self, annotation: Annotation, status: int = 200) -> Response:
        return Response(RevisionSerializer(self.tree(annotation)).data, status=status)

    def tree(self, annotation: Annotation) -> dict[str, Any]:
        statements = statements_of(annotation)
        answer = answer_of(annotation, statements)
        own = annotation.person_id == self.person.pk
        return {
            "annotation": annotation,
            "can_edit": can_edit(self, annotation),
            "statements": statements,
            "answer": answer,
            "machine_answers": [
                {
                    "id": row.public_id,
                    "who": made_by(row.run),
                    "with_prompt": row.with_prompt,
                    "without_prompt": row.without_prompt,
                }
                for row in (answers_of(annotation) if own else [])
            ],
            "missing": missing_in_revision(annotation, statements, answer) if own else [],
        }

    def row(self, public_id: str) -> SentenceRevision:
        found: SentenceRevision = self.own_record("sentence-revision", public_id, "annotation__document__benchmark")
        return found


class ReviseView(ReviseAnswer):
    @operation("revise_read", "Revised sentences and response", TAG, query=AnnotationQuery, answer=RevisionSerializer)
    def get(self, request: Request, public_id: str) -> Response:
        """Your own, or those of an annotation you may see."""
        return self.answer(self.annotation(public_id))


# --- sentences ------------------------------------------------------------------------------------


class DeletedView(ReviseAnswer):
    @operation("sentence_delete", "Delete a sentence", TAG, body=DeletedInput, answer=RevisionSerializer)
    def put(self, request: Request, row_id: str) -> Response:
        """Or restores it with its text."""
        row, given = self.row(row_id), self.body(DeletedInput)
        actions.set_deleted(row, given["deleted"], by=self.person, active_seconds=given["active_seconds"])
        return self.fresh(row.annotation)


class ConfirmView(ReviseAnswer):
    @operation("sentence_confirm", "Confirm a sentence", TAG, body=ActiveInput, answer=RevisionSerializer)
    def post(self, request: Request, row_id: str) -> Response:
        """Confirms that it is right as is, although an edit couldn't be placed in it."""
        row = self.row(row_id)
        actions.confirm_sentence(row, by=self.person, **self.body(ActiveInput))
        return self.fresh(row.annotation)


class CarryView(ReviseAnswer):
    @operation("sentence_carry", "Apply choices to a sentence", TAG, body=ActiveInput, answer=RevisionSerializer)
    def post(self, request: Request, row_id: str) -> Response:
        """Saves the sentence as offered."""
        row, given = self.row(row_id), self.body(ActiveInput)
        offers = {each.row.pk: each.offer for each in statements_of(row.annotation)}
        if not offers.get(row.pk):
            raise BadValueError("There is nothing to apply. Read the sentence again.")
        saving.save_field(row, "text", offers[row.pk], by=self.person, version=row.version, **given)
        return self.fresh(row.annotation)


# --- the answer -----------------------------------------------------------------------------------


class MergeAgainView(ReviseAnswer):
    @operation("answer_merge_again", "Merge the response again", TAG, body=ActiveInput, answer=RevisionSerializer)
    def post(self, request: Request, public_id: str) -> Response:
        """The response follows its statements again; undo restores the typed text."""
        annotation = self.own_annotation(self.document(public_id), self.stage)
        actions.merge_again(annotation, by=self.person, **self.body(ActiveInput))
        return self.fresh(annotation)


class KeepView(ReviseAnswer):
    @operation("answer_keep", "Keep the response", TAG, body=ActiveInput, answer=RevisionSerializer)
    def post(self, request: Request, public_id: str) -> Response:
        """Keeps it as you wrote it although its statements have changed since."""
        annotation = self.own_annotation(self.document(public_id), self.stage)
        actions.keep_response(annotation, by=self.person, **self.body(ActiveInput))
        return self.fresh(annotation)


class TakeAnswerView(ReviseAnswer):
    @operation(
        "answer_take_over", "Start from a model's response", TAG, body=TakeAnswerInput, answer=RevisionSerializer
    )
    def post(self, request: Request, public_id: str) -> Response:
        """Undo reverts it. The response records which model it came from."""
        document = self.document(public_id)
        annotation, given = self.own_annotation(document, self.stage), self.body(TakeAnswerInput)
        suggestion = get_object_or_404(RevisionSuggestion, document=document, public_id=given.pop("suggestion"))
        actions.take_answer(annotation, suggestion, by=self.person, **given)
        return self.fresh(annotation)
