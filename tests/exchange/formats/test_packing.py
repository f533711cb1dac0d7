"""A ZIP packed in a process of its own: the same bytes, and no process left behind, whatever happens."""

from __future__ import annotations

import io
import random
import subprocess
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

from annotator.exchange.formats import packing
from annotator.exchange.formats.packing import BUFFER, PackingError, zip_of_many
from annotator.exchange.formats.zipping import zip_of


@pytest.fixture
def packers(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that are started."""
    started: list[subprocess.Popen[bytes]] = []

    class Popen(subprocess.Popen[bytes]):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            started.append(self)

    monkeypatch.setattr(packing.subprocess, "Popen", Popen)
    return started


def files(count: int) -> Iterator[tuple[str, Iterator[str | bytes]]]:
    source = random.Random(1)
    for number in range(count):
        yield f"{number} – ü.txt", iter([f"{number} ", source.randbytes(50_000), b"", "end"])


def test_it_is_the_zip_that_is_made_here(packers: list[subprocess.Popen[bytes]]) -> None:
    def all() -> Iterator[tuple[str, Iterator[str | bytes]]]:
        yield "nothing.txt", iter([])
        yield from files(100)
        yield "large.bin", iter([bytes(3 * BUFFER)])

    content = b"".join(zip_of_many(all()))
    assert content == b"".join(zip_of(all()))
    archive = zipfile.ZipFile(io.BytesIO(content))
    assert archive.testzip() is None and len(archive.namelist()) == 102
    [packer] = packers
    assert packer.returncode == 0
    assert b"".join(zip_of_many([])) == b"".join(zip_of([]))


def test_who_goes_away_leaves_no_process(packers: list[subprocess.Popen[bytes]]) -> None:
    found = zip_of_many(files(10_000))
    next(found)
    found.close()  # type: ignore[attr-defined]
    [packer] = packers
    assert packer.returncode is not None


def test_what_goes_wrong_with_a_file_is_raised_here(packers: list[subprocess.Popen[bytes]]) -> None:
    def broken() -> Iterator[tuple[str, Iterator[str | bytes]]]:
        yield from files(100)
        raise LookupError("no such document")

    with pytest.raises(LookupError, match="no such document"):
        list(zip_of_many(broken()))
    [packer] = packers
    assert packer.returncode is not None


@pytest.mark.parametrize("after", [0, 1, 99])
def test_a_process_that_was_killed_is_told(packers: list[subprocess.Popen[bytes]], after: int) -> None:
    def killed() -> Iterator[tuple[str, Iterator[str | bytes]]]:
        for number, file in enumerate(files(100)):
            if number == after:
                packers[0].kill()
                packers[0].wait()
            yield file

    with pytest.raises(PackingError, match="the process that packs it"):
        list(zip_of_many(killed()))


def test_more_files_than_fit_into_a_plain_zip() -> None:
    """Above 65,535 the list of the files needs another form."""
    archive = zipfile.ZipFile(io.BytesIO(b"".join(zip_of_many((f"{number}", ["x"]) for number in range(70_000)))))
    assert len(archive.namelist()) == 70_000 and archive.read("69999") == b"x"
