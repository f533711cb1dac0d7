"""Similarity of two texts. Pure; texts are compared as stored."""

from __future__ import annotations

import re
from collections import Counter

from rapidfuzz.distance import Levenshtein

_WORD = re.compile(r"\w+")


def edit_distance(first: str, second: str) -> float:
    """Character Levenshtein distance divided by the length of the longer text: 0 means equal, 1 nothing in common.

    Together with ``word_overlap``, it reproduces Factcheck-Bench's figures for revised responses (Table 6, human
    revisions).
    """
    return float(Levenshtein.normalized_distance(first, second))


def word_overlap(first: str, second: str) -> float:
    """Share of the longer text's whitespace tokens that occur in the other text, 0 to 1.

    The longer text is the one with more tokens, or the second if they have the same number. Two texts without words
    overlap fully, like equal texts.
    """
    shorter, longer = sorted((first.split(), second.split()), key=len)
    if not longer:
        return 1.0
    known = set(shorter)
    return sum(token in known for token in longer) / len(longer)


def token_f1(first: str, second: str) -> float:
    """F1 of the words that two texts share, counted with repetition, ignoring case and punctuation. 0 to 1."""
    one, two = Counter(words(first)), Counter(words(second))
    if not one or not two:
        return float(one == two)
    shared = sum((one & two).values())
    return 2 * shared / (one.total() + two.total())


def words(text: str) -> list[str]:
    """The words of a text, case-folded, without punctuation."""
    return _WORD.findall(text.casefold())
