"""A response as its Markdown reads, cut at the sentences. The text itself is never changed: each piece knows where it
stands in the response, so that sentences keep their offsets.

markdown-it-py gives blocks with their lines, and tokens within a block without a position. A token's text is found
again in the source, from left to right. What is markup (``**``, ``##``, the address of a link) lies between two pieces.

Only what helps reading is parsed: no raw HTML, no images, no link that leads anywhere. Indented code and underlined
headings are off, since models write both by accident; so are link definitions, which would vanish.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

# Tags of blocks that are shown as they are. Everything else in the token stream is inline or has no text.
_BLOCKS = frozenset(("p", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td"))
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_MARKS = {"strong_open": "strong", "em_open": "em", "s_open": "s", "link_open": "u"}
_DESTINATION = re.compile(r"\]\((?:[^()\\\n]|\\.|\([^()\n]*\))*\)|\]")
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Leaf:
    """Characters ``start`` to ``end`` of the response as they are read. ``text`` is that slice, but for an escaped sign
    or an entity. ``marks``: strong, em, s, code, u (a link), outermost first."""

    start: int
    end: int
    text: str
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tag:
    """The start or the end of a block. ``name``: p, ul, li, h, pre, hr, ...; ``number``: level of a heading, or first
    number of a list."""

    name: str
    is_end: bool = False
    number: int = 0


Part = Tag | Leaf


@dataclass(slots=True)
class Stretch:
    """Neighboring leaves of one block in one sentence (its position in the list), or in none."""

    sentence: int | None
    leaves: list[Leaf] = field(default_factory=list)
    is_first: bool = False

    @property
    def text(self) -> str:
        return "".join(leaf.text for leaf in self.leaves)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # text_join would merge escaped signs into their neighbors, whose text could then not be found in the source.
    return parser.disable(["code", "lheading", "reference", "html_block", "html_inline", "image", "text_join"])


@lru_cache(maxsize=64)
def parts_of(text: str) -> tuple[Part, ...]:
    """The text's blocks and leaves in order. Leaves do not overlap, and every word of the text is in one, but for
    addresses of links, the language of a code block, and marks."""
    return tuple(_parts(text))


def words_of(text: str) -> str:
    """The words of a text on one line, without its marks."""
    return " ".join("".join(part.text if isinstance(part, Leaf) else " " for part in parts_of(text)).split())


def is_formatted(text: str) -> bool:
    """Does the text read otherwise as Markdown than as it stands?"""
    return any(
        bool(part.marks) or len(part.text) != part.end - part.start if isinstance(part, Leaf) else part.name != "p"
        for part in parts_of(text)
    )


def reading(
    text: str, sentences: Iterable[tuple[int | None, int | None, str]] = (), *, raw: bool = False
) -> list[Tag | Stretch]:
    """The parts of a text, leaves joined by sentence. ``sentences``: start, end and text of each, in order.
    ``raw``: the text as it stands, as always where the formatted text would not show every sentence.

    Sentences without a place of their own follow one another at the end, instead of what else stands there: then the
    whole text stands as it is, since nobody can tell which of its blocks they belong to.
    """
    given = list(sentences)
    spans: list[tuple[int, int, int]] = []
    loose: list[int] = []
    for number, (start, end, _) in enumerate(given):
        if start is None or end is None or end <= start or start < (spans[-1][1] if spans else 0):
            loose.append(number)
        else:
            spans.append((start, end, number))
    if loose:
        found = _stretches((Leaf(0, len(text), text),), spans)[: 2 * len(spans)]
        if found and isinstance(found[-1], Stretch) and found[-1].sentence is None:
            found.pop()
        return found + [Stretch(number, [Leaf(0, 0, f"\n{given[number][2]}")], is_first=True) for number in loose]
    if not raw:
        found = _stretches(parts_of(text), spans)
        if len({part.sentence for part in found if isinstance(part, Stretch)} - {None}) == len(spans):
            return found
    return _stretches((Leaf(0, len(text), text),), spans)


def blocks_with(parts: Iterable[Tag | Stretch], sentences: Collection[int]) -> list[Tag | Stretch]:
    """Of a reading, the outermost blocks (a paragraph, a whole list) that hold any of these sentences, and what stands
    between two of them outside any block."""
    found: list[Tag | Stretch] = []
    block: list[Tag | Stretch] = []
    depth = 0
    is_near = False
    for part in parts:
        block.append(part)
        if isinstance(part, Tag) and part.name != "hr":
            depth += -1 if part.is_end else 1
        if depth:
            continue
        is_between = is_near and isinstance(part, Stretch) and part.sentence is None
        is_near = any(isinstance(each, Stretch) and each.sentence in sentences for each in block)
        if is_near or is_between:
            found += block
        block = []
    return found


def _stretches(parts: Iterable[Part], spans: list[tuple[int, int, int]]) -> list[Tag | Stretch]:
    """A sentence that has no leaf of its own (a rule, say) has no stretch."""
    found: list[Tag | Stretch] = []
    seen: set[int] = set()
    at = 0
    for part in parts:
        if isinstance(part, Tag):
            found.append(part)
            continue
        while at < len(spans) and spans[at][1] <= part.start:
            at += 1
        for leaf, sentence in _cut(part, spans, at):
            last = found[-1] if found else None
            if not isinstance(last, Stretch) or last.sentence != sentence:
                last = Stretch(sentence, is_first=sentence is not None and sentence not in seen)
                found.append(last)
                if sentence is not None:
                    seen.add(sentence)
            last.leaves.append(leaf)
    return found


def _cut(leaf: Leaf, spans: list[tuple[int, int, int]], at: int) -> Iterator[tuple[Leaf, int | None]]:
    """A leaf cut where sentences begin and end. A leaf that is no slice (an entity) is not cut."""
    if len(leaf.text) != leaf.end - leaf.start:
        yield leaf, spans[at][2] if at < len(spans) and spans[at][0] <= leaf.start else None
        return
    position = leaf.start
    while position < leaf.end:
        sentence = None
        end = leaf.end
        if at < len(spans) and spans[at][0] <= position:
            end, sentence = min(end, spans[at][1]), spans[at][2]
            at += 1
        elif at < len(spans):
            end = min(end, spans[at][0])
        if end > position:
            yield Leaf(position, end, leaf.text[position - leaf.start : end - leaf.start], leaf.marks), sentence
        position = max(position, end)


# --- from markdown-it's tokens to positions ---------------------------------------------------------------------------


def _parts(text: str) -> Iterator[Part]:
    lines = _line_starts(text)
    position = 0
    for token in _parser().parse(text):
        if token.type == "inline":
            for leaf in _leaves(token.children or [], text, _begin(token, lines, position)):
                position = leaf.end
                yield leaf
        elif token.type == "fence":
            yield from _code(token, text, lines)
            position = max(position, lines[token.map[1]] if token.map else position)
        elif token.type == "hr":
            yield Tag("hr")
        elif token.tag in _HEADINGS:
            yield Tag("h", token.nesting < 0, int(token.tag[1]))
        elif token.tag == "p":
            # A paragraph of a tight list is the item itself.
            if not token.hidden:
                yield Tag("p", token.nesting < 0)
        elif token.tag in _BLOCKS:
            number = int(token.attrGet("start") or 1) if token.tag == "ol" and token.nesting > 0 else 0
            yield Tag(token.tag, token.nesting < 0, number)


def _line_starts(text: str) -> list[int]:
    """Where each line begins, as markdown-it counts lines, and the end of the text."""
    return [0, *(match.end() for match in _LINE_END.finditer(text)), len(text), len(text)]


def _begin(token: Token, lines: list[int], position: int) -> int:
    return max(position, lines[token.map[0]]) if token.map else position


def _code(token: Token, text: str, lines: list[int]) -> Iterator[Part]:
    """A fenced block: its lines one by one, without their indentation where the block itself is indented."""
    yield Tag("pre")
    first, last = token.map or [0, 0]
    position = lines[first + 1]
    for line in token.content.split("\n")[:-1]:
        at = text.find(line, position, lines[last])
        if line and at >= 0:
            yield Leaf(at, at + len(line), line)
            position = at + len(line)
        after = _LINE_END.search(text, position, lines[last])
        if after:
            yield Leaf(after.start(), after.end(), text[after.start() : after.end()])
            position = after.end()
    yield Tag("pre", is_end=True)


def _leaves(children: list[Token], text: str, position: int) -> Iterator[Leaf]:
    marks: list[str] = []
    for token in children:
        mark = _MARKS.get(token.type)
        if mark:
            marks.append(mark)
        elif token.type.replace("_close", "_open") in _MARKS:
            marks.pop()
            position = _after_link(token, text, position)
        elif token.type in ("softbreak", "hardbreak"):
            found = _LINE_END.search(text, position)
            if found:
                yield Leaf(found.start(), found.end(), text[found.start() : found.end()], tuple(marks))
                position = found.end()
        elif token.type == "text_special":
            at = text.find(token.markup, position)
            if at >= 0:
                position = at + len(token.markup)
                # \( and \[ begin formulas more often than they escape.
                shown = token.markup if token.content in "()[]" else token.content
                yield Leaf(at, position, shown, tuple(marks))
        elif token.type == "code_inline":
            at = text.find(token.markup, position) + len(token.markup)
            end = text.find(token.markup, at)
            if at >= len(token.markup) and end >= 0:
                yield Leaf(at, end, text[at:end], (*marks, "code"))
                position = end + len(token.markup)
        elif token.content:
            for leaf in _plain(token.content, text, position, tuple(marks)):
                position = leaf.end
                yield leaf


def _plain(content: str, text: str, position: int, marks: tuple[str, ...]) -> Iterator[Leaf]:
    """A token's text where it stands next. In a table's cell ``\\|`` reads as ``|``: then bar by bar."""
    at = text.find(content, position)
    pieces = [content] if at >= 0 else re.split(r"(\|)", content)
    for piece in pieces:
        at = text.find(piece, position)
        if piece and at >= 0:
            position = at + len(piece)
            yield Leaf(at, position, piece, marks)


def _after_link(token: Token, text: str, position: int) -> int:
    """Behind a link's address, so that nothing in it is taken for text."""
    if token.type != "link_close" or token.info == "auto":
        return position
    found = _DESTINATION.search(text, position)
    return found.end() if found else position
