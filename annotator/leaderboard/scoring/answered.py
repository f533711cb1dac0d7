"""Scored items as arrays, so that summing them by document or by group takes one pass over the answers."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotator.leaderboard.scoring.items import Gold, TaskItem
from annotator.leaderboard.scoring.measure import Floats, Numbers

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Answered:
    """The answered items in the order of the gold, independent of the order of the file, so the same answers give the
    same intervals. The number ``values[i]`` belongs to the item ``item_of[i]`` and is added up at ``places[i]``."""

    items: list[TaskItem]
    item_of: Ints
    places: Ints
    values: Floats
    width: int

    @classmethod
    def of(cls, gold: Gold, scored: Mapping[str, Numbers], width: int) -> Answered:
        items: list[TaskItem] = []
        item_of, places, values = array("q"), array("q"), array("d")
        for key, item in gold.items.items():
            numbers = scored.get(key)
            if numbers is not None:
                for place, value in numbers:
                    item_of.append(len(items))
                    places.append(place)
                    values.append(value)
                items.append(item)
        return cls(items, np.array(item_of), np.array(places), np.array(values), width)

    def documents(self) -> tuple[list[str], Ints]:
        """The documents, and each item's index into them."""
        return numbered(item.document for item in self.items)

    def sums(self, row_of: Ints, rows: int) -> Floats:
        """The sums (rows x width); ``row_of`` has the row of each item."""
        cells = row_of[self.item_of] * self.width + self.places
        found = np.bincount(cells, weights=self.values, minlength=rows * self.width)
        return found.astype(np.float64).reshape(rows, self.width)


def numbered(names: Iterable[str]) -> tuple[list[str], Ints]:
    """The distinct names in the order of their first occurrence, and each name's index into them."""
    places: dict[str, int] = {}
    found = np.array([places.setdefault(name, len(places)) for name in names], dtype=np.int64)
    return list(places), found
