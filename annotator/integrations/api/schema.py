"""The API's OpenAPI 3.1 description: how views describe themselves, and what applies to all of them.

Each view gives its name, a sentence, its body and its response (``operation``). The hook below adds the possible errors
to every operation, and an example made from the fields' examples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from drf_spectacular.authentication import SessionScheme as _SessionScheme
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiParameter, extend_schema

from annotator.integrations.api.examples import example_of
from annotator.integrations.api.problems import CONTENT_TYPE, problem

F = TypeVar("F", bound=Callable[..., Any])

# Descriptions of errors, for the clients that get them.
REFUSALS: dict[int, str] = {
    400: "The request couldn’t be parsed, or some fields are invalid (see errors).",
    401: "Authentication is missing, or the token is invalid.",
    403: "You don’t have permission; detail says why and who can help.",
    404: "Not found, or you don’t have access to it.",
    406: "The response isn’t available in a format that Accept allows.",
    409: "The request conflicts with the current state: already done, or done by someone else at the same time.",
    412: "Edit conflict: current is the saved value, yours is the value you sent. Nothing was saved.",
    413: "The body is too large.",
    415: "The body’s media type isn’t supported.",
    422: "A value is well formed but invalid; detail says why.",
    428: "If-Match is missing. Send the version you read.",
    429: "Too many requests; Retry-After says when to retry.",
    503: "The database is busy or away; Retry-After says when to retry. Nothing was changed.",
}

PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "An error (RFC 9457).",
    "required": ["type", "title", "status", "detail", "instance"],
    "properties": {
        "type": {"type": "string", "description": "The type of error."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "A human-readable explanation."},
        "instance": {"type": "string", "description": "The requested address."},
        "errors": {
            "type": "object",
            "description": "Error messages by field.",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
        "missing": {
            "type": "array",
            "description": "Required answers that are missing, each with the row it belongs to.",
            "items": {
                "type": "object",
                "required": ["text", "row"],
                "properties": {"text": {"type": "string"}, "row": {"type": "string"}},
            },
        },
        "current": {"description": "412: the saved value."},
        "yours": {"description": "412: the value that you sent."},
        "version": {"type": "integer", "description": "412: the saved version."},
    },
}

NO_NULL = r"^[^\u0000]*$"

IF_MATCH = OpenApiParameter(
    "If-Match",
    {"type": "string", "pattern": '^"[0-9]{1,9}"$'},
    OpenApiParameter.HEADER,
    required=True,
    description="The version you read: its ETag, or its version in quotation marks.",
)


def operation(
    name: str,
    summary: str,
    tag: str,
    *,
    answer: Any = None,
    status: int | None = None,
    body: Any = None,
    query: Any = None,
    needs_version: bool = False,
    may_be_queued: bool = False,
) -> Callable[[F], F]:
    """Describes one method of a view. Without an ``answer`` it answers 204 with nothing; ``may_be_queued``: where a
    worker is to do it, 202 with the same ``answer``."""
    parameters = [each for each in (query, IF_MATCH if needs_version else None) if each is not None]
    code = status or (200 if answer is not None else 204)
    return extend_schema(
        operation_id=name,
        summary=summary,
        tags=[tag],
        parameters=parameters,
        request=body,
        responses={code: answer} | ({202: answer} if may_be_queued else {}),
    )


class TokenScheme(OpenApiAuthenticationExtension):
    """How a token is sent."""

    target_class = "annotator.integrations.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "One of your tokens, with the required scopes."}


class SessionScheme(_SessionScheme):
    """The session cookie of the pages."""

    target_class = "annotator.integrations.api.base.Session"
    name = "session"


# --- what holds for every operation ---------------------------------------------------------------


def complete(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Postprocessing hook: adds errors and examples to every operation."""
    schemas: dict[str, Any] = result["components"]["schemas"]
    schemas["Problem"] = PROBLEM
    seen: set[str] = set()
    result["components"]["responses"] = {_name_of(code): _refusal(code) for code in REFUSALS}
    for path, item in result["paths"].items():
        for method, found in item.items():
            _add_refusals(found, path, method)
            _add_examples(found, schemas)
            for sent in _sent(found):
                _forbid_null(sent, schemas, seen)
    return result


def _sent(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The schemas of a request: its query parameters and its body."""
    query = [each["schema"] for each in found.get("parameters", []) if each["in"] == "query"]
    return query + [media["schema"] for media in found.get("requestBody", {}).get("content", {}).values()]


def _forbid_null(schema: dict[str, Any], schemas: Mapping[str, Any], seen: set[str]) -> None:
    """States that no text may contain a null character, which serializers refuse but don't describe."""
    name = schema.get("$ref", "").rpartition("/")[2]
    if name and name not in seen:
        seen.add(name)
        _forbid_null(schemas[name], schemas, seen)
    is_text = "string" in schema.get("type", ())
    if is_text and not {"format", "enum", "const", "pattern"} & set(schema):
        schema["pattern"] = NO_NULL
    within = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for each in [*within, *(each for word in ("oneOf", "anyOf", "allOf") for each in schema.get(word, ()))]:
        if isinstance(each, dict):
            _forbid_null(each, schemas, seen)


def _add_refusals(found: dict[str, Any], path: str, method: str) -> None:
    """The errors this operation can return."""
    names = {each["name"]: each["in"] for each in found.get("parameters", [])}
    has_body = "requestBody" in found
    codes = {401, 403, 406, 429, 503}
    if "path" in names.values() or "cursor" in names:
        codes.add(404)
    if has_body or "query" in names.values() or "If-Match" in names:
        codes.add(400)
    if any("application/zip" in answer.get("content", {}) for answer in found["responses"].values()):
        codes.add(409)  # a file that isn't ready or has expired
    if method != "get":
        codes |= {400, 404, 409, 415, 422}
    if has_body:
        codes.add(413)
    if "If-Match" in names:
        codes |= {412, 428}
    for code in sorted(codes):
        found["responses"].setdefault(str(code), {"$ref": f"#/components/responses/{_name_of(code)}"})
    found["responses"] = dict(sorted(found["responses"].items()))


def _name_of(code: int) -> str:
    return HTTPStatus(code).phrase.title().replace(" ", "").replace("-", "")


def _refusal(code: int) -> dict[str, Any]:
    example = problem(code, REFUSALS[code], "/api/v1/documents/h7w2n5t8c3ra/")
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        "description": f"{HTTPStatus(code).phrase}. {REFUSALS[code]}",
        "content": {CONTENT_TYPE: {"schema": schema, "example": example}},
    }


def _add_examples(found: dict[str, Any], schemas: Mapping[str, Any]) -> None:
    """Adds an example to each JSON body and each successful response."""
    for code, answer in found["responses"].items():
        if code.startswith("2"):
            for media in answer.get("content", {}).values():
                _add_example(media, schemas)
    for form, media in found.get("requestBody", {}).get("content", {}).items():
        if form == "application/json":
            _add_example(media, schemas)


def _add_example(media: dict[str, Any], schemas: Mapping[str, Any]) -> None:
    if "schema" in media and "examples" not in media:
        media["example"] = example_of(media["schema"], schemas)
