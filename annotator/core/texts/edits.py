"""The typed edits that correct a false claim, as operations on its text (Factcheck-Bench section 2, step 7).

An operation covers ``text[start:end]``. Offsets count Unicode code points, as Python does; browsers count UTF-16 units
and must convert before sending. The revised claim is always derived by ``apply`` and never stored.

Written by hand on top of difflib because the guidelines have no insertion: whatever a diff inserts must become a
replacement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from annotator.core.vocabulary import EditKind

# A run of spaces, a word (with inner periods, hyphens and apostrophes: 1,234.5, co-op, Brown's), or one other
# character.
_TOKEN = re.compile(r"\s+|\w+(?:[.,'’\-]\w+)*|[^\w\s]")


class EditError(ValueError):
    """The operations don't fit the text. The message is for the person who made them."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One edit: the whole claim deleted, ``text[start:end]`` replaced by ``replacement``, or deleted."""

    kind: EditKind
    start: int
    end: int
    replacement: str = ""


@dataclass(frozen=True, slots=True)
class EditPiece:
    """A segment of an edited text: "same", "del" or "ins"."""

    kind: str
    text: str


def pieces(text: str, operations: Sequence[Operation]) -> list[EditPiece]:
    """The result of an edit as segments: exactly its operations, not a diff of two texts."""
    found: list[EditPiece] = []
    position = 0
    for operation in sorted(operations, key=lambda each: each.start):
        whole = operation.kind == EditKind.DELETE_CLAIM
        start, end = (0, len(text)) if whole else (operation.start, operation.end)
        found += [EditPiece("same", text[position:start]), EditPiece("del", text[start:end])]
        found.append(EditPiece("ins", operation.replacement))
        position = end
    found.append(EditPiece("same", text[position:]))
    return [piece for piece in found if piece.text]


def apply(text: str, operations: Sequence[Operation]) -> str:
    """The revised text; "" when the claim is deleted. Raises ``EditError`` as ``check`` does."""
    check(text, operations)
    if any(operation.kind == EditKind.DELETE_CLAIM for operation in operations):
        return ""
    return "".join(piece.text for piece in pieces(text, operations) if piece.kind != "del")


def check(text: str, operations: Sequence[Operation]) -> None:
    """Raises ``EditError`` with a message for people if the operations don't fit ``text`` or each other."""
    if any(operation.kind == EditKind.DELETE_CLAIM for operation in operations):
        if len(operations) > 1:
            raise EditError("The whole claim is deleted. Remove the other edits, or keep the claim.")
        return
    for operation in operations:
        _check_one(text, operation)
    ordered = sorted(operations, key=lambda each: (each.start, each.end))
    for before, after in pairwise(ordered):
        if after.start < before.end:
            raise EditError(
                f"Two edits touch the same words, “{text[after.start : min(before.end, after.end)]}”: "
                "merge them into one edit or remove one."
            )
    if operations and all(each.kind == EditKind.DELETE for each in operations):
        kept = sum(map(len, text.split())) - sum(
            len("".join(text[each.start : each.end].split())) for each in operations
        )
        if kept == 0:
            raise EditError("This deletes every word of the claim: choose “Delete claim” instead.")


def _check_one(text: str, operation: Operation) -> None:
    start, end = operation.start, operation.end
    if not 0 <= start <= end <= len(text):
        raise EditError(
            f"An edit covers the characters {start} to {end}, but the claim has {len(text)}: "
            "the claim has changed. Select the words again."
        )
    # Only an empty text can have an empty selection replaced, since nothing in it can be selected.
    if start == end and text:
        raise EditError("No words are selected. Select words in the claim first.")
    chosen = text[start:end]
    if operation.kind == EditKind.DELETE:
        if operation.replacement:
            raise EditError(f"“{chosen}” is marked for deletion, but has replacement text. Choose “Replace”.")
    elif operation.replacement == "":
        raise EditError(f"There is no replacement for “{chosen}”. Enter the new words, or delete it.")
    elif operation.replacement == chosen:
        raise EditError(f"“{chosen}” is replaced with the same words. Enter other words, or remove the edit.")


