"""Answers that are required before a stage can be submitted, and the error that lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Missing:
    """One missing answer: its description and where it is asked (``row`` is the sentence or claim to open)."""

    text: str
    row: str
    anchor: str


class IncompleteError(Exception):
    """Something is still missing. ``missing`` lists it with links."""

    def __init__(self, missing: Sequence[Missing]) -> None:
        super().__init__(f"{len(missing)} answers are missing." if len(missing) > 1 else "One answer is missing.")
        self.missing = missing
