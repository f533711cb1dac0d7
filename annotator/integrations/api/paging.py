"""Keyset pagination: an opaque cursor that stays valid while rows come and go."""

from __future__ import annotations

from typing import Any, cast

from drf_spectacular.utils import inline_serializer
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core.queries.documents import DocumentPage
from annotator.integrations.api.fields import Input

SIZE, MOST = 50, 200


class PageInput(Input):
    """Which page, and its length."""

    cursor = serializers.CharField(
        allow_blank=True, default="", max_length=500, help_text="The cursor from another page’s next or previous link."
    )
    size = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST, help_text=f"Rows per page; default {SIZE}."
    )


class CursorPages(CursorPagination):
    """Pages of a query set sorted by one column."""

    page_size, max_page_size, page_size_query_param, cursor_query_param = SIZE, MOST, "size", "cursor"
    invalid_cursor_message = "Invalid cursor. Start again without one."

    def cut(self, rows: Any, request: Request, view: Any, *, order: str = "-pk") -> list[Any]:
        """One page of the rows. Raises NotFound for an invalid cursor."""
        self.ordering = (order,)
        try:
            return cast(list[Any], self.paginate_queryset(rows, request, view))
        except (ValueError, OverflowError):
            raise NotFound(self.invalid_cursor_message) from None

    def decode_cursor(self, request: Request) -> Cursor | None:
        """The position a cursor names; None for a blank one, the first page. Raises NotFound if there is no such
        row."""
        if not request.query_params.get(self.cursor_query_param):
            return None
        cursor = super().decode_cursor(request)
        if cursor is not None and cursor.position is None:
            raise NotFound(self.invalid_cursor_message)
        return cursor

    def get_ordering(self, request: Request, queryset: Any, view: Any) -> tuple[str, ...]:
        return cast(tuple[str, ...], self.ordering)

    def answer(self, found: Any) -> Response:
        """The page's serialized rows, with links to the previous and next pages."""
        return self.get_paginated_response(found)

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"next": self.get_next_link(), "previous": self.get_previous_link(), "results": data})


class DocumentPages(CursorPages):
    """The same for documents, whose query pages itself (a hidden copy replaces its gold)."""

    found: DocumentPage

    def keys(self, request: Request) -> tuple[int, int]:
        """The keys of the rows after and before the page; 0: none. Raises NotFound."""
        self.base_url = request.build_absolute_uri()
        cursor = self.decode_cursor(request)
        if cursor is None:
            return 0, 0
        position = str(cursor.position or "")
        if not position.isdecimal() or len(position) > 18:
            raise NotFound(self.invalid_cursor_message)
        key = int(position)
        return (0, key) if cursor.reverse else (key, 0)

    def get_next_link(self) -> str | None:
        return self.encode_cursor(Cursor(0, False, self.found.after)) if self.found.after else None

    def get_previous_link(self) -> str | None:
        return self.encode_cursor(Cursor(0, True, self.found.before)) if self.found.before else None


def paged(row: type[serializers.Serializer]) -> serializers.Serializer:
    """The schema of a page of such rows."""
    name = row.__name__.removesuffix("Serializer")
    return inline_serializer(
        f"{name}Page",
        {
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
            "results": row(many=True),
        },
    )
