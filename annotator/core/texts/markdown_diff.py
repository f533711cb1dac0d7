"""What is new in a longer text, pure: first by paragraphs, then by words within those that were changed.

By hand around difflib: diff libraries compare lines or characters, and know no paragraphs of Markdown.
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
# Lines that stand alone although no blank line parts them: items of lists, quotations, rows of tables.
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)]|>|\|)")
_TOKEN = re.compile(r"\s+|\w+(?:['’.,-]\w+)*|[^\w\s]")
_WORD = re.compile(r"\w+")

ALIKE = 0.5  # share of words in common from which two paragraphs are one, changed
# Beyond these, texts are shown as taken out and put in whole, rather than compared for minutes: paragraphs of which
# each could have become each, equal paragraphs, and equal words (difflib looks at each pair of equals, many times).
MAX_PAIRS = 10_000
MAX_EQUAL_PARAGRAPHS = 1_000_000
MAX_EQUAL_WORDS = 40_000


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph, an item of a list or a heading (``level`` 1 to 6, else 0); its lines joined."""

    text: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph of the comparison. ``kind``: same, changed, ins (new) or del (gone)."""

    kind: str
    level: int
    pieces: tuple[EditPiece, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Blocks in a row that are all the same (to be folded away) or all touched."""

    is_same: bool
    blocks: tuple[Block, ...]


def paragraphs(text: str) -> list[Paragraph]:
    """The paragraphs of a Markdown text. How its lines are wrapped makes no difference; code keeps its lines."""
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
    """Both texts as one list of blocks, in order. Texts that differ in spaces and line breaks alone have no block that
    is not "same"."""
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
    """Neighbors of one sort together. The last heading before a change is not folded away with what is above it."""
    found: list[Stretch] = []
    run: list[Block] = []

    def close(is_same: bool, *, before_a_change: bool) -> None:
        nonlocal run
        last = next((i for i in range(len(run) - 1, -1, -1) if run[i].level), None)
        if is_same and before_a_change and last is not None:
            # The heading says where the change is; what lies between the two is folded as well.
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
    """A stretch that differs: paragraphs that are much alike are compared by words, the others come and go whole."""
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
    """Which paragraph became which: the pairs in order with the highest likeness in all."""
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
    """How often something of the one side meets its equal on the other."""
    ours, theirs = Counter(before), Counter(after)
    return sum(number * theirs[each] for each, number in ours.items() if not (isinstance(each, str) and each.isspace()))


def words(old: str, new: str) -> tuple[EditPiece, ...]:
    """What was taken out and put in, by words. A space between two changes belongs to them, so that phrases stay
    whole."""
    a, b = _TOKEN.findall(old), _TOKEN.findall(new)
    if _equal_pairs(a, b) > MAX_EQUAL_WORDS:
        return (EditPiece("del", old), EditPiece("ins", new))
    pieces: list[EditPiece] = []
    gone = come = ""
    # Space alone is never what two texts have in common; it only widens a match of words.
    for tag, i1, i2, j1, j2 in SequenceMatcher(str.isspace, a, b, autojunk=False).get_opcodes():
        out, into = "".join(a[i1:i2]), "".join(b[j1:j2])
        if tag == "equal" and (out.strip() or not (gone or come) or i2 == len(a)):
            pieces += [EditPiece(kind, text) for kind, text in (("del", gone), ("ins", come), ("same", out)) if text]
            gone = come = ""
        else:
            gone, come = gone + out, come + into
    return (*pieces, *(EditPiece(kind, text) for kind, text in (("del", gone), ("ins", come)) if text))
