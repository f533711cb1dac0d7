"""Two systems' errors crossed: on which items both are right, one alone, or neither, by the label of the gold.

Read from what was kept when the files were scored: of each file the items that it did not get right. All others of the
gold it got right, so the counts need no second scoring.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.leaderboard.models import Evaluation
from annotator.leaderboard.queries.evaluations import Wrong, kept_rows
from annotator.leaderboard.scoring.crossing import Cell, cell_of


class NotKeptError(Exception):
    """A file was scored before it was kept which items it left out; it has to be scored again."""


@dataclass(frozen=True, slots=True)
class CrossedItem:
    """An item that not both got right, with either answer; ``wrong`` names it as the first system's list does."""

    wrong: Wrong
    first: str
    second: str
    cell: Cell


@dataclass(frozen=True, slots=True)
class Crossed:
    """``table``: items by gold label and cell, of those that both answered. ``items``: those of the cell and label that
    were asked for, in the order of the gold; those that both got right are not among them."""

    table: Mapping[str, Mapping[Cell, int]]
    items: Sequence[CrossedItem]

    @property
    def total(self) -> int:
        return sum(number for row in self.table.values() for number in row.values())


def crossed(one: Evaluation, other: Evaluation, *, cell: Cell | None = None, gold: str = "") -> Crossed | None:
    """The errors of two systems that were scored on the same items; None for a task whose answer is no label.

    Raises NotKeptError, and FileNotFoundError where a file is gone.
    """
    confusion: Mapping[str, Mapping[str, int]] = one.report.get("confusion", {})
    if not confusion:
        return None
    firsts, seconds = _not_right(one), _not_right(other)
    blank = {key for found in (firsts, seconds) for key, row in found.items() if row["predicted"] is None}
    golds = Counter({label: sum(row.values()) for label, row in confusion.items()})
    golds.update(row["gold"] for row in firsts.values() if row["predicted"] is None)
    golds.subtract((firsts.get(key) or seconds[key])["gold"] for key in blank)
    items = [
        _item(firsts.get(key), seconds.get(key))
        for key in [*firsts, *(key for key in seconds if key not in firsts)]
        if key not in blank
    ]
    counted = Counter((each.wrong.gold, each.cell) for each in items)
    table = {
        label: {
            each: counted[label, each]
            if each != Cell.BOTH_RIGHT
            else number - sum(counted[label, other_cell] for other_cell in Cell)
            for each in Cell
        }
        for label, number in golds.items()
        if number
    }
    chosen = [each for each in items if cell in (None, each.cell) and gold in ("", each.wrong.gold)]
    return Crossed(table, chosen)


def _item(first: Mapping[str, Any] | None, second: Mapping[str, Any] | None) -> CrossedItem:
    row = first or second
    assert row is not None
    gold = row["gold"]
    one, two = (each["predicted"] if each else gold for each in (first, second))
    return CrossedItem(Wrong.of(row), one, two, cell_of(gold, one, two))


def _not_right(evaluation: Evaluation) -> dict[str, Mapping[str, Any]]:
    """What was kept of the items that a file did not get right, by key. Raises as ``crossed``."""
    found = {row["id"]: row for row in kept_rows(evaluation)}
    blank = sum(row["predicted"] is None for row in found.values())
    if blank != evaluation.report["gold"] - evaluation.scored:
        raise NotKeptError
    return found
