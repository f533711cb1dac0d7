"""The formats for importing documents: JSON lines, CSV, the original tool's screen-1 file, FastFact-Bench, AVeriTeC.

Every reader is a generator of ``IncomingDocument | BadRow`` over a seekable binary stream, with one row in memory at a
time. It raises ``FileError`` if the file as a whole can't be read.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from typing import Any, BinaryIO

from annotator.core import lines
from annotator.core.file_problems import BadRow, FileError, RowError, bad_row, complain
from annotator.exchange.formats import averitec, extracted_claims
from annotator.exchange.formats.incoming import FIELDS, IncomingDocument, IncomingSentence, document, picked

Mapped = Mapping[str, str] | None
Reader = Callable[[BinaryIO, Mapped], Iterator[IncomingDocument | BadRow]]

_HEAD_BYTES = 256 * 1024
# A key may first appear late in a file of JSON lines: so many rows, and bytes, are looked at for the columns.
_COLUMN_ROWS, _COLUMN_BYTES = 2_000, 8 * 1024 * 1024
# Each column is offered for every field of the mapping, and what is not mapped becomes a key of each document.
MAX_COLUMNS = 1_000

SAVE_AS_UTF8 = "Save the file as UTF-8 (in Excel: “CSV UTF-8”) and import it again."


# --- JSON lines -----------------------------------------------------------------------------------


def read_jsonl(stream: BinaryIO, mapping: Mapped = None) -> Iterator[IncomingDocument | BadRow]:
    """One object per line with the keys of ``FIELDS``; other keys become metadata."""
    return lines.read_objects(stream, lambda row, number: document(picked(row, mapping), line=number))


# --- FastFact-Bench -------------------------------------------------------------------------------


# What FastFact's and VeriScore's later files say about claims. Hidden from people who label the response from scratch.
_LABELLED = (
    *("claims_lst", "prelabel_stats", "response_stats"),
    *("claim_list", "all_claim_lst", "claim_search_results", "claim_verification_result"),
)


def read_fastfact(stream: BinaryIO, mapping: Mapped = None) -> Iterator[IncomingDocument | BadRow]:
    """Responses from FastFact-Bench's response file, or from FastFact's or VeriScore's files of claims, one object per
    line. The claims are left out."""
    return lines.read_objects(stream, lambda row, number: _fastfact(row, number, mapping))


def _fastfact(row: dict[str, Any], number: int, mapping: Mapped) -> IncomingDocument:
    """A prompt has one id for the responses of all models, so the two together identify a document."""
    columns = {"prompt": "question", "source": "prompt_source", "id": "question_id"} | dict(mapping or {})
    values = picked({name: value for name, value in row.items() if name not in _LABELLED}, columns)
    if "prompt" not in values:
        raise RowError(("question", "required: is this a FastFact file?"))
    if values.get("id") not in (None, "") and isinstance(values.get("model"), str):
        values["id"] = f"{values['id']}/{values['model']}"
    return document(values, line=number)


# --- the original tool ----------------------------------------------------------------------------


def read_original_tool(stream: BinaryIO, mapping: Mapped = None) -> Iterator[IncomingDocument | BadRow]:
    """Screen-1 input of the Factcheck-Bench tool: one JSON object, a list of them, or one per line.

    Its sentences and atomic claims become suggestions.
    """
    lines.check_encoding(stream)
    if _is_object_a_line(stream):
        yield from lines.read_objects(stream, lambda row, number: _original_tool(row, number, mapping))
        return
    stream.seek(0)
    raw = stream.read(lines.MAX_LINE_BYTES + 1)
    if len(raw) > lines.MAX_LINE_BYTES:
        raise FileError("The file is larger than 16 MiB. Write one object per line to import a file of any size.")
    try:
        value = lines.json_value(lines.FileLine(1, 0, raw.removeprefix(b"\xef\xbb\xbf")).text())
    except RowError as error:
        raise FileError(f"The file cannot be read: {error.complaints[0][1]}") from None
    for number, row in enumerate(value if isinstance(value, list) else [value], start=1):
        if not isinstance(row, dict):
            yield bad_row(number, f"expected a JSON object, found {lines.kind_of(row)}.")
            continue
        try:
            yield _original_tool(row, number, mapping)
        except RowError as error:
            yield error.at(number)


def _is_object_a_line(stream: BinaryIO) -> bool:
    stream.seek(0)
    first = stream.readline(_HEAD_BYTES)
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def _original_tool(row: dict[str, Any], number: int, mapping: Mapped) -> IncomingDocument:
    rest = {key: value for key, value in row.items() if key not in ("sentences", "atomic claims")}
    sentences, claims = row.get("sentences"), row.get("atomic claims")
    complaints: list[tuple[str, str]] = []
    if not isinstance(sentences, list) or not all(isinstance(each, str) for each in sentences):
        complaints.append(("sentences", "expected a list of texts: is this a screen-1 file of the original tool?"))
    if not isinstance(claims, list) or not all(
        isinstance(each, list) and all(isinstance(claim, str) for claim in each) for each in claims
    ):
        complaints.append(("atomic claims", "expected a list with one list of texts for each sentence."))
    complain(complaints)
    assert isinstance(sentences, list) and isinstance(claims, list)
    if len(sentences) != len(claims):
        complain(
            [
                (
                    "atomic claims",
                    f"{len(claims)} lists for {len(sentences)} sentences; each sentence needs one.",
                )
            ]
        )
    return document(
        picked(rest, mapping),
        line=number,
        sentences=(
            IncomingSentence(text, tuple(each)) for text, each in zip(sentences, claims, strict=True) if text.strip()
        ),
    )


# --- CSV ------------------------------------------------------------------------------------------


def read_csv(stream: BinaryIO, mapping: Mapped = None) -> Iterator[IncomingDocument | BadRow]:
    """A header line and one document per row, separated by commas, semicolons or tabs. Other columns become
    metadata."""
    header = csv_columns(stream)
    columns = {name: _named(header, (mapping or {}).get(name, name)) for name in FIELDS}
    if columns["response"] not in header:
        raise FileError(
            f"No column is called “response”; there are {', '.join(f'“{name}”' for name in header)}. "
            "Rename or map the column that contains the responses."
        )
    problems: dict[int, BadRow] = {}
    rows = csv.reader(_csv_lines(stream, problems), delimiter=csv_delimiter(stream), strict=True)
    next(rows)
    while True:
        first = rows.line_num + 1
        try:
            cells = next(rows, None)
        except csv.Error as error:
            yield bad_row(first, f"not CSV: {error}. Check for a missing or extra quotation mark.")
            continue
        too_long = next((problems.pop(line) for line in range(first, rows.line_num + 1) if line in problems), None)
        if too_long is not None:
            yield too_long
        elif cells is None:
            return
        elif cells:
            try:
                yield _csv_document(cells, header, columns, first)
            except RowError as error:
                yield error.at(first)


def csv_columns(stream: BinaryIO) -> list[str]:
    """The column names of a CSV file. Raises ``FileError`` for too many, two alike, or names that are no text."""
    lines.check_encoding(stream)
    head = next(csv.reader(_csv_lines(stream, {}), delimiter=csv_delimiter(stream)), [])
    names = [name.strip() for name in head]
    if len(names) > MAX_COLUMNS:
        raise FileError(
            f"The header has {len(names):,} columns; the limit is {MAX_COLUMNS:,}. Remove columns, "
            "or write one JSON object per line and put them into its “metadata”."
        )
    for number, name in enumerate(names, start=1):
        if not _is_text(name):
            raise FileError(f"The name of column {number} is not valid UTF-8. {SAVE_AS_UTF8}")
    repeated = sorted(name for name, times in Counter(names).items() if times > 1)
    if repeated:
        raise FileError(f"Two columns are called “{repeated[0]}”: rename one of them.")
    return names


def _csv_document(cells: list[str], header: list[str], columns: Mapping[str, str], number: int) -> IncomingDocument:
    if len(cells) != len(header):
        raise RowError(
            (
                "",
                f"{len(cells)} cells, but the header has {len(header)}. Check for text that is not in quotation marks.",
            )
        )
    bad = [(name, _not_utf8(cell)) for name, cell in zip(header, cells, strict=True) if not _is_text(cell)]
    complain(bad)
    row: dict[str, Any] = dict(zip(header, cells, strict=True))
    values = picked({name: value for name, value in row.items() if name in columns.values()}, columns)
    rest = {name: value for name, value in row.items() if name not in columns.values() and value != ""}
    if isinstance(values.get("metadata"), str) and values["metadata"].strip():
        try:
            values["metadata"] = lines.json_value(values["metadata"])
        except RowError as error:
            raise RowError(("metadata", error.complaints[0][1])) from None
    if rest and (not values.get("metadata") or isinstance(values["metadata"], dict)):
        values["metadata"] = {**rest, **(values.get("metadata") or {})}
    return document(values, line=number)


def _csv_lines(stream: BinaryIO, problems: dict[int, BadRow]) -> Iterator[str]:
    """The file's lines for the csv module. Bytes that aren't UTF-8 become lone surrogates, so that their row can be
    named."""
    csv.field_size_limit(lines.MAX_LINE_BYTES)
    for line in lines.read_lines(stream, whole=True):
        if isinstance(line, BadRow):
            problems[line.line] = line
            yield "\n"
        else:
            yield line.raw.decode("utf-8", "surrogateescape")


def _is_text(cell: str) -> bool:
    return not any("\udc80" <= character <= "\udcff" for character in cell)


def _not_utf8(cell: str) -> str:
    """Where the first byte stands that is not UTF-8; it has come in as a lone surrogate."""
    place = next(place for place, character in enumerate(cell) if not _is_text(character))
    byte = ord(cell[place]) - 0xDC00
    before = f" after “{cell[max(place - 20, 0) : place]}”" if place else ""
    return f"character {place + 1:,} of the cell{before} (0x{byte:02X}) is not UTF-8. {SAVE_AS_UTF8}"


def csv_delimiter(stream: BinaryIO) -> str:
    """The most frequent of comma, semicolon and tab in the header."""
    stream.seek(0)
    head = stream.readline(_HEAD_BYTES).decode("utf-8", "replace")
    return max((",", ";", "\t"), key=head.count)


def _named(header: list[str], name: str) -> str:
    """The column of that name, ignoring case."""
    return next((column for column in header if column.casefold() == name.casefold()), name)


# --- which format ---------------------------------------------------------------------------------

READERS: dict[str, Reader] = {
    "jsonl": read_jsonl,
    "csv": read_csv,
    "original-tool": read_original_tool,
    "fastfact": read_fastfact,
    averitec.NAME: averitec.read_documents,
    extracted_claims.VERIFASTSCORE: extracted_claims.read_verifastscore,
    extracted_claims.CLAIMIFY: extracted_claims.read_claimify,
}
FORMATS: tuple[str, ...] = ("auto", *READERS)


def detect(stream: BinaryIO, filename: str = "") -> str:
    """The format's name, detected from the file name and the first lines. Raises ``FileError``."""
    lines.check_encoding(stream)
    suffix = PurePath(filename).suffix.lower()
    head = stream.read(_HEAD_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"answer_id,") and b"contains_factual_claim" in head.split(b"\n", 1)[0]:
        return extracted_claims.CLAIMIFY
    if suffix in (".csv", ".tsv"):
        return "csv"
    if head[:1] in (b"{", b"["):
        return _detect_json(head)
    if suffix in (".jsonl", ".ndjson", ".json"):
        return "jsonl"
    if b"response" in head.split(b"\n", 1)[0].lower():
        return "csv"
    raise FileError(
        "The file’s format is unknown. Choose one: " + ", ".join(READERS) + ". "
        "A CSV file needs a header line with a column “response”."
    )


