"""An imported document, the same for every format: what is checked, and what its identity is."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from annotator.core.file_problems import complain
from annotator.core.lines import kind_of
from annotator.core.released import storable

FIELDS: tuple[str, ...] = ("prompt", "response", "id", "source", "model", "metadata", "reference_date")
SHORT_TEXT = 200  # characters: the length of the columns for id, source and model

_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}\S*)?")


@dataclass(frozen=True, slots=True)
class IncomingSentence:
    """A sentence proposed by the file, with its proposed claims."""

    text: str
    claims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IncomingDocument:
    """One row. Texts are as in the file; characters that databases don't accept are dropped only when writing."""

    line: int
    prompt: str
    response: str
    external_id: str = ""
    source: str = ""
    model: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    reference_date: dt.date | None = None
    sentences: tuple[IncomingSentence, ...] = ()
    repeated: str = ""  # the identity of a row whose id or texts another row of the file shares

    @property
    def identity(self) -> str:
        return self.repeated or self.external_id or text_identity(self.prompt, self.response)

    @property
    def content_hash(self) -> str:
        return hash_of(
            [
                self.prompt,
                self.response,
                self.source,
                self.model,
                self.metadata,
                self.reference_date.isoformat() if self.reference_date else None,
                [[sentence.text, list(sentence.claims)] for sentence in self.sentences],
            ]
        )

    @property
    def size(self) -> int:
        """Its approximate length in characters, which limits batches."""
        return len(self.prompt) + len(self.response)


def text_identity(prompt: str, response: str) -> str:
    """The identity of a document without an id."""
    return f"sha256:{hash_of([prompt, response])}"


def hash_of(value: Any) -> str:
    """SHA-256 (hex) of a JSON value, independent of key order."""
    return hash_of_json(sorted_json(value))


def sorted_json(value: Any) -> str:
    """A JSON value as ASCII with sorted keys."""
    return json.dumps(value, sort_keys=True)


def hash_of_json(text: str) -> str:
    """The hash of a value from its ``sorted_json``."""
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def place_of(text: str, response: str, position: int) -> tuple[int, int] | None:
    """Where a sentence is in the response from ``position`` on, ignoring its outer space if necessary."""
    for wanted in (text, text.strip()):
        start = response.find(wanted, position) if wanted else -1
        if start >= 0:
            return start, start + len(wanted)
    return None


def document(values: Mapping[str, Any], *, line: int, sentences: Iterable[IncomingSentence] = ()) -> IncomingDocument:
    """A validated document from the values of ``FIELDS``. Raises ``RowError`` with all problems."""
    complaints: list[tuple[str, str]] = []

    def text(name: str, *, at_most: int | None = None) -> str:
        value = values.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            complaints.append((name, f"expected a text, found {kind_of(value)}."))
            return ""
        if at_most is not None and len(value) > at_most:
            complaints.append((name, f"{len(value)} characters; the limit is {at_most}. Shorten it."))
        return value

    prompt, response = text("prompt"), text("response")
    if "response" not in values:
        complaints.append(("response", "required: each row needs the response to fact-check."))
    elif not storable(response).strip() and not any(name == "response" for name, _ in complaints):
        complaints.append(("response", "blank: there is nothing to fact-check."))
    external_id, complaint = _external_id(values.get("id"))
    complaints += complaint
    source, model = text("source", at_most=SHORT_TEXT), text("model", at_most=SHORT_TEXT)
    metadata = values.get("metadata")
    if metadata is None or metadata == "":
        metadata = {}
    elif not isinstance(metadata, dict):
        complaints.append(("metadata", f"expected a JSON object, found {kind_of(metadata)}."))
        metadata = {}
    reference_date, complaint = parse_date(values.get("reference_date"), "reference_date")
    complaints += complaint
    complain(complaints)
    return IncomingDocument(
        line=line,
        prompt=prompt,
        response=response,
        external_id=external_id,
        source=source,
        model=model,
        metadata=metadata,
        reference_date=reference_date,
        sentences=tuple(sentences),
    )


def _external_id(value: Any) -> tuple[str, list[tuple[str, str]]]:
    if value is None:
        return "", []
    if isinstance(value, bool) or not isinstance(value, str | int):
        return "", [("id", f"expected a text or a whole number, found {kind_of(value)}.")]
    external_id = str(value).strip()
    if len(external_id) > SHORT_TEXT:
        return "", [("id", f"{len(external_id)} characters; the limit is {SHORT_TEXT}. Shorten it.")]
    if "\x00" in external_id or not external_id.isprintable():
        return "", [("id", "contains non-printable characters. Remove them.")]
    return external_id, []


def parse_date(value: Any, field_name: str) -> tuple[dt.date | None, list[tuple[str, str]]]:
    """A date such as 2023-11-20 (a time after it is dropped), or a complaint. Blank means no date."""
    if value is None or value == "":
        return None, []
    match = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    try:
        if match:
            return dt.date.fromisoformat(match[1]), []
    except ValueError:
        pass
    shown = f"“{str(value)[:40]}”" if isinstance(value, str | int | float) else kind_of(value)
    return None, [(field_name, f"{shown} isn’t a valid date. Write it as year-month-day, such as 2023-11-20.")]


def picked(row: Mapping[str, Any], mapping: Mapping[str, str] | None) -> dict[str, Any]:
    """The values of ``FIELDS`` in a row; every other column becomes metadata, so nothing is lost.

    ``mapping`` names a field's column if it differs: {"prompt": "question"}. A field mapped to "" is not read.
    """
    columns = {name: name for name in FIELDS} | dict(mapping or {})
    values = {name: row[column] for name, column in columns.items() if column and column in row}
    rest = {column: value for column, value in row.items() if column not in columns.values()}
    metadata = values.get("metadata")
    if rest and (metadata in (None, "") or isinstance(metadata, dict)):
        values["metadata"] = {**rest, **(metadata or {})}
    return values
