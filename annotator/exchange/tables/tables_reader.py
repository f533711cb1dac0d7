"""Reads the five tables back into gold documents: CSV as written by ``annotator.exchange.tables.tables``, or Parquet.

The tables are read in parallel, one document at a time, so memory doesn't grow with them. Rows must be in the order
they were written: grouped by document, in the order of the first table.
"""

from __future__ import annotations

import csv
import datetime as dt
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from annotator.core.fields import Field
from annotator.core.file_problems import FileError
from annotator.core.lines import MAX_LINE_BYTES
from annotator.core.texts.edits import EditError, Operation
from annotator.core.vocabulary import EditKind
from annotator.exchange.formats.gold import GoldClaim, GoldDocument, GoldEvidence, GoldSentence, made
from annotator.exchange.tables import table_columns
from annotator.exchange.tables.table_columns import TABLES, ColumnKind, ExportTable, TableColumn
from annotator.exchange.tables.tables import BOM, SUFFIX, unguarded

Row = TypeVar("Row")

Cells = dict[str, Any]
Placed = tuple[str, Cells]  # a row's location ("line 3" of CSV, "row 2" of Parquet), and its cells

_YES_NO = {"true": True, "false": False}


def read(folder: Path) -> Iterator[GoldDocument]:
    """The documents of a folder with the five tables, in order. Parquet is read if there is no CSV.

    Fields that tables don't contain keep their defaults. Raises FileError naming the file, the row and what to do, for
    a missing table or column, a value that doesn't fit its column, a repeated row, or one without its parent. Parquet
    needs pyarrow, see ``tables_parquet``.
    """
    if any((folder / f"{table.name}{SUFFIX}").is_file() for table in TABLES):
        yield from _documents([_csv_rows(folder / f"{table.name}{SUFFIX}", table) for table in TABLES], SUFFIX)
    else:
        from annotator.exchange.tables import tables_parquet  # pyarrow is an extra

        suffix = tables_parquet.SUFFIX
        rows = [
            _checked(tables_parquet.rows(folder / f"{table.name}{suffix}", table), table, suffix) for table in TABLES
        ]
        yield from _documents(rows, suffix)


# --- cells ----------------------------------------------------------------------------------------


def _csv_rows(path: Path, table: ExportTable) -> Iterator[Placed]:
    csv.field_size_limit(MAX_LINE_BYTES)
    try:
        with path.open("rb") as file:
            for_spreadsheets = file.read(len(BOM)) == BOM
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            if tuple(next(reader, ())) != table.column_names:
                raise FileError(f"{path.name}: the first line must name the columns {', '.join(table.column_names)}.")
            line = reader.line_num + 1
            for cells in reader:
                if len(cells) != len(table.columns):
                    raise FileError(
                        f"{path.name}, line {line}: {len(cells)} cells where {len(table.columns)} are expected."
                    )
                yield f"line {line}", _values(table, cells, for_spreadsheets, f"{path.name}, line {line}")
                line = reader.line_num + 1
    except FileNotFoundError:
        raise FileError(f"{path.name} is missing. All five tables are required.") from None
    except UnicodeDecodeError:
        raise FileError(f"{path.name} is not UTF-8. Save it as CSV in UTF-8.") from None
    except csv.Error as error:
        raise FileError(f"{path.name} isn’t readable CSV ({error}).") from None


def _values(table: ExportTable, cells: list[str], for_spreadsheets: bool, where: str) -> Cells:
    found: Cells = {}
    for column, cell in zip(table.columns, cells, strict=True):
        try:
            found[column.name] = _value(column, unguarded(cell) if for_spreadsheets else cell)
        except (ValueError, KeyError):
            raise FileError(f"{where}, {column.name}: “{cell[:60]}” is not {_EXPECTED[column.kind]}.") from None
    return found


def _checked(rows: Iterator[tuple[int, Cells]], table: ExportTable, suffix: str) -> Iterator[Placed]:
    """Rows whose columns are typed already; their labels and JSON objects are still checked."""
    columns = [column for column in table.columns if column.words is not None or column.kind == ColumnKind.JSON]
    for number, row in rows:
        for column in columns:
            try:
                row[column.name] = _value(column, row[column.name])
            except ValueError:
                what = f"“{row[column.name][:60]}” is not {_EXPECTED[column.kind]}"
                raise FileError(f"{table.name}{suffix}, row {number}, {column.name}: {what}.") from None
        yield f"row {number}", row


_EXPECTED = {
    ColumnKind.TEXT: "one of its labels",
    ColumnKind.INTEGER: "a whole number",
    ColumnKind.BOOLEAN: "true or false",
    ColumnKind.DATE: "a date such as 2026-01-31",
    ColumnKind.TIME: "a time with a time zone, such as 2026-01-31T12:00:00Z",
    ColumnKind.JSON: "a JSON object",
}


def _value(column: TableColumn, cell: str) -> Any:
    """The value of a cell. Raises ValueError or KeyError if it doesn't fit the column."""
    if column.kind == ColumnKind.TEXT:
        if cell and column.words is not None:
            column.words(cell)
        return cell
    if cell == "" and column.may_miss:
        return None
    return _READERS[column.kind](cell)


def _time(cell: str) -> dt.datetime:
    moment = dt.datetime.fromisoformat(cell)
    if moment.tzinfo is None:
        raise ValueError(cell)
    return moment


def _object(cell: str) -> dict[str, Any]:
    found = json.loads(cell)
    if not isinstance(found, dict):
        raise ValueError(cell)
    return found


_READERS: dict[ColumnKind, Callable[[str], Any]] = {
    ColumnKind.INTEGER: int,
    ColumnKind.BOOLEAN: _YES_NO.__getitem__,
    ColumnKind.DATE: dt.date.fromisoformat,
    ColumnKind.TIME: _time,
    ColumnKind.JSON: _object,
}


