"""Steps 4 to 7: the evidence, stances, verdicts and edits of one annotation."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core.fields import columns_of
from annotator.core.models import Annotation, Evidence, Verdict, VerdictSuggestion
from annotator.core.vocabulary import EditKind, Factuality, Stage
from annotator.integrations.api.fields import (
    ActiveInput,
    Input,
    ReasonInput,
    RecordBaseSerializer,
    declared,
    text,
    word,
)
from annotator.integrations.api.schema import operation
from annotator.stages.actions import documents, search_again
from annotator.stages.actions import verify as actions
from annotator.stages.api.stages import AnnotationQuery, AnnotationSerializer, MissingSerializer, StageView, can_edit
from annotator.stages.queries.machine_opinions import held_of
from annotator.stages.queries.missing import missing_in_claim
from annotator.stages.queries.verification import ClaimWork, claims_to_verify, last_search

TAG = "verify"


class StanceSerializer(RecordBaseSerializer, declared("stance")):  # type: ignore[misc]
    """The annotation's labels for a passage."""


class EvidenceSerializer(RecordBaseSerializer):
    """A passage with its source. ``is_own`` means added by this person."""

    number = serializers.IntegerField()
    is_own = serializers.BooleanField()
    passage = serializers.CharField()
    url = serializers.CharField()
    title = serializers.CharField()
    site = serializers.CharField()
    published = serializers.DateField(allow_null=True)
    query = serializers.CharField()
    retrieved_at = serializers.DateTimeField(allow_null=True)
    content_hash = serializers.CharField()
    suggested = serializers.CharField(help_text="The suggested stance; blank if none.")
    stance = StanceSerializer()


class EditSerializer(serializers.Serializer):
    """An operation that corrects the claim. Offsets count code points of the claim's text."""

    id = serializers.CharField(source="public_id")
    kind = word(EditKind)
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    replacement = serializers.CharField()


class VerdictSerializer(RecordBaseSerializer, declared("verdict")):  # type: ignore[misc]
    """The verdict on a claim, its edit, and the evidence used."""

    edits = EditSerializer(many=True)
    revised_claim = serializers.CharField()
    rests_on = serializers.ListField(child=serializers.CharField())


class ClaimToVerifySerializer(serializers.Serializer):
    """An adjudicated claim with its verdict and evidence. ``number`` "2.1": second sentence, first claim."""

    number = serializers.CharField()
    id = serializers.CharField()
    text = serializers.CharField()
    verdict = VerdictSerializer()
    evidence = EvidenceSerializer(many=True)


class VerificationSerializer(serializers.Serializer):
    """A verify annotation: the claims to check, and what is still missing."""

    annotation = AnnotationSerializer()
    can_edit = serializers.BooleanField()
    claims = ClaimToVerifySerializer(many=True)
    missing = MissingSerializer(many=True)


class NewEvidenceInput(ActiveInput):
    """A passage you found, the address of a page, or both."""

    url = text(most=4000, allow_blank=True, default="")
    passage = text(allow_blank=True, default="")
    title = text(most=1000, allow_blank=True, default="")
    query = text(most=1000, allow_blank=True, default="")


class EditInput(ActiveInput):
    """An operation on the claim's text. delete_claim needs no offsets."""

    kind = word(EditKind)
    start = serializers.IntegerField(min_value=0, max_value=10**6, default=0)
    end = serializers.IntegerField(min_value=0, max_value=10**6, default=0)
    replacement = text(allow_blank=True, default="")


class RevisedClaimInput(ActiveInput):
    """The claim as it should read."""

    text = text(allow_blank=True)


class CorrectionInput(ActiveInput):
    """The model verdict whose correction is accepted."""

    suggestion = serializers.CharField(max_length=32)


class SearchInput(Input):
    """The search query."""

    query = text(most=1000)


class SearchSerializer(serializers.Serializer):
    """Your search for more passages on one claim."""

    query = serializers.CharField()
    found = serializers.IntegerField()
    is_waiting = serializers.BooleanField()
    has_failed = serializers.BooleanField()


