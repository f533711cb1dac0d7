"""Each person's cell in a row of the adjudication screen, with differences marked. Only reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from annotator.core.models import Stance, User
from annotator.core.texts import highlight, spans
from annotator.core.texts.edits import EditPiece
from annotator.core.texts.markdown_diff import words as compared
from annotator.stages.comparison.comparison import ABSENT, ComparedItem
from annotator.stages.comparison.revision import FOLLOWS, Revisions
from annotator.stages.comparison.verification import AdjudicatedStance, Verifications
from annotator.stages.queries.adjudication import AdjudicationBoard
from annotator.stages.queries.verification import Card

# Shown if a person has nothing in a row, by kind of item.
NOTHING = {
    "claim": "not present",
    "split": "not present",
    "stance": "did not find this passage",
    "handling": "was not asked",
    "rewrite": "not present",
    "cut": "not present",
}

# Short names of fields whose values are unclear on their own. Figures over these fields use the same names.
SHORT = {
    "evidence_sufficient": "evidence sufficient",
    "reliable": "reliable",
    "sufficient": "sufficient on its own",
    "handling": "claims without enough evidence",
}


@dataclass(frozen=True, slots=True)
class PersonColumn:
    """One person's column. ``whose`` is the text of the button that chooses their value."""

    number: int
    name: str
    whose: str
    is_own: bool


@dataclass(frozen=True, slots=True)
class FieldChip:
    """A label that a person gave; ``field`` names the field."""

    field: str
    words: str
    value: str
    differs: bool


@dataclass(frozen=True, slots=True)
class CellLine:
    """A person's text, in pieces ("same", "del", "ins") compared with another text."""

    pieces: list[EditPiece]
    label: str = ""


@dataclass(slots=True)
class AdjudicationCell:
    """What one person has in a row. ``nothing`` says in words that they have nothing."""

    column: PersonColumn
    lines: list[CellLine] = field(default_factory=list)
    chips: list[FieldChip] = field(default_factory=list)
    nothing: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """The passage of a stance: its source, and its text with the claim's words marked."""

    title: str
    link: str
    site: str
    pieces: list[highlight.HighlightPiece]
    excerpt: list[highlight.HighlightPiece] | None


def columns_of(board: AdjudicationBoard, viewer: User) -> list[PersonColumn]:
    """Everyone's column, one's own first. Two annotators are "You" and "Partner"; otherwise people have names."""
    is_partner = any(row.person_id == viewer.pk for row in board.people)
    columns = []
    for number, row in enumerate(board.people):
        name = str(row.person) if row.person else "Unknown"
        if row.person_id == viewer.pk:
            columns.append(PersonColumn(number, "You", "Yours", True))
        elif is_partner and len(board.people) == 2:
            columns.append(PersonColumn(number, f"Partner: {name}", "Partner’s", False))
        else:
            columns.append(PersonColumn(number, name, f"{name}’s", False))
    return sorted(columns, key=lambda column: not column.is_own)


def cell_of(
    board: AdjudicationBoard, item: ComparedItem, column: PersonColumn, columns: Sequence[PersonColumn]
) -> AdjudicationCell:
    """What a person has in a row."""
    cell = AdjudicationCell(column)
    number = column.number
    texts = _texts(board, item, number)
    base = _base(board, item, column, columns)
    cell.lines = [CellLine(against(base, text)) for text in texts]
    for row in item.active:
        value = row.values[number]
        if value is ABSENT:
            continue
        if row.kind == "label" and row.words[number]:
            words = f"{SHORT[row.name]}: {row.words[number].lower()}" if isinstance(value, bool) else row.words[number]
            cell.chips.append(FieldChip(row.label, words, str(value), row.differs))
        elif row.name == "edit":
            claim = [EditPiece("del", item.heading)] if not value else against(item.heading, value)
            cell.lines.insert(0, CellLine(claim, "Deleted" if not value else "Corrected"))
        elif row.kind == "text" and item.kind == "rewrite" and not value:
            cell.lines = [CellLine([EditPiece("del", item.heading)], "Deleted")]
        elif item.kind == "answer" and value == FOLLOWS:
            cell.nothing = "merged from the sentences"
    if item.kind == "verdict":
        for line in [line for line in cell.lines if not line.label]:
            cell.lines[cell.lines.index(line)] = CellLine(line.pieces, "Reason")
    elif not cell.lines and not cell.chips and not cell.nothing:
        take = next((row for row in item.fields if row.kind == "take"), None)
        unasked = take is not None and take.values[number] is ABSENT
        cell.nothing = "sentence not check-worthy" if unasked else NOTHING.get(item.kind, "nothing")
    return cell


