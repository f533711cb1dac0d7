"""A ZIP packed in a process of its own, beside the one that reads and writes its files.

For many small files: packing one takes less time than a thread waits to get Python's lock back afterwards. Run as a
program it reads files and writes their ZIP: ``python -m annotator.exchange.formats.packing``.
"""

from __future__ import annotations

import contextlib
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import IO, BinaryIO

from annotator.exchange.formats.zipping import Archive, NamedFiles, parts_of, quick

BUFFER = 1 << 20  # bytes; in pipes that hold less the two processes wait for one another
ROOT = Path(__file__).resolve().parents[3]

_HEAD = struct.Struct("<II")  # of a part: how long its file's name is, and itself


class PackingError(OSError):
    """The process that packs has ended too early, for example because it was killed."""


def zip_of_many(files: NamedFiles) -> Iterator[bytes]:
    """A ZIP of named files, piece by piece, byte for byte as ``zip_of`` makes it. Raises ``PackingError``."""
    packer = subprocess.Popen(  # noqa: S603 (this very module)
        [sys.executable, "-m", __name__], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=BUFFER
    )
    assert packer.stdin is not None and packer.stdout is not None
    _widen(packer.stdin, packer.stdout)
    packed: SimpleQueue[bytes] = SimpleQueue()
    taker = Thread(target=_take, args=(packer.stdout, packed), name="export")
    taker.start()
    try:
        for name, part in parts_of(files):
            _send(packer.stdin, name, part)
            while not packed.empty():
                if not (piece := packed.get()):
                    raise BrokenPipeError  # it cannot have got everything yet
                yield piece
        packer.stdin.close()
        while piece := packed.get():
            yield piece
        if packer.wait():
            raise PackingError(f"the process that packs it ended with {packer.returncode}")
    except BrokenPipeError:
        raise PackingError("the process that packs it is gone") from None
    finally:
        packer.kill()  # where nobody wants the rest; one that has ended already does not mind
        with contextlib.suppress(BrokenPipeError):
            packer.stdin.close()
        taker.join()
        packer.stdout.close()
        packer.wait()


def _widen(*pipes: IO[bytes]) -> None:
    """Let pipes hold more, where the system can."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        for pipe in pipes:
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, BUFFER)


def _take(stream: IO[bytes], packed: SimpleQueue[bytes]) -> None:
    """Takes what was packed, so that the other process never waits for room; b"" is the end."""
    piece = b"-"
    while piece:
        piece = stream.read1(BUFFER)  # type: ignore[attr-defined]
        packed.put(piece)


def _send(stream: IO[bytes], name: str, part: bytes) -> None:
    encoded = name.encode()
    stream.write(_HEAD.pack(len(encoded), len(part)) + encoded)
    stream.write(part)


def _sent(stream: BinaryIO) -> Iterator[tuple[str, bytes]]:
    while head := stream.read(_HEAD.size):
        name, part = _HEAD.unpack(head)
        yield stream.read(name).decode(), stream.read(part)


def main() -> None:
    archive = Archive(quick)
    with open(0, "rb", BUFFER) as parts, open(1, "wb", 0) as out:
        for name, part in _sent(parts):
            if packed := archive.add(name, part):
                out.write(packed)
        out.write(archive.end())


if __name__ == "__main__":
    main()
