"""Agreed labels as five tables: documents, sentences, claims, evidence and edits, as CSV (docs/formats/tables.md).

Every row carries its own public id and those of its parents, and its position among its siblings, from 1; so any table
can be read alone, and together they give the documents back (``annotator.formats.tables_reader``). The same rows are
written as Parquet (``tables_parquet``) and as the JSON lines of a ``datasets`` folder (``huggingface``).

Released spellings (``annotator.formats.released``) and who said what have no place in tables.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from annotator.formats.gold import GoldClaim, GoldDocument, GoldSentence
from annotator.formats.spool import Files, in_one_pass
from annotator.formats.table_columns import TABLES, Kind, Table

Row = tuple[Any, ...]  # the cells of a row, in the order of the table's columns
Documents = Callable[[], Iterator[GoldDocument]]

SUFFIX = ".csv"
BOM = b"\xef\xbb\xbf"
# A spreadsheet runs a cell that begins like this as a formula; the apostrophe stands for itself, so that one can be
# put before any of them and taken away again.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'")


def files(documents: Documents, *, for_spreadsheets: bool = False) -> Files:
    """The five tables as CSV files: (file name, its content piece by piece), one pass over the documents in all.

    RFC 4180 in UTF-8. Cells are exact; with ``for_spreadsheets`` each file begins with a byte order mark, by which
    Excel knows UTF-8, and a text that a spreadsheet would run as a formula has an apostrophe before it.
    """
    return in_one_pass([table.name + SUFFIX for table in TABLES], _csv_parts(documents(), for_spreadsheets))


def _csv_parts(documents: Iterable[GoldDocument], for_spreadsheets: bool) -> Iterator[tuple[str, bytes]]:
    for table in TABLES:
        head = csv_bytes([table.column_names])
        yield table.name + SUFFIX, BOM + head if for_spreadsheets else head
    for number, document in enumerate(documents, start=1):
        for table, rows in rows_of(document, number):
            if rows:
                cells = [_cells(table, row) for row in rows]
                if for_spreadsheets:
                    cells = [[_guarded(cell) for cell in row] for row in cells]
                yield table.name + SUFFIX, csv_bytes(cells)


def csv_bytes(rows: Iterable[Sequence[Any]]) -> bytes:
    """Rows as lines of CSV; what is missing becomes a blank cell."""
    written = io.StringIO(newline="")
    csv.writer(written).writerows(rows)
    return written.getvalue().encode()


# Where a table has columns that need another spelling: most cells are texts, and there are millions of them.
_BOOLEANS, _MOMENTS = (
    {table.name: [place for place, column in enumerate(table.columns) if column.kind in kinds] for table in TABLES}
    for kinds in ({Kind.BOOLEAN}, {Kind.DATE, Kind.TIME})
)


def _cells(table: Table, row: Row) -> list[Any]:
    """A row as the cells of CSV: yes and no are true and false, dates and times as ISO 8601."""
    cells = json_cells(table, row)
    for place in _BOOLEANS[table.name]:
        if cells[place] is not None:
            cells[place] = "true" if cells[place] else "false"
    return cells


def json_cells(table: Table, row: Row) -> list[Any]:
    """A row as JSON holds it: dates and times as ISO 8601."""
    cells = list(row)
    for place in _MOMENTS[table.name]:
        value = cells[place]
        if value is not None:
            cells[place] = time_text(value) if isinstance(value, dt.datetime) else value.isoformat()
    return cells


def time_text(value: dt.datetime) -> str:
    """A moment in UTC, as ISO 8601."""
    return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


def _guarded(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def unguarded(cell: str) -> str:
    """What stood there before it was made safe for spreadsheets."""
    return cell.removeprefix("'")


# --- rows -----------------------------------------------------------------------------------------


def rows_of(document: GoldDocument, number: int) -> list[tuple[Table, list[Row]]]:
    """A document's rows in each table, in the order of ``TABLES``. ``number``: its place among the documents."""
    rows: dict[str, list[Row]] = {table.name: [] for table in TABLES}
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


def _evidence(parents: tuple[str, str, str], claim: GoldClaim) -> Iterator[Row]:
    named = {id(each): place for place, each in enumerate(claim.rests_on, start=1)}
    for order, each in enumerate([*claim.retrieved, *claim.added], start=1):
        yield (
            each.public_id,
            *parents,
            order,
            order > len(claim.retrieved),
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


def _edits(parents: tuple[str, str, str], claim: GoldClaim) -> Iterator[Row]:
    for order, each in enumerate(claim.operations, start=1):
        yield (*parents, order, each.kind.value, each.start, each.end, each.replacement)
