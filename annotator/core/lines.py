"""Reading files line by line: at most one line in memory, and each bad line reported by its number."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn, TypeVar

from annotator.core.file_problems import BadRow, FileError, RowError, bad_row
from annotator.core.released import storable_json

# The longest line accepted, in bytes: a hundred times the longest response in the field's benchmarks. Longer lines are
# skipped in pieces, so they are never in memory as a whole.
MAX_LINE_BYTES = 16 * 1024 * 1024
_SKIP_BYTES = 1024 * 1024
# The maximum nesting of lists and objects. Later code recurses once per level.
MAX_DEPTH = 100
_PIECE_BYTES = 64 * 1024

_UTF8_MARK = b"\xef\xbb\xbf"
_SAVE_AS_UTF8 = "Save the file as UTF-8 (in Excel: “CSV UTF-8”) and import it again."

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class FileLine:
    """One line; ``offset`` is the position in bytes at which it starts."""

    number: int
    offset: int
    raw: bytes

    def text(self) -> str:
        """Raises ``RowError`` naming the first byte that isn't UTF-8."""
        try:
            return self.raw.decode("utf-8")
        except UnicodeDecodeError as error:
            byte = self.raw[error.start]
            raise RowError(
                (
                    "",
                    f"byte {error.start + 1} of the line (byte {self.offset + error.start + 1} of the file, "
                    f"0x{byte:02X}) is not UTF-8. {_SAVE_AS_UTF8}",
                )
            ) from None


def check_encoding(stream: BinaryIO) -> None:
    """Raises ``FileError`` for an empty file and for UTF-16 or UTF-32. Rewinds the stream."""
    stream.seek(0)
    head = stream.read(4)
    stream.seek(0)
    if not head:
        raise FileError("The file is empty.")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x00" in head:
        raise FileError(f"The file is encoded in UTF-16 or UTF-32, or isn't a text file. {_SAVE_AS_UTF8}")


def read_lines(stream: BinaryIO, *, whole: bool = False) -> Iterator[FileLine | BadRow]:
    """The lines of the stream. Lines longer than ``MAX_LINE_BYTES`` become a ``BadRow``.

    Blank lines and line breaks are dropped unless ``whole``. Raises ``FileError`` like ``check_encoding``.
    """
    check_encoding(stream)
    limit = MAX_LINE_BYTES
    number, offset = 0, 0
    while raw := stream.readline(limit + 1):
        number += 1
        start, offset = offset, offset + len(raw)
        if len(raw) > limit and not raw.endswith(b"\n"):
            while more := stream.readline(_SKIP_BYTES):
                offset += len(more)
                if more.endswith(b"\n"):
                    break
            yield bad_row(
                number,
                f"the line has {_size(offset - start)}, more than the {_size(limit)} that a line may have. "
                "It was skipped: shorten or split it.",
            )
            continue
        if number == 1 and raw.startswith(_UTF8_MARK):
            start, raw = len(_UTF8_MARK), raw[len(_UTF8_MARK) :]
        if whole:
            yield FileLine(number, start, raw)
        elif raw.strip():
            yield FileLine(number, start, raw.rstrip(b"\r\n"))


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MiB" if count >= 2**20 else f"{count:,} bytes"


def json_value(text: str) -> Any:
    """Parse a JSON text. Raises ``RowError`` with the position of a syntax error, or if the value is nested too
    deeply."""
    try:
        value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, character {error.colno}" if error.lineno > 1 else f"character {error.colno}"
        what = error.msg.removesuffix(" at")  # "Unterminated string starting at"
        raise RowError(("", f"not JSON: {what} at {place}.")) from None
    except (ValueError, RecursionError) as error:
        raise RowError(("", f"not JSON that can be read: {error}.")) from None
    if is_too_deep(value):
        raise RowError(("", TOO_DEEP))
    return value


class RepeatedKeys(dict[str, Any]):
    """An object with repeated keys: the last value counts, and ``earlier`` holds the others."""

    earlier: list[tuple[str, Any]]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeated = RepeatedKeys(found)
    last = {key: place for place, (key, _) in enumerate(pairs)}
    repeated.earlier = [(key, value) for place, (key, value) in enumerate(pairs) if place != last[key]]
    return repeated


