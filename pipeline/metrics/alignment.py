"""Which claims of two sets are the same: a one-to-one assignment by text similarity.

Our own implementation because SciPy is only in the extra ``science`` and every adjudication aligns claims.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from pipeline.metrics.text import token_f1

Similarity = Callable[[str, str], float]
# The similarities of two sets of texts: a row for each of the first set, a column for each of the second.
Table = Callable[[Sequence[str], Sequence[str]], list[list[float]]]


@dataclass(frozen=True, slots=True)
class Match:
    """Item ``first`` of one set matches item ``second`` of the other, by index, with their similarity."""

    first: int
    second: int
    similarity: float


@dataclass(frozen=True, slots=True)
class PrecisionRecall:
    """The counts of comparing found with gold items, and the scores they give. With nothing to find and nothing found,
    the scores are 1."""

    matched: int
    found: int
    gold: int

    @property
    def precision(self) -> float:
        return self.matched / self.found if self.found else float(self.gold == 0)

    @property
    def recall(self) -> float:
        return self.matched / self.gold if self.gold else float(self.found == 0)

    @property
    def f1(self) -> float:
        total = self.found + self.gold
        return 2 * self.matched / total if total else 1.0

    def __add__(self, other: PrecisionRecall) -> PrecisionRecall:
        return PrecisionRecall(self.matched + other.matched, self.found + other.found, self.gold + other.gold)


def align(
    first: Sequence[str],
    second: Sequence[str],
    *,
    threshold: float = 0.0,
    similarity: Similarity = token_f1,
) -> list[Match]:
    """The one-to-one matches with the highest total similarity, in the order of ``first``.

    Pairs below ``threshold`` or without anything in common stay unmatched. Cubic in the number of items: meant for one
    document's claims, not for a whole benchmark.
    """
    return align_table([[similarity(one, two) for two in second] for one in first], threshold=threshold)


def word_table(first: Sequence[str], second: Sequence[str]) -> list[list[float]]:
    """Token F1 of each text of the first set with each of the second."""
    return [[token_f1(one, two) for two in second] for one in first]


def align_table(table: Sequence[Sequence[float]], *, threshold: float = 0.0) -> list[Match]:
    """Like ``align``, from known similarities: ``table[i][j]`` compares item i of one set with item j of the other."""
    if not table or not table[0]:
        return []
    # Pairs below the threshold score nothing, so that a good match isn't given up for two bad ones.
    worth = [[value if value >= threshold else 0.0 for value in row] for row in table]
    return [
        Match(row, column, table[row][column])
        for row, column in enumerate(assign(worth))
        if column is not None and worth[row][column] > 0
    ]


def match_score(found: Sequence[str], gold: Sequence[str], *, threshold: float) -> PrecisionRecall:
    """Precision, recall and F1 of ``found`` against ``gold``, where a match needs similarity ``threshold``."""
    return PrecisionRecall(len(align(found, gold, threshold=threshold)), len(found), len(gold))


def assign(worth: Sequence[Sequence[float]]) -> list[int | None]:
    """The column assigned to each row, such that the sum of ``worth`` is highest; None if columns run out.

    ``worth`` is a full table, rows by columns. The Hungarian method with potentials (Kuhn 1955, Munkres 1957).
    """
    if not worth:
        return []
    rows, columns = len(worth), len(worth[0])
    if rows > columns:
        chosen: list[int | None] = [None] * rows
        turned = [[worth[row][column] for row in range(rows)] for column in range(columns)]
        for column, row in enumerate(assign(turned)):
            if row is not None:
                chosen[row] = column
        return chosen

    # Column 0 is a placeholder for "no column"; real rows and columns count from 1.
    row_price = [0.0] * (rows + 1)
    column_price = [0.0] * (columns + 1)
    owner = [0] * (columns + 1)
    for row in range(1, rows + 1):
        owner[0] = row
        column = 0
        slack = [inf] * (columns + 1)
        came_from = [0] * (columns + 1)
        seen = [False] * (columns + 1)
        while owner[column]:
            seen[column] = True
            here, step, following = owner[column], inf, 0
            for candidate in range(1, columns + 1):
                if seen[candidate]:
                    continue
                cost = -worth[here - 1][candidate - 1] - row_price[here] - column_price[candidate]
                if cost < slack[candidate]:
                    slack[candidate], came_from[candidate] = cost, column
                if slack[candidate] < step:
                    step, following = slack[candidate], candidate
            for candidate in range(columns + 1):
                if seen[candidate]:
                    row_price[owner[candidate]] += step
                    column_price[candidate] -= step
                else:
                    slack[candidate] -= step
            column = following
        while column:
            owner[column] = owner[came_from[column]]
            column = came_from[column]
    result: list[int | None] = [None] * rows
    for column in range(1, columns + 1):
        if owner[column]:
            result[owner[column] - 1] = column - 1
    return result
