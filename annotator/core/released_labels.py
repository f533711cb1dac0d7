"""The spellings of the labels in the released Factcheck-Bench file."""

from __future__ import annotations

from annotator.core.vocabulary import Factuality, Importance, SentenceType, StanceLabel

CHECKWORTHINESS = {SentenceType.CHECKWORTHY.value: "yes"} | {
    word.value: word.value for word in (SentenceType.OPINION, SentenceType.NOT_A_CLAIM, SentenceType.OTHER)
}


IMPORTANCE = {
    Importance.MOST.value: "yes",
    Importance.INTERMEDIATE.value: "intermediate",
    Importance.LESS.value: "no",
}


STANCE = {word.value: word.value.replace("_", "-") for word in StanceLabel}


NEEDS_EDIT = {
    Factuality.TRUE.value: "no",
    Factuality.FALSE.value: "yes",
    Factuality.NOT_ENOUGH_EVIDENCE.value: "not_enough_evidence",
}


NOT_APPLICABLE = "NA"


NO_EVIDENCE_USED = "-1"


SELF_RETRIEVED = "self-retrieved"
