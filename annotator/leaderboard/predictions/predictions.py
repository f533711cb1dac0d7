"""Predictions of a fact-checker, one JSON object a line, and the template for them (docs/formats/predictions.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from annotator.core.file_problems import BadRow, RowError
from annotator.core.lines import kind_of, read_objects
from annotator.core.released import storable_json
from annotator.leaderboard.scoring.items import TaskItem

NAME = "touchstone"


@dataclass(frozen=True, slots=True)
class PredictionRow:
    """One row of a file. It names its item in one way: by ``key``, by ``document`` and ``position``, by ``text``, or by
    its ``number`` in the order of the template. ``task`` is "" where the row does not say it."""

    line: int
    values: Mapping[str, Any]
    key: str = ""
    document: str = ""
    position: str = ""
    text: str = ""
    number: int = 0
    task: str = ""

    @property
    def named(self) -> str:
        """How the row names its item, in words."""
        if self.key:
            return f"id “{self.key[:60]}”"
        if self.document:
            return f"document “{self.document[:60]}”" + (f", position {self.position}" if self.position else "")
        return f"row {self.number}" if self.number else f"“{self.text[:60]}”"


def read(stream: BinaryIO) -> Iterator[PredictionRow | BadRow]:
    """The rows of a file, one line in memory at a time. Raises ``FileError``."""
    return read_objects(stream, lambda row, line: parse(storable_json(row), line))


def parse(row: Mapping[str, Any], line: int) -> PredictionRow:
    """One line. Raises ``RowError`` where it does not say what it is about."""
    key, document = _name(row, "id"), _name(row, "document")
    if not key and not document:
        raise RowError(("id", 'required: identify the row by "id", or by "document" and "position".'))
    position = row.get("position")
    if isinstance(position, int) and not isinstance(position, bool):
        position = str(position)
    if position is not None and not isinstance(position, str):
        raise RowError(("position", f'expected a text like "2.1", found {kind_of(position)}.'))
    task = row.get("task")
    return PredictionRow(
        line,
        row,
        key=key,
        document=document,
        position=(position or "").strip(),
        task=task if isinstance(task, str) else "",
    )


def _name(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RowError((name, f"expected a text, found {kind_of(value)}."))
    return str(value).strip()


def template(items: Iterable[TaskItem], task: str, blank: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a template: all keys of the task, what it is about, and its answer left blank."""
    for item in items:
        row: dict[str, Any] = {"task": task, "id": item.key, "document": item.document}
        if item.external:
            row["document"] = item.external
        if item.position:
            row["position"] = item.position
        if item.context:
            row["about"] = item.context
        yield json.dumps({**row, "text": item.text, **blank}, ensure_ascii=False) + "\n"
