"""Turns rows into what strategies take: a document, its adjudicated claims, and the decisions on them."""

from __future__ import annotations

from collections.abc import Mapping

from annotator.core.models import Claim, ClaimSuggestion, Document, PipelineRun, Verdict
from annotator.core.vocabulary import Factuality, Stage
from annotator.stages.queries.adjudicated import adjudicated
from pipeline.suggestions import CheckedClaim, ClaimText, DocumentText, Prejudgement


def document_text(document: Document) -> DocumentText:
    """The document as strategies see it. Only plain values of the metadata are passed on."""
    plain = {str(name): str(value) for name, value in document.metadata.items() if isinstance(value, str | int | float)}
    return DocumentText(document.prompt, document.response, document.reference_date, plain)


def claims_to_verify(run: PipelineRun, document: Document) -> list[Claim]:
    """A document's claims that the run's plan names, in order. The plan lists the claims of all its documents, which
    can be many thousands."""
    wanted = set(run.plan.get("claims", []))
    rows = Claim.objects.filter(sentence__annotation__document=document, removed="").select_related(
        "sentence__annotation", "suggestion"
    )
    return [claim for claim in rows.order_by("sentence__order", "order", "pk") if claim.pk in wanted]


def claim_text(claim: Claim) -> ClaimText:
    """A claim with the model's verdict before any search, unless someone has changed the claim's text."""
    suggestion = claim.suggestion
    left_as_it_was = suggestion is not None and suggestion.text == claim.text
    return ClaimText(
        text=claim.text,
        sentence=claim.sentence.decontext or claim.sentence.text,
        prejudgement=_prejudgement(suggestion) if suggestion is not None and left_as_it_was else None,
    )


def _prejudgement(suggestion: ClaimSuggestion) -> Prejudgement | None:
    said: Mapping[str, object] | None = suggestion.prejudgement
    if said is None:
        return None
    confidence = said.get("confidence")
    return Prejudgement(
        label=str(said["label"]),
        confidence=float(confidence) if isinstance(confidence, int | float) else None,
        settled=bool(said["settled"]),
    )


def checked_claims(document: Document) -> list[CheckedClaim]:
    """A document's claims with their adjudicated decisions, in order."""
    version = adjudicated(document, Stage.VERIFY)
    if version is None:
        return []
    verdicts = (
        Verdict.objects.filter(annotation=version, claim__removed="")
        .select_related("claim__sentence")
        .prefetch_related("operations")
        .order_by("claim__sentence__order", "claim__order", "claim__pk")
    )
    return [
        CheckedClaim(
            text=verdict.claim.text,
            factuality=Factuality(verdict.factuality) if verdict.factuality else None,
            revised=verdict.revised_claim() if verdict.factuality == Factuality.FALSE else verdict.claim.text,
        )
        for verdict in verdicts
    ]
