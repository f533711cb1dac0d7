"""Invented examples for the API description, assembled from one example per field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PROMPT = "Who built the lighthouse at Hook Head?"
RESPONSE = "The lighthouse at Hook Head was built by William Marshal. It has guided ships since 1245."
CLAIM = "The lighthouse at Hook Head has guided ships since 1245."
PASSAGE = "The tower at Hook Head was finished by 1240 and has been a working lighthouse ever since."

# By field name. Other fields get an example from their type.
BY_NAME: dict[str, Any] = {
    "at": 12,
    "by": "ada",
    "citation": "Ada Byrne: Lighthouses, a pilot. 2026.",
    "claim": "k3xq9m2v7p4d",
    "comment": "The passage speaks of the tower, not of the light.",
    "created_at": "2026-03-01T09:30:00Z",
    "decontext": CLAIM,
    "description": "Answers about lighthouses.",
    "detail": "A human-readable explanation.",
    "display_name": "Ada Byrne",
    "document": "h7w2n5t8c3ra",
    "email": "ada@example.org",
    "factuality": "true",
    "field": "type",
    "filename": "answers.jsonl",
    "format": "jsonl",
    "id": "p4d7k3xq9m2v",
    "model": "model-x",
    "name": "Lighthouses",
    "next": None,
    "note": "Defines claims about a date.",
    "number": 1,
    "passage": PASSAGE,
    "previous": None,
    "prompt": PROMPT,
    "query": "Hook Head lighthouse first lit",
    "reason": "The answer is about another tower.",
    "replacement": "1240",
    "response": RESPONSE,
    "share": 0.5,
    "slug": "lighthouses",
    "source": "guide-books",
    "stage": "decompose",
    "start": 4,
    "end": 8,
    "strategy": "offline",
    "text": CLAIM,
    "title": "Hook Head",
    "url": "https://lights.example/hook-head",
    "username": "ada",
    "value": "checkworthy",
    "version": 3,
}
BY_FORMAT = {
    "date": "2026-03-01",
    "date-time": "2026-03-01T09:30:00Z",
    "uri": "https://lights.example/hook-head",
    "email": "ada@example.org",
}
DEEPEST = 20  # for schemas that refer to themselves


def example_of(schema: Mapping[str, Any], schemas: Mapping[str, Any], name: str = "", depth: int = 0) -> Any:
    """A value that matches the schema. ``schemas``: the targets of references; ``name``: the field's."""
    if depth > DEEPEST:
        return None
    if "$ref" in schema:
        return example_of(schemas[schema["$ref"].rsplit("/", 1)[-1]], schemas, name, depth + 1)
    if "example" in schema:
        return schema["example"]
    for several in ("allOf", "oneOf", "anyOf"):
        if several in schema:
            return example_of(schema[several][0], schemas, name, depth)
    if "enum" in schema:
        known = BY_NAME.get(name)
        return known if known in schema["enum"] else schema["enum"][0]
    types = schema.get("type", [])
    types = types if isinstance(types, list) else [types]
    kind = next((each for each in types if each != "null"), "")
    return _of_type(kind, schema, schemas, name, depth, may_be_null="null" in types)


def _of_type(
    kind: str, schema: Mapping[str, Any], schemas: Mapping[str, Any], name: str, depth: int, *, may_be_null: bool
) -> Any:
    if kind == "object":
        return {
            each: example_of(found, schemas, each, depth + 1) for each, found in schema.get("properties", {}).items()
        }
    if kind == "array":
        return [example_of(schema.get("items", {}), schemas, name, depth + 1)] * schema.get("minItems", 1)
    known = BY_NAME.get(name)
    if kind == "string":
        if known is None and may_be_null:
            return None
        made = BY_FORMAT.get(schema.get("format", ""))
        text = made or (known if isinstance(known, str) else name.replace("_", " "))
        return text[: schema.get("maxLength", len(text))]
    if kind == "integer":
        number = known if isinstance(known, int) else 1
        return min(max(number, schema.get("minimum", number)), schema.get("maximum", number))
    if kind == "number":
        return known if isinstance(known, float) else 0.5
    if kind == "boolean":
        return True
    return known
