"""Chunks of a response: how many sentences are read in one call (FastFact, section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.sentences.boundaries import SentenceSpan

WHOLE = 0  # the stride that takes the whole response at once


def chunks(spans: Sequence[SentenceSpan], stride: int) -> list[Sequence[SentenceSpan]]:
    """The sentences in groups of ``stride``, the last one possibly shorter; a single group for ``WHOLE``. Without
    sentences, no chunk."""
    if not spans:
        return []
    size = stride or len(spans)
    return [spans[start : start + size] for start in range(0, len(spans), size)]


def number_of_chunks(sentences: float, stride: int) -> int:
    """ceil(N / w); 1 for the whole response, 0 without sentences."""
    if not sentences:
        return 0
    return int(-(-sentences // stride)) if stride else 1
