"""Reading the value of a field from a request, and deriving its origin."""

from __future__ import annotations

import re
from typing import Any

from annotator.core import fields
from annotator.core.fields import MAX_TEXT, Field, Kind
from annotator.core.models import Claim, ResponseRevision, Sentence, Stance
from annotator.core.models.base import Record
from annotator.core.texts import spans
from annotator.core.vocabulary import Origin, spelled


class BadValueError(ValueError):
    """A value that the field doesn't accept. The message is shown to the sender."""


def clean_text(raw: str, most: int = MAX_TEXT) -> str:
    """A text as typed, with unified line ends and without NUL, which PostgreSQL can't store. Leading and trailing space
    is kept."""
    text = raw.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    if len(text) > most:
        raise BadValueError(f"This text has {len(text):,} characters; the limit is {most:,}. Shorten it to save.")
    return text


def read(field: Field, raw: str) -> Any:
    """The value of a field from a request. A blank label or answer clears the decision."""
    if field.kind == Kind.TEXT:
        return clean_text(raw, field.longest)
    if field.kind == Kind.SPANS:
        return _spans(raw)
    if field.words is not None:
        return _word(field, raw)
    answers = {"yes": True, "no": False, "": None}
    if raw not in answers:
        raise BadValueError(f"“{raw}” isn't a valid answer; choose yes or no.")
    return bool(answers[raw]) if field.kind == Kind.FLAG else answers[raw]


def _word(field: Field, raw: str) -> str:
    words = [word.value for word in field.words or ()]
    value = spelled(raw, words)
    if value in words or (value == "" and field.may_be_blank):
        return value
    raise BadValueError(f"“{raw}” isn't a valid label; choose one of {', '.join(words)}.")


_SPANS = re.compile(r"(\d{1,7}-\d{1,7}( \d{1,7}-\d{1,7})*)?", re.ASCII)


def _spans(raw: str) -> list[spans.Span]:
    """Spans as a request writes them, "3-17 40-52": in order, those that touch or overlap joined."""
    if not _SPANS.fullmatch(raw):
        raise BadValueError("Write the selected words as start-end, separated by spaces, such as “3-17 40-52”.")
    found = [[int(place) for place in each.split("-")] for each in raw.split()]
    for start, end in found:
        if end <= start:
            raise BadValueError(f"The selection {start}-{end} is empty. Its end must come after its start.")
    return spans.joined(found)


def check_fits(record: Record, name: str, value: Any) -> None:
    """Raises BadValueError for a rationale that reaches beyond its passage."""
    if not isinstance(record, Stance) or name != "rationale" or not value:
        return
    length = len(record.evidence.passage)
    if value[-1][1] > length:
        raise BadValueError(
            f"The passage has {length:,} characters; the selection ends at {value[-1][1]:,}. Select the words again."
        )


def saved_fields(kind: str) -> dict[str, Field]:
    """The fields of a kind of record that are saved one at a time, by name."""
    return {each.name: each for each in fields.fields_of(kind) if each.kind != Kind.EDIT}


def field_of(kind: str, name: str) -> Field:
    """The field of that name. Raises BadValueError if it isn't saved one at a time."""
    found = fields.find(kind, name)
    if found is None or found.kind == Kind.EDIT:
        raise BadValueError(f"A {kind} has no field “{name}” that can be saved.")
    return found


def shown_suggestion(record: Record, name: str, value: Any = None) -> Any:
    """What the pipeline suggested for this field on the screen; None if nothing was shown. A suggested revision has two
    versions; if ``value`` equals one of them, that one is returned."""
    if isinstance(record, ResponseRevision) and record.suggestion is not None:
        versions = (record.suggestion.with_prompt, record.suggestion.without_prompt)
        return value if value in versions else versions[0]
    if not isinstance(record, Sentence | Claim | Stance) or record.suggestion is None:
        return None
    shown = getattr(record.suggestion, name, None)
    return None if shown == "" else shown


def origin_of(field: Field, value: Any, shown: Any) -> str:
    """Same as the suggestion: accepted. Text changed: edited. Label changed, or no suggestion: human. Not decided:
    ""."""
    is_text = field.kind == Kind.TEXT
    if value is None or (value == "" and not is_text):
        return ""
    if shown is not None and value == shown:
        return Origin.ACCEPTED
    if shown is not None and is_text:
        return Origin.EDITED
    return Origin.HUMAN
