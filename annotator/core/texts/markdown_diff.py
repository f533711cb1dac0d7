"""What is new in a longer text: compared by paragraphs, then by words within paragraphs that changed. Pure.

Written by hand on top of difflib: diff libraries compare lines or characters and don't know Markdown's paragraphs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from annotator.core.texts.edits import EditPiece

HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
FENCE = re.compile(r"^ {0,3}(?:```|~~~)")
# Lines that stand on their own without a blank line between them: list items, quotations, table rows.
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)]|>|\|)")
_TOKEN = re.compile(r"\s+|\w+(?:['’.,-]\w+)*|[^\w\s]")
_WORD = re.compile(r"\w+")

ALIKE = 0.5  # above this share of common words, two paragraphs count as one that changed
# Above these limits, texts are shown as removed and added as a whole, because comparing them would take minutes:
# candidate pairs of paragraphs, equal paragraphs, and equal words (difflib visits each pair of equals many times).
MAX_PAIRS = 10_000
MAX_EQUAL_PARAGRAPHS = 1_000_000
MAX_EQUAL_WORDS = 40_000


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph, list item or heading (``level`` 1 to 6, else 0) with its lines joined."""

    text: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph of the comparison. ``kind``: same, changed, ins (added) or del (removed)."""

    kind: str
    level: int
    pieces: tuple[EditPiece, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive blocks that are all unchanged (to be folded) or all touched."""

    is_same: bool
    blocks: tuple[Block, ...]


def paragraphs(text: str) -> list[Paragraph]:
    """The paragraphs of a Markdown text. Line wrapping makes no difference; code keeps its lines."""
    found: list[Paragraph] = []
    lines: list[str] = []
    in_code = False

    def close() -> None:
        if lines:
            found.append(Paragraph(" ".join(lines)))
            lines.clear()

    for line in text.splitlines():
        heading = None if in_code else HEADING.match(line)
        if FENCE.match(line):
            in_code = not in_code
        if heading or in_code or not line.strip() or FENCE.match(line) or _ITEM.match(line):
            close()
        if heading:
            found.append(Paragraph(heading[2], len(heading[1])))
        elif in_code or FENCE.match(line):
            found.append(Paragraph(line.rstrip()))
        elif line.strip():
            lines.append(line.strip())
    close()
    return found


def compare(old: str, new: str) -> list[Block]:
    """Both texts as one list of blocks, in order. If texts differ only in spaces and line breaks, every block is
    "same"."""
    before, after = paragraphs(old), paragraphs(new)
    if before == after:
        return [_whole("same", paragraph) for paragraph in after]
    if _equal_pairs(before, after) > MAX_EQUAL_PARAGRAPHS:
        return [_whole(kind, paragraph) for kind, side in (("del", before), ("ins", after)) for paragraph in side]
    blocks: list[Block] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            blocks += [_whole("same", paragraph) for paragraph in after[j1:j2]]
        else:
            blocks += _changed(before[i1:i2], after[j1:j2])
    return blocks


def stretches(blocks: Iterable[Block]) -> list[Stretch]:
    """Groups consecutive blocks of the same kind. The last heading before a change stays visible when the blocks above
    it are folded."""
    found: list[Stretch] = []
    run: list[Block] = []

    def close(is_same: bool, *, before_a_change: bool) -> None:
        nonlocal run
        last = next((i for i in range(len(run) - 1, -1, -1) if run[i].level), None)
        if is_same and before_a_change and last is not None:
            # The heading shows where the change is. Blocks between the heading and the change are folded, too.
            parts = [(True, run[:last]), (False, run[last : last + 1]), (True, run[last + 1 :])]
        else:
            parts = [(is_same, run)]
        found.extend(Stretch(same, tuple(part)) for same, part in parts if part)
        run = []

    for block in blocks:
        is_same = block.kind == "same"
        if run and (run[-1].kind == "same") != is_same:
            close(not is_same, before_a_change=not is_same and not block.level)
        run.append(block)
    if run:
        close(run[-1].kind == "same", before_a_change=False)
    return found


def _whole(kind: str, paragraph: Paragraph) -> Block:
    return Block(kind, paragraph.level, (EditPiece(kind, paragraph.text),))


def _changed(before: Sequence[Paragraph], after: Sequence[Paragraph]) -> list[Block]:
    """A segment that differs: similar paragraphs are compared by words, all others are removed or added as a whole."""
    blocks: list[Block] = []
    i = j = 0
    for old, new in [*_pairs(before, after), (len(before), len(after))]:
        blocks += [_whole("del", paragraph) for paragraph in before[i:old]]
        blocks += [_whole("ins", paragraph) for paragraph in after[j:new]]
        if old < len(before) and new < len(after):
            blocks.append(Block("changed", after[new].level, words(before[old].text, after[new].text)))
        i, j = old + 1, new + 1
    return blocks


def _pairs(before: Sequence[Paragraph], after: Sequence[Paragraph]) -> list[tuple[int, int]]:
    """Matches paragraphs: the pairs, in order, with the highest total similarity."""
    if not before or not after or len(before) * len(after) > MAX_PAIRS:
        return []
    bags = [set(_WORD.findall(paragraph.text.lower())) for paragraph in before]
    others = [set(_WORD.findall(paragraph.text.lower())) for paragraph in after]
    best = [[0.0] * (len(after) + 1) for _ in range(len(before) + 1)]  # of the paragraphs from (i, j) on

    def worth(i: int, j: int) -> float:
        if bool(before[i].level) != bool(after[j].level):
            return 0.0
        likeness = 2 * len(bags[i] & others[j]) / ((len(bags[i]) + len(others[j])) or 1)
        return likeness if likeness >= ALIKE else 0.0

    for i in range(len(before) - 1, -1, -1):
        for j in range(len(after) - 1, -1, -1):
            pair = worth(i, j)
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + pair if pair else 0.0)
    found, i, j = [], 0, 0
    while i < len(before) and j < len(after):
        if best[i][j] == best[i + 1][j]:
            i += 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            found.append((i, j))
            i, j = i + 1, j + 1
    return found


def _equal_pairs(before: Iterable[Hashable], after: Iterable[Hashable]) -> int:
    """How many times an item on one side meets its equal on the other."""
    ours, theirs = Counter(before), Counter(after)
    return sum(number * theirs[each] for each, number in ours.items() if not (isinstance(each, str) and each.isspace()))


def words(old: str, new: str) -> tuple[EditPiece, ...]:
    """What was removed and added, by words. A space between two changes belongs to them, so that phrases stay
    together."""
    a, b = _TOKEN.findall(old), _TOKEN.findall(new)
    if _equal_pairs(a, b) > MAX_EQUAL_WORDS:
        return (EditPiece("del", old), EditPiece("ins", new))
    pieces: list[EditPiece] = []
    gone = come = ""
    # Space alone is never what two texts have in common; it only extends a match of words.
    for tag, i1, i2, j1, j2 in SequenceMatcher(str.isspace, a, b, autojunk=False).get_opcodes():
        out, into = "".join(a[i1:i2]), "".join(b[j1:j2])
        if tag == "equal" and (out.strip() or not (gone or come) or i2 == len(a)):
            pieces += [EditPiece(kind, text) for kind, text in (("del", gone), ("ins", come), ("same", out)) if text]
            gone = come = ""
        else:
            gone, come = gone + out, come + into
    return (*pieces, *(EditPiece(kind, text) for kind, text in (("del", gone), ("ins", come)) if text))
