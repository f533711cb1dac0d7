"""A table of a page as a CSV file to take away."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.http import HttpResponse


def csv_of(rows: Iterable[Sequence[Any]], name: str) -> HttpResponse:
    """The rows, the heads first, as a download with this name (without the ending)."""
    written = io.StringIO()
    csv.writer(written).writerows([_safe(cell) for cell in row] for row in rows)
    answer = HttpResponse(written.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return answer


def csv_lines(rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """The same line by line, for a table that is too large for memory."""
    for row in rows:
        written = io.StringIO()
        csv.writer(written).writerow([_safe(cell) for cell in row])
        yield written.getvalue()


def _safe(cell: Any) -> Any:
    """A name that begins like a formula would be run by spreadsheets; an apostrophe makes it a text."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
