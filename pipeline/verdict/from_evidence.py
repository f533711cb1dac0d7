"""A claim judged by passages of whole pages, in five labels (FastFact, section 4.3 and appendix K), or by what a model
was sure of before any search (section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator

from annotator.core.vocabulary import Factuality
from pipeline.claims.judged import IRRELEVANT, NON_SUPPORTED
from pipeline.claims.judged import SUPPORTED as KNOWN_SUPPORTED
from pipeline.notes import StepNotes
from pipeline.suggestions import Prejudgement, RetrievedEvidence, SuggestedVerdict
from pipeline.tools import Tools

SUPPORTED, REFUTED, CONFLICTING = "supported", "refuted", "conflicting evidence"
NOT_ENOUGH, UNVERIFIABLE = "not enough evidence", "unverifiable"
# Evidence that contradicts itself does not decide (Factcheck-Bench, section 2, step 6); what states no fact is neither
# true nor false, nor does it lack evidence.
MEANS: dict[str, Factuality | None] = {
    SUPPORTED: Factuality.TRUE,
    REFUTED: Factuality.FALSE,
    CONFLICTING: Factuality.NOT_ENOUGH_EVIDENCE,
    NOT_ENOUGH: Factuality.NOT_ENOUGH_EVIDENCE,
    UNVERIFIABLE: None,
}
KNOWN_MEANS: dict[str, Factuality | None] = {
    KNOWN_SUPPORTED: Factuality.TRUE,
    NON_SUPPORTED: Factuality.FALSE,
    IRRELEVANT: None,
}
_SAID = {
    KNOWN_SUPPORTED: "The model considered it true",
    NON_SUPPORTED: "The model considered it false",
    IRRELEVANT: "The model considered it irrelevant to the question",
}


def _plain(word: object) -> object:
    return " ".join(word.strip(" #.*").casefold().replace("_", " ").split()) if isinstance(word, str) else word


class FiveLabels(BaseModel):
    """What the evidence says of the claim."""

    reason: str = ""
    label: Annotated[
        Literal["supported", "refuted", "conflicting evidence", "not enough evidence", "unverifiable"],
        BeforeValidator(_plain),
    ]


async def evidence_verdict(
    claim: str, evidence: Sequence[RetrievedEvidence], tools: Tools, tally: StepNotes
) -> SuggestedVerdict | None:
    """The claim's verdict; None where the model's answer could not be read. Without evidence there is not enough: no
    model is asked, counted as ``unfound``."""
    if not evidence:
        tally.counts["unfound"] += 1
        return SuggestedVerdict(NOT_ENOUGH, MEANS[NOT_ENOUGH], "The search found nothing about it.")
    answer = await tally.ask(
        tools,
        step="verify",
        prompt="fastfact/verify",
        fields={"claim": claim, "evidence": as_text(evidence)},
        form=FiveLabels,
        instead="There is no verdict, only the passages.",
        max_tokens=768,
    )
    if answer is None:
        return None
    return SuggestedVerdict(answer.label, MEANS[answer.label], " ".join(answer.reason.split()))


def known_verdict(prejudgement: Prejudgement) -> SuggestedVerdict:
    """The verdict on a claim that was settled before any search, with the probability of its label."""
    said = _SAID.get(prejudgement.label, f"The model called it “{prejudgement.label}”")
    sure = "" if prejudgement.confidence is None else f" (probability {_shown(prejudgement.confidence)})"
    return SuggestedVerdict(
        label=prejudgement.label,
        factuality=KNOWN_MEANS.get(prejudgement.label),
        reason=f"{said} from what it knows{sure}; nothing was searched for.",
        confidence=prejudgement.confidence,
    )


def as_text(evidence: Sequence[RetrievedEvidence]) -> str:
    """Title and text of each passage, numbered, as the model reads them."""
    return "\n\n".join(
        f"Passage {number}\nTitle: {each.title}\nText: {each.passage}" for number, each in enumerate(evidence, start=1)
    )


def _shown(probability: float) -> str:
    """Four digits, and never rounded up to certainty."""
    return f"{probability:.4f}" if probability < 0.99995 else "over 0.9999"
