"""Steps 6 and 7 by a model: whether a claim holds against all its evidence, why, and how it would be right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from annotator.core.vocabulary import Factuality, StanceLabel
from pipeline.checkworthiness.by_model import as_word
from pipeline.notes import StepNotes
from pipeline.suggestions import RetrievedEvidence, SuggestedVerdict
from pipeline.tools import Tools


class ModelVerdict(BaseModel):
    """The verdict on a claim. ``error`` is what is wrong with it, ``correction`` the claim put right, with as few
    changes as can be."""

    reasoning: str
    error: str | None = None
    factuality: Annotated[Factuality, BeforeValidator(as_word)]
    correction: str | None = None


async def verdict_by_model(
    claim: str, evidence: Sequence[RetrievedEvidence], tools: Tools, tally: StepNotes
) -> SuggestedVerdict | None:
    """The verdict with its reason, and a correction where the claim is false; None where the model's answer cannot be
    read. Needs at least one piece of evidence."""
    said = await tally.ask(
        tools,
        step="verdict",
        prompt="factcheck_gpt/verdict",
        fields={"claim": claim, "evidence": as_list(evidence)},
        form=ModelVerdict,
        instead="The verdict follows from the stances, by rule.",
        max_tokens=1024,
    )
    if said is None:
        return None
    correction = " ".join((said.correction or "").split())
    error = (said.error or "").strip() if said.factuality == Factuality.FALSE else ""
    is_mended = said.factuality == Factuality.FALSE and correction not in ("", claim)
    return SuggestedVerdict(
        label=said.factuality.label,
        factuality=said.factuality,
        reason=" ".join(f"{said.reasoning} {f'Error: {error}' if error else ''}".split()),
        correction=correction if is_mended else None,
    )


def verdict_by_stances(evidence: Sequence[RetrievedEvidence]) -> SuggestedVerdict:
    """What follows from the stances alone, by the criteria for step 6 (Factcheck-Bench section C.6): irrelevant ones
    are skipped, the more frequent of support and refutation decides. Part of a claim is not the claim: partial support
    holds against a refutation but is not enough by itself."""
    count = Counter(each.stance for each in evidence)
    whole, part = count[StanceLabel.COMPLETELY_SUPPORT], count[StanceLabel.PARTIALLY_SUPPORT]
    refuted = count[StanceLabel.REFUTE]
    if refuted > whole + part:
        factuality = Factuality.FALSE
    elif whole and whole + part > refuted:
        factuality = Factuality.TRUE
    else:
        factuality = Factuality.NOT_ENOUGH_EVIDENCE
    reason = f"Of {len(evidence)} passages {whole} support the claim, {part} support a part of it, {refuted} refute it."
    return SuggestedVerdict(label=factuality.label, factuality=factuality, reason=reason)


def as_list(evidence: Sequence[RetrievedEvidence]) -> str:
    """Evidence as a prompt shows it: numbered, each with the title of its page."""
    return "\n".join(
        f"{number}. {f'({title}) ' if (title := ' '.join(each.title.split())) else ''}{' '.join(each.passage.split())}"
        for number, each in enumerate(evidence, start=1)
    )
