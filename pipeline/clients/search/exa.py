"""Exa's search."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.clients.base import SearchRequest, SearchResult
from pipeline.clients.http import Provider
from pipeline.clients.search.results import day_of, items, listed, result

MAX_RESULTS = 100
SNIPPET = 500  # characters of a page's highlights


class ExaSearch(Provider):
    """A Search over Exa. Snippets are the highlights of a page for the query, else the beginning of its text."""

    NAME = "Exa"
    ADVICE = "Check SEARCH_KEY and the account's credits."
    URL = "https://api.exa.ai/search"

    def headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key}

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        """Best first, at most 100. Raises ServiceError."""
        body: dict[str, Any] = {
            "query": request.query,
            "numResults": min(request.count, MAX_RESULTS),
            "contents": {"highlights": {"query": request.query, "maxCharacters": SNIPPET}},
        }
        if request.before:
            last = request.before - dt.timedelta(days=1)
            body["endPublishedDate"] = f"{last.isoformat()}T23:59:59.999Z"
        answer = await self._service.post(body)
        return listed(
            (
                result(
                    url=each.get("url"),
                    title=each.get("title"),
                    snippet=_snippet(each),
                    published=day_of(each.get("publishedDate")),
                )
                for each in items(answer, "results")
            ),
            request,
        )


def _snippet(row: Mapping[str, Any]) -> str:
    highlights = row.get("highlights")
    if isinstance(highlights, list):
        found = " … ".join(each for each in highlights if isinstance(each, str) and each.strip())
        if found:
            return found
    text = row.get("text")
    return text[:SNIPPET] if isinstance(text, str) else ""
