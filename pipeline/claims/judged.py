"""The claims of a chunk, each judged at once from what the model knows (FastFact, section 4.1 and appendix J).

One of six labels is written beside each claim. A definite one (supported, non-supported, irrelevant) settles the claim
without a search if the model was sure enough of it, which its tokens' log-probabilities tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator

from pipeline.asking import Asking
from pipeline.claims.on_sentences import Extracted
from pipeline.notes import StepNotes
from pipeline.suggestions import Prejudgement
from pipeline.tools import Tools
from pipeline.verdict.label_confidence import written_labels

SUPPORTED, NON_SUPPORTED, IRRELEVANT = "supported", "non-supported", "irrelevant"
DEFINITE = frozenset({SUPPORTED, NON_SUPPORTED, IRRELEVANT})
STEP = "extract"
_SHORTEST_ANSWER, _LONGEST_ANSWER = 1024, 8192  # tokens


def as_label(word: object) -> object:
    """A label as the form spells it: "NON_SUPPORTED", "Nonsupported" and "non supported" are one."""
    if not isinstance(word, str):
        return word
    parts = word.strip(" #.*").casefold().replace("_", " ").replace("-", " ").split()
    return " ".join(parts).replace("non supported", NON_SUPPORTED).replace("nonsupported", NON_SUPPORTED)


class JudgedClaim(BaseModel):
    """A claim with the model's verdict on it."""

    claim: str
    label: Annotated[
        Literal["supported", "non-supported", "likely supported", "likely non-supported", "unsure", "irrelevant"],
        BeforeValidator(as_label),
    ]


class JudgedClaims(BaseModel):
    """The claims of the chunk in its order; none if nothing in it can be verified."""

    claims: list[JudgedClaim]


@dataclass(frozen=True, slots=True)
class Judged:
    """The claims of a chunk. ``cut``: the answer ended at its length limit, behind the last of them."""

    claims: list[Extracted]
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Settling:
    """When a claim is settled: by a definite label whose probability is higher than ``threshold``.
    ``irrelevant_always``: by “irrelevant” whatever its probability, as FastFact's released code has it."""

    threshold: float
    irrelevant_always: bool = False

    def settles(self, label: str, confidence: float | None) -> bool:
        """Whether that label, with the probability of its tokens (None: not known), settles a claim."""
        if label == IRRELEVANT and self.irrelevant_always:
            return True
        return label in DEFINITE and confidence is not None and confidence > self.threshold


async def judged_claims(chunk: str, question: str, rule: Settling, tools: Tools, tally: StepNotes) -> Judged | None:
    """The claims of a chunk with their prejudgements; None if the model's answer could not be used.

    Which are settled is said by ``rule``; that the server gives no log-probabilities is noted.
    """
    asked = await tally.asking(
        tools,
        step=STEP,
        prompt="fastfact/extract",
        fields={"question": question, "chunk": chunk},
        form=JudgedClaims,
        instead="The chunk was decomposed by rules; nothing in it is prejudged.",
        max_tokens=max(_SHORTEST_ANSWER, min(2 * len(chunk), _LONGEST_ANSWER)),
        logprobs=True,
    )
    if asked is None:
        return None
    confidences = _confidences(asked, tally)
    claims = [
        Extracted(
            item.claim,
            Prejudgement(item.label, confidence, rule.settles(item.label, confidence)),
            irrelevant=item.label == IRRELEVANT,
        )
        for item, confidence in zip(asked.value.claims, confidences, strict=True)
    ]
    return Judged(claims, asked.cut)


def _confidences(asked: Asking[JudgedClaims], tally: StepNotes) -> Sequence[float | None]:
    """The probability of each claim's label; None for all if they cannot be told apart among the tokens: a claim is
    rather searched for once too often than settled by the wrong number."""
    items = asked.value.claims
    written = written_labels(asked.answer.tokens, "label")
    if asked.cut:  # the last one may belong to a claim that is not complete
        written = written[: len(items)]
    if [as_label(each.text) for each in written] == [item.label for item in items]:
        return [each.probability for each in written]
    if not asked.answer.tokens:
        tally.note(STEP, "The server gave no log-probabilities, so every claim is searched for.")
    else:
        tally.note(STEP, "The labels were not found among the answer's tokens, so every claim is searched for.")
    return [None] * len(items)
