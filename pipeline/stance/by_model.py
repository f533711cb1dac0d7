"""Step 5 by a model: the stance of one passage on a claim, with four labels (Factcheck-Bench sections 2 and 4.3)."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from annotator.core.vocabulary import StanceLabel
from pipeline.checkworthiness.by_model import as_word
from pipeline.notes import StepNotes
from pipeline.suggestions import RetrievedEvidence
from pipeline.tools import Tools


class ModelStance(BaseModel):
    """What a passage says about a claim, and why."""

    reason: str
    stance: Annotated[StanceLabel, BeforeValidator(as_word)]


async def with_stance(claim: str, evidence: RetrievedEvidence, tools: Tools, tally: StepNotes) -> RetrievedEvidence:
    """The evidence with its stance and reason, or without them if the model's output is unreadable."""
    said = await tally.ask(
        tools,
        step="stance",
        prompt="factcheck_gpt/stance",
        fields={"claim": claim, "title": " ".join(evidence.title.split()) or "unknown", "passage": evidence.passage},
        form=ModelStance,
        instead="This stance is left to people.",
        max_tokens=512,
    )
    if said is None:
        return evidence
    return dataclasses.replace(evidence, stance=said.stance, stance_reason=" ".join(said.reason.split()))
