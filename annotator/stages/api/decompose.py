"""Steps 1 to 3: the sentences and claims of one annotation."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core.fields import columns_of
from annotator.core.models import Annotation, Claim, Sentence
from annotator.core.vocabulary import (
    REMOVAL_REASONS,
    Removal,
    Stage,
)
from annotator.integrations.api.fields import ActiveInput, AtInput, RecordBaseSerializer, declared, text, word
from annotator.integrations.api.schema import operation
from annotator.stages.actions import decompose as actions
from annotator.stages.api.stages import AnnotationQuery, AnnotationSerializer, MissingSerializer, StageView, can_edit
from annotator.stages.queries.decomposition import sentences_of
from annotator.stages.queries.missing import missing_in_sentence

TAG = "decompose"


class SentenceSuggestionSerializer(declared("sentence", suggested=True)):  # type: ignore[misc]
    """What the pipeline proposes."""


class ClaimSuggestionSerializer(declared("claim", suggested=True)):  # type: ignore[misc]
    """What the pipeline proposes."""


class ClaimSerializer(RecordBaseSerializer, declared("claim")):  # type: ignore[misc]
    """An atomic statement. Removed claims stay, with the reason."""

    removed = word(Removal, may_be_blank=True)
    removed_note = serializers.CharField()
    suggestion = ClaimSuggestionSerializer(allow_null=True)


class PlacedSerializer(RecordBaseSerializer):
    """A piece of the response."""

    text = serializers.CharField()
    start = serializers.IntegerField(allow_null=True)
    end = serializers.IntegerField(allow_null=True)


class SentenceSerializer(PlacedSerializer, declared("sentence")):  # type: ignore[misc]
    """A sentence of the response. Offsets count code points; null if it is not a substring."""

    suggestion = SentenceSuggestionSerializer(allow_null=True)
    claims = ClaimSerializer(many=True)


class DecompositionSerializer(serializers.Serializer):
    """A decompose annotation: sentences in order, each with its claims, and what is still missing."""

    annotation = AnnotationSerializer()
    can_edit = serializers.BooleanField()
    sentences = SentenceSerializer(many=True)
    missing = MissingSerializer(many=True)


class RemoveInput(ActiveInput):
    """Why the claim is removed."""

    reason = serializers.ChoiceField([(each.value, each.name) for each in REMOVAL_REASONS])
    note = text(most=500, allow_blank=True, default="")


class AddClaimInput(ActiveInput):
    """The text of the new claim."""

    text = text(allow_blank=True, default="")


class MoveClaimInput(ActiveInput):
    """Up or down within the sentence, or under another one."""

    to = serializers.ChoiceField([("up", "up"), ("down", "down"), ("sentence", "sentence")])
    sentence = serializers.CharField(max_length=32, required=False, help_text="The sentence's id, if to=sentence.")


class DecomposeAnswer(StageView):
    stage = Stage.DECOMPOSE

    def answer(self, annotation: Annotation, status: int = 200) -> Response:
        return Response(DecompositionSerializer(self.tree(annotation)).data, status=status)

    def tree(self, annotation: Annotation) -> dict[str, Any]:
        sentences: list[Any] = sentences_of(annotation)
        own = annotation.person_id == self.person.pk
        numbered = enumerate(sentences, start=1)
        return {
            "annotation": annotation,
            "can_edit": can_edit(self, annotation),
            "missing": [each for number, row in numbered for each in missing_in_sentence(row, number)] if own else [],
            "sentences": [_with_claims(row) for row in sentences],
        }

    def sentence(self, public_id: str) -> Sentence:
        found: Sentence = self.own_record("sentence", public_id, "annotation__document__benchmark", "suggestion")
        return found

    def claim(self, public_id: str) -> Claim:
        related = "sentence__annotation__document__benchmark"
        found: Claim = self.own_record("claim", public_id, related, "suggestion")
        return found


_SENTENCE = ("public_id", "version", "text", "start", "end", *columns_of("sentence"), "answers", "suggestion")


def _with_claims(sentence: Sentence) -> dict[str, Any]:
    return {name: getattr(sentence, name) for name in _SENTENCE} | {"claims": list(sentence.claims.all())}


class DecomposeView(DecomposeAnswer):
    @operation("decompose_read", "Sentences and claims", TAG, query=AnnotationQuery, answer=DecompositionSerializer)
    def get(self, request: Request, public_id: str) -> Response:
        """Your own, or those of an annotation you may see."""
        return self.answer(self.annotation(public_id))


# --- sentences ------------------------------------------------------------------------------------


class TakeOverSentenceView(DecomposeAnswer):
    @operation("sentence_take_over", "Accept suggestions", TAG, body=ActiveInput, answer=DecompositionSerializer)
    def post(self, request: Request, sentence_id: str) -> Response:
        """Accepts all open suggestions for a sentence and its claims; without any, keeps the sentence as is."""
        sentence = self.sentence(sentence_id)
        actions.accept_sentence(sentence, by=self.person, **self.body(ActiveInput))
        return self.fresh(sentence.annotation)


class AddClaimView(DecomposeAnswer):
    @operation("claim_add", "Add a claim", TAG, body=AddClaimInput, answer=DecompositionSerializer, status=201)
    def post(self, request: Request, sentence_id: str) -> Response:
        """Adds the claim at the end of the sentence."""
        sentence = self.sentence(sentence_id)
        actions.add_claim(sentence, by=self.person, **self.body(AddClaimInput))
        return self.fresh(sentence.annotation, 201)


class SplitSentenceView(DecomposeAnswer):
    @operation("sentence_split", "Split a sentence", TAG, body=AtInput, answer=DecompositionSerializer)
    def post(self, request: Request, sentence_id: str) -> Response:
        """Splits at a code point of its text. Its claims stay with the first half."""
        sentence, given = self.sentence(sentence_id), self.body(AtInput)
        actions.split_sentence(sentence, given["at"], by=self.person, active_seconds=given["active_seconds"])
        return self.fresh(sentence.annotation)


class MergeSentenceView(DecomposeAnswer):
    @operation("sentence_merge", "Merge with the next sentence", TAG, body=ActiveInput, answer=DecompositionSerializer)
    def post(self, request: Request, sentence_id: str) -> Response:
        """The next sentence's claims move to this one."""
        sentence = self.sentence(sentence_id)
        actions.merge_sentence_with_next(sentence, by=self.person, **self.body(ActiveInput))
        return self.fresh(sentence.annotation)