TOO_DEEP = f"lists and objects are nested more than {MAX_DEPTH} levels deep."


def is_too_deep(value: Any) -> bool:
    """Is a JSON value nested deeper than ``MAX_DEPTH``?"""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for each in level
            if isinstance(each, list | dict)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return any(isinstance(each, list | dict) for each in level)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not allowed in JSON")


def json_object(text: str) -> dict[str, Any]:
    """Like ``json_value``, for a line that must hold one object."""
    value = json_value(text)
    if isinstance(value, list):
        raise RowError(("", "a JSON list: write one object per line instead, for example with jq -c '.[]'."))
    if not isinstance(value, dict):
        raise RowError(("", f"expected a JSON object, found {kind_of(value)}."))
    return value


def storable_object(text: str) -> dict[str, Any]:
    """As ``json_object``, without the characters that no database accepts: they can only come as \\u escapes."""
    found = json_object(text)
    return storable_json(found) if "\\u" in text else found


def read_objects(stream: BinaryIO, parse: Callable[[dict[str, Any], int], Row]) -> Iterator[Row | BadRow]:
    """One object per line, passed to ``parse(object, line number)``, which may raise ``RowError``."""
    for line in read_lines(stream):
        if isinstance(line, BadRow):
            yield line
            continue
        try:
            yield parse(json_object(line.text()), line.number)
        except RowError as error:
            yield error.at(line.number)


def read_list(stream: BinaryIO) -> Iterator[Any]:
    """The items of a file that is one JSON list, one in memory at a time.

    Raises ``FileError`` if the list ends early, isn't valid JSON, or has an item longer than ``MAX_LINE_BYTES``,
    because the items after it can't be found.
    """
    check_encoding(stream)
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    utf8 = codecs.getincrementaldecoder("utf-8-sig")()
    text, number, at_end = "", 0, False

    def broken(why: str) -> FileError:
        after = f"after item {number}" if number else "at its beginning"
        return FileError(f"The file is a JSON list that ends too early or is broken {after}: {why}.")

    def more() -> str:
        """The text plus another piece. Pieces grow with the text that is waiting, so that a long item isn't parsed
        again too often."""
        nonlocal at_end
        raw = stream.read(max(_PIECE_BYTES, len(text)))
        at_end = not raw
        try:
            return text + utf8.decode(raw, at_end)
        except UnicodeDecodeError:
            raise broken(f"it contains a byte that is not UTF-8. {_SAVE_AS_UTF8}".rstrip(".")) from None

    def is_all() -> bool:
        """Has this item reached the maximum length?"""
        return at_end or len(text) > MAX_LINE_BYTES

    def next_sign() -> str:
        """The text from its next non-space character on."""
        nonlocal text
        while not (text := text.lstrip()):
            text = more()
            if at_end:
                raise broken("the closing bracket is missing")
        return text

    expected = "["
    while next_sign()[0] == expected:
        text = text[1:]
        if expected == "[" and next_sign()[0] == "]":
            break
        next_sign()
        while True:
            try:
                item, end = decoder.raw_decode(text)
                # An unfinished number could continue in the next piece.
                if is_all() or text[end : end + 1] in (",", "]", " ", "\t", "\r", "\n"):
                    break
            except json.JSONDecodeError as error:
                if is_all():
                    raise broken(error.msg) from None
            except (ValueError, RecursionError) as error:
                raise broken(str(error)) from None
            text = more()
        text, number, expected = text[end:], number + 1, ","
        if is_too_deep(item):
            raise FileError(f"The file cannot be read: in item {number} of its list, {TOO_DEEP}")
        yield item
    if next_sign()[0] != "]":
        raise broken(f"“{text[0]}” found where a comma or the closing bracket was expected")
    text = text[1:]
    while not text.strip() and not at_end:
        text = more()
    if text.strip():
        raise broken("unexpected text after the closing bracket")


def kind_of(value: Any) -> str:
    """The type of a JSON value in a word or two, for error messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "an object"
