"""The labels of each task as the released file spells them, and the other spellings that are safe to take for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Undetermined(StrEnum):
    """What becomes of claims for which the gold has not enough evidence (Factcheck-Bench, Table 5, has the first)."""

    LEFT_OUT = "left_out"
    FALSE = "false"
    OWN_LABEL = "own_label"


@dataclass(frozen=True, slots=True)
class LabelSet:
    """``labels`` in their order; ``also`` maps further spellings (case, space, hyphens aside) to a label. A wider
    word is only mapped where it cannot mean another label. ``constants`` names the constant answers that have a name
    of their own."""

    labels: tuple[str, ...]
    also: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)


YES, NO = "yes", "no"
TRUE, FALSE, UNDECIDED = "true", "false", "not_enough_evidence"
FACTUAL = "factual"
_NO_CHECK = ("not checkworthy", "not worth checking", "opinion", "not a claim", "other", "false")

SENTENCE = LabelSet(
    (YES, NO),
    {"checkworthy": YES, "check worthy": YES, "true": YES} | dict.fromkeys(_NO_CHECK, NO),
    {YES: "always_checkworthy", NO: "always_not_checkworthy"},
)
CLAIM = LabelSet(
    (FACTUAL, "opinion", "not_a_claim", "other"),
    {"factual claim": FACTUAL, "fact": FACTUAL},
    {FACTUAL: "always_checkworthy"},
)
_REFUTES = {"refutes": "refute", "refuted": "refute", "contradict": "refute", "contradiction": "refute"}
STANCE_4 = LabelSet(
    ("completely-support", "partially-support", "refute", "irrelevant"),
    {"complete support": "completely-support", "partial support": "partially-support"} | _REFUTES,
)
STANCE_3 = LabelSet(
    ("support", "refute", "irrelevant"),
    dict.fromkeys(
        (
            *("supports", "supported", "entailment", "completely support", "partially support"),
            *("complete support", "partial support"),
        ),
        "support",
    )
    | _REFUTES
    | {"neutral": "irrelevant"},
)
_TRUTH = {"supported": TRUE, "support": TRUE, "refuted": FALSE, "refute": FALSE}
_UNKNOWN = {"nei": UNDECIDED, "unknown": UNDECIDED, "not enough info": UNDECIDED, "undetermined": UNDECIDED}
FACTUALITY = LabelSet((TRUE, FALSE, UNDECIDED), _TRUTH | _UNKNOWN)
RESPONSE = LabelSet((TRUE, FALSE), _TRUTH)

_MERGED = {"completely-support": "support", "partially-support": "support"}


def three(stance: str) -> str:
    """Complete and partial support as one label (Factcheck-Bench, section 4.3 and Table 4)."""
    return _MERGED.get(stance, stance)


def plain(word: str) -> str:
    """A label without the differences that mean nothing: case, outer space, hyphens and underscores."""
    return " ".join(word.casefold().replace("_", " ").replace("-", " ").split())
