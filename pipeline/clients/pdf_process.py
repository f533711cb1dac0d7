"""Reads a PDF from standard input and prints its pages, one JSON object a line. A program of its own (``reading.py``).

    python -I pdf_process.py PAGES CHARACTERS SECONDS

Lines are {"title": …}, {"page": …} for each page as soon as it is read, {"refused": …} or {"error": …}. The memory and
the processor time that a hostile file can take are bounded by the system, where it can (not on Windows).
"""

from __future__ import annotations

import io
import json
import math
import sys
import time

MEMORY = 512 * 1024 * 1024  # bytes of address space; a report of 300 pages takes less than half


def main(pages: int, characters: int, seconds: float) -> None:
    """Print what can be read within the limits."""
    last_moment = time.monotonic() + seconds
    _bound(math.ceil(seconds) + 2)
    import pypdf

    body = sys.stdin.buffer.read()
    try:
        reader = pypdf.PdfReader(io.BytesIO(body))
        if reader.is_encrypted and not reader.decrypt(""):
            _print({"refused": "its PDF is locked by a password"})
            return
        _print({"title": str((reader.metadata.title if reader.metadata else "") or "")})
        read = 0
        for page in reader.pages[:pages]:
            text = page.extract_text()
            _print({"page": text})
            read += len(text)
            if read > characters or time.monotonic() > last_moment:
                return
    except MemoryError:
        _print({"error": "it needs more memory than a page may use"})
    except Exception as error:  # it meets every way in which a file can be broken
        _print({"error": type(error).__name__})


def _bound(processor: int) -> None:
    try:
        import resource
    except ImportError:
        return
    for limit, value in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, processor)):
        hard = resource.getrlimit(limit)[1]
        if hard == resource.RLIM_INFINITY or value < hard:
            try:
                resource.setrlimit(limit, (value, hard))
            except (ValueError, OSError):  # macOS bounds no address space
                continue


def _print(found: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
