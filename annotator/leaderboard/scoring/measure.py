"""The common interface of all tasks' measures: an answer is read and becomes numbers, numbers add up, and sums become
figures.

Numbers are kept per document, because intervals and paired tests draw whole documents (see
``pipeline.metrics.agreement`` and ``.paired``). So every figure is a function of sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from annotator.leaderboard.scoring.items import Gold, TaskItem

Floats = NDArray[np.float64]
# The numbers of one answer: (index in the sums, value to add).
Numbers = tuple[tuple[int, float], ...]
# The longest list accepted as an answer: matching is cubic, and no response has that many claims.
MOST = 500


class Unanswered(ValueError):
    """The row exists but its answer is blank, as in a template that wasn't filled in."""


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """A row's answer. ``respelled`` is (as written, as read) if a label had another accepted spelling."""

    value: Any
    respelled: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Baseline:
    """A trivial baseline: its name, and an answer by key for each item with gold.

    Answers are generated while they are read, once, so only one baseline is in memory at a time.
    """

    name: str
    answers: Iterable[tuple[str, Any]]


class TaskMeasure(Protocol):
    """How one task is scored."""

    @property
    def names(self) -> tuple[str, ...]:
        """The figures, in order."""
        ...

    @property
    def width(self) -> int:
        """How many numbers are summed."""
        ...

    def read(self, row: Mapping[str, Any]) -> ScoredAnswer:
        """A row's answer. Raises ``RowError`` with what is wrong, ``Unanswered`` if it is blank."""
        ...

    def numbers(self, item: TaskItem, answer: Any) -> Numbers: ...

    def over(self, sums: Sequence[float]) -> TaskMeasure:
        """The measure with everything fixed that must be the same in every resample, from the overall sums."""
        ...

    def figures(self, sums: Floats) -> Sequence[Floats]:
        """The figures of sums, one row per resample; NaN if undefined."""
        ...

    def details(self, sums: Sequence[float]) -> dict[str, Any]:
        """Further information: labels, confusion, counts."""
        ...

    def baselines(self, gold: Gold, random: Random) -> list[Baseline]: ...

    def blank(self) -> dict[str, Any]:
        """The fields to fill in in a template."""
        ...


def ratio(above: float, below: float) -> float | None:
    return above / below if below else None
