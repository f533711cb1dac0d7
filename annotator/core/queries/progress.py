"""The progress of long jobs in words: speed and remaining time, for the pages of imports and runs."""

from __future__ import annotations

import math
from dataclasses import dataclass


def rate_in_words(per_second: float, noun: str) -> str:
    """ "12 rows a second" for the noun "row"; below one a second, "30 documents a minute"; "" while unknown."""
    if per_second <= 0:
        return ""
    if per_second >= 1:
        return f"{_count(round(per_second), noun)} a second"
    return f"{_count(max(1, round(per_second * 60)), noun)} a minute"


def time_in_words(seconds: float) -> str:
    """A duration, rounded as one says it: "5 seconds", "about 3 minutes", "about 2 hours"."""
    if seconds < 90:
        return _count(max(1, math.ceil(seconds)), "second")
    minutes = round(seconds / 60)
    return f"about {minutes} minutes" if minutes < 90 else f"about {_count(round(minutes / 60), 'hour')}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Pace:
    """``share``: from 0 to 1. ``per_second``: 0 while unknown. ``seconds_left``: None while unknown."""

    share: float
    per_second: float
    seconds_left: float | None
    noun: str

    @property
    def percent(self) -> int:
        """For a progress bar: 100 only when everything is done."""
        return math.floor(self.share * 100)

    @property
    def words(self) -> str:
        """ "40 rows a second, 12 seconds left"."""
        parts = [rate_in_words(self.per_second, self.noun)]
        if self.seconds_left is not None:
            parts.append(f"{time_in_words(self.seconds_left)} left")
        return ", ".join(part for part in parts if part)
