"""Which claims of several annotators are the same, and which claim of one corresponds to several of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from pipeline.metrics.alignment import Table, align_table, word_table
from pipeline.metrics.text import token_f1, words

# At least this share of a part's words must occur in the whole. Otherwise, a claim would count as part of another just
# for sharing a name or a "the".
_CONTAINED = 0.5
# Smaller differences of similarities are rounding errors.
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Cluster:
    """One claim as several annotators wrote it: for each, the index of their claim, or None."""

    members: tuple[int | None, ...]


class ClaimGroup(NamedTuple):
    """Claims of two annotators that say the same, by index: one against one, or one against several.

    A side is empty if that annotator has no matching claim.
    """

    first: tuple[int, ...]
    second: tuple[int, ...]


def cluster(sets: Sequence[Sequence[str]], *, threshold: float, table: Table = word_table) -> list[Cluster]:
    """Clusters the claims of any number of annotators; ``sets[i]`` are the texts of annotator i. Each claim is in
    exactly one cluster. ``table`` compares the texts of two annotators.

    The medoid, the set most similar to all others, is the reference: every other set is aligned with it one to one by
    ``align_table``. Unmatched claims are clustered in the same way, until none is left. Ties go to the first annotator.
    With two annotators, this is ``align_table`` and what it leaves unmatched.

    Clusters are in the medoid's order. A cluster of unmatched claims follows the claim before it in the set that served
    as its reference, or comes first.
    """
    left = [list(range(len(texts))) for texts in sets]
    tables = {(one, other): table(sets[one], sets[other]) for one, other in combinations(range(len(sets)), 2)}
    placed: list[Cluster] = []
    while any(left):
        medoid, matches = _medoid(left, tables, threshold)
        for position, index in enumerate(left[medoid]):
            members = [left[who][found[position]] if position in found else None for who, found in enumerate(matches)]
            members[medoid] = index
            placed.insert(_place(placed, medoid, index), Cluster(tuple(members)))
        left[medoid] = []
        for who, found in enumerate(matches):
            taken = set(found.values())
            left[who] = [index for position, index in enumerate(left[who]) if position not in taken]
    return placed


def split_or_merge(first: Sequence[str], second: Sequence[str], clusters: Sequence[Cluster]) -> list[ClaimGroup]:
    """The ``clusters`` of two annotators, where an unmatched claim joins a match that it completes.

    It does if most of its words are in the other annotator's claim, and that claim is more similar to the match with it
    than without it. So one claim can be set against several, but never several against several. The best completion
    goes first; claims that complete nothing stay single. A group takes the position of its match.
    """
    texts = (first, second)
    groups = [
        ClaimGroup(*(() if index is None else (index,) for index in (one, other)))
        for one, other in (each.members for each in clusters)
    ]
    while found := _completion(texts, groups):
        alone, match = found
        sides = zip(groups[match], groups[alone], strict=True)
        groups[match] = ClaimGroup(*(tuple(sorted(matched + added)) for matched, added in sides))
        del groups[alone]
    return groups


def _completion(texts: tuple[Sequence[str], Sequence[str]], groups: Sequence[ClaimGroup]) -> tuple[int, int] | None:
    """The unmatched claim that completes a match best: its position and the match's."""
    best, found = _TINY, None
    for alone, part in enumerate(groups):
        if part.first and part.second:
            continue
        side = 0 if part.first else 1
        for match, group in enumerate(groups):
            if not group[side] or len(group[1 - side]) != 1:
                continue
            whole = texts[1 - side][group[1 - side][0]]
            gain = _gain([texts[side][index] for index in group[side]], texts[side][part[side][0]], whole)
            if gain > best:
                best, found = gain, (alone, match)
    return found


def _medoid(
    left: Sequence[Sequence[int]], tables: Mapping[tuple[int, int], list[list[float]]], threshold: float
) -> tuple[int, list[dict[int, int]]]:
    """The set most similar to all others, and for each set which of its remaining texts matches which of the
    medoid's."""
    matches: list[list[dict[int, int]]] = [[{} for _ in left] for _ in left]
    similar = [0.0] * len(left)
    for (one, other), table in tables.items():
        for match in align_table([[table[at][to] for to in left[other]] for at in left[one]], threshold=threshold):
            matches[one][other][match.first] = match.second
            matches[other][one][match.second] = match.first
            similar[one] += match.similarity
            similar[other] += match.similarity
    # Rounded, so that the order of summation never breaks a tie; max takes the first of equals.
    medoid = max((who for who, some in enumerate(left) if some), key=lambda who: round(similar[who], 9))
    return medoid, matches[medoid]


def _place(placed: Sequence[Cluster], who: int, index: int) -> int:
    """Where claim ``index`` of annotator ``who`` goes: after the nearest of their earlier claims, or to the front."""
    before = [
        (member, position)
        for position, each in enumerate(placed)
        if (member := each.members[who]) is not None and member < index
    ]
    return max(before)[1] + 1 if before else 0


def _gain(matched: Sequence[str], part: str, whole: str) -> float:
    """How much more similar ``matched`` is to ``whole`` if ``part`` joins it; 0 if it isn't part of it."""
    own, known = Counter(words(part)), Counter(words(whole))
    if not own or (own & known).total() < _CONTAINED * own.total():
        return 0.0
    return token_f1(_together([*matched, part]), whole) - token_f1(_together(matched), whole)


def _together(texts: Iterable[str]) -> str:
    """The words of several claims, each as often as in the claim that has it most often.

    Texts aren't simply concatenated: self-contained parts repeat their subject, which the whole names once.
    """
    bag: Counter[str] = Counter()
    for text in texts:
        bag |= Counter(words(text))
    return " ".join(bag.elements())
