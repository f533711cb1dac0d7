"""Step 8 by a model: corrects a response according to the verdicts on its claims (Factcheck-Bench section 4.4)."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from annotator.core.vocabulary import Factuality
from pipeline.claims.by_model import room_for
from pipeline.notes import StepNotes
from pipeline.suggestions import CheckedClaim, DocumentText
from pipeline.together import both
from pipeline.tools import Tools


class Revised(BaseModel):
    """The corrected text."""

    text: str = Field(min_length=1)


async def revise_by_model(
    document: DocumentText, claims: Sequence[CheckedClaim], tools: Tools, tally: StepNotes
) -> tuple[str, str]:
    """The response revised with and without the model knowing the prompt, or unchanged and without a call if no claim
    was changed. Counts ``mended``: 1 if the model was called."""
    if not any(claim.revised != claim.text for claim in claims):
        return document.response, document.response
    tally.counts["mended"] += 1
    fields = {
        "response": document.response,
        "claims": _listed([claim.revised for claim in claims if claim.revised and _stands(claim)]),
        "removed": _listed([claim.text for claim in claims if not claim.revised]),
    }
    asked = fields | {"question": document.prompt}
    return await both(
        _revised("revise_with_question", document.response, asked, tools, tally),
        _revised("revise_without_question", document.response, fields, tools, tally),
    )


def _stands(claim: CheckedClaim) -> bool:
    """Whether a claim is known to be right as it now reads: true, or changed. An undecided one isn't."""
    return claim.factuality == Factuality.TRUE or claim.revised != claim.text


async def _revised(step: str, response: str, fields: dict[str, str], tools: Tools, tally: StepNotes) -> str:
    said = await tally.ask(
        tools,
        step=step,
        prompt=f"factcheck_gpt/{step}",
        fields=fields,
        form=Revised,
        instead="The response is shown as it was.",
        max_tokens=room_for(response),
    )
    return said.text.strip() if said and said.text.strip() else response


def _listed(texts: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(text.split())}" for text in texts) or "(none)"
