"""Step 8, pure: carrying claim edits into sentences and merging sentences into the revised response (C.7).

By hand: merge libraries know lines, not edits with offsets that have to name the claims they disagree about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from annotator.core.texts import edits
from annotator.core.vocabulary import EditKind

_WORD = re.compile(r"\w+", re.UNICODE)

# A list mark at the end of what stands before a sentence: "\n2. ", "\n- ", "\n   • ".
_LIST_MARK = re.compile(r"(?:(?<=\n)|^)[ \t]*(?:\d{1,3}[.)]|[-*+•–])[ \t]+$")

# Words that say nothing about what a statement is about.
_COMMON = frozenset(
    """a an and are as at be been being but by can did do does for from had has have he her his i in into is it its of
    on or our she so such than that the their them then there these they this those to too was we were what when
    where which who whom whose will with would you your also""".split()
)

# Words with which a sentence may lean on the one before it.
_PRONOUNS = frozenset("he she it they him her them his its their theirs hers this these that those".split())


@dataclass(frozen=True, slots=True)
class ClaimEdit:
    """A claim's text and the operations on it."""

    text: str
    operations: tuple[edits.Operation, ...]


@dataclass(frozen=True, slots=True)
class Carried:
    """A sentence after its claims' edits were carried into it. ``open_edits``: those that found no single place,
    in words for a person."""

    text: str
    open_edits: tuple[str, ...]
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of the response as it goes into the merge. Offsets are null where it is no substring."""

    start: int | None
    end: int | None
    original: str
    revised: str
    deleted: bool


@dataclass(frozen=True, slots=True)
class _Piece:
    """``sentence[start:end]`` becomes ``new``; ``words`` is what stood there, without the space taken along."""

    start: int
    end: int
    words: str
    new: str


def describe(claim: str, operation: edits.Operation) -> str:
    """An operation in words: ``replace “1975” with “1973”``."""
    words = claim[operation.start : operation.end].strip()
    if operation.kind == EditKind.DELETE_CLAIM:
        return f"delete “{claim}”"
    if operation.kind == EditKind.DELETE:
        return f"delete “{words}”"
    return f"replace “{words}” with “{operation.replacement.strip()}”"


def carry(sentence: str, claims: Sequence[ClaimEdit], *, claims_in_all: int) -> Carried:
    """Carry the operations on claims into their sentence where X has a single place in it.

    All places are looked for in the sentence as it was, so that two edits may exchange two names. A claim's words
    need not be the sentence's words: an operation that finds no place, or several that fit as well, or one that
    another edit changes too, stays open for the person. When every claim of the sentence is deleted, the sentence is
    deleted.
    """
    deleted_claims = sum(1 for claim in claims if any(op.kind == EditKind.DELETE_CLAIM for op in claim.operations))
    if claims_in_all and deleted_claims == claims_in_all:
        return Carried(sentence, (), deleted=True)
    pieces: list[_Piece] = []
    left_open: list[str] = []
    for claim in claims:
        for operation in claim.operations:
            piece = _piece(sentence, claim.text, operation)
            if piece in pieces:  # two claims hold the same mistake
                continue
            if piece is None or any(piece.start < other.end and other.start < piece.end for other in pieces):
                left_open.append(describe(claim.text, operation))
            else:
                pieces.append(piece)
    return Carried(_applied(sentence, pieces), tuple(left_open))


def _piece(sentence: str, claim: str, operation: edits.Operation) -> _Piece | None:
    """What the operation changes in the sentence; None where it has no single place."""
    if operation.kind == EditKind.DELETE_CLAIM:
        return None
    place = _only_place(sentence, claim, operation)
    if place is None:
        return None
    start, end = place
    words = sentence[start:end]
    if operation.kind == EditKind.REPLACE:
        return _Piece(start, end, words, operation.replacement.strip())
    wider = edits.delete_words(sentence, start, end)
    return _Piece(wider.start, wider.end, words, "")


def _applied(sentence: str, pieces: Sequence[_Piece]) -> str:
    text = sentence
    for piece in sorted(pieces, key=lambda each: each.start, reverse=True):
        rest = text[piece.end :]
        if not piece.new and not text[: piece.start].strip() and piece.words[:1].isupper():
            rest = rest[:1].upper() + rest[1:]  # the sentence now begins here
        text = text[: piece.start] + piece.new + rest
    return text


def _only_place(sentence: str, claim: str, operation: edits.Operation) -> tuple[int, int] | None:
    """Where the operation's words stand in the sentence as whole words. Of several places that one which has more
    of the claim's words around it than any other ("died in 1852"); None where there is no such place."""
    chosen = claim[operation.start : operation.end]
    words = chosen.strip()
    if not words:
        return None
    # No part of a longer word, nor of a longer number: 975 is not in 1,975 or 975.5.
    before = r"(?<!\w)(?<!\d[.,])" if words[0].isalnum() else ""
    after = r"(?!\w)(?![.,]\d)" if words[-1].isalnum() else ""
    places = [found.span() for found in re.finditer(before + re.escape(words) + after, sentence)]
    if len(places) < 2:
        return places[0] if places else None
    left, right = _tokens(claim[: operation.start]), _tokens(claim[operation.end :])
    fits = sorted(
        (
            _shared(left[::-1], _tokens(sentence[:start])[::-1]) + _shared(right, _tokens(sentence[end:])),
            (start, end),
        )
        for start, end in places
    )
    return fits[-1][1] if fits[-1][0] > fits[-2][0] else None


