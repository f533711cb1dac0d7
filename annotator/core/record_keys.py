"""The names of records in pages and in the history: ``claim:ab12cd34ef56``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from annotator.core.models import (
    Activity,
    Annotation,
    Claim,
    ClaimRevision,
    Decision,
    Document,
    Evidence,
    ResponseRevision,
    Sentence,
    SentenceRevision,
    Stance,
    Verdict,
)
from annotator.core.models.base import Record

RECORDS: dict[str, type[Record]] = {
    "document": Document,
    "annotation": Annotation,
    "sentence": Sentence,
    "claim": Claim,
    "evidence": Evidence,
    "stance": Stance,
    "verdict": Verdict,
    "claim-revision": ClaimRevision,
    "sentence-revision": SentenceRevision,
    "response-revision": ResponseRevision,
    "decision": Decision,
}
KINDS: dict[type[Record], str] = {model: kind for kind, model in RECORDS.items()}


def register(kind: str, model: type[Record]) -> None:
    """Register a kind of record whose model lives in a higher area, so that history and undo can find it."""
    RECORDS[kind] = model
    KINDS[model] = kind


class RecordGoneError(LookupError):
    """The record named in a request or in the history does not exist."""


def key_of(record: Record) -> str:
    """The name of a record in pages and in the history: ``claim:ab12cd34ef56``."""
    return f"{KINDS[type(record)]}:{record.public_id}"


def find_record(key: str) -> Record:
    """Load the record of a key. Raises RecordGoneError."""
    kind, _, public_id = key.partition(":")
    model = RECORDS.get(kind)
    record: Record | None = model.objects.filter(public_id=public_id).first() if model else None  # type: ignore[attr-defined]
    if record is None:
        raise RecordGoneError(f"The {kind or 'record'} {public_id!r} no longer exists.")
    return record


def changes_of(activities: Iterable[Activity], key: str, name: str) -> Iterable[tuple[Activity, dict[str, Any]]]:
    """The changes of one field of one record among these activities, in order."""
    for activity in activities:
        for change in activity.changes:
            if change["record"] == key and change["field"] == name:
                yield activity, change
