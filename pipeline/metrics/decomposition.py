"""A suggested decomposition against the gold: where sentences are cut, which one is which, how far claims are apart.

Used by the benchmark script for the released file and by the page and command for a benchmark's own gold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pipeline.metrics.alignment import PrecisionRecall, align
from pipeline.metrics.text import edit_distance, word_overlap

# From this similarity of words on two sentences, or two claims whose labels are compared, are taken to be the same.
SAME = 0.5


class SentenceCut(Protocol):
    """A sentence with its place in the response; ``start`` and ``end`` are None where it is no substring of it."""

    @property
    def text(self) -> str: ...
    @property
    def start(self) -> int | None: ...
    @property
    def end(self) -> int | None: ...


def same_cuts(found: Sequence[SentenceCut], gold: Sequence[SentenceCut]) -> PrecisionRecall:
    """Sentences with exactly the same start and end. Gold sentences that are no substring of the response are left
    out: nothing could be cut like them."""
    known = [(each.start, each.end) for each in gold if each.start is not None]
    shared = {(each.start, each.end) for each in found} & set(known)
    return PrecisionRecall(len(shared), len(found), len(known))


def pair_sentences(gold: Sequence[SentenceCut], found: Sequence[SentenceCut]) -> list[int | None]:
    """For each gold sentence the position of the suggested one, one to one: that of the same place in the response,
    else the best match of its text; None where there is none."""
    by_place: dict[tuple[int | None, int | None], int] = {
        (each.start, each.end): at for at, each in enumerate(found) if each.start is not None
    }
    result = [by_place.pop((each.start, each.end), None) for each in gold]
    taken = {at for at in result if at is not None}
    open_gold = [at for at, other in enumerate(result) if other is None]
    open_found = [at for at in range(len(found)) if at not in taken]
    matches = align([gold[at].text for at in open_gold], [found[at].text for at in open_found], threshold=SAME)
    for match in matches:
        result[open_gold[match.first]] = open_found[match.second]
    return result


def apart_in_order(found: Sequence[str], gold: Sequence[str]) -> list[tuple[float, float]] | None:
    """Edit distance and word overlap of the claims of one sentence, compared in order, as Factcheck-Bench does (section
    4.1): only where there are as many of the one as of the other; None where there are not."""
    if len(found) != len(gold):
        return None
    return [
        (edit_distance(ours, theirs.strip()), word_overlap(ours, theirs))
        for ours, theirs in zip(found, gold, strict=True)
    ]
