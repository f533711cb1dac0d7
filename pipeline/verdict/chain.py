"""The verdict over a whole chain of questions and answers, in two classes or four (Papelo, section 3.4).

The classes are those of AVeriTeC, in its own words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel

from annotator.core.vocabulary import Factuality
from pipeline.notes import StepNotes
from pipeline.retrieval.questions import as_text
from pipeline.suggestions import QuestionAnswer, SuggestedVerdict
from pipeline.tools import Tools

SUPPORTED, REFUTED = "Supported", "Refuted"
NOT_ENOUGH, CONFLICTING = "Not Enough Evidence", "Conflicting Evidence/Cherrypicking"
# Contradictory evidence that cannot be resolved is not enough evidence in the words of Factcheck-Bench (section 2, 6).
MEANS: dict[str, Factuality] = {
    SUPPORTED: Factuality.TRUE,
    REFUTED: Factuality.FALSE,
    NOT_ENOUGH: Factuality.NOT_ENOUGH_EVIDENCE,
    CONFLICTING: Factuality.NOT_ENOUGH_EVIDENCE,
}
_WORD_OF = {
    "supported": SUPPORTED,
    "refuted": REFUTED,
    "not_enough_evidence": NOT_ENOUGH,
    "conflicting": CONFLICTING,
}


class TwoClasses(BaseModel):
    """Supported or refuted: what the submitted system chose from."""

    reason: str = ""
    verdict: Literal["supported", "refuted"]


class FourClasses(BaseModel):
    """The four classes of AVeriTeC."""

    reason: str = ""
    verdict: Literal["supported", "refuted", "not_enough_evidence", "conflicting"]


async def chain_verdict(
    claim: str,
    told: str,
    chain: Sequence[QuestionAnswer],
    early: bool | None,
    *,
    four: bool,
    tools: Tools,
    tally: StepNotes,
) -> SuggestedVerdict:
    """The claim's verdict with its chain. Where the model's cannot be read it is what ended the questions (``early``:
    true, false or neither); a label of "" then says that there is none."""
    form: type[TwoClasses] | type[FourClasses] = FourClasses if four else TwoClasses
    instead = "The verdict is the one that ended the questions." if early is not None else "There is no verdict."
    asked: TwoClasses | FourClasses | None = await tally.ask(
        tools,
        step="verdict",
        prompt="papelo/verdict_four" if four else "papelo/verdict_two",
        fields={"claim": claim, "about": told, "chain": as_text(chain)},
        form=form,
        instead=instead,
        max_tokens=512,
    )
    if asked is not None:
        label = _WORD_OF[asked.verdict]
    else:
        label = "" if early is None else SUPPORTED if early else REFUTED
    return SuggestedVerdict(
        label=label,
        factuality=MEANS.get(label),
        reason=" ".join(asked.reason.split()) if asked else "",
        chain=tuple(chain),
    )
