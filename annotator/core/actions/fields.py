"""Which fields a person may save one by one, how their values are read from a request, and their origin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from annotator.core.models import Claim, ResponseRevision, Sentence, Stance
from annotator.core.models.base import Record
from annotator.core.vocabulary import (
    ClaimType,
    Confidence,
    Factuality,
    Handling,
    Importance,
    Labelled,
    NotWorthReason,
    Origin,
    SentenceType,
    StanceLabel,
)

MAX_TEXT = 20_000
MAX_RESPONSE = 1_000_000


class BadValueError(ValueError):
    """A value that the field cannot take; the message is for the person who sent it."""


@dataclass(frozen=True, slots=True)
class Field:
    """How one field is read. ``origin`` names the kind of origin it keeps: "text", "label" or none."""

    read: Callable[[str], Any]
    origin: str = ""


def clean_text(raw: str, most: int = MAX_TEXT) -> str:
    """A text as typed: line ends unified, NUL dropped (PostgreSQL cannot store it), outer space kept."""
    text = raw.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    if len(text) > most:
        raise BadValueError(f"This text has {len(text):,} characters; {most:,} fit. Shorten it, then it is saved.")
    return text


def word_of(words: type[Labelled], *, may_be_blank: bool = True) -> Callable[[str], str]:
    """A reader for one vocabulary; blank takes the label back."""

    def read(raw: str) -> str:
        if raw in {word.value for word in words} or (raw == "" and may_be_blank):
            return raw
        known = ", ".join(word.value for word in words)
        raise BadValueError(f"“{raw}” is no label here. The labels are: {known}.")

    return read


def yes_or_no(raw: str) -> bool | None:
    """ "yes", "no" or "" (not answered)."""
    answers = {"yes": True, "no": False, "": None}
    if raw not in answers:
        raise BadValueError(f"“{raw}” is neither yes nor no.")
    return answers[raw]


FIELDS: dict[str, dict[str, Field]] = {
    "sentence": {
        "decontext": Field(clean_text, "text"),
        "type": Field(word_of(SentenceType), "label"),
        "importance": Field(word_of(Importance), "label"),
    },
    "claim": {
        "text": Field(clean_text, "text"),
        "type": Field(word_of(ClaimType), "label"),
        "worth_checking": Field(yes_or_no, "label"),
        "not_worth_reason": Field(word_of(NotWorthReason)),
        "importance": Field(word_of(Importance), "label"),
    },
    "evidence": {
        "passage": Field(clean_text),
        "url": Field(clean_text),
        "title": Field(clean_text),
        "query": Field(clean_text),
    },
    "stance": {
        "label": Field(word_of(StanceLabel), "label"),
        "reliable": Field(yes_or_no),
        "sufficient": Field(yes_or_no),
    },
    "verdict": {
        "evidence_sufficient": Field(yes_or_no, "label"),
        "factuality": Field(word_of(Factuality), "label"),
        "reason": Field(clean_text),
        "confidence": Field(word_of(Confidence)),
    },
    "claim-revision": {
        "handling": Field(word_of(Handling, may_be_blank=False)),
        "text": Field(clean_text),
    },
    "sentence-revision": {
        "text": Field(clean_text, "text"),
        "deleted": Field(lambda raw: bool(yes_or_no(raw))),
    },
    "response-revision": {"text": Field(lambda raw: clean_text(raw, MAX_RESPONSE), "text")},
}


def field_of(kind: str, name: str) -> Field:
    """The field's reader. Raises BadValueError for a field that is not saved one by one."""
    try:
        return FIELDS[kind][name]
    except KeyError:
        raise BadValueError(f"A {kind} has no field “{name}” that can be saved.") from None


def shown_suggestion(record: Record, name: str, value: Any = None) -> Any:
    """What the pipeline proposed for this field on the screen; None where nothing was shown. Of an answer that began as
    a proposal, which came in two versions, the one that ``value`` equals."""
    if isinstance(record, ResponseRevision) and record.suggestion is not None:
        versions = (record.suggestion.with_prompt, record.suggestion.without_prompt)
        return value if value in versions else versions[0]
    if not isinstance(record, Sentence | Claim | Stance) or record.suggestion is None:
        return None
    shown = getattr(record.suggestion, name, None)
    return None if shown == "" else shown


def origin_of(kind_of_field: str, value: Any, shown: Any) -> str:
    """Same as shown: accepted. Text changed: edited. Label changed, or nothing shown: human. Nothing decided: ""."""
    if value is None or (value == "" and kind_of_field == "label"):
        return ""
    if shown is not None and value == shown:
        return Origin.ACCEPTED
    if shown is not None and kind_of_field == "text":
        return Origin.EDITED
    return Origin.HUMAN
