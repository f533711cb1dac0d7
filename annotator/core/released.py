"""How an import stays lossless: each record remembers how the released file wrote a field (ADR 0003).

Every record has a text column ``released`` that holds JSON, ``{field: {"spelling": …, "stands_for": …}}``, only for
fields that the file writes differently from what the record would export. ``stands_for`` is the record's own value at
import. Export uses the spelling as long as the value is still equal to ``stands_for``: a change made in the app is
exported, and undoing it restores the spelling. A claim remembers all its fields, including those of the verify stage,
so adjudicating that stage again loses no spelling.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

# Characters that no database accepts in text: NUL (PostgreSQL) and lone surrogates (not encodable as UTF-8).
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class _Absent:
    """Marks a field that is absent from the file."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Any = _Absent()

Spellings = dict[str, dict[str, Any]]


def storable(text: str) -> str:
    """The text without characters that a database can't store."""
    return _UNSTORABLE.sub("", text) if "\x00" in text or not _is_encodable(text) else text


def _is_encodable(text: str) -> bool:
    """Nearly all texts are fine, and this check is ten times as fast as searching for bad characters."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def storable_json(value: Any) -> Any:
    """A JSON value whose texts can be stored. Numbers beyond a double's range become text."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(key): storable_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [storable_json(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def storable_text(value: Any, *, indent: int | None = None) -> str:
    """``storable_json`` of a value, as JSON text. Nearly all values are fine, so only unusual ones are walked."""
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    except ValueError:  # a number beyond a double's range
        text = ""
    return text if text and is_plain_json(text) else json.dumps(storable_json(value), indent=indent, ensure_ascii=False)


def is_plain_json(text: str) -> bool:
    """Could a database store every string in a JSON text? Text that merely looks like an escaped NUL is flagged,
    too."""
    return "\\u0000" not in text and _is_encodable(text)


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: unlike in Python, ``True`` is not ``1`` and ``1`` is not ``1.0``."""
    if type(one) is not type(other) or one != other:
        return False
    if isinstance(one, list):
        # Text is equal only to text, so a list of texts needs no further check. Imports have very many of them.
        return set(map(type, one)) <= {str} or all(map(same, one, other))
    return not isinstance(one, dict) or all(same(one[key], other[key]) for key in one)


def remember(spellings: Spellings, field: str, spelling: Any, own: Any) -> None:
    """Record how the file writes ``field`` (or that it is ``ABSENT``), if that differs from ``own``."""
    if spelling is ABSENT:
        spellings[field] = {"absent": True, "stands_for": own}
    elif spelling is not own and not same(spelling, own):
        spellings[field] = {"spelling": spelling, "stands_for": own}


def spelled(spellings: Mapping[str, Mapping[str, Any]], field: str, own: Any) -> Any:
    """What to export for ``field``: the released spelling (or ``ABSENT``) while it stands for ``own``, else ``own``."""
    entry = spellings.get(field)
    if entry is None or not same(entry["stands_for"], own):
        return own
    return ABSENT if entry.get("absent") else entry["spelling"]


def spelled_all(spellings: Mapping[str, Mapping[str, Any]], own: dict[str, Any]) -> dict[str, Any]:
    """What to export for several fields. Most records have nothing to remember."""
    return {name: spelled(spellings, name, value) for name, value in own.items()} if spellings else own


def dump(spellings: Spellings) -> str:
    """The column's value, "" if there is nothing. ASCII, so that NUL is stored as the six characters \\u0000."""
    return json.dumps(spellings, ensure_ascii=True, separators=(",", ":")) if spellings else ""


def load(column: str) -> Spellings:
    if not column:
        return {}
    spellings: Spellings = json.loads(column)
    return spellings
