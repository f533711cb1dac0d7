"""The value of a protocol's question, as a form or the API sends it."""

from __future__ import annotations

from typing import Any

from annotator.core.actions.fields import BadValueError, clean_text
from annotator.core.protocol import Kind, Question

MAX_NUMBER = 1e12


def read_answer(question: Question, raw: str) -> Any:
    """A label, several joined by commas, yes or no, a text, a number; None where it is blank, which takes the answer
    back. Raises BadValueError."""
    raw = raw.replace("\x00", "")
    if question.kind == Kind.TEXT:
        return clean_text(raw) if raw.strip() else None
    if not raw.strip():
        return None
    if question.kind == Kind.LABELS:
        values = [_one_of(question, each) for each in raw.split(",")]
        return [value for value in question.values if value in values]
    if question.kind == Kind.NUMBER:
        return _number(raw)
    value = _one_of(question, raw)
    return value == "yes" if question.kind == Kind.YES_NO else value


def _one_of(question: Question, raw: str) -> str:
    if raw not in question.values:
        raise BadValueError(f"“{raw}” isn't a valid label; choose one of {', '.join(question.values)}.")
    return raw


def _number(raw: str) -> float | int:
    try:
        value = float(raw)
    except ValueError:
        raise BadValueError(f"“{raw}” isn’t a number.") from None
    if not abs(value) <= MAX_NUMBER:
        raise BadValueError("This number is out of range.")
    return int(value) if value.is_integer() else value
