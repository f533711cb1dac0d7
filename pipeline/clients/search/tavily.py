"""Tavily's search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.clients.base import SearchRequest, SearchResult
from pipeline.clients.http import Provider
from pipeline.clients.search.results import day_of, items, listed, result

MAX_CHARACTERS = 400  # longer queries are refused
MAX_RESULTS = 20


class TavilySearch(Provider):
    """A Search over Tavily. Snippets are the parts of a page that answer the query best."""

    NAME = "Tavily"
    ADVICE = "Check SEARCH_KEY and the account's credits."
    URL = "https://api.tavily.com/search"

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        """Best first, at most 20. Raises ServiceError."""
        body: dict[str, Any] = {
            "query": request.query[:MAX_CHARACTERS],
            "max_results": min(request.count, MAX_RESULTS),
            "search_depth": "basic",
        }
        if request.before:
            body["end_date"] = request.before.isoformat()
        answer = await self._service.post(body)
        return listed(
            (
                result(
                    url=each.get("url"),
                    title=each.get("title"),
                    snippet=each.get("content"),
                    published=day_of(each.get("published_date")),
                )
                for each in items(answer, "results")
            ),
            request,
        )
