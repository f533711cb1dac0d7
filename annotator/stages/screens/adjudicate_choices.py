"""The choices for a difference on the adjudication screen, and parsing its form. Knows no request and writes
nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.models import Decision, User
from annotator.core.texts.edits import EditPiece
from annotator.core.vocabulary import DisagreementReason
from annotator.stages.comparison.comparison import ABSENT, ComparedItem, FieldRow, Option
from annotator.stages.comparison.revision import FOLLOWS
from annotator.stages.screens.adjudicate_cells import PersonColumn, against


@dataclass(frozen=True, slots=True)
class DecisionChoice:
    """A radio button. ``pick`` is the form's value (see ``picked``)."""

    pick: str
    label: str
    value: str
    checked: bool


@dataclass(slots=True)
class AdjudicatedField:
    """A difference with its choices: the annotators' values, then ``others``."""

    row: FieldRow
    choices: list[DecisionChoice]
    others: list[DecisionChoice]
    decision: Decision | None
    locked: str
    who: str
    can_type: bool
    base: str
    typed: str
    settled: list[EditPiece]
    refused: str = ""

    @property
    def is_other(self) -> bool:
        """The current value is neither annotator's."""
        return any(choice.checked for choice in self.others) or (self.row.is_decided and self.can_type and self.is_new)

    @property
    def is_new(self) -> bool:
        """Someone typed the current value."""
        return self.decision is not None and self.decision.choice is None and self.row.is_decided

    @property
    def typed_pick(self) -> str:
        """The current typed value as the form sends it when only the reason changes."""
        return f"value {json.dumps(self.decision.value)}" if self.decision and self.is_new else ""

    @property
    def version(self) -> int:
        return self.decision.version if self.decision else 0

    @property
    def reason(self) -> str:
        return self.decision.reason if self.decision else ""

    @property
    def one_a_line(self) -> bool:
        return self.row.kind == "whole"

    @property
    def reason_label(self) -> str:
        return DisagreementReason(self.reason).label if self.reason else ""


def closed_for(row: FieldRow, is_third: bool) -> str:
    """Why an annotator can't resolve this one; "" if they can."""
    if is_third:
        return ""
    if row.decision is not None and row.decision.is_final and row.is_decided:
        return "The adjudicator has decided this. If you think it is wrong, ask them."
    if row.tied:
        return "No majority: the adjudicator decides this one. Explain your view in a comment."
    return ""


def field_of(
    row: FieldRow,
    item: ComparedItem,
    columns: Sequence[PersonColumn],
    viewer: User,
    *,
    closed: str,
    mine: Mapping[str, str],
) -> AdjudicatedField:
    """A difference as one person sees it. ``closed``: why they can't resolve it; ``mine``: see ``groups_of``."""
    taken = [option for option in row.options if option.people]
    if row.kind == "take":
        taken = sorted(row.options, key=lambda option: bool(option.value))
    elif row.kind == "label":
        # The same order for everyone: yes before no, otherwise the comparison's order.
        taken.sort(key=lambda option: option.value in ("no", False))
    else:
        order = [column.number for column in columns]
        taken.sort(key=lambda option: min(order.index(number) for number in option.people))
    others = [] if row.kind == "take" else [option for option in row.options if not option.people]
    if row.kind == "label" and len(taken) == 1:
        taken, others = taken + others, []  # the others haven't answered, so no value is preferred
    settled = row.settled
    is_text = isinstance(settled, str) and row.kind == "text" and settled != FOLLOWS
    base = item.heading if item.kind in ("rewrite", "handling", "verdict") else _first_text(row, columns)
    return AdjudicatedField(
        row,
        [_choice(row, option, columns) for option in taken],
        [_choice(row, option, columns) for option in others],
        row.decision,
        closed,
        _who(row.decision, viewer),
        row.kind == "text" or row.name == "split",
        base,
        typed=_typed(row, item, columns),
        settled=against(base, settled) if is_text else [],
        refused=mine.get(row.key, ""),
    )


def _choice(row: FieldRow, option: Option, columns: Sequence[PersonColumn]) -> DecisionChoice:
    return DecisionChoice(pick_of(option), label_of(row, option, columns), str(option.value), _stands(row, option))


def label_of(row: FieldRow, option: Option, columns: Sequence[PersonColumn]) -> str:
    """A button's text: the label, or for texts the author."""
    if row.kind in ("label", "take") or not option.people:
        return option.label
    whose = " and ".join(column.whose for column in columns if column.number in option.people)
    if row.kind == "whole":
        return f"{whose}, {option.label}"
    short = {"": "delete", FOLLOWS: "merge from the sentences"}.get(str(option.value))
    return f"{whose}: {short}" if short else whose


def _stands(row: FieldRow, option: Option) -> bool:
    return row.is_decided and bool(row.settled == option.value)


def _first_text(row: FieldRow, columns: Sequence[PersonColumn]) -> str:
    """The text of the first column that has one."""
    if row.name == "split":
        return ""
    return next((value for column in columns if isinstance(value := row.values[column.number], str)), "")


def _typed(row: FieldRow, item: ComparedItem, columns: Sequence[PersonColumn]) -> str:
    """The initial content of the box for another text."""
    settled = row.settled
    if isinstance(settled, list):
        return "\n".join(settled)
    if row.name == "split":
        return "\n".join(item.texts[columns[0].number] or next(texts for texts in item.texts if texts))
    if isinstance(settled, str) and settled not in ("", FOLLOWS):
        return settled
    first = _first_text(row, columns)
    return item.heading if first == "" and item.kind == "rewrite" else "" if first == FOLLOWS else first


def _who(decision: Decision | None, viewer: User) -> str:
    if decision is None or not decision.is_settled:
        return ""
    name = "You" if decision.by_id == viewer.pk else str(decision.by)
    return f"{name}, as adjudicator," if decision.is_final else name


def pick_of(option: Option) -> str:
    """An option as the form sends it: "person 0", or "value …" as JSON if it is neither annotator's."""
    return f"value {json.dumps(option.value)}" if option.choice is None else f"person {option.choice}"


def picked(raw: str) -> tuple[int | None, Any]:
    """The choice and value that the form sent; ABSENT if invalid."""
    kind, _, rest = raw.partition(" ")
    if kind == "person" and rest.isdecimal() and len(rest) < 4:
        return int(rest), ABSENT
    if kind == "value":
        try:
            value = json.loads(rest)
        except (ValueError, RecursionError):
            return None, ABSENT
        return None, "\n".join(map(str, value)) if isinstance(value, list) else value
    return None, ABSENT
