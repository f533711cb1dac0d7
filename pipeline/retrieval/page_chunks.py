"""Whole pages as overlapping chunks of whole sentences (FastFact, section 4.3).

A chunk ends where the next sentence would exceed its length. The next chunk starts with the sentences that fit into the
overlap, so that information spread over two neighboring sentences stays in one chunk.
"""

from __future__ import annotations

from pipeline.sentences.boundaries import sentences_of_page

LENGTH = 200  # words, like OVERLAP; the values in FastFact's released code
OVERLAP = 30


def page_chunks(text: str, *, length: int = LENGTH, overlap: int = OVERLAP) -> list[str]:
    """The chunks of a page in order, each at most ``length`` words long and sharing at most ``overlap`` words (less
    than ``length``) with the previous one. A sentence that is longer is cut between words."""
    sentences = [
        part
        for sentence in sentences_of_page(text.replace("\x00", " "))
        for part in _short_enough(sentence.split(), length, overlap)
    ]
    found: list[str] = []
    current: list[list[str]] = []
    size = 0
    for sentence in sentences:
        if current and size + len(sentence) > length:
            found.append(_text(current))
            # The overlap must leave room for the sentence that didn't fit.
            most = min(overlap, length - len(sentence))
            while current and size > most:
                size -= len(current.pop(0))
        current.append(sentence)
        size += len(sentence)
    if current:
        found.append(_text(current))
    return found


def _short_enough(words: list[str], length: int, overlap: int) -> list[list[str]]:
    """A sentence as it is, or in overlapping pieces if it is too long."""
    if len(words) <= length:
        return [words] if words else []
    step = length - overlap
    return [words[start : start + length] for start in range(0, len(words) - overlap, step)]


def _text(sentences: list[list[str]]) -> str:
    return " ".join(word for sentence in sentences for word in sentence)