class OpinionSerializer(serializers.Serializer):
    """One strategy's verdict on a claim."""

    id = serializers.CharField(source="suggestion.public_id")
    who = serializers.CharField()
    label = serializers.CharField(source="suggestion.label")  # type: ignore[assignment]
    factuality = word(Factuality, may_be_blank=True, source="suggestion.factuality")
    reason = serializers.CharField(source="suggestion.reason")
    correction = serializers.CharField(source="suggestion.correction", allow_null=True)
    probability = serializers.FloatField(source="suggestion.probability", allow_null=True)


class OpinionsSerializer(serializers.Serializer):
    """The model verdicts on a claim that you may see, and your newest search for it."""

    opinions = OpinionSerializer(many=True)
    search = SearchSerializer(allow_null=True)


class VerifyAnswer(StageView):
    stage = Stage.VERIFY

    def answer(self, annotation: Annotation, status: int = 200) -> Response:
        return Response(VerificationSerializer(self.tree(annotation)).data, status=status)

    def tree(self, annotation: Annotation) -> dict[str, Any]:
        works = claims_to_verify(annotation)
        own = annotation.person_id == self.person.pk
        return {
            "annotation": annotation,
            "can_edit": can_edit(self, annotation),
            "claims": [_shown(work) for work in works],
            "missing": [each for work in works for each in missing_in_claim(work)] if own else [],
        }

    def verdict(self, public_id: str) -> Verdict:
        related = ("claim__sentence__annotation", "annotation__document__benchmark", "suggestion")
        found: Verdict = self.own_record("verdict", public_id, *related)
        return found


_EVIDENCE = (
    "public_id", "version", "passage", "url", "title", "published", "query", "retrieved_at", "content_hash",
)  # fmt: skip
_VERDICT = ("public_id", "version", *columns_of("verdict"))


def _shown(work: ClaimWork) -> dict[str, Any]:
    verdict = work.verdict
    return {
        "number": work.number,
        "id": work.claim.public_id,
        "text": work.claim.text,
        "verdict": {
            **{name: getattr(verdict, name) for name in _VERDICT},
            "edits": list(verdict.operations.all()),
            "revised_claim": verdict.revised_claim(),
            "rests_on": [row.evidence.public_id for row in verdict.rests.all()],
        },
        "evidence": [
            {
                **{name: getattr(card.evidence, name) for name in _EVIDENCE},
                "site": card.site,
                "number": card.number,
                "is_own": card.is_own,
                "suggested": card.suggested,
                "stance": card.stance,
            }
            for card in work.cards
        ],
    }


class VerifyView(VerifyAnswer):
    @operation("verify_read", "Claims with their evidence", TAG, query=AnnotationQuery, answer=VerificationSerializer)
    def get(self, request: Request, public_id: str) -> Response:
        """Your own, or those of an annotation you may see."""
        return self.answer(self.annotation(public_id))


# --- evidence -------------------------------------------------------------------------------------


class AddEvidenceView(VerifyAnswer):
    @operation("evidence_add", "Add evidence", TAG, body=NewEvidenceInput, answer=VerificationSerializer, status=201)
    def post(self, request: Request, verdict_id: str) -> Response:
        """Adds your passage, without a stance yet. A page is fetched and saved like any other."""
        verdict = self.verdict(verdict_id)
        actions.add_evidence(verdict.annotation, verdict.claim, by=self.person, **self.body(NewEvidenceInput))
        return self.fresh(verdict.annotation, 201)


class EvidenceView(VerifyAnswer):
    @operation("evidence_remove", "Remove your evidence", TAG)
    def delete(self, request: Request, evidence_id: str) -> Response:
        """Removes your own passage; undo restores it."""
        evidence: Evidence = self.own_record("evidence", evidence_id, "annotation__document__benchmark")
        actions.remove_evidence(evidence, by=self.person)
        return Response(status=204)


