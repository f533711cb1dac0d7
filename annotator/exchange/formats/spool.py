"""Several files out of one pass over the data, so that they belong together and the database is read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO

Files = Iterator[tuple[str, Iterator[bytes]]]

PIECE = 1 << 18  # bytes read at once from a file that waits on the disk


def in_one_pass(names: Sequence[str], parts: Iterable[tuple[str, bytes]]) -> Files:
    """The named files, in this order, each with its content piece by piece; ``parts`` are (name, bytes) in any order.

    The first is handed on as it comes, the others wait in temporary files meanwhile. Each content has to be read before
    the next name is asked for; what is left of it is read then.
    """
    with ExitStack() as stack:
        waiting = {name: stack.enter_context(TemporaryFile()) for name in names[1:]}
        first = _first(names[0], parts, waiting)
        yield names[0], first
        for _ in first:  # what nobody took: the others need the whole pass
            pass
        for name, file in waiting.items():
            file.seek(0)
            yield name, pieces_of(file)
            file.close()  # no longer needed: its space is free at once


def _first(name: str, parts: Iterable[tuple[str, bytes]], waiting: Mapping[str, IO[bytes]]) -> Iterator[bytes]:
    for of, part in parts:
        if of == name:
            yield part
        else:
            waiting[of].write(part)


def pieces_of(file: IO[bytes]) -> Iterator[bytes]:
    """The rest of an open file."""
    while piece := file.read(PIECE):
        yield piece
