"""A suggested decomposition against the gold: sentence boundaries, matching sentences, distances between claims.

Used by the benchmark script for the released file, and by the page and command for a benchmark's own gold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pipeline.metrics.alignment import PrecisionRecall, align
from pipeline.metrics.text import edit_distance, word_overlap

# Above this word similarity, two sentences count as one, as do two claims whose labels are compared.
SAME = 0.5


class SentenceCut(Protocol):
    """A sentence with its position in the response; ``start`` and ``end`` are None if it isn't a substring of it."""

    @property
    def text(self) -> str: ...
    @property
    def start(self) -> int | None: ...
    @property
    def end(self) -> int | None: ...


def same_cuts(found: Sequence[SentenceCut], gold: Sequence[SentenceCut]) -> PrecisionRecall:
    """Sentences with exactly the same start and end. Gold sentences that aren't substrings of the response are left
    out, because no boundary could match theirs."""
    known = [(each.start, each.end) for each in gold if each.start is not None]
    shared = {(each.start, each.end) for each in found} & set(known)
    return PrecisionRecall(len(shared), len(found), len(known))


def pair_sentences(gold: Sequence[SentenceCut], found: Sequence[SentenceCut]) -> list[int | None]:
    """The position of the suggested sentence for each gold sentence, one to one: the one at the same place in the
    response, else the best match by text; None if there is none."""
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
