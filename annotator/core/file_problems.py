"""Problems of an imported file, described for the person who uploaded it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem. ``line`` counts from 1 (0: the whole file); ``field`` is "" if it concerns the whole row."""

    line: int
    field: str
    reason: str

    def __str__(self) -> str:
        where = f"line {self.line}" if self.line else "the file"
        return f"{where}, {self.field}: {self.reason}" if self.field else f"{where}: {self.reason}"

    def as_dict(self) -> dict[str, str | int]:
        """The form stored in ``ImportJob.problems``."""
        return {"line": self.line, "field": self.field, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that can't be imported, with all its problems (at least one)."""

    line: int
    problems: tuple[Problem, ...]


class FileError(ValueError):
    """The whole file can't be read. The message says what to do."""


class RowError(ValueError):
    """A row can't be imported: pairs of field and reason. The reader knows the line number and turns this into a
    ``BadRow``."""

    def __init__(self, *complaints: tuple[str, str]) -> None:
        super().__init__("; ".join(f"{field}: {reason}" for field, reason in complaints))
        self.complaints = complaints

    def at(self, line: int) -> BadRow:
        return BadRow(line, tuple(Problem(line, field, reason) for field, reason in self.complaints))


def bad_row(line: int, reason: str, field: str = "") -> BadRow:
    return BadRow(line, (Problem(line, field, reason),))


def complain(complaints: Iterable[tuple[str, str]]) -> None:
    """Raises ``RowError`` if there are any problems."""
    found = tuple(complaints)
    if found:
        raise RowError(*found)