def _tokens(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _shared(first: Sequence[str], second: Sequence[str]) -> int:
    """How many words two sequences have in common from their beginning."""
    count = 0
    for one, two in zip(first, second, strict=False):
        if one != two:
            break
        count += 1
    return count


# --- the response ----------------------------------------------------------------------------------


def merge(response: str, statements: Sequence[Statement]) -> str:
    """The revised response: statements in original order, what stands between them kept.

    Sentences are put in their places, so that line breaks and list marks survive. A deleted sentence takes its list
    mark along, and of the blanks around it those with more line breaks stay. A sentence that stands nowhere in the
    response takes the place between its neighbours. If the places are in another order, all are joined by spaces.
    """
    places = _places(response, statements)
    if any(before[1] > after[0] for before, after in pairwise(places)):
        return " ".join(each.revised.strip() for each in statements if _stays(each))
    text = ""
    position = 0
    pending: str | None = None  # blanks before a sentence that went: they may serve the next one
    for each, (start, end) in zip(statements, places, strict=True):
        between = response[position:start]
        if start == end and position == start and text and not text[-1].isspace():
            between = " "  # two neighbours without a place of their own
        position = end
        if pending is not None:
            between = _wider(pending, between)
        if _stays(each):
            text += between + _as_spaced(each)
            pending = None
        else:
            between = _LIST_MARK.sub("", between)
            pending = between[len(between.rstrip()) :]
            text += between[: len(between) - len(pending)]
    rest = response[position:]
    if pending is not None and rest.strip():
        rest = _wider(pending, rest)
    text += rest
    # What went at either end leaves no blanks that the response did not begin or end with.
    if statements and not _stays(statements[0]):
        head = _LIST_MARK.sub("", response[: places[0][0]])
        text = text if head.strip() else head + text.lstrip()
    if statements and not _stays(statements[-1]) and not rest.strip():
        text = text.rstrip() + response[position:]
    return text


def _places(response: str, statements: Sequence[Statement]) -> list[tuple[int, int]]:
    """Where each statement stands in the response.

    Without offsets it is looked for with any blanks between its words. Where its words are not to be found at all
    it takes what stands between its neighbours, blanks at both ends aside: there the response says it otherwise.
    """
    found: list[tuple[int, int] | None] = []
    position = 0
    for each in statements:
        place = (each.start, each.end) if each.start is not None and each.end is not None else None
        if place is None and each.original.strip():
            pattern = r"\s+".join(re.escape(word) for word in each.original.split())
            match = re.compile(pattern).search(response, position)
            place = match.span() if match else None
        position = place[1] if place else position
        found.append(place)
    places: list[tuple[int, int]] = []
    for at, place in enumerate(found):
        if place is None:
            floor = places[-1][1] if places else 0
            ceiling = next((later[0] for later in found[at + 1 :] if later), len(response))
            gap = response[floor:ceiling]
            words = gap.strip()
            start = floor + gap.find(words) if words else floor
            place = (start, start + len(words))
        places.append(place)
    return places


def _stays(statement: Statement) -> bool:
    return not statement.deleted and bool(statement.revised.strip())


def _as_spaced(statement: Statement) -> str:
    """The revised text with the outer blanks of the original: those around it stand in the response."""
    words = statement.original.strip()
    if not words:
        return statement.revised
    before, after = statement.original.split(words, 1)
    return before + statement.revised.strip() + after


def _wider(before: str, between: str) -> str:
    """What stands between two statements when the one that parted them went: the leading blanks of the two
    stretches, whichever break more lines, and then the words of the later one."""
    words = between.lstrip()
    blanks = between[: len(between) - len(words)]
    if before.count("\n") > blanks.count("\n"):
        blanks = before
    return blanks + words


# --- help for the eye -----------------------------------------------------------------------------


def repeated(statements: Sequence[str], *, least_words: int = 3, share: float = 0.7) -> list[tuple[int, int]]:
    """Pairs of positions (earlier, later) where the later statement mostly repeats the earlier one; of several
    earlier ones the first. A blank statement repeats nothing.

    It does when at least ``share`` of the words that carry meaning (and ``least_words`` of them) stand there too, and
    it brings no number that is new: rows of a list often differ by little more than that.
    """
    meant = [_meant(text) for text in statements]
    pairs: list[tuple[int, int]] = []
    for later, words in enumerate(meant):
        for earlier in range(later):
            same = words & meant[earlier]
            new = words - same
            if len(same) < least_words or len(same) < share * len(words):
                continue
            if not any(word[0].isdecimal() for word in new):
                pairs.append((earlier, later))
                break
    return pairs


def _meant(text: str) -> set[str]:
    """The words of a statement that carry meaning, in lower case."""
    return {word.casefold() for word in _WORD.findall(text)} - _COMMON


def leading_pronoun(text: str) -> str:
    """The pronoun that a sentence begins with, as it is written there; "" if it begins otherwise."""
    first = _WORD.search(text)
    return first.group() if first and first.group().casefold() in _PRONOUNS else ""