def _texts(board: AdjudicationBoard, item: ComparedItem, number: int) -> list[str]:
    """What a person has in a row: the decontextualized text if they wrote one."""
    if item.kind == "sentence":
        row = next(row for row in item.fields if row.name == "decontext")
        value = row.values[number]
        return [value] if row.is_active and isinstance(value, str) and value else item.texts[number]
    if item.kind == "answer" and isinstance(board.comparison, Revisions):
        return [board.comparison.answers[number]] if item.texts[number] else []
    return [text for text in item.texts[number] if text]


def _base(board: AdjudicationBoard, item: ComparedItem, column: PersonColumn, columns: Sequence[PersonColumn]) -> str:
    """What a person's text is compared with: for a rewrite the original, otherwise the first column. "": with
    nothing."""
    if item.kind in ("rewrite", "handling"):
        return item.heading
    if item.kind == "verdict" or column == columns[0]:
        return ""
    first, own = _texts(board, item, columns[0].number), _texts(board, item, column.number)
    return first[0] if len(first) == len(own) == 1 else ""


def against(base: str, text: str) -> list[EditPiece]:
    """A text with its differences from another one marked, except for surrounding space."""
    if not base:
        return [EditPiece("same", text)]
    pieces: list[EditPiece] = []
    for piece in compared(base, text):
        words = piece.text.strip()
        if piece.kind == "same" or not words:
            pieces.append(piece)
            continue
        before, after = piece.text.split(words, 1)
        pieces += [
            each
            for each in (EditPiece("same", before), EditPiece(piece.kind, words), EditPiece("same", after))
            if each.text
        ]
    return pieces


def sources_of(board: AdjudicationBoard) -> dict[str, Source]:
    """The passages of the stances, by the keys of their rows."""
    if not isinstance(board.comparison, Verifications):
        return {}
    rows = [item for item in board.comparison.items if item.kind == "stance"]
    return {item.key: _source(stance) for item, stance in zip(rows, board.comparison.stances, strict=True)}


def rationales_of(board: AdjudicationBoard) -> dict[str, dict[int, list[CellLine]]]:
    """The words that each person selected in the passages of the stances, by the keys of their rows and the numbers of
    the people."""
    if not isinstance(board.comparison, Verifications):
        return {}
    numbers = {row.pk: number for number, row in enumerate(board.people)}
    rows = [item for item in board.comparison.items if item.kind == "stance"]
    return {
        item.key: {numbers[stance.annotation_id]: _selected(stance) for stance in adjudicated.sources}
        for item, adjudicated in zip(rows, board.comparison.stances, strict=True)
    }


def _selected(stance: Stance) -> list[CellLine]:
    quotes = spans.words(stance.rationale, stance.evidence.passage)
    return [
        CellLine([EditPiece("same", f"“{quote}”")], "" if number else "Rationale")
        for number, quote in enumerate(quotes)
    ]


def _source(adjudicated: AdjudicatedStance) -> Source:
    card = Card(adjudicated.evidence, adjudicated.sources[0])
    passage = adjudicated.evidence.passage
    pieces = highlight.mark(adjudicated.evidence.claim.text if passage else "", passage)
    return Source(
        adjudicated.evidence.title or adjudicated.evidence.url, card.link, card.site, pieces, highlight.excerpt(pieces)
    )
