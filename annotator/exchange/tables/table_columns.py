"""The columns of the five tables, their meanings and the relations between tables: one list for all file formats."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from annotator.core import fields
from annotator.core.fields import Field
from annotator.core.vocabulary import EditKind, Labelled


class ColumnKind(StrEnum):
    """The type of a column. Texts are never missing, only blank; other values are missing if not decided."""

    TEXT = "text"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    DATE = "date"
    TIME = "time"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class TableColumn:
    """``words``: the possible labels of a text column, blank if not decided. ``may_miss``: some rows have no value."""

    name: str
    kind: ColumnKind
    description: str
    words: type[Labelled] | None = None
    may_miss: bool = False


@dataclass(frozen=True, slots=True)
class ExportTable:
    """``key`` identifies a row; ``references``: the columns that refer to other tables' keys."""

    name: str
    description: str
    key: tuple[str, ...]
    references: dict[str, str]
    columns: tuple[TableColumn, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def _text(name: str, description: str, words: type[Labelled] | None = None) -> TableColumn:
    return TableColumn(name, ColumnKind.TEXT, description, words)


def _number(name: str, description: str, *, may_miss: bool = False) -> TableColumn:
    return TableColumn(name, ColumnKind.INTEGER, description, may_miss=may_miss)


def _yes_no(name: str, description: str, *, may_miss: bool = False) -> TableColumn:
    return TableColumn(name, ColumnKind.BOOLEAN, description, may_miss=may_miss)


def _declared(columns: Iterable[Field]) -> tuple[TableColumn, ...]:
    """The columns of declared fields."""
    return tuple(
        _text(each.column, each.meaning, each.words)
        if each.kind in (fields.Kind.TEXT, fields.Kind.LABEL)
        else _yes_no(each.column, each.meaning, may_miss=each.kind == fields.Kind.YES_NO)
        for each in columns
    )


# The declared fields that have columns, by record. For a verdict, choices come first, then derived values, then texts.
OF_SENTENCE = fields.exported_fields("sentence")
OF_SENTENCE_REVISION = fields.exported_fields("sentence-revision")
OF_CLAIM = fields.exported_fields("claim")
OF_VERDICT = tuple(each for each in fields.exported_fields("verdict") if each.is_choice)
OF_VERDICT_TEXTS = tuple(each for each in fields.exported_fields("verdict") if not each.is_choice)
OF_CLAIM_REVISION = fields.exported_fields("claim-revision")
OF_STANCE = fields.exported_fields("stance")

_DOCUMENT = _text("document_id", "public id of the document")
_SENTENCE = _text("sentence_id", "public id of the sentence")
_CLAIM = _text("claim_id", "public id of the claim")

DOCUMENTS = ExportTable(
    "documents",
    "A prompt and a language model’s response, with document-level labels.",
    key=("document_id",),
    references={},
    columns=(
        _DOCUMENT,
        _number("position", "position in the benchmark, from 1"),
        _text("external_id", "id of the document in the imported file"),
        _text("source", "dataset that the prompt is from"),
        _text("model", "language model that wrote the response"),
        TableColumn("reference_date", ColumnKind.DATE, "claims are judged as of this date", may_miss=True),
        _text("prompt", "the prompt"),
        _text("response", "the response that was fact-checked"),
        _yes_no("verified", "the verify stage is adjudicated"),
        _yes_no("revised", "the revise stage is adjudicated"),
        _yes_no("is_true", "false if a sentence is false, else true if one is true (the released rule)", may_miss=True),
        _yes_no(
            "is_true_by_claims",
            "false if a checked claim is false or undecided, else true if there is one (the paper's count)",
            may_miss=True,
        ),
        _text("revised_response", "the revised response"),
        TableColumn("metadata", ColumnKind.JSON, "other imported fields, as a JSON object"),
    ),
)

SENTENCES = ExportTable(
    "sentences",
    "A piece of a response, in order.",
    key=("sentence_id",),
    references={"document_id": "documents"},
    columns=(
        _SENTENCE,
        _DOCUMENT,
        _number("position", "position in the response, from 1"),
        _text("text", "the sentence as in the response"),
        _number("start", "start offset in the response, in code points from 0", may_miss=True),
        _number("end", "end offset, exclusive", may_miss=True),
        *_declared(OF_SENTENCE),
        _yes_no("is_true", "true only if all its claims are true; missing unless check-worthy", may_miss=True),
        _yes_no("has_revision", "the revise stage includes the sentence"),
        *_declared(OF_SENTENCE_REVISION),
    ),
)

CLAIMS = ExportTable(
    "claims",
    "One atomic, context-independent statement with its verdict.",
    key=("claim_id",),
    references={"document_id": "documents", "sentence_id": "sentences"},
    columns=(
        _CLAIM,
        _DOCUMENT,
        _SENTENCE,
        _number("position", "position in the sentence, from 1"),
        *_declared(OF_CLAIM),
        _yes_no("is_checked", "factual and not marked as not check-worthy: it has a verdict"),
        *_declared(OF_VERDICT),
        _yes_no(
            "is_true",
            "the verdict as yes or no; missing if there is not enough evidence or the claim is not check-worthy",
            may_miss=True,
        ),
        *_declared(OF_VERDICT_TEXTS),
        *_declared(OF_CLAIM_REVISION),
        _text("revised", "the corrected claim; blank if it is deleted"),
    ),
)

EVIDENCE = ExportTable(
    "evidence",
    "A passage for a claim, with its source and stance.",
    key=("evidence_id",),
    references={"document_id": "documents", "sentence_id": "sentences", "claim_id": "claims"},
    columns=(
        _text("evidence_id", "public id of the passage"),
        _DOCUMENT,
        _SENTENCE,
        _CLAIM,
        _number("position", "position among the claim's passages, from 1, retrieved ones first"),
        _yes_no("added", "a person added it; otherwise it was retrieved"),
        _text("passage", "the text"),
        _text("url", "address of the page"),
        _text("title", "title of the page"),
        _text("site", "name of the site"),
        TableColumn("published", ColumnKind.DATE, "when the page was published", may_miss=True),
        _text("query", "search that found it"),
        TableColumn("retrieved_at", ColumnKind.TIME, "when it was retrieved", may_miss=True),
        _text("content_hash", "SHA-256 of the page's text"),
        *_declared(OF_STANCE),
        _number("rests_on", "position among the passages used as evidence for the verdict, from 1", may_miss=True),
    ),
)

EDITS = ExportTable(
    "edits",
    "One edit that corrects a false claim.",
    key=("claim_id", "position"),
    references={"document_id": "documents", "sentence_id": "sentences", "claim_id": "claims"},
    columns=(
        _DOCUMENT,
        _SENTENCE,
        _CLAIM,
        _number("position", "position among the claim's edits, from 1"),
        _text("kind", "delete the claim, replace or delete words", EditKind),
        _number("start", "start offset in the claim's text, in code points from 0"),
        _number("end", "end offset, exclusive"),
        _text("replacement", "the replacement text"),
    ),
)

TABLES: tuple[ExportTable, ...] = (DOCUMENTS, SENTENCES, CLAIMS, EVIDENCE, EDITS)


# --- schema ---------------------------------------------------------------------------------------

_JSON_TYPES: dict[ColumnKind, dict[str, str]] = {
    ColumnKind.TEXT: {"type": "string"},
    ColumnKind.INTEGER: {"type": "integer"},
    ColumnKind.BOOLEAN: {"type": "boolean"},
    ColumnKind.DATE: {"type": "string", "format": "date"},
    ColumnKind.TIME: {"type": "string", "format": "date-time"},
    ColumnKind.JSON: {"type": "string", "contentMediaType": "application/json"},
}


def json_schema() -> dict[str, Any]:
    """docs/formats/tables.schema.json: a row of each table as a JSON object (JSON Schema 2020-12)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A row of a Touchstone table, its cells by column",
        "description": "CSV: a blank cell is null, or a blank text in a column of texts. Keys and references are in "
        "x-key and x-references.",
        "anyOf": [{"$ref": f"#/$defs/{table.name}"} for table in TABLES],
        "$defs": {table.name: _row_schema(table) for table in TABLES},
    }


def _row_schema(table: ExportTable) -> dict[str, Any]:
    return {
        "type": "object",
        "description": table.description,
        "x-key": list(table.key),
        "x-references": table.references,
        "required": list(table.column_names),
        "additionalProperties": False,
        "properties": {column.name: _cell_schema(column) for column in table.columns},
    }


def _cell_schema(column: TableColumn) -> dict[str, Any]:
    schema: dict[str, Any] = {"description": column.description, **_JSON_TYPES[column.kind]}
    if column.words is not None:
        schema["enum"] = [*(word.value for word in column.words), ""]
    if column.may_miss:
        schema["type"] = [schema["type"], "null"]
    return schema
