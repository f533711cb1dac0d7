"""The API's description, arranged for people to read in the browser."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator

METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter of a URL or a field of a body."""

    name: str
    type: str
    required: bool
    description: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one URL."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    parameters: list[Field] = field(default_factory=list)
    body: list[Field] = field(default_factory=list)
    body_example: str = ""
    answer_status: str = ""
    answer: list[Field] = field(default_factory=list)
    answer_example: str = ""


@lru_cache(maxsize=1)
def api_reference() -> dict[str, list[Operation]]:
    """The operations by tag. They depend only on the code, so each process reads them once."""
    schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return arranged(json.loads(json.dumps(schema, default=str)))


def arranged(schema: Mapping[str, Any]) -> dict[str, list[Operation]]:
    """The operations of an OpenAPI description by their first tag, in the order of the description."""
    found: dict[str, list[Operation]] = {}
    for path, methods in schema["paths"].items():
        for method in METHODS:
            if method in methods:
                found.setdefault(methods[method]["tags"][0], []).append(_operation(schema, path, method))
    return found


def _operation(schema: Mapping[str, Any], path: str, method: str) -> Operation:
    given = schema["paths"][path][method]
    parameters = [
        Field(
            f"{each['name']} ({each['in']})", type_of(schema, each.get("schema", {})), each.get("required", False),
            each.get("description", ""),
        )
        for each in given.get("parameters", [])
    ]  # fmt: skip
    body = _content(given.get("requestBody", {}))
    status = next((code for code in given["responses"] if code.startswith("2")), "")
    answer = _content(given["responses"].get(status, {}))
    return Operation(
        id=given["operationId"],
        method=method.upper(),
        path=path,
        summary=given.get("summary", ""),
        description=given.get("description", ""),
        parameters=parameters,
        body=list(_members(schema, body.get("schema", {}))),
        body_example=_example(body),
        answer_status=status,
        answer=list(_members(schema, answer.get("schema", {}))),
        answer_example=_example(answer),
    )


def _content(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """The content of the first media type."""
    return next(iter(part.get("content", {}).values()), {})


def _example(content: Mapping[str, Any]) -> str:
    examples = [each.get("value") for each in content.get("examples", {}).values()]
    shown = content.get("example", examples[0] if examples else None)
    return "" if shown is None else json.dumps(shown, indent=2, ensure_ascii=False)


def _resolved(schema: Mapping[str, Any], part: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part itself, or the target of its reference."""
    while "$ref" in part:
        target: Mapping[str, Any] = schema
        for step in part["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        part = target
    return part


def _members(schema: Mapping[str, Any], part: Mapping[str, Any]) -> Iterator[Field]:
    """The fields of an object, or of the objects in a list."""
    whole = _resolved(schema, part)
    if whole.get("type") == "array":
        whole = _resolved(schema, whole.get("items", {}))
    required = set(whole.get("required", []))
    for name, member in whole.get("properties", {}).items():
        description = member.get("description", "") or _resolved(schema, member).get("description", "")
        yield Field(name, type_of(schema, member), name in required, description)


def type_of(schema: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    """A type in words: "string", "list of Claim", "one of true, false, not_enough_evidence"."""
    for several in ("oneOf", "anyOf", "allOf"):
        if several in part:
            return " or ".join(dict.fromkeys(type_of(schema, each) for each in part[several]))
    whole = _resolved(schema, part)
    if "enum" in whole:
        return "one of " + ", ".join("null" if each is None else str(each) for each in whole["enum"])
    if "$ref" in part and whole.get("type") == "object":
        return str(part["$ref"]).rsplit("/", 1)[-1]
    kind = whole.get("type", "any")
    if kind == "array":
        return f"list of {type_of(schema, whole.get('items', {}))}"
    words = " or ".join(kind) if isinstance(kind, list) else str(kind)
    return f"{words} ({whole['format']})" if "format" in whole else words
