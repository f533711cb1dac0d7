"""Agreed labels as five tables: documents, sentences, claims, evidence and edits, as CSV (docs/formats/tables.md).

Every row carries its own public id and those of its parents, and its position among its siblings, from 1; so any table
can be read alone, and together they give the documents back (``annotator.exchange.tables.tables_reader``). The same
rows are written as Parquet (``tables_parquet``) and as the JSON lines of a ``datasets`` folder (``huggingface``).

Released spellings (``annotator.core.released``) and who said what have no place in tables.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import orjson

from annotator.exchange.formats.ahead import ahead
from annotator.exchange.formats.gold import GoldClaim, GoldDocument, GoldSentence
from annotator.exchange.formats.spool import Files, in_one_pass
from annotator.exchange.tables.table_columns import EVIDENCE, TABLES, Kind, Table

Row = tuple[Any, ...]  # the cells of a row, in the order of the table's columns
Documents = Callable[[], Iterator[GoldDocument]]

SUFFIX = ".csv"
BOM = b"\xef\xbb\xbf"
# The order of files that are streamed: what comes first is packed while the documents are read, and waits on no disk.
LARGEST_FIRST = (EVIDENCE, *(table for table in TABLES if table is not EVIDENCE))
# A spreadsheet runs a cell that begins like this as a formula; the apostrophe stands for itself, so that one can be
# put before any of them and taken away again.
_FORMULA = frozenset("=+-@\t\r\n'")


def files(documents: Documents, *, for_spreadsheets: bool = False) -> Files:
    """The five tables as CSV files: (file name, its content piece by piece), one pass over the documents in all.

    RFC 4180 in UTF-8. Cells are exact; with ``for_spreadsheets`` each file begins with a byte order mark, by which
    Excel knows UTF-8, and a text that a spreadsheet would run as a formula has an apostrophe before it.
    """
    return in_one_pass([table.name + SUFFIX for table in LARGEST_FIRST], _csv_parts(documents(), for_spreadsheets))


def _csv_parts(documents: Iterable[GoldDocument], for_spreadsheets: bool) -> Iterator[tuple[str, bytes]]:
    for table in TABLES:
        head = (",".join(table.column_names) + "\r\n").encode()
        yield table.name + SUFFIX, BOM + head if for_spreadsheets else head
    write = partial(_csv_of, for_spreadsheets=for_spreadsheets)
    for written in ahead(enumerate(documents, start=1), write):
        yield from written


def _csv_of(numbered: list[tuple[int, GoldDocument]], for_spreadsheets: bool) -> list[tuple[str, bytes]]:
    """What some documents add to each file."""
    return [(table.name + SUFFIX, csv_bytes(table, rows, for_spreadsheets)) for table, rows in rows_of_all(numbered)]


def csv_bytes(table: Table, rows: list[Row], for_spreadsheets: bool = False) -> bytes:
    """Rows as lines of CSV; what is missing is a blank cell.

    Column by column, since its kind says how a cell is spelled. ``csv.writer`` would give the same, but it looks at
    each character by itself, and passages are long.
    """
    columns = [
        _csv_cells(column.kind, cells, for_spreadsheets)
        for column, cells in zip(table.columns, zip(*rows, strict=True), strict=False)  # without rows, no cells
    ]
    return "".join([",".join(row) + "\r\n" for row in zip(*columns, strict=True)]).encode()


def _csv_cells(kind: Kind, cells: Iterable[Any], for_spreadsheets: bool) -> list[str]:
    """The cells of one column: yes and no are true and false, dates and times as ISO 8601."""
    match kind:
        case Kind.BOOLEAN:
            return [_BOOLEANS[cell] for cell in cells]
        case Kind.INTEGER:
            return ["" if cell is None else str(cell) for cell in cells]
        case Kind.DATE | Kind.TIME:
            return [_moment(cell) or "" for cell in cells]
    if for_spreadsheets:
        cells = [f"'{cell}" if cell[:1] in _FORMULA else cell for cell in cells]
    return [_quoted(cell) for cell in cells]


_BOOLEANS = {True: "true", False: "false", None: ""}


def _quoted(text: str) -> str:
    """A text between quotes where it needs them."""
    if '"' in text:
        return '"' + text.replace('"', '""') + '"'
    return f'"{text}"' if "," in text or "\n" in text or "\r" in text else text


def json_lines(table: Table, rows: list[Row]) -> bytes:
    """Rows as lines of JSON, objects by the names of the columns; column by column, too."""
    columns = []
    for column, cells in zip(table.columns, zip(*rows, strict=True), strict=False):
        name = f'"{column.name}": '.encode()
        plain = [_moment(cell) for cell in cells] if column.kind in (Kind.DATE, Kind.TIME) else cells
        columns.append([name + orjson.dumps(cell) for cell in plain])
    return b"".join([b"{" + b", ".join(row) + b"}\n" for row in zip(*columns, strict=True)])


def _moment(value: dt.date | None) -> str | None:
    """A date or a time in ISO 8601."""
    if value is None:
        return None
    return time_text(value) if isinstance(value, dt.datetime) else value.isoformat()


def time_text(value: dt.datetime) -> str:
    """A moment in UTC, as ISO 8601."""
    return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


def unguarded(cell: str) -> str:
    """What stood there before it was made safe for spreadsheets."""
    return cell.removeprefix("'")


# --- rows -----------------------------------------------------------------------------------------


def rows_of(document: GoldDocument, number: int) -> list[tuple[Table, list[Row]]]:
    """A document's rows in each table, in the order of ``TABLES``. ``number``: its place among the documents."""
    return rows_of_all([(number, document)])


