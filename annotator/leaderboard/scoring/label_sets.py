"""The labels of each task as the released file spells them, and other spellings that are safe to accept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Undetermined(StrEnum):
    """How claims without enough evidence in the gold are scored (Factcheck-Bench, Table 5, uses the first)."""

    LEFT_OUT = "left_out"
    FALSE = "false"
    OWN_LABEL = "own_label"


@dataclass(frozen=True, slots=True)
class LabelSet:
    """``labels`` in order; ``also`` maps further spellings (ignoring case, spaces, hyphens) to a label. A broader word
    is mapped only if it can't mean another label. ``constants`` names constant baselines with a name of their own."""

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
    """A label normalized: case, outer space, hyphens and underscores don't matter."""
    return " ".join(word.casefold().replace("_", " ").replace("-", " ").split())
