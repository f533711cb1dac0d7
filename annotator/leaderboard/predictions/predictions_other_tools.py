"""What other fact-checkers write, read as predictions of claim factuality. Their claims are found by their words.

The shapes: OpenFactCheck's FactCheckerEvaluator, FIRE's verdict on a claim, Loki's FactCheckOutput, FActScore's
decisions. docs/formats/predictions.md shows a row of each.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

from annotator.core.file_problems import BadRow, FileError, RowError, bad_row
from annotator.core.lines import FileLine, check_encoding, json_object, kind_of, read_lines, storable_object
from annotator.leaderboard.predictions.predictions import PredictionRow

# A whole JSON document, as Loki writes, is read at once: no larger than this many bytes.
MAX_BYTES = 64 * 1024 * 1024

Rows = Iterator[PredictionRow | BadRow]


def openfactcheck(stream: BinaryIO) -> Rows:
    """CSV with a column ``label`` (True or False); row n answers the n-th item of the template.

    Raises ``FileError``.
    """
    head: list[str] | None = None
    number = 0
    for line in read_lines(stream):
        if isinstance(line, BadRow):
            number += head is not None  # the row is there, though it cannot be read
            yield line
            continue
        try:
            cells = next(csv.reader([line.text()], strict=True))
        except (RowError, csv.Error) as error:
            number += head is not None
            yield bad_row(line.number, f"invalid CSV: {error}.")
            continue
        if head is None:
            head = [cell.strip().casefold() for cell in cells]
            if "label" not in head:
                raise FileError(f"The CSV has no column “label”; its columns are: {', '.join(head)[:200]}.")
            continue
        number += 1
        if len(cells) != len(head):
            yield bad_row(line.number, f"{len(cells)} cells, but the header has {len(head)}.")
            continue
        yield PredictionRow(line.number, {"label": cells[head.index("label")]}, number=number)


def fire(stream: BinaryIO) -> Rows:
    """JSON lines with ``claim`` and the verdict in ``result.answer`` (or ``answer``). Its ``label`` is the gold label
    that FIRE was given, and is not read."""
    for line in read_lines(stream):
        yield from _each(line, _fire)


def _fire(row: Mapping[str, Any], line: int) -> Rows:
    result = row.get("result")
    answer = result.get("answer") if isinstance(result, dict) else row.get("answer")
    if answer is None:
        raise RowError(("result", "no prediction: FIRE writes True or False to result.answer."))
    yield PredictionRow(line, {"label": answer}, text=_text(row, "claim"))


def factscore(stream: BinaryIO) -> Rows:
    """JSON lines, or one object, with ``decisions``: for each response a list of ``atom`` and ``is_supported``."""
    for line in read_lines(stream):
        yield from _each(line, _factscore)


def _factscore(row: Mapping[str, Any], line: int) -> Rows:
    decisions = row.get("decisions")
    if not isinstance(decisions, list):
        raise RowError(("decisions", f"expected a list, found {kind_of(decisions)}."))
    # One response's decisions are a flat list, a whole file's a list of such lists; null: the model abstained.
    for group in decisions if all(isinstance(each, list | None) for each in decisions) else [decisions]:
        for each in group or ():
            if not isinstance(each, dict):
                yield bad_row(line, f"expected an object with atom and is_supported, found {kind_of(each)}.")
                continue
            try:
                yield PredictionRow(line, {"label": each.get("is_supported")}, text=_text(each, "atom"))
            except RowError as error:
                yield error.at(line)


def loki(stream: BinaryIO) -> Rows:
    """A JSON object, or one a line, with ``claim_detail``: ``claim`` and ``factuality``, the share of the evidence that
    supports it. All of it makes the claim true, less makes it false, a text ("No evidence found") undecided; what Loki
    found nothing to check in is left out."""
    check_encoding(stream)
    lines = read_lines(stream)
    first = next(lines, None)
    if isinstance(first, FileLine):
        whole = _whole(stream, first)
        if whole is not None:
            yield from _each(whole, _loki)
            return
    stream.seek(0)
    for line in read_lines(stream):
        yield from _each(line, _loki)


def _whole(stream: BinaryIO, first: FileLine) -> FileLine | None:
    """A file that is one JSON document over several lines, as one line; None where each line is an object."""
    try:
        json_object(first.text())
    except RowError:
        pass
    else:
        return None
    stream.seek(0)
    raw = stream.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise FileError("The file is one JSON object larger than 64 MiB. Write one object per line instead.")
    return FileLine(1, 0, raw)


def _loki(row: Mapping[str, Any], line: int) -> Rows:
    details = row.get("claim_detail")
    if not isinstance(details, list):
        raise RowError(("claim_detail", f"expected a list, found {kind_of(details)}."))
    for each in details:
        if not isinstance(each, dict):
            yield bad_row(line, f"expected an object with claim and factuality, found {kind_of(each)}.")
            continue
        said = each.get("factuality")
        if said == "Nothing to check.":
            continue
        try:
            yield PredictionRow(line, {"label": _loki_label(said)}, text=_text(each, "claim"))
        except RowError as error:
            yield error.at(line)


def _loki_label(said: Any) -> str:
    if isinstance(said, str):
        return "not_enough_evidence"
    if isinstance(said, bool) or not isinstance(said, int | float) or not 0 <= said <= 1:
        raise RowError(("factuality", f"expected a number from 0 to 1 or a text, found {kind_of(said)}."))
    return "true" if said == 1 else "false"


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise RowError((name, "required: the claim is matched by its text."))
    return value


def _each(line: FileLine | BadRow, parse: Callable[[Mapping[str, Any], int], Rows]) -> Rows:
    if isinstance(line, BadRow):
        yield line
        return
    try:
        yield from parse(storable_object(line.text()), line.number)
    except RowError as error:
        yield error.at(line.number)


READERS: dict[str, Callable[[BinaryIO], Rows]] = {
    "openfactcheck": openfactcheck,
    "fire": fire,
    "loki": loki,
    "factscore": factscore,
}