# --- claims ---------------------------------------------------------------------------------------


class TakeOverClaimView(DecomposeAnswer):
    @operation("claim_take_over", "Accept suggestions", TAG, body=ActiveInput, answer=DecompositionSerializer)
    def post(self, request: Request, claim_id: str) -> Response:
        """Accepts all open suggestions for one claim."""
        claim = self.claim(claim_id)
        actions.accept_claim(claim, by=self.person, **self.body(ActiveInput))
        return self.fresh(claim.sentence.annotation)


class RemoveClaimView(DecomposeAnswer):
    @operation("claim_remove", "Remove a claim", TAG, body=RemoveInput, answer=DecompositionSerializer)
    def post(self, request: Request, claim_id: str) -> Response:
        """Needs a reason. The claim can be restored."""
        claim, given = self.claim(claim_id), self.body(RemoveInput)
        actions.remove_claim(claim, by=self.person, **given)
        return self.fresh(claim.sentence.annotation)


class RestoreClaimView(DecomposeAnswer):
    @operation("claim_restore", "Restore a claim", TAG, body=ActiveInput, answer=DecompositionSerializer)
    def post(self, request: Request, claim_id: str) -> Response:
        """Restores a removed claim."""
        claim = self.claim(claim_id)
        actions.restore_claim(claim, by=self.person, **self.body(ActiveInput))
        return self.fresh(claim.sentence.annotation)


class SplitClaimView(DecomposeAnswer):
    @operation("claim_split", "Split a claim", TAG, body=AtInput, answer=DecompositionSerializer)
    def post(self, request: Request, claim_id: str) -> Response:
        """Splits at a code point of its text. Both halves keep the labels."""
        claim, given = self.claim(claim_id), self.body(AtInput)
        actions.split_claim(claim, given["at"], by=self.person, active_seconds=given["active_seconds"])
        return self.fresh(claim.sentence.annotation)


class MergeClaimView(DecomposeAnswer):
    @operation("claim_merge", "Merge with the next claim", TAG, body=ActiveInput, answer=DecompositionSerializer)
    def post(self, request: Request, claim_id: str) -> Response:
        """The texts are concatenated for you to edit."""
        claim = self.claim(claim_id)
        actions.merge_claim_with_next(claim, by=self.person, **self.body(ActiveInput))
        return self.fresh(claim.sentence.annotation)


class MoveClaimView(DecomposeAnswer):
    @operation("claim_move", "Move a claim", TAG, body=MoveClaimInput, answer=DecompositionSerializer)
    def post(self, request: Request, claim_id: str) -> Response:
        """Within its sentence, or to the end of another sentence of the same annotation."""
        claim, given = self.claim(claim_id), self.body(MoveClaimInput)
        annotation, active = claim.sentence.annotation, given["active_seconds"]
        if given["to"] == "sentence":
            rows = Sentence.objects.select_related("annotation__document__benchmark")
            target = get_object_or_404(rows, annotation=annotation, public_id=given.get("sentence", ""))
            actions.move_claim_to_sentence(claim, target, by=self.person, active_seconds=active)
        else:
            step = -1 if given["to"] == "up" else 1
            actions.move_claim(claim, step, by=self.person, active_seconds=active)
        return self.fresh(annotation)
