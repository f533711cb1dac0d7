"""JSON byte for byte as Python's own module writes it, several times as quick where it is long texts for the most part.

The texts are escaped by orjson. What stands around them is put together here, since orjson's own form is another one:
without blanks, or indented by two.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import orjson


def dumps(value: Any, *, indent: int | None = None, ascii: bool = False) -> bytes:
    """The same as ``json.dumps(value, indent=indent, ensure_ascii=ascii, allow_nan=False).encode()``, for a value whose
    keys are texts. Raises ValueError for what no JSON in UTF-8 can hold: a number that is none, half of a surrogate
    pair."""
    text = _ascii if ascii else orjson.dumps
    try:
        return _indented(value, text, b"\n", b" " * indent) if indent else _line(value, text)
    except orjson.JSONEncodeError as error:
        raise ValueError(str(error)) from None


def _line(value: Any, text: Callable[[Any], bytes]) -> bytes:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        pairs = [
            text(name) + b": " + (text(each) if isinstance(each, str) else _line(each, text))  # most are texts
            for name, each in value.items()
        ]
        return b"{" + b", ".join(pairs) + b"}"
    if isinstance(value, list):
        return b"[" + b", ".join([_line(each, text) for each in value]) + b"]"
    return _other(value)


def _indented(value: Any, text: Callable[[Any], bytes], end: bytes, step: bytes) -> bytes:
    """``end``: what goes before the bracket that closes the value: a new line, indented as the value's own."""
    if isinstance(value, str):
        return text(value)
    start = end + step
    if isinstance(value, dict) and value:
        pairs = [
            text(name) + b": " + (text(each) if isinstance(each, str) else _indented(each, text, start, step))
            for name, each in value.items()
        ]
        return b"{" + start + (b"," + start).join(pairs) + end + b"}"
    if isinstance(value, list) and value:
        items = [text(each) if isinstance(each, str) else _indented(each, text, start, step) for each in value]
        return b"[" + start + (b"," + start).join(items) + end + b"]"
    return _other(value)


def _ascii(text: str) -> bytes:
    if text.isascii() and "\x7f" not in text:
        return orjson.dumps(text)
    text.encode()  # raises for half of a surrogate pair, as orjson does
    return json.dumps(text).encode()


def _other(value: Any) -> bytes:
    """What is no text: numbers, of which orjson spells some in another way, true, false, null and what is empty."""
    if value is None or isinstance(value, bool):
        return orjson.dumps(value)
    return b"%d" % value if isinstance(value, int) else json.dumps(value, allow_nan=False).encode()
