"""How the answers of two systems to one item stand to the gold and to each other."""

from __future__ import annotations

from annotator.core.vocabulary import Labelled


class Cell(Labelled):
    """Where an item stands when two systems' errors are crossed."""

    BOTH_RIGHT = "both_right", "Both right"
    ONLY_FIRST = "only_first", "Only the first right"
    ONLY_SECOND = "only_second", "Only the second right"
    WRONG_ALIKE = "wrong_alike", "Both wrong, same label"
    WRONG_APART = "wrong_apart", "Both wrong, different labels"


def cell_of(gold: str, first: str, second: str) -> Cell:
    """The cell of an item with this gold label and these two answers."""
    if first == gold:
        return Cell.BOTH_RIGHT if second == gold else Cell.ONLY_FIRST
    if second == gold:
        return Cell.ONLY_SECOND
    return Cell.WRONG_ALIKE if first == second else Cell.WRONG_APART
