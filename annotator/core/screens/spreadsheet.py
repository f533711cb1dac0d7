"""Downloads a page's table as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.http import HttpResponse


def csv_of(rows: Iterable[Sequence[Any]], name: str) -> HttpResponse:
    """The rows, header first, as a download with this name (without extension)."""
    written = io.StringIO()
    csv.writer(written).writerows([_safe(cell) for cell in row] for row in rows)
    answer = HttpResponse(written.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return answer


def csv_lines(rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """The same, streamed for a table too large for memory."""
    for row in rows:
        written = io.StringIO()
        csv.writer(written).writerow([_safe(cell) for cell in row])
        yield written.getvalue()


def _safe(cell: Any) -> Any:
    """Spreadsheets would run a name that starts like a formula, so an apostrophe marks it as text."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
