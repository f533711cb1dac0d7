"""Streams several files as one ZIP: compressed data is sent while the rest is still being read."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from typing import IO, cast

NamedFiles = Iterable[tuple[str, Iterable[str | bytes]]]

PIECE = 64 * 1024  # bytes per chunk


class _Outgoing(bytearray):
    """Compressed data that hasn't been sent yet. It isn't seekable, so ``zipfile`` never goes back."""

    def write(self, data: bytes) -> int:
        self += data
        return len(data)

    def flush(self) -> None:
        """Nothing to do: ``take`` empties it."""

    def take(self) -> bytes:
        data = bytes(self)
        self.clear()
        return data


def zip_of(files: NamedFiles) -> Iterator[bytes]:
    """A ZIP of named files, in pieces. The same files give the same bytes: every entry has the earliest possible
    date."""
    out = _Outgoing()
    # At level 2, a ZIP is a sixth larger than at the default of 6 and takes a third of the time.
    with zipfile.ZipFile(cast("IO[bytes]", out), "w", zipfile.ZIP_DEFLATED, compresslevel=2) as archive:
        for name, parts in files:
            with archive.open(name, "w", force_zip64=True) as file:
                for part in parts:
                    file.write(part.encode() if isinstance(part, str) else part)
                    if len(out) >= PIECE:
                        yield out.take()
            archive.getinfo(name).external_attr = 0o644 << 16  # zipfile would make it readable only by the owner
            if len(out) >= PIECE:
                yield out.take()
    yield out.take()
