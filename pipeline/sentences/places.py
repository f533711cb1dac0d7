"""Locates a model's sentences in the response.

A model splits better than rules if a reference or a list is one statement (Factcheck-Bench section B.2), but it also
omits, rephrases and invents. So its sentences are looked up in the response, and rules split whatever it didn't return.
Every word of the response except its layout (boundaries.py) is in exactly one piece.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.metrics.text import token_f1, words
from pipeline.sentences.boundaries import LIST_MARKER, SentenceSpan, split_sentences

# A rephrased sentence is matched with one of the response if they share this many of their words.
LEAST_ALIKE = 0.6
# What isn't a sentence of its own is part of another that contains this many of its words.
LEAST_WITHIN = 0.8
# A piece longer than this with more sentences than that means that the model didn't split. A reference with many
# abbreviations is many sentences by the rules, but short.
_LONGEST_JOINED = 400  # characters
_MAX_JOINED = 4
_MAX_REWORDED = 3
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class SentencePiece:
    """``text == response[start:end]``. ``said``: the indexes of the model's sentences it matches: one, none, or several
    if the model split it."""

    start: int
    end: int
    text: str
    said: tuple[int, ...] = ()


def pieces_of(response: str, said: Sequence[str], spans: Sequence[SentenceSpan] | None = None) -> list[SentencePiece]:
    """The response in pieces, in order, without overlap. ``spans`` are its sentences by the rules."""
    spans = split_sentences(response) if spans is None else spans
    taken: list[tuple[int, int, int]] = []  # start, end, which
    reworded: list[int] = []
    cursor = 0
    for which, sentence in enumerate(said):
        place = _exact(response, sentence, cursor, taken)
        if place is None:
            reworded.append(which)
        elif not (joined := _joined(place, spans)):
            cursor = place[1]  # headings and other layout are never sentences, whatever the model says
        elif place[1] - place[0] <= _LONGEST_JOINED or joined <= _MAX_JOINED:
            taken.append((*_widened(response, place, spans, taken), which))
            cursor = place[1]
    unplaced: list[int] = []
    for which in reworded:
        if place := _alike(response, said[which], spans, taken):
            taken.append((*place, which))
        else:
            unplaced.append(which)
    pieces = [SentencePiece(start, end, response[start:end], (which,)) for start, end, which in taken]
    for which in unplaced:
        _join(said[which], which, pieces)
    pieces += [SentencePiece(start, end, response[start:end]) for start, end in _left(response, spans, sorted(taken))]
    return sorted(pieces, key=lambda piece: piece.start)


def _join(sentence: str, which: int, pieces: list[SentencePiece]) -> None:
    """Assign a sentence to the piece that contains nearly all its words, if there is one."""
    wanted = set(words(sentence))
    best, at = LEAST_WITHIN, None
    for position, piece in enumerate(pieces):
        within = len(wanted.intersection(words(piece.text))) / len(wanted) if wanted else 0.0
        if within > best or (within == best and at is None):
            best, at = within, position
    if at is not None:
        pieces[at] = dataclasses.replace(pieces[at], said=(*pieces[at].said, which))


def _exact(response: str, sentence: str, cursor: int, taken: Sequence[tuple[int, int, int]]) -> tuple[int, int] | None:
    """The first free position of a sentence after the cursor, else anywhere, ignoring white space."""
    parts = sentence.split()
    if not _WORD.search(sentence):
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, parts)))
    for begin in (cursor, 0):
        for match in pattern.finditer(response, begin):
            if _is_free(match.start(), match.end(), taken) and _is_whole(response, match.start(), match.end()):
                return match.start(), match.end()
    return None


def _is_whole(response: str, start: int, end: int) -> bool:
    """Whether a span starts and ends between words."""
    begins = start == 0 or not (_WORD.match(response[start - 1]) and _WORD.match(response[start]))
    ends = end == len(response) or not (_WORD.match(response[end - 1]) and _WORD.match(response[end]))
    return begins and ends


def _is_free(start: int, end: int, taken: Sequence[tuple[int, int, int]]) -> bool:
    return all(end <= first or start >= last for first, last, _ in taken)


def _joined(place: tuple[int, int], spans: Sequence[SentenceSpan]) -> int:
    return sum(span.start < place[1] and span.end > place[0] for span in spans)


def _widened(
    response: str, place: tuple[int, int], spans: Sequence[SentenceSpan], taken: Sequence[tuple[int, int, int]]
) -> tuple[int, int]:
    """The span including the list marker before it and surrounding characters that the rules count as part of the
    sentence."""
    start, end = place
    for span in spans:
        if span.start < start < span.end and _is_furniture(response[span.start : start]):
            start = span.start
        if span.start < end < span.end and not _WORD.search(response[end : span.end]):
            end = span.end
    return (start, end) if _is_free(start, end, taken) else place


def _is_furniture(text: str) -> bool:
    marker = LIST_MARKER.match(text)
    return not _WORD.search(text[marker.end() :] if marker else text)


def _alike(
    response: str, sentence: str, spans: Sequence[SentenceSpan], taken: Sequence[tuple[int, int, int]]
) -> tuple[int, int] | None:
    """The run of up to three unassigned pieces that shares the most words with a rephrased sentence, or None."""
    left = _left(response, spans, sorted(taken))
    best, place = LEAST_ALIKE, None
    for first, (start, _) in enumerate(left):
        for _, end in left[first : first + _MAX_REWORDED]:
            if not _is_free(start, end, taken):
                break
            alike = token_f1(sentence, response[start:end])
            if alike > best or (alike == best and place is None):
                best, place = alike, (start, end)
    return place


def _left(response: str, spans: Sequence[SentenceSpan], taken: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """What no sentence of the model covers (``taken`` in order): whole sentences by the rules, and the remainders of
    partly covered ones if they contain words."""
    left: list[tuple[int, int]] = []
    for span in spans:
        inside = [(start, end) for start, end, _ in taken if start < span.end and end > span.start]
        if not inside:
            left.append((span.start, span.end))
            continue
        at = span.start
        for start, end in [*inside, (span.end, span.end)]:
            gap = response[at:start]
            if start > at and _WORD.search(gap):
                begin = at + len(gap) - len(gap.lstrip())
                left.append((begin, begin + len(gap.strip())))
            at = max(at, end)
    return left
