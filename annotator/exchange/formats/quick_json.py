"""JSON byte for byte as Python's own module writes it, several times as quick where it is long texts for the most part.

The texts are escaped by orjson. What stands around them is put together here, since orjson's own form is another one:
without blanks, or indented by two.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring_ascii
from typing import Any

import orjson

_text = orjson.dumps


def dumps(value: Any, *, indent: int | None = None) -> bytes:
    """The same as ``json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False).encode()``, for a value whose
    keys are texts. Raises ValueError for what no JSON in UTF-8 can hold: a number that is none, half of a surrogate
    pair."""
    try:
        return _indented(value, b"\n", b" " * indent) if indent else _line(value)
    except orjson.JSONEncodeError as error:
        raise ValueError(str(error)) from None


def members(values: Mapping[str, Any], *, indent: int, depth: int = 1) -> dict[str, bytes]:
    """Each member of an object, its name and value, as ``dumps`` would write it so deep in a document. What stands in
    several objects is made once so; ``object_of`` puts it together."""
    step = b" " * indent
    end = b"\n" + step * depth
    try:
        return {name: _text(name) + b": " + _indented(value, end, step) for name, value in values.items()}
    except orjson.JSONEncodeError as error:
        raise ValueError(str(error)) from None


def object_of(members: Sequence[bytes], *, indent: int, depth: int = 1) -> bytes:
    """The object that has these members, which are so deep in a document, as ``dumps`` would write it."""
    end = b"\n" + b" " * indent * (depth - 1)
    start = end + b" " * indent
    return b"{" + start + (b"," + start).join(members) + end + b"}" if members else b"{}"


def moved_in(text: bytes, *, indent: int) -> bytes:
    """JSON as it stands one step deeper: texts in it have no line breaks of their own."""
    return text.replace(b"\n", b"\n" + b" " * indent)


def _line(value: Any) -> bytes:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        pairs = [
            _text(name) + b": " + (_text(each) if isinstance(each, str) else _line(each))  # most are texts
            for name, each in value.items()
        ]
        return b"{" + b", ".join(pairs) + b"}"
    if isinstance(value, list):
        return b"[" + b", ".join([_line(each) for each in value]) + b"]"
    return _other(value)


def _indented(value: Any, end: bytes, step: bytes) -> bytes:
    """``end``: what goes before the bracket that closes the value: a new line, indented as the value's own."""
    if isinstance(value, str):
        return _text(value)
    start = end + step
    if isinstance(value, dict) and value:
        pairs = [
            _text(name) + b": " + (_text(each) if isinstance(each, str) else _indented(each, start, step))
            for name, each in value.items()
        ]
        return b"{" + start + (b"," + start).join(pairs) + end + b"}"
    if isinstance(value, list) and value:
        items = [_text(each) if isinstance(each, str) else _indented(each, start, step) for each in value]
        return b"[" + start + (b"," + start).join(items) + end + b"]"
    return _other(value)


def _other(value: Any) -> bytes:
    """What is no text: numbers, of which orjson spells some in another way, true, false, null and what is empty."""
    if value is None or isinstance(value, bool):
        return orjson.dumps(value)
    return b"%d" % value if isinstance(value, int) else json.dumps(value, allow_nan=False).encode()


def in_ascii(text: bytes) -> bytes:
    """JSON in UTF-8 as ``ensure_ascii=True`` would have written it."""
    return text.decode().encode("ascii", _ESCAPES).replace(b"\x7f", b"\\u007f")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters beyond ASCII, and where to go on: a handler of encoding errors, which Python calls for
    those characters alone."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return encode_basestring_ascii(error.object[error.start : error.end])[1:-1], error.end


_ESCAPES = "touchstone.json-escapes"
codecs.register_error(_ESCAPES, _escaped)
