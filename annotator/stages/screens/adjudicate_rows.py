"""The adjudication screen row by row, as one person sees it: their own column first, and what became of their answers.
No request, no writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from annotator.core.models import Comment, Question, User
from annotator.core.vocabulary import DisagreementReason, Stage
from annotator.stages.comparison.comparison import ABSENT, ComparedItem
from annotator.stages.queries.adjudication import AdjudicationBoard
from annotator.stages.screens.adjudicate_cells import (
    SHORT,
    AdjudicationCell,
    Source,
    cell_of,
    columns_of,
    rationales_of,
    sources_of,
)
from annotator.stages.screens.adjudicate_choices import AdjudicatedField, closed_for, field_of


@dataclass(slots=True)
class ItemView:
    """A row of the screen. ``fate``: what became of the person's own answers, if they weren't simply the same;
    ``begins``: the page starts here, at the first row that the reader was asked about."""

    item: ComparedItem
    cells: list[AdjudicationCell]
    fields: list[AdjudicatedField]
    comments: list[Comment]
    questions: list[Question]
    source: Source | None = None
    majority: bool = False
    fate: str = ""
    show_heading: bool = False
    begins: bool = False

    @property
    def key(self) -> str:
        return self.item.key

    @property
    def sentence(self) -> str:
        """The number of its sentence in the response; "" for rows about the whole stage."""
        number = self.item.number.split(",")[0].split(".")[0]
        return number if number.isdecimal() and self.item.kind != "handling" else ""

    @property
    def state(self) -> str:
        """In one word: same, open or settled."""
        if not self.item.differs:
            return "same"
        return "open" if self.item.is_open else "settled"

    @property
    def is_refused(self) -> bool:
        """A choice here came too late, so the page scrolls there."""
        return any(view.refused for view in self.fields)

    @property
    def askable(self) -> list[AdjudicatedField]:
        """What the adjudicator can be asked about and hasn't been."""
        asked = {question.key for question in self.questions if question.answered_at is None}
        return [view for view in self.fields if view.row.key not in asked and not view.locked]


@dataclass(slots=True)
class RowGroup:
    """Rows that belong together: those of a sentence, of a claim at verify, or of a step of the revision."""

    key: str
    title: str
    text: str = ""
    items: list[ItemView] = field(default_factory=list)

    @property
    def differs(self) -> bool:
        return any(view.item.differs or view.majority for view in self.items)


def groups_of(board: AdjudicationBoard, viewer: User, *, can_decide: bool, mine: Mapping[str, str]) -> list[RowGroup]:
    """All rows in order. ``mine``: by key, the person's choices that were refused because someone else had resolved the
    row in the meantime."""
    columns = columns_of(board, viewer)
    is_third = any(rater.pk == viewer.pk for rater in board.third_raters)
    stances, rationales = sources_of(board), rationales_of(board)
    groups: dict[str, RowGroup] = {}
    for item in board.comparison.items:
        key, title, text = _group_of(board.stage, item)
        group = groups.setdefault(key, RowGroup(key, title))
        group.text = group.text or text
        source = stances.get(item.key)
        cells = [cell_of(board, item, column, columns) for column in columns]
        for cell in cells if source else ():
            cell.lines = rationales[item.key].get(cell.column.number, [])
        fields = [
            field_of(row, item, columns, viewer, closed=closed_for(row, is_third) if can_decide else "", mine=mine)
            for row in item.active
            if row.differs
        ]
        keys = [item.key, *(row.key for row in item.fields)]
        view = ItemView(
            item,
            cells,
            fields,
            sorted((comment for each in keys for comment in board.comments.get(each, ())), key=lambda row: row.pk),
            [question for question in board.questions if question.key in keys],
            source,
            majority=not item.differs and not all(row.is_unanimous for row in item.active),
            fate=_fate(item, next((column.number for column in columns if column.is_own), None)),
            show_heading=item.kind in ("rewrite", "handling"),
        )
        group.items.append(view)
    return list(groups.values())


def _group_of(stage: Stage, item: ComparedItem) -> tuple[str, str, str]:
    """Key, title and text of the group that a row belongs to."""
    if stage == Stage.DECOMPOSE:
        number = item.number.split(".")[0]
        return f"sentence-{number}", f"Sentence {number}", ""
    if stage == Stage.VERIFY:
        number = item.number.split(",")[0]
        text = item.heading if item.kind == "verdict" else ""
        return f"claim-{number.replace('.', '-')}", f"Claim {number}", text
    if item.kind == "handling":
        return "handling", "Claims without enough evidence", ""
    return ("answer", "The response as a whole", "") if item.kind == "answer" else ("sentences", "The sentences", "")


def _fate(item: ComparedItem, own: int | None) -> str:
    """What became of the person's answers in a row that had to be resolved: kept or changed."""
    if own is None:
        return ""
    asked = [row for row in item.active if row.values[own] is not ABSENT and (row.differs or not row.is_unanimous)]
    if not asked or any(row.is_open for row in asked):
        return ""
    return "kept" if all(own in row.settled_by for row in asked) else "changed"


# --- figures and the look back --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Summary:
    """What became of one person's answers. ``reasons``: in words, why changed answers had differed."""

    total: int
    stand: int
    reasons: list[str]

    @property
    def changed(self) -> int:
        return self.total - self.stand


def summary_of(board: AdjudicationBoard, viewer: User) -> Summary | None:
    """How adjudication changed the person's own work; None if they labeled nothing here."""
    own = next((number for number, row in enumerate(board.people) if row.person_id == viewer.pk), None)
    if own is None:
        return None
    rows = [row for row in board.comparison.rows if row.values[own] is not ABSENT]
    changed = [row for row in rows if own not in row.settled_by]
    reasons = Counter(row.decision.reason if row.decision and row.is_decided else "" for row in changed)
    told = [
        f"{reasons[word.value]} {_reason(word, reasons[word.value])}"
        for word in DisagreementReason
        if reasons[word.value]
    ]
    if told and reasons[""]:
        told.append(f"{reasons['']} without a reason")
    return Summary(len(rows), len(rows) - len(changed), told)


def _reason(word: DisagreementReason, number: int) -> str:
    if word == DisagreementReason.SLIP:
        return "slip" if number == 1 else "slips"
    return f"by {word.label.lower()}"


def field_figures(board: AdjudicationBoard) -> list[tuple[str, int, int]]:
    """For each label that everyone gave: its name, how often all gave the same one, and how often they were asked."""
    asked: Counter[str] = Counter()
    alike: Counter[str] = Counter()
    for item in board.comparison.items:
        for row in item.fields:
            if row.kind == "label" and row.is_shared:
                name = SHORT.get(row.name, row.label.lower())
                name = f"{item.kind} {name}" if row.name in ("type", "importance") else name
                asked[name] += 1
                alike[name] += row.is_unanimous
    return [(name, alike[name], number) for name, number in asked.items()]
