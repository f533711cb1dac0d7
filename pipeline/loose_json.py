"""JSON as models write it: within other words, fenced, in Python's spelling, with commas too many or too few.

Nothing is ever evaluated: what strict JSON does not take is read by a small parser of our own that knows objects,
lists, strings, numbers and the three constants, and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

Value = object  # what JSON knows: dict, list, str, int, float, bool, None

_DEEPEST = 60  # levels; no form is nested deeper than four
_MOST_STARTS = 40  # brackets in a text at which a value is looked for
_THOUGHT = "</think>"  # models that think aloud end their draft so
_START = re.compile(r"[{\[]")
_SPACE = re.compile(r"\s*")
_GAP = re.compile(r"[\s,]*")
_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"-?\d{1,300}(?:\.\d{1,300})?(?:[eE][+-]?\d{1,3})?")
_PLAIN = re.compile(r"[^\\\"'“”‘’]+")
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_PAIR = re.compile(r"[\ud800-\udbff][\udc00-\udfff]")
_LONE = re.compile(r"[\ud800-\udfff]")
_CLOSES = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_CONSTANTS: dict[str, Value] = {
    "true": True, "True": True, "false": False, "False": False, "null": None, "None": None,
}  # fmt: skip


class NoJsonError(ValueError):
    """There is no JSON where some was expected. The sentence is for the model that is asked again."""


@dataclass(frozen=True, slots=True)
class Found:
    """A value in a text. ``first``: no other object opened before it, so that it is no piece of one."""

    value: Value
    first: bool


def values_in(text: str) -> Iterator[Found]:
    """The objects and lists of a text, outer ones before what is inside them, in their order. Strings come without NUL
    and without halves of characters. Raises nothing; a text without JSON has none."""
    start = text.rfind(_THOUGHT)
    body = text[start + len(_THOUGHT) :] if start >= 0 else text
    opening = body.find("{")
    for count, match in enumerate(_START.finditer(body)):
        if count == _MOST_STARTS:
            return
        try:
            value = _cleaned(_value_at(body, match.start()))
        except NoJsonError:
            continue
        yield Found(value, first=opening < 0 or match.start() <= opening)


def _value_at(text: str, start: int) -> Value:
    try:
        value: Value = _STRICT.raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return _Reader(text, start).value()
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


_STRICT = json.JSONDecoder(strict=False, parse_constant=_refuse)


def _cleaned(value: Value, depth: int = 0) -> Value:
    if depth > _DEEPEST:
        raise NoJsonError("it is nested too deeply")
    if isinstance(value, str):
        whole = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), value)
        return _LONE.sub("\ufffd", whole).replace("\x00", "")
    if isinstance(value, list):
        return [_cleaned(each, depth + 1) for each in value]
    if isinstance(value, dict):
        return {str(_cleaned(key)): _cleaned(each, depth + 1) for key, each in value.items()}
    return value


class _Reader:
    """Reads one value from a place in a text on. Each step moves forward, so it ends."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def value(self, depth: int = 0) -> Value:
        if depth > _DEEPEST:
            raise NoJsonError("it is nested too deeply")
        self._skip(_SPACE)
        first = self.text[self.at : self.at + 1]
        if first == "{":
            return self._object(depth)
        if first == "[":
            return self._list(depth)
        if first and first in _CLOSES:
            return self._string()
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            return int(number[0]) if number[0].lstrip("-").isdecimal() else float(number[0])
        word = _NAME.match(self.text, self.at)
        if word and word[0] in _CONSTANTS:
            self.at = word.end()
            return _CONSTANTS[word[0]]
        raise NoJsonError(f"there is no value at character {self.at}")

    def _object(self, depth: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        self.at += 1
        while not self._ended("}"):
            key = self._key()
            self._skip(_SPACE)
            if self.text[self.at : self.at + 1] != ":":
                raise NoJsonError(f"a colon is missing at character {self.at}")
            self.at += 1
            found[key] = self.value(depth + 1)
        return found

    def _list(self, depth: int) -> list[Value]:
        found: list[Value] = []
        self.at += 1
        while not self._ended("]"):
            found.append(self.value(depth + 1))
        return found

    def _ended(self, sign: str) -> bool:
        self._skip(_GAP)
        if self.text[self.at : self.at + 1] == sign:
            self.at += 1
            return True
        return False

    def _key(self) -> str:
        if self.text[self.at : self.at + 1] in tuple(_CLOSES):
            return self._string()
        word = _NAME.match(self.text, self.at)
        if word is None:
            raise NoJsonError(f"there is no name at character {self.at}")
        self.at = word.end()
        return word[0]

    def _string(self) -> str:
        """A string. A quotation mark closes it only where something may follow: what stands within it ("the dogs'
        home", a title in quotation marks) need not be escaped."""
        closing = _CLOSES[self.text[self.at]]
        parts: list[str] = []
        self.at += 1
        while self.at < len(self.text):
            if plain := _PLAIN.match(self.text, self.at):
                parts.append(plain[0])
                self.at = plain.end()
                continue
            sign = self.text[self.at]
            self.at += 1
            if sign == "\\":
                parts.append(self._escaped())
            elif sign == closing and self._may_end():
                return "".join(parts)
            else:
                parts.append(sign)
        raise NoJsonError("a string does not end")

    def _may_end(self) -> bool:
        space = _SPACE.match(self.text, self.at)
        follows = space.end() if space else self.at
        return "\n" in self.text[self.at : follows] or self.text[follows : follows + 1] in ("", ",", ":", "]", "}")

    def _escaped(self) -> str:
        sign = self.text[self.at : self.at + 1]
        self.at += 1
        if sign == "u" and (digits := _HEX.match(self.text, self.at)):
            self.at = digits.end()
            return chr(int(digits[0], 16))
        return _ESCAPES.get(sign, sign)

    def _skip(self, what: re.Pattern[str]) -> None:
        if match := what.match(self.text, self.at):
            self.at = match.end()
