"""Where a passage stands in the text of its page, for showing the page at its quote.

A passage is cut from its page with the white space joined, long sentences shortened and furniture left out, so it need
not be one stretch of the page. It is matched word by word, in order; only runs of words count, since single words
stand everywhere.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import NamedTuple

_WORD = re.compile(r"\w+")
RUN = 4  # words in a row that make a match, unless the passage is shorter


class QuotePiece(NamedTuple):
    """A stretch of a page; ``quoted`` when it is part of the passage."""

    text: str
    quoted: bool


def places_of(text: str, passage: str) -> list[tuple[int, int]]:
    """The stretches of ``text`` that make up the passage, in order, as offsets; empty where it is not there."""
    found = list(_WORD.finditer(text))
    asked = [word.casefold() for word in _WORD.findall(passage)]
    if not asked:
        return []
    words = [match.group().casefold() for match in found]
    matcher = SequenceMatcher(None, asked, words, autojunk=False)
    least = min(RUN, len(asked))
    return [
        (found[block.b].start(), found[block.b + block.size - 1].end())
        for block in matcher.get_matching_blocks()
        if block.size >= least
    ]


def is_still_quoted(before: str, now: str, passage: str) -> bool:
    """Are the stretches that the passage was cut from in the page as it was still in it as it is now, word for word?
    False for a passage that was never there."""
    stretches = [_joined(before[start:end]) for start, end in places_of(before, passage)]
    words = _joined(now)
    return bool(stretches) and all(stretch in words for stretch in stretches)


def pieces(text: str, passage: str) -> list[QuotePiece]:
    """The text in pieces, alternately plain and quoted; they join to the text exactly."""
    cut: list[QuotePiece] = []
    position = 0
    for start, end in places_of(text, passage):
        if start > position:
            cut.append(QuotePiece(text[position:start], False))
        cut.append(QuotePiece(text[start:end], True))
        position = end
    if position < len(text):
        cut.append(QuotePiece(text[position:], False))
    return cut


def _joined(text: str) -> str:
    """The words alone, each between two spaces."""
    return f" {' '.join(word.casefold() for word in _WORD.findall(text))} "
