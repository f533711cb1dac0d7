"""Adjudicated labels as five tables: documents, sentences, claims, evidence and edits, as CSV (docs/formats/tables.md).

Every row has its own public id, those of its parents, and its position among its siblings, from 1. So each table can be
read on its own, and together they restore the documents (``annotator.exchange.tables.tables_reader``). The same rows
are written as Parquet (``tables_parquet``) and as the JSON lines of a ``datasets`` folder (``huggingface``).

Tables don't contain released spellings (``annotator.core.released``) or who made which label.
"""

from __future__ import annotations

import codecs
import csv
import datetime as dt
import json
from collections.abc import Iterable, Iterator
from typing import Any

from annotator.exchange.formats.gold import GoldClaim, GoldDocument, GoldEvidence, GoldSentence, cells_of
from annotator.exchange.formats.writing import Documents, Files, contents, temporary_files
from annotator.exchange.tables import table_columns
from annotator.exchange.tables.table_columns import TABLES, ExportTable

Row = tuple[Any, ...]  # the cells of a row, in the order of the table's columns

SUFFIX = ".csv"
BOM = b"\xef\xbb\xbf"
# Spreadsheets run a cell that starts with one of these as a formula. The apostrophe is on the list, so that one can
# always be added and removed again.
_FORMULA = frozenset("=+-@\t\r\n'")


def files(documents: Documents, *, for_spreadsheets: bool = False) -> Files:
    """The five tables as CSV files: (file name, its content in pieces), in one pass over the documents.

    RFC 4180 in UTF-8. Cells are exact. With ``for_spreadsheets``, each file starts with a byte order mark, by which
    Excel recognizes UTF-8, and text that a spreadsheet would run as a formula gets a leading apostrophe.
    """
    with temporary_files(table.name + SUFFIX for table in TABLES) as found:
        writers = {}
        for table in TABLES:
            file = found[table.name + SUFFIX]
            file.write(BOM if for_spreadsheets else b"")
            writers[table.name] = csv.writer(codecs.getwriter("utf-8")(file))
            writers[table.name].writerow(table.column_names)
        spelled = _for_spreadsheets if for_spreadsheets else _spelled
        for number, document in enumerate(documents(), start=1):
            for table, rows in rows_of(document, number):
                writers[table.name].writerows(map(spelled, row) for row in rows)
        yield from contents(found)


def _spelled(cell: Any) -> Any:
    """A cell for ``csv.writer``, which writes None as blank."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return moment_text(cell) if isinstance(cell, dt.date) else cell


def _for_spreadsheets(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in _FORMULA else _spelled(cell)


def json_lines(table: ExportTable, rows: Iterable[Row]) -> Iterator[bytes]:
    """Rows as lines of JSON, objects keyed by column names."""
    for row in rows:
        cells = dict(zip(table.column_names, row, strict=True))
        yield (json.dumps(cells, ensure_ascii=False, default=moment_text) + "\n").encode()


def moment_text(value: dt.date) -> str:
    """A date or time in ISO 8601."""
    return time_text(value) if isinstance(value, dt.datetime) else value.isoformat()


def time_text(value: dt.datetime) -> str:
    """A time in UTC, in ISO 8601."""
    return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


def unguarded(cell: str) -> str:
    """The original text of a cell that was made safe for spreadsheets."""
    return cell.removeprefix("'")


# --- rows -----------------------------------------------------------------------------------------


_OF_SENTENCE = cells_of(GoldSentence, table_columns.OF_SENTENCE)
_OF_SENTENCE_REVISION = cells_of(GoldSentence, table_columns.OF_SENTENCE_REVISION)
_OF_CLAIM = cells_of(GoldClaim, table_columns.OF_CLAIM)
_OF_VERDICT = cells_of(GoldClaim, table_columns.OF_VERDICT)
_OF_VERDICT_TEXTS = cells_of(GoldClaim, table_columns.OF_VERDICT_TEXTS)
_OF_CLAIM_REVISION = cells_of(GoldClaim, table_columns.OF_CLAIM_REVISION)
_OF_STANCE = cells_of(GoldEvidence, table_columns.OF_STANCE)


def rows_of(document: GoldDocument, number: int) -> list[tuple[ExportTable, list[Row]]]:
    """A document's rows in each table, in the order of ``TABLES``. ``number``: its position among the documents."""
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
    revised, *others = _OF_SENTENCE_REVISION(sentence)
    return (
        sentence.public_id,
        document.public_id,
        place,
        sentence.text,
        sentence.start,
        sentence.end,
        *_OF_SENTENCE(sentence),
        sentence.is_true if document.verified else None,
        revised is not None,
        revised or "",
        *others,
    )


def _claim(document: GoldDocument, sentence: GoldSentence, claim: GoldClaim, order: int) -> Row:
    return (
        claim.public_id,
        document.public_id,
        sentence.public_id,
        order,
        *_OF_CLAIM(claim),
        claim.is_checked,
        *_OF_VERDICT(claim),
        claim.is_true,
        *_OF_VERDICT_TEXTS(claim),
        *_OF_CLAIM_REVISION(claim),
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
            *_OF_STANCE(each),
            named.get(id(each)),
        )
        for order, each in enumerate([*claim.retrieved, *claim.added], start=1)
    ]


def _edits(parents: tuple[str, str, str], claim: GoldClaim) -> Iterator[Row]:
    for order, each in enumerate(claim.operations, start=1):
        yield (*parents, order, each.kind.value, each.start, each.end, each.replacement)
