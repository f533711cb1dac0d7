"""docs/formats/touchstone.schema.json: its part about declared fields is generated from their declarations."""

from __future__ import annotations

from typing import Any

from annotator.core.fields import Field, Kind, fields_of, suggested_fields
from annotator.core.vocabulary import Origin
from annotator.exchange.native import touchstone
from annotator.exchange.native.touchstone import NativeTable

DECLARED: dict[str, NativeTable] = {
    "sentence": touchstone.SENTENCES,
    "claim": touchstone.CLAIMS,
    "stance": touchstone.STANCES,
    "verdict": touchstone.VERDICTS,
    "sentence-revision": touchstone.SENTENCE_REVISIONS,
    "claim-revision": touchstone.CLAIM_REVISIONS,
    "response-revision": touchstone.RESPONSE_REVISIONS,
}
SUGGESTED: dict[str, NativeTable] = {"sentence": touchstone.SENTENCE_SUGGESTIONS, "claim": touchstone.CLAIM_SUGGESTIONS}


def brought_up_to_date(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with the currently declared fields, in the order of the tables."""
    definitions = dict(schema["$defs"])
    for record, table in DECLARED.items():
        described = {name: value for each in fields_of(record) for name, value in _columns(each).items()}
        described["answers"] = {"type": "object"}
        definitions[table.name] = _with(definitions[table.name], table, described)
    for record, table in SUGGESTED.items():
        described = {each.name: _described(each) for each in suggested_fields(record)}
        definitions[table.name] = _with(definitions[table.name], table, described)
    return schema | {"$defs": definitions}


def _with(definition: dict[str, Any], table: NativeTable, described: dict[str, Any]) -> dict[str, Any]:
    """The definition of a table's rows with its declared columns."""
    before = definition["properties"]
    names = ("id", *table.fields, *table.links, *table.lists)
    return definition | {"properties": {name: described.get(name) or before[name] for name in names}}


def _columns(field: Field) -> dict[str, Any]:
    """A field's column and its origin's column."""
    found = {name: {"enum": [*(origin.value for origin in Origin), ""]} for name in field.columns[1:]}
    return {name: _described(field) for name in field.columns[:1]} | found


def _described(field: Field) -> dict[str, Any]:
    if field.words is not None:
        return {"enum": [*(word.value for word in field.words), *([""] if field.may_be_blank else [])]}
    if field.kind == Kind.SPANS:
        place = {"type": "integer", "minimum": 0}
        span = {"type": "array", "items": place, "minItems": 2, "maxItems": 2}
        return {"type": "array", "items": span}
    return {"type": "string" if field.kind == Kind.TEXT else "boolean"}
