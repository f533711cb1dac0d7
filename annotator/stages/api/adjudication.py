"""Adjudication: all versions side by side, decisions, comments and sign-offs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core.actions.fields import BadValueError
from annotator.core.models import Document, Question
from annotator.core.vocabulary import STAGES, DisagreementReason, Phase, Scope, Stage
from annotator.integrations.api.base import ApiView
from annotator.integrations.api.fields import AnyValue, DiscardInput, Input, PersonSerializer, text, word
from annotator.integrations.api.problems import StaleVersionError
from annotator.integrations.api.schema import operation
from annotator.stages import rules
from annotator.stages.actions import adjudicate as actions
from annotator.stages.api.documents import DocumentAnswer, DocumentSerializer
from annotator.stages.comparison.comparison import ABSENT, FieldRow
from annotator.stages.queries.adjudication import AdjudicationBoard, board_of

TAG = "consolidation"


class DecisionSerializer(serializers.Serializer):
    """How a difference was resolved. A null choice means that the value is new."""

    version = serializers.IntegerField()
    choice = serializers.IntegerField(allow_null=True)
    value = AnyValue()
    reason = word(DisagreementReason, may_be_blank=True)
    by = PersonSerializer()
    is_settled = serializers.BooleanField()
    is_final = serializers.BooleanField(help_text="The adjudicator decided it.")


class OptionSerializer(serializers.Serializer):
    """A value that can be chosen, and the people who gave it."""

    value = AnyValue()
    label = serializers.CharField()  # type: ignore[assignment]
    people = serializers.ListField(child=serializers.IntegerField())


class DifferenceSerializer(serializers.Serializer):
    """A field of an item, with each person's value in the order of ``people``; null for none."""

    key = serializers.CharField()
    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    kind = serializers.CharField()
    values = serializers.ListField(child=AnyValue())
    words = serializers.ListField(child=serializers.CharField())
    options = OptionSerializer(many=True)
    differs = serializers.BooleanField()
    is_open = serializers.BooleanField()
    is_active = serializers.BooleanField()
    settled = AnyValue()
    version = serializers.IntegerField(help_text="For If-Match; 0 before the first decision.")
    decision = DecisionSerializer(allow_null=True)


class ItemSerializer(serializers.Serializer):
    """A compared item (sentence, claim, passage or rewrite) with each person's text."""

    key = serializers.CharField()
    kind = serializers.CharField()
    number = serializers.CharField()
    texts = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))
    fields_compared = DifferenceSerializer(many=True)


class CommentSerializer(serializers.Serializer):
    """A comment in a thread. A blank key means the whole stage."""

    key = serializers.CharField()
    by = PersonSerializer()
    text = serializers.CharField()
    created_at = serializers.DateTimeField()


class QuestionSerializer(serializers.Serializer):
    """A question to the adjudicator. A blank key means the whole stage."""

    id = serializers.IntegerField(source="pk")
    key = serializers.CharField()
    by = PersonSerializer()
    text = serializers.CharField()
    answered_at = serializers.DateTimeField(allow_null=True)


class BoardSerializer(serializers.Serializer):
    """The current adjudication of a stage. ``people`` are numbered from 0; a choice names one of them."""

    document = serializers.CharField()
    stage = word(Stage)
    is_open = serializers.BooleanField()
    people = PersonSerializer(many=True)
    total = serializers.IntegerField()
    agreeing = serializers.IntegerField()
    decided = serializers.IntegerField()
    open = serializers.IntegerField()
    items = ItemSerializer(many=True)
    comments = CommentSerializer(many=True)
    questions = QuestionSerializer(many=True)
    signed = PersonSerializer(many=True)
    waits_for = PersonSerializer(many=True)
    third_raters = PersonSerializer(many=True)


class DecisionInput(Input):
    """Either the number of a person (``choice``, from 0) or a new ``value``."""

    choice = serializers.IntegerField(min_value=0, max_value=50, required=False)
    value = AnyValue(required=False)
    reason = word(DisagreementReason, may_be_blank=True, default="")


class CommentInput(Input):
    """A comment. ``key`` names a difference; blank means the whole stage."""

    key = serializers.CharField(max_length=120, allow_blank=True, default="")
    text = text(most=actions.LONGEST_COMMENT)


class QuestionInput(CommentInput):
    """A question to the adjudicator. A blank key asks for the whole stage to be adjudicated."""

    text = text(most=actions.LONGEST_COMMENT, allow_blank=True)


class AnswerInput(Input):
    """The adjudicator's reply."""

    text = text(most=actions.LONGEST_COMMENT)


def _plain(value: Any) -> Any:
    return None if value is ABSENT else value


def _difference(row: FieldRow) -> dict[str, Any]:
    names = ("key", "name", "label", "kind", "words", "options", "differs", "is_open", "is_active", "decision")
    return {
        **{name: getattr(row, name) for name in names},
        "values": [_plain(value) for value in row.values],
        "settled": _plain(row.settled),
        "version": row.decision.version if row.decision else 0,
    }


