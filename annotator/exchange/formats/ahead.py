"""Writing documents in a thread while the next ones are read, so that nobody waits for the database with empty hands.

The database answers without Python's lock; meanwhile the thread writes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

BATCH = 50  # items

Item = TypeVar("Item")
Written = TypeVar("Written")


def ahead(
    items: Iterable[Item], write: Callable[[list[Item]], Written], *, batch: int = BATCH
) -> Generator[Written, None, None]:
    """What ``write`` makes of the items, a batch at a time, in their order. Raises what reading and writing raise.

    Items are read in the caller's thread. ``write`` runs in another one, one batch after the other, and so must not ask
    the database: a connection belongs to its thread. At most two batches wait for it.
    """
    left = iter(items)
    with ThreadPoolExecutor(1, thread_name_prefix="export") as thread:
        before = None
        while read := list(islice(left, batch)):
            written = thread.submit(write, read)
            if before is not None:
                yield before.result()
            before = written
        if before is not None:
            yield before.result()
