"""Step 4b after Papelo: the part of a page that contains a search snippet, with its surroundings.

Of all windows of five sentences that contain more than 70% of the snippet's words, the middle one is used (Papelo,
section 3.3). If no window does, the snippet is quoted instead of the page.
"""

from __future__ import annotations

from collections import Counter

from pipeline.metrics.text import words
from pipeline.sentences.boundaries import split_sentences

SENTENCES = 5
SHARE = 0.7
# A page without sentence ends (a table, a list of names) would be a single window.
LONGEST = 4000  # characters


def window_of(text: str, snippet: str, *, sentences: int = SENTENCES, share: float = SHARE) -> str | None:
    """The middle one of the windows that contain more than ``share`` of the snippet's distinct words; None if there is
    none or it is longer than a passage may be. A page shorter than a window is one window."""
    wanted = set(words(snippet))
    spans = split_sentences(text)
    if not wanted or not spans:
        return None
    shared = [wanted.intersection(words(span.text)) for span in spans]
    width = min(sentences, len(spans))
    inside: Counter[str] = Counter()
    found: list[int] = []
    for position, held in enumerate(shared):
        inside.update(held)
        start = position - width + 1
        if start > 0:
            inside.subtract(shared[start - 1])
        if start >= 0 and sum(count > 0 for count in inside.values()) > share * len(wanted):
            found.append(start)
    if not found:
        return None
    start = found[len(found) // 2]
    cut = _plain(text[spans[start].start : spans[start + width - 1].end])
    return cut if len(cut) <= LONGEST else None


def opening_of(text: str, *, sentences: int = SENTENCES) -> str:
    """The first sentences of a page, for a result without a snippet. "" for a page without text."""
    spans = split_sentences(text)[:sentences]
    return _plain(text[spans[0].start : spans[-1].end])[:LONGEST] if spans else ""


def _plain(text: str) -> str:
    return " ".join(text.replace("\x00", " ").split())