def _detect_json(head: bytes) -> str:
    for line in head.split(b"\n")[:20]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            if "atomic claims" in row:
                return "original-tool"
            if "claim_verification_result" in row and "claim_list" not in row:
                return extracted_claims.VERIFASTSCORE
            if {"answer_id", "sentence_id", "sentence"} <= row.keys():
                return extracted_claims.CLAIMIFY
            if "question" in row and "prompt" not in row:
                return "fastfact"
            is_claim = {"claim", "questions"} <= row.keys() and "response" not in row
            return averitec.NAME if is_claim else "jsonl"
    if head.startswith(b"[") and all(name in head for name in (b'"claim"', b'"questions"', b'"answers"')):
        return averitec.NAME
    return "original-tool" if b'"atomic claims"' in head else "jsonl"


def _json_columns(stream: BinaryIO) -> list[str]:
    """The keys of the first rows of a file of JSON lines, in the order in which they appear. Raises ``FileError`` for
    too many."""
    found: dict[str, None] = {}
    read = 0
    for line in islice(lines.read_lines(stream), _COLUMN_ROWS):
        if isinstance(line, BadRow):
            continue
        try:
            found |= dict.fromkeys(lines.json_object(line.text()))
        except RowError:
            continue
        if len(found) > MAX_COLUMNS:
            raise FileError(
                f"The objects up to line {line.number} have {len(found):,} different keys; the limit is "
                f"{MAX_COLUMNS:,}. Put keys that differ from row to row into an object under “metadata”."
            )
        read += len(line.raw)
        if read > _COLUMN_BYTES:
            break
    return list(found)


@dataclass(frozen=True, slots=True)
class ImportPreview:
    """A preview of a file: its format, its columns (CSV and JSON lines), good and bad rows."""

    format: str
    columns: tuple[str, ...]
    rows: tuple[IncomingDocument | BadRow, ...]


def preview(
    stream: BinaryIO, *, format: str = "auto", filename: str = "", mapping: Mapped = None, n: int = 5
) -> ImportPreview:
    """The first ``n`` rows as an import would read them. Raises ``FileError``."""
    name = detect(stream, filename) if format == "auto" else format
    columns: list[str] = []
    if name == "csv":
        columns = csv_columns(stream)
    elif name in ("jsonl", "fastfact"):
        columns = _json_columns(stream)
    return ImportPreview(name, tuple(columns), tuple(islice(READERS[name](stream, mapping), n)))
