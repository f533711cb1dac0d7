"""Stretches of a text, as [start, end] in code points: words of a passage that somebody selected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Span = list[int]


def joined(spans: Iterable[Sequence[int]]) -> list[Span]:
    """The spans in order; those that touch or overlap are one."""
    found: list[Span] = []
    for start, end in sorted((each[0], each[1]) for each in spans):
        if found and start <= found[-1][1]:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([start, end])
    return found


def words(spans: Iterable[Sequence[int]], text: str) -> list[str]:
    """The words of each span."""
    return [text[start:end] for start, end in spans]


def written(spans: Iterable[Sequence[int]]) -> str:
    """The spans as a form sends them: "3-17 40-52"."""
    return " ".join(f"{start}-{end}" for start, end in spans)


def are_spans(value: Any, length: int) -> bool:
    """Are these spans of a text of this length, in order and apart from one another?"""
    is_list = isinstance(value, list) and all(
        isinstance(each, list) and len(each) == 2 and all(type(place) is int for place in each) for each in value
    )
    if not is_list:
        return False
    places = [place for each in value for place in each]
    return not places or (
        places[0] >= 0
        and places[-1] <= length
        and all(before < after for before, after in zip(places, places[1:], strict=False))
    )