class RestsOnView(VerifyAnswer):
    @operation("evidence_rest_on", "Mark a passage as evidence used", TAG, answer=VerificationSerializer)
    def put(self, request: Request, verdict_id: str, evidence_id: str) -> Response:
        """Marks a passage as evidence used for the verdict."""
        return self._set(verdict_id, evidence_id, rests=True)

    @operation("evidence_rest_off", "Unmark a passage as evidence used", TAG)
    def delete(self, request: Request, verdict_id: str, evidence_id: str) -> Response:
        """The passage stays with the claim."""
        self._set(verdict_id, evidence_id, rests=False)
        return Response(status=204)

    def _set(self, verdict_id: str, evidence_id: str, *, rests: bool) -> Response:
        verdict = self.verdict(verdict_id)
        evidence = get_object_or_404(
            Evidence.objects.select_related("annotation"),
            claim=verdict.claim_id,
            removed="",
            public_id=evidence_id,
            stances__annotation=verdict.annotation_id,
        )
        actions.set_rests_on(verdict, evidence, rests, by=self.person)
        return self.fresh(verdict.annotation)


class SearchView(VerifyAnswer):
    @operation("evidence_search", "Search again", TAG, body=SearchInput, answer=OpinionsSerializer, status=202)
    def post(self, request: Request, verdict_id: str) -> Response:
        """Searches for more passages with your query. Only you see the results."""
        verdict = self.verdict(verdict_id)
        search_again.search_again(verdict.annotation, verdict.claim, self.body(SearchInput)["query"], by=self.person)
        return Response(opinions_of(verdict), status=202)


class OpinionsView(VerifyAnswer):
    @operation("opinions_read", "Model verdicts on a claim", TAG, answer=OpinionsSerializer)
    def get(self, request: Request, verdict_id: str) -> Response:
        """Those you may see (with blind first, once you have decided), and the state of your newest search."""
        return Response(opinions_of(self.verdict(verdict_id)))


def opinions_of(verdict: Verdict) -> Any:
    """Model verdicts on the claim of a verdict, and the newest search for it."""
    works = claims_to_verify(verdict.annotation)
    work = next((each for each in works if each.verdict.pk == verdict.pk), None)
    held = held_of(verdict.annotation, work) if work else None
    search = last_search(verdict.annotation, work) if work else None
    return OpinionsSerializer({"opinions": held.opinions if held else [], "search": search}).data


# --- the edit -------------------------------------------------------------------------------------


class EditsView(VerifyAnswer):
    @operation("edit_add", "Add an edit", TAG, body=EditInput, answer=VerificationSerializer, status=201)
    def post(self, request: Request, verdict_id: str) -> Response:
        """An edit implies that the claim is false, so an open verdict becomes false."""
        verdict = self.verdict(verdict_id)
        actions.add_operation(verdict, by=self.person, **self.body(EditInput))
        return self.fresh(verdict.annotation, 201)


class EditView(VerifyAnswer):
    @operation("edit_remove", "Remove an edit", TAG)
    def delete(self, request: Request, verdict_id: str, edit_id: str) -> Response:
        """Removes one operation."""
        actions.remove_operation(self.verdict(verdict_id), edit_id, by=self.person)
        return Response(status=204)


class RevisedClaimView(VerifyAnswer):
    @operation("claim_rewrite", "Rewrite the claim", TAG, body=RevisedClaimInput, answer=VerificationSerializer)
    def put(self, request: Request, verdict_id: str) -> Response:
        """Stores the minimal word edits that give exactly this text."""
        verdict, given = self.verdict(verdict_id), self.body(RevisedClaimInput)
        actions.set_revised_claim(verdict, given["text"], by=self.person, active_seconds=given["active_seconds"])
        return self.fresh(verdict.annotation)


class TakeCorrectionView(VerifyAnswer):
    @operation("correction_take_over", "Accept a correction", TAG, body=CorrectionInput, answer=VerificationSerializer)
    def post(self, request: Request, verdict_id: str) -> Response:
        """Starts the edit from a strategy's correction."""
        verdict, given = self.verdict(verdict_id), self.body(CorrectionInput)
        suggestion = get_object_or_404(VerdictSuggestion, claim=verdict.claim_id, public_id=given["suggestion"])
        actions.take_correction(verdict, suggestion, by=self.person, active_seconds=given["active_seconds"])
        return self.fresh(verdict.annotation)


class SendBackView(VerifyAnswer):
    @operation("claim_send_back", "Send a claim back", TAG, body=ReasonInput)
    def post(self, request: Request, verdict_id: str) -> Response:
        """Sends it to decompose, which reopens for its sentence only."""
        documents.send_back(self.verdict(verdict_id).claim, self.body(ReasonInput)["reason"], by=self.person)
        return Response(status=204)