# --- putting together -----------------------------------------------------------------------------


class _Group:
    """The rows of one table, consumed document by document."""

    def __init__(self, name: str, rows: Iterator[Placed]) -> None:
        self.name = name
        self._groups = groupby(rows, key=lambda row: str(row[1]["document_id"]))
        self._next: tuple[str, list[Placed]] | None = None
        self._advance()

    def _advance(self) -> None:
        found = next(self._groups, None)
        self._next = (found[0], list(found[1])) if found else None

    def of(self, document_id: str) -> list[Placed]:
        """The rows of this document, if they come next."""
        if self._next is None or self._next[0] != document_id:
            return []
        rows = self._next[1]
        self._advance()
        return rows

    def left_over(self) -> None:
        """Raises FileError if rows remain whose document didn't occur."""
        if self._next is not None:
            document_id, rows = self._next
            raise FileError(
                f"{self.name}, {rows[0][0]}: document {document_id} is not in the table of documents, or is out "
                "of order. Keep the rows of a document together, in the order of the table of documents."
            )


def _documents(tables: list[Iterator[Placed]], suffix: str) -> Iterator[GoldDocument]:
    rows, *rest = tables
    children = [_Group(f"{table.name}{suffix}", each) for table, each in zip(TABLES[1:], rest, strict=True)]
    seen: set[str] = set()
    for place, cells in rows:
        public_id = cells["document_id"]
        if public_id in seen:
            raise FileError(f"documents{suffix}, {place}: document {public_id} appears twice.")
        seen.add(public_id)
        yield _document(cells, children)
    for each in children:
        each.left_over()


def _document(cells: Cells, children: list[_Group]) -> GoldDocument:
    document = GoldDocument(
        prompt=cells["prompt"],
        response=cells["response"],
        revised_response=cells["revised_response"],
        verified=cells["verified"],
        revised=cells["revised"],
        public_id=cells["document_id"],
        external_id=cells["external_id"],
        source=cells["source"],
        model=cells["model"],
        metadata=cells["metadata"],
        reference_date=cells["reference_date"],
    )
    sentence_rows, claim_rows, evidence_rows, edit_rows = (each.of(document.public_id) for each in children)
    sentence_name, claim_name, evidence_name, edit_name = (each.name for each in children)
    sentences: dict[str, GoldSentence] = {}
    claims: dict[str, GoldClaim] = {}
    for place, row in sentence_rows:
        sentence = _once(sentences, row["sentence_id"], _sentence(row), f"{sentence_name}, {place}")
        document.sentences.append(sentence)
    for place, row in claim_rows:
        where = f"{claim_name}, {place}"
        claim = _once(claims, row["claim_id"], _claim(row), where)
        _parent(sentences, row["sentence_id"], where).claims.append(claim)
    _add_evidence(evidence_rows, claims, evidence_name)
    for place, row in edit_rows:
        where = f"{edit_name}, {place}"
        operation = Operation(EditKind(row["kind"]), row["start"], row["end"], row["replacement"])
        _parent(claims, row["claim_id"], where).operations.append(operation)
    for name, claim in claims.items():
        try:
            _ = claim.revised
        except EditError as error:
            raise FileError(f"{edit_name}, claim {name}: {error}") from None
    return document


def _sentence(row: Cells) -> GoldSentence:
    revision = _values_of(row, table_columns.OF_SENTENCE_REVISION)
    if not row["has_revision"]:
        revision["revised"] = None
    return made(
        GoldSentence,
        _values_of(row, table_columns.OF_SENTENCE) | revision,
        text=row["text"],
        start=row["start"],
        end=row["end"],
        public_id=row["sentence_id"],
    )


_CLAIM = (
    *(*table_columns.OF_CLAIM, *table_columns.OF_VERDICT),
    *(*table_columns.OF_VERDICT_TEXTS, *table_columns.OF_CLAIM_REVISION),
)


def _claim(row: Cells) -> GoldClaim:
    return made(GoldClaim, _values_of(row, _CLAIM), public_id=row["claim_id"])


def _values_of(row: Cells, declared: Sequence[Field]) -> Cells:
    return {each.column: row[each.column] for each in declared}


def _add_evidence(rows: list[Placed], claims: dict[str, GoldClaim], name: str) -> None:
    rests: list[tuple[int, GoldClaim, GoldEvidence]] = []
    seen: dict[str, GoldEvidence] = {}
    for place, row in rows:
        where = f"{name}, {place}"
        evidence = made(
            GoldEvidence,
            _values_of(row, table_columns.OF_STANCE),
            passage=row["passage"],
            url=row["url"],
            public_id=row["evidence_id"],
            title=row["title"],
            site=row["site"],
            published=row["published"],
            query=row["query"],
            retrieved_at=row["retrieved_at"],
            content_hash=row["content_hash"],
        )
        _once(seen, evidence.public_id, evidence, where)
        claim = _parent(claims, row["claim_id"], where)
        (claim.added if row["added"] else claim.retrieved).append(evidence)
        if row["rests_on"] is not None:
            rests.append((row["rests_on"], claim, evidence))
    for _, claim, evidence in sorted(rests, key=lambda each: each[0]):
        claim.rests_on.append(evidence)


def _once(known: dict[str, Row], public_id: str, row: Row, where: str) -> Row:
    if public_id in known:
        raise FileError(f"{where}: {public_id} appears twice.")
    known[public_id] = row
    return row


def _parent(known: dict[str, Row], public_id: str, where: str) -> Row:
    if public_id not in known:
        raise FileError(f"{where}: its parent {public_id} is not among the rows of its document.")
    return known[public_id]
