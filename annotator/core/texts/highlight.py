"""Which words of a passage speak about a claim: for the eye, never for a judgement.

Words match by a light stem (case, plural, -ed and -ing aside); function words never do. What is returned always joins
to the passage exactly. Scripts without spaces between words are not cut into words and stay unmarked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_WORD = re.compile(r"\w+(?:[.,]\d+)*")
_BETWEEN = re.compile(r"[\s\-–’']*")  # marked words with only this between them are one mark

# English words that are in nearly every passage.
_STOPWORDS = frozenset(
    """a about after all also am an and any are as at be been before being both but by can could did do does during each
    for from had has have he her hers him his how i if in into is it its may might more most must no nor not of on one
    only or other our out over own s same she should so some such t than that the their them then there these they this
    those through to too under until up upon very was we were what when where which while who whom why will with within
    without would you your""".split()
)

COLLAPSE_OVER = 700  # characters: a longer passage is shown shortened
GAP = 140  # characters between two marks that are worth leaving out
CONTEXT = 60  # characters kept on either side of a mark


class HighlightPiece(NamedTuple):
    """A stretch of a passage; ``marked`` when its words stand in the claim too."""

    text: str
    marked: bool


def mark(claim: str, passage: str) -> list[HighlightPiece]:
    """The passage in pieces, alternately marked and not; an empty passage has none."""
    wanted = {_stem(word) for word in _WORD.findall(claim) if _counts(word)}
    spans: list[tuple[int, int]] = []
    for match in _WORD.finditer(passage):
        if not _counts(match.group()) or _stem(match.group()) not in wanted:
            continue
        if spans and _BETWEEN.fullmatch(passage, spans[-1][1], match.start()):
            spans[-1] = (spans[-1][0], match.end())
        else:
            spans.append((match.start(), match.end()))
    pieces: list[HighlightPiece] = []
    position = 0
    for start, end in spans:
        if start > position:
            pieces.append(HighlightPiece(passage[position:start], False))
        pieces.append(HighlightPiece(passage[start:end], True))
        position = end
    if position < len(passage):
        pieces.append(HighlightPiece(passage[position:], False))
    return pieces


def shortened(pieces: Sequence[HighlightPiece]) -> list[HighlightPiece] | None:
    """A long passage with the stretches far from any mark left out ("…"), every mark kept.

    None where the passage is short, or where leaving out would not save at least a fifth of it.
    """
    whole = sum(len(piece.text) for piece in pieces)
    if whole <= COLLAPSE_OVER:
        return None
    if not any(piece.marked for piece in pieces):
        text = "".join(piece.text for piece in pieces)
        return [HighlightPiece(f"{_until_word(text, COLLAPSE_OVER // 2)} …", False)]
    short: list[HighlightPiece] = []
    for number, piece in enumerate(pieces):
        first, last = number == 0, number == len(pieces) - 1
        if piece.marked or len(piece.text) <= (CONTEXT if first or last else 0) + GAP:
            short.append(piece)
            continue
        head = "" if first else f"{_until_word(piece.text, CONTEXT)} "
        tail = "" if last else f" {_from_word(piece.text, CONTEXT)}"
        short.append(HighlightPiece(f"{head}…{tail}", False))
    return short if sum(len(piece.text) for piece in short) <= 0.8 * whole else None


def _until_word(text: str, length: int) -> str:
    """About the first ``length`` characters, ending with a whole word where there is one."""
    cut = text[:length]
    return cut[: cut.rfind(" ")] if " " in cut.strip() else cut


def _from_word(text: str, length: int) -> str:
    """About the last ``length`` characters, beginning with a whole word where there is one."""
    cut = text[-length:]
    return cut[cut.find(" ") + 1 :] if " " in cut.strip() else cut


def _counts(word: str) -> bool:
    folded = word.casefold()
    return folded not in _STOPWORDS and (len(folded) > 1 or folded.isdigit())


def _stem(word: str) -> str:
    """A light stem: what a plural, a past form and an -ing form of one word have in common. Numbers stay whole."""
    stem = word.casefold()
    if any(character.isdigit() for character in stem) or len(stem) < 4:
        return stem
    if stem.endswith(("ies", "ied")) and len(stem) > 4:
        return f"{stem[:-3]}y"  # studies, studied: study
    for ending in ("ing", "ed", "es", "s", "e"):
        if stem.endswith(ending) and not stem.endswith("ss") and len(stem) - len(ending) >= 3:
            stem = stem[: -len(ending)]
            break
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "ls":
        stem = stem[:-1]  # stopped, running
    return stem
