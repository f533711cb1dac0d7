"""How an import stays lossless: a record remembers how the released file spelled a field (ADR 0003).

Every record has a text column ``released``. It holds JSON, ``{field: {"spelling": …, "stands_for": …}}``, only for
fields that the file spells differently from what the record would export by itself. ``stands_for`` is that own value
at import. At export the spelling is used as long as the own value is still the one it stands for; so a change made in
the app shows, and taking the change back brings the spelling back. The fields of one claim, those of the verify stage
included, are remembered by the claim; a stage that is agreed anew thus loses no spelling.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

# What no database takes in a text: NUL (PostgreSQL) and halves of surrogate pairs (not encodable as UTF-8).
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class _Absent:
    """Stands for a field that the file does not have at all."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Any = _Absent()

Spellings = dict[str, dict[str, Any]]


def storable(text: str) -> str:
    """The text without the characters that a database cannot keep."""
    return _UNSTORABLE.sub("", text) if "\x00" in text or not _is_encodable(text) else text


def _is_encodable(text: str) -> bool:
    """Ten times as quick as a search for what is not; and nearly all texts are."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def storable_json(value: Any) -> Any:
    """A JSON value whose texts are storable; numbers beyond a double's range become text."""
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
    """``storable_json`` of a value as JSON text. Only odd values are looked through, since nearly none is."""
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    except ValueError:  # a number beyond a double's range
        text = ""
    return text if text and is_plain_json(text) else json.dumps(storable_json(value), indent=indent, ensure_ascii=False)


def is_plain_json(text: str) -> bool:
    """Whether a database could keep every text of a JSON text; what merely looks like an escaped NUL counts as one."""
    return "\\u0000" not in text and _is_encodable(text)


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: unlike in Python, ``True`` is not ``1`` and ``1`` is not ``1.0``."""
    if type(one) is not type(other) or one != other:
        return False
    if isinstance(one, list):
        # A text equals nothing but a text, so a list of texts is done; there are very many of them in an import.
        return set(map(type, one)) <= {str} or all(map(same, one, other))
    return not isinstance(one, dict) or all(same(one[key], other[key]) for key in one)


def remember(spellings: Spellings, field: str, spelling: Any, own: Any) -> None:
    """Notes how the file spells ``field`` (or that it has none: ``ABSENT``), if that differs from ``own``."""
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
    """What to export for several fields. Most records remember nothing."""
    return {name: spelled(spellings, name, value) for name, value in own.items()} if spellings else own


def dump(spellings: Spellings) -> str:
    """For the column: "" when there is nothing. ASCII, so that NUL is kept as the six characters \\u0000."""
    return json.dumps(spellings, ensure_ascii=True, separators=(",", ":")) if spellings else ""


def load(column: str) -> Spellings:
    if not column:
        return {}
    spellings: Spellings = json.loads(column)
    return spellings
