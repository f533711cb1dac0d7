"""Several files as one ZIP, streamed: what is packed goes out while the rest is still to be read and written."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from typing import IO, Protocol, cast

from isal import isal_zlib

NamedFiles = Iterable[tuple[str, Iterable[str | bytes]]]

PIECE = 64 * 1024  # bytes that go out at once

# What goes after a file whose length was not known before (the format's section 4.3.9): CRC and both lengths.
_LENGTHS = struct.Struct("<4sLQQ")
_LENGTHS_FOLLOW = 1 << 3  # the flag that says so


class Packer(Protocol):
    """What deflates one file."""

    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


def quick() -> Packer:
    """Of isal's levels, 0 to 3, the one that packs as small as zlib's 2, in a quarter of the time."""
    packer: Packer = isal_zlib.compressobj(2, isal_zlib.DEFLATED, -isal_zlib.MAX_WBITS)
    return packer


def portable() -> Packer:
    """Gives the same bytes on every processor, which isal does not promise. By level 2 of 9 it is a sixth larger than
    by the usual 6, in a third of the time."""
    return zlib.compressobj(2, zlib.DEFLATED, -zlib.MAX_WBITS)


def zip_of(files: NamedFiles, packer: Callable[[], Packer] = quick) -> Iterator[bytes]:
    """A ZIP of named files, piece by piece; the same files give the same bytes, by ``quick`` on the same processor."""
    archive = Archive(packer)
    for name, part in parts_of(files):
        if packed := archive.add(name, part):
            yield packed
    yield archive.end()


def parts_of(files: NamedFiles) -> Iterator[tuple[str, bytes]]:
    """The parts of each file with its name; a file that has nothing in it has one part."""
    for name, parts in files:
        yield name, b""
        for part in parts:
            yield name, part.encode() if isinstance(part, str) else part


class Archive:
    """A ZIP in the making, which holds little more than what was added last.

    ``zipfile`` writes what stands around the files. It has no word for who packs them, so that is done here.
    """

    def __init__(self, packer: Callable[[], Packer]) -> None:
        self._new_packer = packer
        self._stream = _Outgoing()
        self._zip = zipfile.ZipFile(cast("IO[bytes]", self._stream), "w")
        self._file: zipfile.ZipInfo | None = None

    def add(self, name: str, part: bytes) -> bytes:
        """What can go out after this part of a file: the one that was added to last, or the next."""
        file = self._file
        if file is None or name != file.filename:
            file = self._begin(name)
        if part:
            file.CRC = isal_zlib.crc32(part, file.CRC)
            file.file_size += len(part)
            self._write(file, self._packer.compress(part))
        return self._stream.take() if self._stream.waiting >= PIECE else b""

    def _begin(self, name: str) -> zipfile.ZipInfo:
        self._finish()
        self._file = file = zipfile.ZipInfo(name)  # without a date of its own it has the earliest there is
        file.compress_type = zipfile.ZIP_DEFLATED
        file.external_attr = 0o644 << 16
        file.flag_bits |= _LENGTHS_FOLLOW
        file.CRC = file.file_size = file.compress_size = 0
        file.header_offset = self._stream.tell()
        self._stream.write(file.FileHeader(zip64=True))
        self._packer = self._new_packer()
        return file

    def _write(self, file: zipfile.ZipInfo, packed: bytes) -> None:
        file.compress_size += len(packed)
        self._stream.write(packed)

    def _finish(self) -> None:
        if self._file is not None:
            file = self._file
            self._write(file, self._packer.flush())
            self._stream.write(_LENGTHS.pack(b"PK\x07\x08", file.CRC, file.compress_size, file.file_size))
            self._zip.filelist.append(file)

    def end(self) -> bytes:
        """The rest, with the list of the files."""
        self._finish()
        self._zip.start_dir = self._stream.tell()
        self._zip.close()
        return self._stream.take()


class _Outgoing:
    """What a ZIP is written into where nothing can be sought: bytes wait here until they are taken on."""

    def __init__(self) -> None:
        self._bytes = BytesIO()
        self._taken = 0

    @property
    def waiting(self) -> int:
        return self._bytes.tell()

    def write(self, data: bytes) -> int:
        return self._bytes.write(data)

    def tell(self) -> int:
        """How much has been written so far."""
        return self._taken + self.waiting

    def flush(self) -> None:
        """Nothing to do: ``take`` empties it."""

    def take(self) -> bytes:
        data = self._bytes.getvalue()
        self._taken += len(data)
        self._bytes = BytesIO()
        return data
