"""Long effects in small transactions: so many rows at a time that no lock is held for long.

SQLite has one writer, so whoever writes for long keeps everybody else from saving. Between two steps the writer pauses
for as long as the last one took: half of the time belongs to the people.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

TARGET = 0.05  # seconds of one step
MAX_PAUSE = 0.1  # seconds
FIRST, MAX_ROWS = 5, 500  # rows of the first step, and of the largest: SQLite takes some hundred parameters everywhere


def in_small_steps(rows: Sequence[T], step: Callable[[Sequence[T]], bool | None], *, rest: bool = True) -> None:
    """Call ``step``, one transaction, with some rows after the other, more or fewer as its time allows. It may return
    False: nothing further is to be done. Without ``rest`` there is no pause, for a caller whom somebody waits for."""
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