def rows_of_all(numbered: Iterable[tuple[int, GoldDocument]]) -> list[tuple[Table, list[Row]]]:
    """The same of several documents together."""
    rows: dict[str, list[Row]] = {table.name: [] for table in TABLES}
    for number, document in numbered:
        rows["documents"].append(_document(document, number))
        for place, sentence in enumerate(document.sentences, start=1):
            rows["sentences"].append(_sentence(document, sentence, place))
            for order, claim in enumerate(sentence.claims, start=1):
                parents = (document.public_id, sentence.public_id, claim.public_id)
                rows["claims"].append(_claim(document, sentence, claim, order))
                rows["evidence"] += _evidence(parents, claim)
                rows["edits"] += _edits(parents, claim)
    return [(table, rows[table.name]) for table in TABLES]


def _document(document: GoldDocument, number: int) -> Row:
    return (
        document.public_id,
        number,
        document.external_id,
        document.source,
        document.model,
        document.reference_date,
        document.prompt,
        document.response,
        document.verified,
        document.revised,
        document.is_true if document.verified else None,
        document.is_true_by_claims if document.verified else None,
        document.revised_response,
        json.dumps(document.metadata, ensure_ascii=False),
    )


def _sentence(document: GoldDocument, sentence: GoldSentence, place: int) -> Row:
    return (
        sentence.public_id,
        document.public_id,
        place,
        sentence.text,
        sentence.start,
        sentence.end,
        sentence.decontext,
        sentence.type,
        sentence.importance,
        sentence.is_true if document.verified else None,
        sentence.revised is not None,
        sentence.revised or "",
        sentence.deleted,
    )


def _claim(document: GoldDocument, sentence: GoldSentence, claim: GoldClaim, order: int) -> Row:
    return (
        claim.public_id,
        document.public_id,
        sentence.public_id,
        order,
        claim.text,
        claim.type,
        claim.worth_checking,
        claim.importance,
        claim.is_checked,
        claim.evidence_sufficient,
        claim.factuality,
        claim.is_true,
        claim.reason,
        claim.handling,
        claim.rewritten,
        claim.revised,
    )


def _evidence(parents: tuple[str, str, str], claim: GoldClaim) -> list[Row]:
    named = {id(each): place for place, each in enumerate(claim.rests_on, start=1)}
    retrieved = len(claim.retrieved)
    return [
        (
            each.public_id,
            *parents,
            order,
            order > retrieved,
            each.passage,
            each.url,
            each.title,
            each.site,
            each.published,
            each.query,
            each.retrieved_at,
            each.content_hash,
            each.stance,
            named.get(id(each)),
        )
        for order, each in enumerate([*claim.retrieved, *claim.added], start=1)
    ]


def _edits(parents: tuple[str, str, str], claim: GoldClaim) -> Iterator[Row]:
    for order, each in enumerate(claim.operations, start=1):
        yield (*parents, order, each.kind.value, each.start, each.end, each.replacement)
