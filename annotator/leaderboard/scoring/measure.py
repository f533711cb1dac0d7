"""What every task's measure has in common: an answer is read, becomes numbers that add up, and sums become figures.

Numbers are kept a document at a time: intervals and paired tests draw whole documents (``pipeline.metrics.agreement``
and ``.paired`` say why), so everything is a function of sums.
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
# The numbers of one answer: (place in the sums, what is added there).
Numbers = tuple[tuple[int, float], ...]
# The longest list that an answer may hold: matching is cubic, and no response has so many claims.
MOST = 500


class Unanswered(ValueError):
    """The row is there and its answer is blank, as in a template that was not filled in."""


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """What a row answers; ``respelled`` is (as written, as taken) where a label was spelled in another safe way."""

    value: Any
    respelled: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Baseline:
    """What one scores without looking: a name, and an answer to each item that the gold says something of, by key.

    Answers are made as they are read, once: of many items only one baseline's lie in memory.
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
        """How many numbers are added up."""
        ...

    def read(self, row: Mapping[str, Any]) -> ScoredAnswer:
        """The answer of a row. Raises ``RowError`` with what is wrong, ``Unanswered`` where it is blank."""
        ...

    def numbers(self, item: TaskItem, answer: Any) -> Numbers: ...

    def over(self, sums: Sequence[float]) -> TaskMeasure:
        """The measure with what has to be the same in every resample, from the sums over everything."""
        ...

    def figures(self, sums: Floats) -> Sequence[Floats]:
        """The figures of sums, one row a resample; NaN where undefined."""
        ...

    def details(self, sums: Sequence[float]) -> dict[str, Any]:
        """What else there is to say of the whole: labels, confusion, counts."""
        ...

    def baselines(self, gold: Gold, random: Random) -> list[Baseline]: ...

    def blank(self) -> dict[str, Any]:
        """The fields that a template leaves to be filled in."""
        ...


def share(above: Floats, below: Floats) -> Floats:
    """Division that says NaN where it would divide by nothing."""
    found: Floats = np.divide(above, below, out=np.full_like(below, np.nan), where=below > 0)
    return found


def ratio(above: float, below: float) -> float | None:
    return above / below if below else None
