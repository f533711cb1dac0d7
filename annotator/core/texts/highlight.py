"""Which words of a passage relate to a claim. This guides the eye and never influences a judgment.

Words match by a light stem (ignoring case, plurals, -ed and -ing); function words never match. The pieces always add up
to the exact passage. Scripts without spaces between words are not split and stay unmarked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_WORD = re.compile(r"\w+(?:[.,]\d+)*")
_SENTENCE_END = re.compile(r"[.!?…]['\"’”)\]]*\s+")
_BETWEEN = re.compile(r"[\s\-–’']*")  # marked words separated only by this become one mark

# English words that appear in nearly every passage.
_STOPWORDS = frozenset(
    """a about after all also am an and any are as at be been before being both but by can could did do does during each
    for from had has have he her hers him his how i if in into is it its may might more most must no nor not of on one
    only or other our out over own s same she should so some such t than that the their them then there these they this
    those through to too under until up upon very was we were what when where which while who whom why will with within
    without would you your""".split()
)

EXCERPT = 180  # characters: for longer passages, show the part with the most matches
SENTENCE_REACH = 50  # characters by which an excerpt may grow to start or end at a sentence


class HighlightPiece(NamedTuple):
    """A piece of a passage; ``marked`` if its words also appear in the claim."""

    text: str
    marked: bool


def mark(claim: str, passage: str) -> list[HighlightPiece]:
    """The passage in pieces, marked and unmarked in turn. An empty passage has no pieces."""
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


def excerpt_place(pieces: Sequence[HighlightPiece]) -> tuple[int, int] | None:
    """Where the stretch of a long passage with the most different marked words begins and ends, in whole sentences
    where they are near. None where the passage is short enough to be shown as it is."""
    text = "".join(piece.text for piece in pieces)
    if len(text) <= EXCERPT + SENTENCE_REACH:
        return None
    start, end = _best_window(_marks(pieces), len(text))
    return _from_sentence(text, start), _to_sentence(text, end)


def excerpt(pieces: Sequence[HighlightPiece]) -> list[HighlightPiece] | None:
    """That stretch, with "…" where something is left out."""
    place = excerpt_place(pieces)
    if place is None:
        return None
    start, end = place
    length = sum(len(piece.text) for piece in pieces)
    found = [HighlightPiece("… ", False)] if start else []
    position = 0
    for piece in pieces:
        cut = piece.text[max(start - position, 0) : max(end - position, 0)]
        position += len(piece.text)
        if cut:
            found.append(HighlightPiece(cut, piece.marked))
    return [*found, HighlightPiece(" …", False)] if end < length else found


def _marks(pieces: Sequence[HighlightPiece]) -> list[tuple[int, int, frozenset[str]]]:
    """Start, end and stems of each marked piece."""
    marks: list[tuple[int, int, frozenset[str]]] = []
    position = 0
    for piece in pieces:
        end = position + len(piece.text)
        if piece.marked:
            marks.append((position, end, frozenset(_stem(word) for word in _WORD.findall(piece.text))))
        position = end
    return marks


def _best_window(marks: Sequence[tuple[int, int, frozenset[str]]], length: int) -> tuple[int, int]:
    """Where the most distinct marked words are close together: the earliest such place, with room on both sides."""
    if not marks:
        return 0, EXCERPT
    best: tuple[int, int, int] = (0, 0, 0)
    for first, (start, _, _) in enumerate(marks):
        within = [mark for mark in marks[first:] if mark[1] <= start + EXCERPT]
        stems = len(frozenset[str]().union(*(mark[2] for mark in within)))
        if stems > best[0]:
            best = (stems, start, within[-1][1])
    _, start, end = best
    room = max(EXCERPT - (end - start), 0)
    start = max(min(start - room // 2, length - EXCERPT), 0)
    return start, min(start + max(EXCERPT, end - start), length)


def _from_sentence(text: str, start: int) -> int:
    """The start of the sentence if it is near, else of the word."""
    if start == 0:
        return 0
    near = text[max(start - SENTENCE_REACH, 0) : start + SENTENCE_REACH // 2]
    ends = [match.end() for match in _SENTENCE_END.finditer(near)]
    if ends:
        return max(start - SENTENCE_REACH, 0) + min(ends, key=lambda each: abs(each - min(start, SENTENCE_REACH)))
    if start <= SENTENCE_REACH:
        return 0
    blank = text.find(" ", start)
    return blank + 1 if 0 <= blank < start + SENTENCE_REACH // 2 else start


def _to_sentence(text: str, end: int) -> int:
    """The end of the sentence if it is near, else of the word."""
    if len(text) - end <= SENTENCE_REACH:
        return len(text)
    match = _SENTENCE_END.search(text, max(end - 1, 0), end + SENTENCE_REACH)
    if match:
        return match.start() + len(match.group().rstrip())
    blank = text.rfind(" ", end - SENTENCE_REACH // 2, end)
    return blank if blank > 0 else end


def _counts(word: str) -> bool:
    folded = word.casefold()
    return folded not in _STOPWORDS and (len(folded) > 1 or folded.isdigit())


def _stem(word: str) -> str:
    """A light stem shared by the plural, past and -ing forms of a word. Numbers stay as they are."""
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
