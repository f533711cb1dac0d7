"""A claim judged by the list of its search results, in two labels or three (VeriScore, section 2.3 and Table 5).

A claim has parts, and each part may have results that support it and results that contradict it. Supported: every part
has some that support it and none that contradict it. Contradicted: some part has results that contradict it and none
that support it. Inconclusive: neither, because some part has none of either kind, or of both. With two labels the last
two are one: unsupported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator

from annotator.core.vocabulary import Factuality
from pipeline.notes import StepNotes
from pipeline.suggestions import RetrievedEvidence, SuggestedVerdict
from pipeline.tools import Tools

SUPPORTED, CONTRADICTED, INCONCLUSIVE, UNSUPPORTED = "supported", "contradicted", "inconclusive", "unsupported"
# Unsupported is contradicted or inconclusive, and does not say which: nothing in our words.
MEANS: dict[str, Factuality | None] = {
    SUPPORTED: Factuality.TRUE,
    CONTRADICTED: Factuality.FALSE,
    INCONCLUSIVE: Factuality.NOT_ENOUGH_EVIDENCE,
    UNSUPPORTED: None,
}


def _plain(word: object) -> object:
    return word.strip(" #.*").casefold() if isinstance(word, str) else word


class TwoLabels(BaseModel):
    """Whether the results support the claim."""

    reason: str = ""
    label: Annotated[Literal["supported", "unsupported"], BeforeValidator(_plain)]


class ThreeLabels(BaseModel):
    """Whether the results support the claim, contradict it, or leave it open."""

    reason: str = ""
    label: Annotated[Literal["supported", "contradicted", "inconclusive"], BeforeValidator(_plain)]


async def results_verdict(
    claim: str, results: Sequence[RetrievedEvidence], *, three: bool, tools: Tools, tally: StepNotes
) -> SuggestedVerdict | None:
    """The claim's verdict; None where the model's answer could not be read. Without a result it follows from the
    definitions: no model is asked, counted as ``unfound``."""
    if not results:
        tally.counts["unfound"] += 1
        label, reason = INCONCLUSIVE if three else UNSUPPORTED, "The search found nothing."
    else:
        form: type[TwoLabels] | type[ThreeLabels] = ThreeLabels if three else TwoLabels
        answer: TwoLabels | ThreeLabels | None = await tally.ask(
            tools,
            step="verify",
            prompt="veriscore/verify_three" if three else "veriscore/verify_two",
            fields={"claim": claim, "results": as_text(results)},
            form=form,
            instead="There is no verdict, only the results.",
            max_tokens=512,
        )
        if answer is None:
            return None
        label, reason = answer.label, " ".join(answer.reason.split())
    return SuggestedVerdict(label=label, factuality=MEANS[label], reason=reason)


def as_text(results: Sequence[RetrievedEvidence]) -> str:
    """Title, text and link of each result, numbered, as the model reads them."""
    return "\n\n".join(
        f"Result {number}\nTitle: {each.title}\nText: {each.passage}\nLink: {each.url}"
        for number, each in enumerate(results, start=1)
    )
