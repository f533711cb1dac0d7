"""Writing in a thread: everything, in order, never far ahead, and over when nobody reads on."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from annotator.exchange.formats.ahead import ahead


def test_everything_comes_in_its_order() -> None:
    assert list(ahead(range(7), sum, batch=3)) == [0 + 1 + 2, 3 + 4 + 5, 6]
    assert list(ahead(range(3), list, batch=3)) == [[0, 1, 2]]
    assert list(ahead([], list)) == []


def test_reading_stays_in_the_callers_thread_and_writing_does_not() -> None:
    def items() -> Iterator[int]:
        for _ in range(4):
            yield threading.get_ident()

    def write(read: list[int]) -> tuple[list[int], int]:
        return read, threading.get_ident()

    here = threading.get_ident()
    writers = set()
    for read, writer in ahead(items(), write, batch=2):
        assert read == [here, here]
        writers.add(writer)
    assert len(writers) == 1 and here not in writers


def test_one_batch_is_read_while_another_is_written() -> None:
    next_is_read = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        next_is_read.set()
        yield 2

    def write(read: list[int]) -> bool:
        return next_is_read.wait(timeout=30)

    assert list(ahead(items(), write, batch=1)) == [True, True]


def test_it_is_two_batches_ahead_at_most() -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        while True:
            taken += 1
            yield taken

    written = ahead(items(), sum, batch=5)
    next(written)
    assert taken == 10
    next(written)
    assert taken == 15


def test_faults_of_reader_and_writer_come_through() -> None:
    def broken() -> Iterator[int]:
        yield from range(4)
        raise LookupError("gone")

    written = ahead(broken(), sum, batch=2)
    assert next(written) == 1
    with pytest.raises(LookupError, match="gone"):
        next(written)

    def write(read: list[int]) -> int:
        return 1 // read[0]

    written = ahead([1, 0, 1], write, batch=1)
    assert next(written) == 1
    with pytest.raises(ZeroDivisionError):
        next(written)


def test_the_thread_ends_when_nobody_reads_on() -> None:
    before = threading.active_count()
    written = ahead(iter(int, 1), len, batch=3)
    next(written)
    assert threading.active_count() == before + 1
    written.close()
    assert threading.active_count() == before
