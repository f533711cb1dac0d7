"""Step 8: the revised sentences and the revised answer, as one annotation has them."""

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
    """What happens to a claim for which there is not enough evidence."""


class StatementClaimSerializer(serializers.Serializer):
    """An agreed claim beside its sentence, with its agreed verdict."""

    id = serializers.CharField(source="claim.public_id")
    number = serializers.CharField()
    text = serializers.CharField(source="claim.text")
    factuality = word(Factuality, may_be_blank=True)
    revision = ClaimRevisionSerializer(allow_null=True)


class SentenceRevisionSerializer(RecordBaseSerializer, declared("sentence-revision")):  # type: ignore[misc]
    """The revised sentence; a deleted one keeps its text."""


class StatementSerializer(serializers.Serializer):
    """A sentence, how it is revised, and what waits for a hand."""

    number = serializers.IntegerField()
    id = serializers.CharField(source="sentence.public_id")
    text = serializers.CharField(source="sentence.text")
    revision = SentenceRevisionSerializer(source="row")
    claims = StatementClaimSerializer(many=True)
    open_edits = serializers.ListField(child=serializers.CharField())
    offer = serializers.CharField(help_text="The sentence with what you chose for its claims carried in; blank: none.")


class RevisedAnswerSerializer(serializers.Serializer):
    """The revised answer, measured against the original, from 0 to 1."""

    id = serializers.CharField(source="row.public_id")
    version = serializers.IntegerField(source="row.version")
    text = serializers.CharField()
    follows = serializers.BooleanField(help_text="It is what the statements give.")
    is_behind = serializers.BooleanField(help_text="Written by hand, and the statements have changed since.")
    edit_distance = serializers.FloatField(source="against.edit_distance")
    word_overlap = serializers.FloatField(source="against.word_overlap")


class MachineAnswerSerializer(serializers.Serializer):
    """An answer as a strategy would mend it, with and without knowing the prompt."""

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
    """Whether the sentence is left out."""

    deleted = serializers.BooleanField()


class TakeAnswerInput(ActiveInput):
    """Which machine's answer, and which version of it."""

    suggestion = serializers.CharField(max_length=32)
    with_prompt = serializers.BooleanField(default=True)


class ReviseAnswer(StageView):
    stage = Stage.REVISE

    def answer(self, annotation: Annotation, status: int = 200) -> Response:
        return Response(RevisionSerializer(self.tree(annotation)).data, status=status)

    def tree(self, annotation: Annotation) -> dict[str, Any]:
        statements = statements_of(annotation)
        own = annotation.person_id == self.person.pk
        return {
            "annotation": annotation,
            "can_edit": can_edit(self, annotation),
            "statements": statements,
            "answer": answer_of(annotation, statements),
            "machine_answers": [
                {
                    "id": row.public_id,
                    "who": made_by(row.run),
                    "with_prompt": row.with_prompt,
                    "without_prompt": row.without_prompt,
                }
                for row in (answers_of(annotation) if own else [])
            ],
            "missing": missing_in_revision(annotation, statements) if own else [],
        }

    def row(self, public_id: str) -> SentenceRevision:
        found: SentenceRevision = self.own_record("sentence-revision", public_id, "annotation__document__benchmark")
        return found


class ReviseView(ReviseAnswer):
    @operation("revise_read", "Revised sentences and answer", TAG, query=AnnotationQuery, answer=RevisionSerializer)
    def get(self, request: Request, public_id: str) -> Response:
        """Your own, or those of an annotation that you may see."""
        return self.answer(self.annotation(public_id))


# --- sentences ------------------------------------------------------------------------------------


class DeletedView(ReviseAnswer):
    @operation("sentence_delete", "Leave a sentence out", TAG, body=DeletedInput, answer=RevisionSerializer)
    def put(self, request: Request, row_id: str) -> Response:
        """Or bring it back, with the text it had."""
        row, given = self.row(row_id), self.body(DeletedInput)
        actions.set_deleted(row, given["deleted"], by=self.person, active_seconds=given["active_seconds"])
        return self.fresh(row.annotation)


class ConfirmView(ReviseAnswer):
    @operation("sentence_confirm", "Confirm a sentence", TAG, body=ActiveInput, answer=RevisionSerializer)
    def post(self, request: Request, row_id: str) -> Response:
        """It is right as it stands, though an edit of its claims found no single place in it."""
        row = self.row(row_id)
        actions.confirm_sentence(row, by=self.person, **self.body(ActiveInput))
        return self.fresh(row.annotation)


class CarryView(ReviseAnswer):
    @operation("sentence_carry", "Carry choices into a sentence", TAG, body=ActiveInput, answer=RevisionSerializer)
    def post(self, request: Request, row_id: str) -> Response:
        """Saves the sentence as its offer reads."""
        row, given = self.row(row_id), self.body(ActiveInput)
        offers = {each.row.pk: each.offer for each in statements_of(row.annotation)}
        if not offers.get(row.pk):
            raise BadValueError("There is nothing to carry over: read the sentence again.")
        saving.save_field(row, "text", offers[row.pk], by=self.person, version=row.version, **given)
        return self.fresh(row.annotation)


# --- the answer -----------------------------------------------------------------------------------


class MergeAgainView(ReviseAnswer):
    @operation("answer_merge_again", "Merge the answer again", TAG, body=ActiveInput, answer=RevisionSerializer)
    def post(self, request: Request, public_id: str) -> Response:
        """Lets the answer follow its statements again; undo brings back what was typed."""
        annotation = self.own_annotation(self.document(public_id), self.stage)
        actions.merge_again(annotation, by=self.person, **self.body(ActiveInput))
        return self.fresh(annotation)


class KeepView(ReviseAnswer):
    @operation("answer_keep", "Keep the answer", TAG, body=ActiveInput, answer=RevisionSerializer)
    def post(self, request: Request, public_id: str) -> Response:
        """It stays as you wrote it, though its statements have changed since."""
        annotation = self.own_annotation(self.document(public_id), self.stage)
        actions.keep_response(annotation, by=self.person, **self.body(ActiveInput))
        return self.fresh(annotation)


class TakeAnswerView(ReviseAnswer):
    @operation(
        "answer_take_over", "Start from a machine's answer", TAG, body=TakeAnswerInput, answer=RevisionSerializer
    )
    def post(self, request: Request, public_id: str) -> Response:
        """Undo takes it away again, and the answer remembers whose it was."""
        document = self.document(public_id)
        annotation, given = self.own_annotation(document, self.stage), self.body(TakeAnswerInput)
        suggestion = get_object_or_404(RevisionSuggestion, document=document, public_id=given.pop("suggestion"))
        actions.take_answer(annotation, suggestion, by=self.person, **given)
        return self.fresh(annotation)
