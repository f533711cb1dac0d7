"""Files streamed in their own media type."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request

JSONL, ZIP = "application/jsonl", "application/zip"


class AnyForm(DefaultContentNegotiation):
    """A file has its own media type, whatever Accept says; errors are JSON."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


def file_operation(
    name: str, summary: str, tag: str, *, forms: Iterable[str], body: Any = None, query: Any = None
) -> Callable[[Any], Any]:
    """Describes a method that responds with a file of one of these types."""
    answer = OpenApiResponse(OpenApiTypes.BINARY, "The file, as a stream.")
    return extend_schema(
        operation_id=name,
        summary=summary,
        tags=[tag],
        parameters=[query] if query else [],
        request=body,
        responses={(200, form): answer for form in forms},
    )


def file_answer(pieces: Iterable[str | bytes], form: str, name: str, **headers: str) -> StreamingHttpResponse:
    """Stream the file; memory doesn't grow with its size."""
    return StreamingHttpResponse(
        pieces,
        content_type=form,
        headers={"Content-Disposition": f'attachment; filename="{name}"'}
        | {each.replace("_", "-"): value for each, value in headers.items()},
    )
