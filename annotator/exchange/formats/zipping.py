"""Several files as one ZIP, streamed: what is packed goes out while the rest is still to be read and written."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from typing import IO, cast

NamedFiles = Iterable[tuple[str, Iterable[str | bytes]]]

PIECE = 64 * 1024  # bytes that go out at once


class _Outgoing(bytearray):
    """What was packed and has not gone out yet. It cannot be sought in, so ``zipfile`` never looks back."""

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
    """A ZIP of named files, piece by piece. The same files give the same bytes: each has the earliest date there is."""
    out = _Outgoing()
    # By level 2 a ZIP is a sixth larger than by the usual 6, in a third of the time.
    with zipfile.ZipFile(cast("IO[bytes]", out), "w", zipfile.ZIP_DEFLATED, compresslevel=2) as archive:
        for name, parts in files:
            with archive.open(name, "w", force_zip64=True) as file:
                for part in parts:
                    file.write(part.encode() if isinstance(part, str) else part)
                    if len(out) >= PIECE:
                        yield out.take()
            archive.getinfo(name).external_attr = 0o644 << 16  # zipfile would let nobody but the owner read it
            if len(out) >= PIECE:
                yield out.take()
    yield out.take()
