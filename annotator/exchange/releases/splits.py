"""Assigns documents to the splits of a release: the same documents, seed and shares always give the same result.

The method: documents that must stay together form a group. Every group gets a position on a line from a hash of the
seed and its name, so its position depends on nothing else. The line is cut at the shares, counted in documents, and a
group belongs to the segment that contains its middle. It follows:

- no group is in two splits, and every document is in exactly one;
- train and test differ from their shares by at most half of the largest group, dev, which has two ends, by at most a
  whole one (without groups: by half a document, and by one);
- a new document takes its place in the line and leaves the order of the others as it is: only documents near a cut can
  move. Who wants none to move keeps the splits of an earlier release.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from annotator.core.vocabulary import GroupedBy, Split


class SplitError(ValueError):
    """The documents can't be split as requested. The message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Percentages of the splits. Raises SplitError unless they are whole numbers that add up to 100."""

    train: int
    dev: int
    test: int

    def __post_init__(self) -> None:
        if min(self.train, self.dev, self.test) < 0:
            raise SplitError("Shares cannot be negative.")
        total = self.train + self.dev + self.test
        if total != 100:
            raise SplitError(
                f"The shares add up to {total}%: {self.train}% train, {self.dev}% dev and {self.test}% test. "
                "Change them to add up to 100%."
            )

    def of(self, split: Split) -> int:
        return {Split.TRAIN: self.train, Split.DEV: self.dev, Split.TEST: self.test}[split]


@dataclass(frozen=True, slots=True)
class SplitDocument:
    """The properties by which a document can be grouped; "" if it lacks one."""

    public_id: str
    source: str = ""
    prompt: str = ""
    model: str = ""
    batch: str = ""


def groups_of(documents: Iterable[SplitDocument], by: GroupedBy) -> dict[str, str]:
    """The group name of each document, by public id. A document without a source (prompt, model, batch) has nothing in
    common with others that lack one, so it is its own group. Prompts are compared without regard to spaces and case."""
    found: dict[str, str] = {}
    for document in documents:
        common = "" if by == GroupedBy.NOTHING else str(getattr(document, by.value))
        if by == GroupedBy.PROMPT:
            common = " ".join(common.casefold().split())
        found[document.public_id] = f"{by}: {common}" if common else f"document: {document.public_id}"
    return found


def split_documents(
    groups: Mapping[str, str], shares: Shares, *, seed: int, kept: Mapping[str, Split] | None = None
) -> dict[str, Split]:
    """The split of each document, sorted by document.

    ``groups``: group names by public id. ``kept``: documents whose split was fixed by an earlier release; the rest of
    their group follows them, and the other groups fill up the shares. Raises SplitError if documents of one group were
    in different splits.
    """
    members: defaultdict[str, list[str]] = defaultdict(list)
    for document, group in groups.items():
        members[group].append(document)
    settled = _settled(groups, kept or {})
    there = Counter(dict.fromkeys(Split, 0))
    for group, split in settled.items():
        there[split] += len(members[group])
    # What each split still lacks, in hundredths of a document. Integers, so that rounding decides nothing.
    lacks = {split: max(0, len(groups) * shares.of(split) - 100 * there[split]) for split in Split}
    found = settled | _cut({group: len(each) for group, each in members.items() if group not in settled}, lacks, seed)
    return {document: found[groups[document]] for document in sorted(groups)}


def place_of(group: str, seed: int) -> bytes:
    """A group's position on the line."""
    return hashlib.sha256(f"{seed}\n{group}".encode()).digest()


def _cut(sizes: Mapping[str, int], lacks: Mapping[Split, int], seed: int) -> dict[str, Split]:
    """Put the groups on the line and cut it in proportion to what the splits lack."""
    whole, unit = sum(sizes.values()), sum(lacks.values())
    found: dict[str, Split] = {}
    before = 0
    for group in sorted(sizes, key=lambda each: (place_of(each, seed), each)):
        # middle < end of the split, that is (before + size / 2) / whole < end / unit, without a division
        middle = (2 * before + sizes[group]) * unit
        end = 0
        for split in Split:
            end += lacks[split]
            if middle < 2 * whole * end:
                found[group] = split
                break
        before += sizes[group]
    return found


def _settled(groups: Mapping[str, str], kept: Mapping[str, Split]) -> dict[str, Split]:
    """The split of each group that has a kept document."""
    settled: dict[str, Split] = {}
    for document in sorted(groups):
        if document not in kept:
            continue
        group, split = groups[document], kept[document]
        if settled.setdefault(group, split) != split:
            raise SplitError(
                f"Documents in the same group ({group}) are in {settled[group].label.lower()} and in "
                f"{split.label.lower()} of the earlier release. Use that release’s grouping, or do not "
                "keep its splits."
            )
    return settled
