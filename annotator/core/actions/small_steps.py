"""Runs large changes as many small transactions, so that no lock is held for long.

SQLite has one writer, so a long write keeps everyone else from saving. Between two steps, the writer pauses for as long
as the last step took, which leaves half of the time to people.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

TARGET = 0.05  # seconds per step
MAX_PAUSE = 0.1  # seconds
FIRST, MAX_ROWS = 5, 500  # rows of the first step, and of the largest: SQLite takes some hundred parameters everywhere


def in_small_steps(rows: Sequence[T], step: Callable[[Sequence[T]], bool | None], *, rest: bool = True) -> None:
    """Call ``step``, one transaction each, with batches of rows whose size adapts to the time they take. A step may
    return False to stop. With ``rest=False`` there is no pause, for callers that someone is waiting for."""
    size, start = FIRST, 0
    while start < len(rows):
        some = rows[start : start + size]
        began = time.monotonic()
        if step(some) is False:
            return
        took = time.monotonic() - began
        start += len(some)
        size = max(1, min(int(size * min(4.0, TARGET / max(took, 0.001))), MAX_ROWS))
        if rest and start < len(rows):
            time.sleep(min(took, MAX_PAUSE))
