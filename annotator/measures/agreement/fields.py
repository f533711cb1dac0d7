"""What agreement is computed of: the fields of a tally (``annotator.stages.comparison.tally``) with their words and
labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotator.core.vocabulary import (
    ClaimType,
    Factuality,
    Handling,
    Importance,
    Labelled,
    SentenceType,
    Stage,
    StanceLabel,
)
from annotator.stages.comparison.decomposition import WORTH_WORDS

YES_NO = {"yes": "Yes", "no": "No"}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a stage. ``words``: all labels that can be chosen, in order, as people read them; empty for a free
    text. ``thing``: what is counted, in the plural."""

    name: str
    stage: Stage
    label: str
    thing: str
    words: Mapping[str, str]

    @property
    def scale(self) -> tuple[str, ...]:
        return tuple(self.words)


def _words(vocabulary: type[Labelled]) -> dict[str, str]:
    return {word.value: word.label for word in vocabulary}


# "Not worth checking" without a reason is found in imported work alone: nobody can choose it.
_WORTH = {value: label for value, label in WORTH_WORDS.items() if value != "no: "}

LABEL_FIELDS: tuple[Field, ...] = (
    Field("sentence.type", Stage.DECOMPOSE, "Type of sentence", "sentences", _words(SentenceType)),
    Field("sentence.importance", Stage.DECOMPOSE, "Importance of sentence", "sentences", _words(Importance)),
    Field("claim.type", Stage.DECOMPOSE, "Type of claim", "claims", _words(ClaimType)),
    Field("claim.worth_checking", Stage.DECOMPOSE, "Worth checking", "claims", _WORTH),
    Field("claim.importance", Stage.DECOMPOSE, "Importance of claim", "claims", _words(Importance)),
    Field("stance.label", Stage.VERIFY, "Stance of evidence", "passages", _words(StanceLabel)),
    Field("stance.reliable", Stage.VERIFY, "Source is reliable", "passages", YES_NO),
    Field("stance.sufficient", Stage.VERIFY, "Passage is enough alone", "passages", YES_NO),
    Field("verdict.evidence_sufficient", Stage.VERIFY, "Evidence can decide it", "claims", YES_NO),
    Field("verdict.factuality", Stage.VERIFY, "Factuality", "claims", _words(Factuality)),
    Field("handling.handling", Stage.REVISE, "Claims without enough evidence", "claims", _words(Handling)),
)

TEXT_FIELDS: tuple[Field, ...] = (
    Field("sentence.decontext", Stage.DECOMPOSE, "Stand-alone sentence", "sentences", {}),
    Field("claim.text", Stage.DECOMPOSE, "Text of claim", "claims", {}),
    Field("verdict.edit", Stage.VERIFY, "Claim after the edit", "claims", {}),
    Field("handling.text", Stage.REVISE, "Rewritten claim", "claims", {}),
    Field("rewrite.text", Stage.REVISE, "Sentence of the answer", "sentences", {}),
    Field("answer.text", Stage.REVISE, "Answer as a whole", "answers", {}),
)

# Rows of a comparison that are settled but are no label: whole versions, whether a claim is taken in.
OTHER_ROWS: dict[str, str] = {
    "cut.whole": "How the answer is cut into sentences",
    "split.whole": "One claim or several",
    "claim.take": "Whether there is such a claim",
}

FIELD_WORDS: dict[str, str] = {each.name: each.label for each in (*LABEL_FIELDS, *TEXT_FIELDS)} | OTHER_ROWS


def field_of_key(key: str) -> str:
    """The field that a decision is about, from its key: "claim-0a1b-type" is "claim.type"."""
    kind, _, rest = key.partition("-")
    return f"{kind}.{rest.rpartition('-')[2]}"


def label_of(value: Any) -> str:
    """A value of a tally as a label; "" where the person was not asked or has not answered."""
    if value is None:
        return ""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
