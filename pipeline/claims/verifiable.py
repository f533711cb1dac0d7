"""The verifiable claims of one sentence, read within its window (VeriScore, section 2.1 and appendix C)."""

from __future__ import annotations

from pydantic import BaseModel

from pipeline.notes import StepNotes
from pipeline.tools import Tools


class VerifiableClaims(BaseModel):
    """The claims of the marked sentence; none if nothing in it can be verified."""

    claims: list[str]


async def verifiable_claims(
    window: str, sentence: str, question: str, tools: Tools, tally: StepNotes
) -> list[str] | None:
    """The claims of the sentence that is marked in the window, and repeated behind it. With a ``question`` it is put
    before the window, without one ("") the window stands alone. None if the model's answer could not be read."""
    fields = {"window": window, "sentence": " ".join(sentence.split())} | ({"question": question} if question else {})
    answer = await tally.ask(
        tools,
        step="extract",
        prompt="veriscore/extract_answer" if question else "veriscore/extract_text",
        fields=fields,
        form=VerifiableClaims,
        instead="The sentence was decomposed by rules.",
        max_tokens=1024,
    )
    return answer.claims if answer else None
