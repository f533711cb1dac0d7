"""The rows of a file that couldn't be imported, as they stand in it, to correct and import again."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Set
from contextlib import suppress
from typing import BinaryIO

from annotator.core.file_problems import BadRow
from annotator.core.lines import MAX_LINE_BYTES, read_lines
from annotator.exchange.formats.documents import csv_delimiter
from annotator.exchange.native import touchstone


def bad_rows(stream: BinaryIO, *, format: str, lines: Set[int]) -> Iterator[bytes]:
    """The rows that begin on ``lines`` (counted from 1), byte by byte, after the header of a format that has one.

    Nothing comes of a file that isn't read line by line (a JSON list, a ZIP), nor of a line that was too long to read.
    """
    if format == "csv":
        yield from _csv_rows(stream, lines)
        return
    stream.seek(0)
    if stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] != b"{":
        return
    header = {1} if format == touchstone.NAME else set()
    for line in read_lines(stream):
        if not isinstance(line, BadRow) and line.number in lines | header:
            yield line.raw + b"\n"


def _csv_rows(stream: BinaryIO, lines: Set[int]) -> Iterator[bytes]:
    """The header, and each bad row with all its lines: a cell may have several."""
    row: list[bytes] = []

    def texts() -> Iterator[str]:
        for line in read_lines(stream, whole=True):
            row.append(b"" if isinstance(line, BadRow) else line.raw)
            yield "\n" if isinstance(line, BadRow) else line.raw.decode("utf-8", "surrogateescape")

    csv.field_size_limit(MAX_LINE_BYTES)
    rows = csv.reader(texts(), delimiter=csv_delimiter(stream), strict=True)
    first, found = 1, True
    while found:
        with suppress(csv.Error):
            found = next(rows, None) is not None
        if first == 1 or first in lines:
            raw = b"".join(row)
            yield raw if raw.endswith(b"\n") or not raw else raw + b"\n"
        row.clear()
        first = rows.line_num + 1
