"""Checks single values of the native format by the column that stores them."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from django.db.models import BooleanField, DateField, DateTimeField, Field, FloatField, IntegerField, JSONField

from annotator.core.lines import kind_of
from annotator.core.released import storable, storable_json


@cache
def reader_of(column: Field[Any, Any]) -> Callable[[Any], Any]:
    """Returns a function that converts a value for the column and raises ValueError with its problem."""
    if isinstance(column, JSONField):
        return partial(_json, kind=type(column.get_default()))
    read = _kind(column)

    def read_or_null(value: Any) -> Any:
        if value is not None:
            return read(value)
        if column.null:
            return None
        raise ValueError("may be omitted, but must not be null.")

    return read_or_null


def _kind(column: Field[Any, Any]) -> Callable[[Any], Any]:
    if isinstance(column, BooleanField):
        return _yes_or_no
    if isinstance(column, FloatField):
        return _number
    if isinstance(column, IntegerField):
        limit = 2**15 - 1 if "Small" in type(column).__name__ else 2**31 - 1
        return partial(_whole_number, limit=2**63 - 1 if "Big" in type(column).__name__ else limit)
    if isinstance(column, DateTimeField):
        return _time
    if isinstance(column, DateField):
        return _day
    words = [str(word) for word, _ in column.flatchoices]
    return partial(
        _text,
        words=frozenset([*words, ""] if column.blank else words) if words else None,
        said=", ".join(words),
        longest=column.max_length,
    )


def _json(value: Any, kind: type) -> Any:
    """``kind``: the type of the blank value, for a column that holds only lists or only objects."""
    if kind in (list, dict) and type(value) is not kind:
        raise ValueError(f"expected {'a list' if kind is list else 'an object'}, found {kind_of(value)}.")
    return storable_json(value)


def _yes_or_no(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError(f"expected true or false, found {kind_of(value)}.")


def _number(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # a whole number beyond a double's range
            number = math.inf
        if math.isfinite(number):
            return number
    raise ValueError(f"expected a number, found {kind_of(value)}.")


def _whole_number(value: Any, limit: int) -> int:
    if type(value) is int and 0 <= value <= limit:
        return value
    raise ValueError(f"expected a whole number from 0 to {limit}.")


def _text(value: Any, words: frozenset[str] | None = None, said: str = "", longest: int | None = None) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected a text, found {kind_of(value)}.")
    if storable(value) != value:
        raise ValueError("contains a character that cannot be stored (NUL or half of a surrogate pair). Remove it.")
    if words is not None and value not in words:
        raise ValueError(f"“{value[:40]}” isn’t a valid value: {said}.")
    if longest is not None and len(value) > longest:
        raise ValueError(f"{len(value)} characters; the limit is {longest}. Shorten it.")
    return value


def _time(value: Any) -> dt.datetime:
    value = _text(value)
    try:
        moment = dt.datetime.fromisoformat(value)
        if moment.tzinfo is not None:
            return moment.astimezone(dt.UTC)
    except (ValueError, OverflowError):  # the latter outside the years 1 to 9999 in UTC
        pass
    raise ValueError(f"“{value[:40]}” isn’t a time with a time zone. Write it as 2023-11-20T12:00:00+00:00.")


def _day(value: Any) -> dt.date:
    value = _text(value)
    try:
        return dt.date.fromisoformat(value)
    except ValueError:
        raise ValueError(
            f"“{value[:40]}” isn’t a valid date. Write it as year-month-day, such as 2023-11-20."
        ) from None
