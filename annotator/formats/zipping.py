"""Several files as one ZIP, streamed: packed while the next parts are read and written."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import IO, cast

from annotator.formats.ahead import ahead

NamedFiles = Iterable[tuple[str, Iterable[str | bytes]]]

PIECE = 64 * 1024  # bytes that go out at once
LEVEL = 2  # of compression: a sixth larger than by the usual 6, in a third of the time
PARTS = 8  # of files, packed at once


def zip_of(files: NamedFiles) -> Iterator[bytes]:
    """A ZIP of named files, piece by piece; the same files give the same bytes. It is packed in a thread of its own:
    packing needs no lock of Python's for the most part."""
    archive = _Archive()
    try:
        yield from filter(None, ahead(_parts(files), archive.add, batch=PARTS))
    finally:  # also where nobody wants the rest
        rest = archive.end()
    yield rest


def _parts(files: NamedFiles) -> Iterator[tuple[str, bytes]]:
    """The parts of each file with its name; a file that has nothing in it has one part."""
    for name, parts in files:
        yield name, b""
        for part in parts:
            yield name, part.encode() if isinstance(part, str) else part


class _Archive:
    """A ZIP in the making, which never holds more than what was added last."""

    def __init__(self) -> None:
        self._stream = _Outgoing()
        self._zip = zipfile.ZipFile(cast("IO[bytes]", self._stream), "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL)
        self._name, self._file = "", cast("IO[bytes] | None", None)

    def add(self, parts: list[tuple[str, bytes]]) -> bytes:
        """What can go out after these parts of files."""
        for name, part in parts:
            if name != self._name:
                self._finish()
                # How long it gets is not known before its end. Without a date of its own it has the earliest there is.
                self._name, self._file = name, self._zip.open(name, "w", force_zip64=True)
            if self._file is not None and part:
                self._file.write(part)
        return self._stream.take() if self._stream.waiting >= PIECE else b""

    def _finish(self) -> None:
        if self._file is not None:
            self._file.close()
            self._zip.getinfo(self._name).external_attr = 0o644 << 16

    def end(self) -> bytes:
        """The rest, with the list of the files."""
        self._finish()
        self._zip.close()
        return self._stream.take()


class _Outgoing:
    """What ``zipfile`` writes into where nothing can be sought: bytes wait here until they are taken on."""

    def __init__(self) -> None:
        self._bytes = BytesIO()

    @property
    def waiting(self) -> int:
        return self._bytes.tell()

    def write(self, data: bytes) -> int:
        return self._bytes.write(data)

    def flush(self) -> None:
        """Nothing to do: ``take`` empties it."""

    def take(self) -> bytes:
        data = self._bytes.getvalue()
        self._bytes = BytesIO()
        return data