class BoardAnswer(ApiView):
    """A view that returns the current board."""

    scope = {"GET": Scope.READ, "POST": Scope.ANNOTATE, "PUT": Scope.ANNOTATE, "DELETE": Scope.ANNOTATE}

    def settled(self, public_id: str, stage: str) -> tuple[Document, Stage]:
        """The document and stage, for those who adjudicate it now. Raises NotAllowedError."""
        document, chosen = self.document(public_id), Stage(stage)
        rules.check_consolidate(self.person, document, chosen)
        return document, chosen

    def shown(self, board: AdjudicationBoard, status: int = 200) -> Response:
        document, comparison = board.document, board.comparison
        found = {
            "document": document.public_id,
            "stage": board.stage,
            "is_open": document.stage == board.stage and document.phase == Phase.CONSOLIDATING,
            "people": [row.person for row in board.people],
            **{name: getattr(comparison, name) for name in ("total", "agreeing", "decided", "open")},
            "items": [
                {
                    **{name: getattr(item, name) for name in ("key", "kind", "number", "texts")},
                    "fields_compared": [_difference(row) for row in item.fields],
                }
                for item in comparison.items
            ],
            "comments": sorted((row for rows in board.comments.values() for row in rows), key=lambda row: row.pk),
            "questions": board.questions,
            "signed": _by(board.sign_offs),
            "waits_for": board.waits_for,
            "third_raters": board.third_raters,
        }
        return Response(BoardSerializer(found).data, status=status)


def _by(rows: Sequence[Any]) -> list[Any]:
    return [row.by for row in rows]


class ConsolidationView(BoardAnswer):
    @operation("consolidation_read", "Side by side", TAG, answer=BoardSerializer)
    def get(self, request: Request, public_id: str, stage: str) -> Response:
        """For those who adjudicate the stage; afterward also for owners and admins."""
        document, chosen = self.document(public_id), Stage(stage)
        is_later = STAGES.index(Stage(document.stage)) > STAGES.index(chosen) or document.is_gold
        if is_later and document.phase != Phase.DISCARDED:
            rules.check_look_back(self.person, document, chosen)
        else:
            rules.check_consolidate(self.person, document, chosen)
        return self.shown(board_of(document, chosen))


class DecisionView(BoardAnswer):
    @operation(
        "difference_decide", "Resolve a difference", TAG, body=DecisionInput, answer=BoardSerializer, needs_version=True
    )
    def put(self, request: Request, public_id: str, stage: str, key: str) -> Response:
        """If-Match is the version of the decision you saw, "0" for none. All sign-offs are withdrawn."""
        document, chosen = self.settled(public_id, stage)
        seen, given = self.seen_version(), self.body(DecisionInput)
        if ("choice" in given) == ("value" in given):
            raise BadValueError("Give either a choice (the number of a person) or a new value.")
        try:
            board = actions.decide(
                document,
                chosen,
                key,
                by=self.person,
                choice=given.get("choice"),
                value=given.get("value", ABSENT),
                reason=given["reason"],
                seen=seen,
            )
        except actions.ChangedMeanwhileError as stale:
            row = board_of(document, chosen).comparison.find(key)
            decision = row.decision if row else None
            raise StaleVersionError(
                str(stale),
                current=_plain(row.settled) if row else None,
                yours=given.get("value", given.get("choice")),
                version=decision.version if decision else 0,
            ) from None
        return self.shown(board)

    @operation("difference_open", "Reopen a difference", TAG)
    def delete(self, request: Request, public_id: str, stage: str, key: str) -> Response:
        """Removes the decision and all sign-offs."""
        document, chosen = self.settled(public_id, stage)
        actions.take_decision_back(document, chosen, key, by=self.person)
        return Response(status=204)


class CommentsView(BoardAnswer):
    @operation("comment_add", "Comment", TAG, body=CommentInput, answer=BoardSerializer, status=201)
    def post(self, request: Request, public_id: str, stage: str) -> Response:
        """The others are notified."""
        document, chosen = self.settled(public_id, stage)
        given = self.body(CommentInput)
        return self.shown(actions.comment(document, chosen, given["key"], given["text"], by=self.person), 201)


class QuestionsView(BoardAnswer):
    @operation("question_ask", "Ask the adjudicator", TAG, body=QuestionInput, answer=BoardSerializer, status=201)
    def post(self, request: Request, public_id: str, stage: str) -> Response:
        """Asking twice has no further effect."""
        document, chosen = self.settled(public_id, stage)
        given = self.body(QuestionInput)
        return self.shown(actions.ask_third_rater(document, chosen, given["key"], given["text"], by=self.person), 201)


class AnswerView(BoardAnswer):
    @operation("question_answer", "Answer a question", TAG, body=AnswerInput, answer=BoardSerializer)
    def post(self, request: Request, public_id: str, stage: str, question_id: str) -> Response:
        """For the adjudicator, when a written reply is enough."""
        document, chosen = self.settled(public_id, stage)
        question = get_object_or_404(
            Question, annotation__document=document, annotation__stage=chosen, pk=int(question_id)
        )
        return self.shown(actions.answer(document, chosen, question, self.body(AnswerInput)["text"], by=self.person))


class SignatureView(DocumentAnswer):
    scope = Scope.ANNOTATE

    @operation("stage_sign", "Sign off", TAG, answer=DocumentSerializer)
    def post(self, request: Request, public_id: str, stage: str) -> Response:
        """Approves the stage as it is. The last required sign-off closes it."""
        actions.sign(self.document(public_id), Stage(stage), by=self.person)
        return self.shown(public_id)

    @operation("stage_unsign", "Withdraw your sign-off", TAG)
    def delete(self, request: Request, public_id: str, stage: str) -> Response:
        """Only before the stage is closed."""
        actions.take_signature_back(self.document(public_id), Stage(stage), by=self.person)
        return Response(status=204)


class DiscardTogetherView(BoardAnswer):
    @operation("stage_give_up", "Discard a document that can't be adjudicated", TAG, body=DiscardInput)
    def post(self, request: Request, public_id: str, stage: str) -> Response:
        """For the adjudicator. The document is discarded with the reason."""
        given = self.body(DiscardInput)
        document = self.document(public_id)
        actions.discard_together(document, Stage(stage), given["reason"], by=self.person, code=given["code"])
        return Response(status=204)
