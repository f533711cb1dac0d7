"""Step 8, pure: applies claim edits to sentences and merges sentences into the revised response (C.7).

Our own implementation: merge libraries work on lines, not on edits with offsets that must name the claims in conflict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from annotator.core.texts import edits
from annotator.core.vocabulary import EditKind

_WORD = re.compile(r"\w+", re.UNICODE)

# A list marker at the end of the text before a sentence: "\n2. ", "\n- ", "\n   • ".
_LIST_MARK = re.compile(r"(?:(?<=\n)|^)[ \t]*(?:\d{1,3}[.)]|[-*+•–])[ \t]+$")

# Function words, which don't tell what a statement is about.
_COMMON = frozenset(
    """a an and are as at be been being but by can did do does for from had has have he her his i in into is it its of
    on or our she so such than that the their them then there these they this those to too was we were what when
    where which who whom whose will with would you your also""".split()
)

# Pronouns with which a sentence may refer to the one before.
_PRONOUNS = frozenset("he she it they him her them his its their theirs hers this these that those".split())


@dataclass(frozen=True, slots=True)
class ClaimEdit:
    """A claim's text and the operations on it."""

    text: str
    operations: tuple[edits.Operation, ...]


@dataclass(frozen=True, slots=True)
class Carried:
    """A sentence after its claims' edits were applied. ``open_edits``: those that couldn't be placed, in words."""

    text: str
    open_edits: tuple[str, ...]
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of the response, as input of the merge. Offsets are null if it isn't a substring."""

    start: int | None
    end: int | None
    original: str
    revised: str
    deleted: bool


@dataclass(frozen=True, slots=True)
class _Piece:
    """``sentence[start:end]`` becomes ``new``; ``words`` is the replaced text, without the adjacent space."""

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
    """Apply the operations on claims to their sentence wherever X occurs exactly once in it.

    All positions refer to the original sentence, so that two edits can exchange two names. A claim's wording may differ
    from the sentence's. An operation stays open for the person if it has no position, several equally good ones, or one
    that another edit also changes. If every claim of the sentence is deleted, the sentence is deleted.
    """
    deleted_claims = sum(1 for claim in claims if any(op.kind == EditKind.DELETE_CLAIM for op in claim.operations))
    if claims_in_all and deleted_claims == claims_in_all:
        return Carried(sentence, (), deleted=True)
    pieces: list[_Piece] = []
    left_open: list[str] = []
    for claim in claims:
        for operation in claim.operations:
            piece = _piece(sentence, claim.text, operation)
            if piece in pieces:  # two claims contain the same mistake
                continue
            if piece is None or any(piece.start < other.end and other.start < piece.end for other in pieces):
                left_open.append(describe(claim.text, operation))
            else:
                pieces.append(piece)
    return Carried(_applied(sentence, pieces), tuple(left_open))


def _piece(sentence: str, claim: str, operation: edits.Operation) -> _Piece | None:
    """What the operation changes in the sentence; None if it has no unique position."""
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
            rest = rest[:1].upper() + rest[1:]  # the sentence now starts here
        text = text[: piece.start] + piece.new + rest
    return text


def _only_place(sentence: str, claim: str, operation: edits.Operation) -> tuple[int, int] | None:
    """Where the operation's words occur in the sentence as whole words. Among several positions, the one surrounded by
    more of the claim's words than any other ("died in 1852"); None if there is no such position."""
    chosen = claim[operation.start : operation.end]
    words = chosen.strip()
    if not words:
        return None
    # Not part of a longer word or number: 975 isn't in 1,975 or 975.5.
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
    """How many words two sequences have in common from the start."""
    count = 0
    for one, two in zip(first, second, strict=False):
        if one != two:
            break
        count += 1
    return count


# --- the response ----------------------------------------------------------------------------------


def merge(response: str, statements: Sequence[Statement]) -> str:
    """The revised response: statements in original order, with the text between them kept.

    Sentences are put in their positions, so that line breaks and list markers survive. A deleted sentence takes its
    list marker with it; of the white space around it, the part with more line breaks stays. A sentence without a
    position in the response goes between its neighbors. If the positions are in another order, all are joined by
    spaces.
    """
    places = _places(response, statements)
    if any(before[1] > after[0] for before, after in pairwise(places)):
        return " ".join(each.revised.strip() for each in statements if _stays(each))
    text = ""
    position = 0
    pending: str | None = None  # white space before a deleted sentence; the next one may need it
    for each, (start, end) in zip(statements, places, strict=True):
        between = response[position:start]
        if start == end and position == start and text and not text[-1].isspace():
            between = " "  # two neighbors without positions
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
    # Deletions at either end leave no white space that the response didn't have there.
    if statements and not _stays(statements[0]):
        head = _LIST_MARK.sub("", response[: places[0][0]])
        text = text if head.strip() else head + text.lstrip()
    if statements and not _stays(statements[-1]) and not rest.strip():
        text = text.rstrip() + response[position:]
    return text


def _places(response: str, statements: Sequence[Statement]) -> list[tuple[int, int]]:
    """Where each statement is in the response.

    Without offsets, it is searched with any white space between its words. If it isn't found, it gets the text between
    its neighbors without outer white space, because that is where the response says it differently.
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
    """The revised text with the outer white space of the original, which surrounds it in the response."""
    words = statement.original.strip()
    if not words:
        return statement.revised
    before, after = statement.original.split(words, 1)
    return before + statement.revised.strip() + after


def _wider(before: str, between: str) -> str:
    """The text between two statements after the one between them was deleted: the leading white space of whichever part
    has more line breaks, then the words of the later part."""
    words = between.lstrip()
    blanks = between[: len(between) - len(words)]
    if before.count("\n") > blanks.count("\n"):
        blanks = before
    return blanks + words


# --- help for the eye -----------------------------------------------------------------------------


def repeated(statements: Sequence[str], *, least_words: int = 3, share: float = 0.7) -> list[tuple[int, int]]:
    """Pairs of positions (earlier, later) where the later statement mostly repeats the earlier one, or the first of
    several. A blank statement repeats nothing.

    It does if at least ``share`` of its content words (and ``least_words`` of them) occur there and it has no new
    number: table rows often differ by little more than that.
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
    """The content words of a statement, in lower case."""
    return {word.casefold() for word in _WORD.findall(text)} - _COMMON


def leading_pronoun(text: str) -> str:
    """The pronoun at the start of a sentence, as written; "" if there is none."""
    first = _WORD.search(text)
    return first.group() if first and first.group().casefold() in _PRONOUNS else ""
