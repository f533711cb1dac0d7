"""The spellings of the labels in the released Factcheck-Bench file."""

from __future__ import annotations

import re

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


# What people wrote instead of a passage: that they found nothing or don't know.
_REMARK = re.compile(
    r"(?:n\s*/?\s*a|none|nil|nothing|unknown|unsure|tbd|[-–—.?]*"
    r"|(?:general )?common (?:sense|knowledge)"
    r"|(?:there is |i found |found )?(?:not enough|insufficient|no)(?: \w+){0,2}"
    r" (?:evidence|information|sources?|results?)(?: found)?"
    r"|(?:unknown\W+)?(?:i am |i'm )?not sure\b.*"
    r"|i (?:do not|don't) know\b.*)\W*",
    re.IGNORECASE | re.DOTALL,
)


def is_remark(passage: str, url: str) -> bool:
    """Is the evidence someone wrote a placeholder or a remark ("N/A", "Not sure.") instead of a passage? Text with a
    URL never is."""
    return not url and _REMARK.fullmatch(passage.strip().replace("’", "'")) is not None
