"""Several files as one ZIP, streamed: packed while the next parts are read and written."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from typing import IO, Any, TypeVar, cast

from isal import isal_zlib

from annotator.formats.ahead import BATCH, ahead

NamedFiles = Iterable[tuple[str, Iterable[str | bytes]]]
Parts = list[tuple[str, bytes]]  # of files, those of one file one after the other

PIECE = 64 * 1024  # bytes that go out at once
LEVEL = 2  # of compression, 0 to 3: as small as zlib's 2 of 9, in a quarter of the time
PARTS = 8  # of files, packed at once

Item = TypeVar("Item")


def zip_of(files: NamedFiles) -> Iterator[bytes]:
    """A ZIP of named files, piece by piece; the same files give the same bytes on the same kind of processor. It is
    packed in a thread of its own: packing needs no lock of Python's for the most part."""
    return zip_made_of(_parts(files), list, batch=PARTS)


def zip_made_of(
    items: Iterable[Item], parts_of: Callable[[list[Item]], Parts], *, batch: int = BATCH
) -> Iterator[bytes]:
    """A ZIP, as ``zip_of``, of what ``parts_of`` makes of each batch of items. It is called in the thread that packs,
    which is the quickest way to many small files."""
    archive = _Archive()
    try:
        yield from filter(None, ahead(items, lambda read: archive.add(parts_of(read)), batch=batch))
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
        self._zip = zipfile.ZipFile(cast("IO[bytes]", self._stream), "w", zipfile.ZIP_DEFLATED)
        self._name, self._file = "", cast("IO[bytes] | None", None)

    def add(self, parts: Parts) -> bytes:
        """What can go out after these parts of files."""
        for name, part in parts:
            if name != self._name:
                self._finish()
                self._begin(name)
            if self._file is not None and part:
                self._file.write(part)
        return self._stream.take() if self._stream.waiting >= PIECE else b""

    def _begin(self, name: str) -> None:
        # How long it gets is not known before its end. Without a date of its own it has the earliest there is.
        file: Any = self._zip.open(name, "w", force_zip64=True)
        # Packed by somebody quicker, which zipfile has no word for. A test sees that it is so.
        file._compressor = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, -isal_zlib.MAX_WBITS)
        self._name, self._file = name, file

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