def delete_words(text: str, start: int, end: int) -> Operation:
    """A deletion of ``text[start:end]`` that also removes one adjacent space, so that no double space is left."""
    space_before = start == 0 or text[start - 1 : start].isspace()
    if space_before and end < len(text) and text[end].isspace():
        end += 1
    elif start > 0 and space_before and (end == len(text) or not text[end].isalnum()):
        start -= 1
    return Operation(EditKind.DELETE, start, end)


def from_texts(original: str, revised: str) -> list[Operation]:
    """A few word-level operations such that ``apply(original, operations) == revised``, exactly.

    Equal texts give no operations; an empty ``revised`` gives one ``delete_claim``. Because there is no insertion, new
    words are attached to a neighbor (X becomes X Y). A text without words on either side is replaced as a whole.
    """
    if original == revised:
        return []
    if revised == "":
        return [Operation(EditKind.DELETE_CLAIM, 0, len(original))]
    if not original.strip() or not revised.strip():
        return [Operation(EditKind.REPLACE, 0, len(original), revised)]
    chunks: list[tuple[int, int, str]] = []
    for change in _merged(original, _changes(original, revised)):
        start, end, new = change
        floor = chunks[-1][1] if chunks else 0
        if start < end:
            chunks.append(change)
        elif chunks and not original[floor:start].strip():  # the previous edit already used the word before
            chunks.append(_joined(original, chunks.pop(), change))
        else:
            chunks.append(_beside_a_word(original, floor, start, new))
    return [
        Operation(EditKind.REPLACE if new else EditKind.DELETE, start, end, new)
        for start, end, new in (_without_shared_space(original, *chunk) for chunk in chunks)
    ]


def _changes(original: str, revised: str) -> list[tuple[int, int, str]]:
    """What differs between the two token sequences, as (start, end, new text) on ``original``, in order."""
    old, new = _TOKEN.findall(original), _TOKEN.findall(revised)
    offsets = [0]
    for token in old:
        offsets.append(offsets[-1] + len(token))
    # Space alone is never what two texts have in common; it only extends a match of words.
    matcher = SequenceMatcher(str.isspace, old, new, autojunk=False)
    return [
        (offsets[i1], offsets[i2], "".join(new[j1:j2]))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _merged(original: str, changes: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Changes separated only by space become one, unless both are deletions: those stay separate edits."""
    merged: list[tuple[int, int, str]] = []
    for change in changes:
        both_delete = bool(merged) and merged[-1][2] == "" and change[2] == ""
        if merged and not both_delete and not original[merged[-1][1] : change[0]].strip():
            merged.append(_joined(original, merged.pop(), change))
        else:
            merged.append(change)
    return merged


def _joined(original: str, before: tuple[int, int, str], after: tuple[int, int, str]) -> tuple[int, int, str]:
    """Two changes and the text between them, as one."""
    return before[0], after[1], before[2] + original[before[1] : after[0]] + after[2]


def _beside_a_word(original: str, floor: int, position: int, new: str) -> tuple[int, int, str]:
    """An insertion as a replacement of the token before it, or of the token after it at the start of the text."""
    before = [match for match in _TOKEN.finditer(original[floor:position]) if not match[0].isspace()]
    if before:
        start = floor + before[-1].start()
        return start, position, original[start:position] + new
    following = next(match for match in _TOKEN.finditer(original, position) if not match[0].isspace())
    return position, following.end(), new + original[position : following.end()]


def _without_shared_space(original: str, start: int, end: int, new: str) -> tuple[int, int, str]:
    """A replacement without the outer space that both sides share."""
    if not new.strip() or not original[start:end].strip():
        return start, end, new
    while new[0].isspace() and new[0] == original[start]:
        start, new = start + 1, new[1:]
    while new[-1].isspace() and new[-1] == original[end - 1]:
        end, new = end - 1, new[:-1]
    return start, end, new
