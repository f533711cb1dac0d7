"""A SearXNG server of one's own."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.clients.base import SearchRequest, SearchResult
from pipeline.clients.http import Provider, endpoint
from pipeline.clients.search.results import day_of, items, listed, result


class SearxngSearch(Provider):
    """A Search over SearXNG. It knows no range of dates: results that tell a later day are dropped, those that tell
    none stay."""

    NAME = "SearXNG"
    ADVICE = "Check SEARCH_URL, and that “json” is among search.formats in the server's settings.yml."

    def address(self, url: str) -> str:
        return endpoint(url, "search", version="")

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        """Best first, of the server's first page of results. Raises ServiceError."""
        answer = await self._service.get({"q": request.query, "format": "json"})
        return listed(
            (
                result(
                    url=each.get("url"),
                    title=each.get("title"),
                    snippet=each.get("content"),
                    published=day_of(each.get("publishedDate")),
                )
                for each in items(answer, "results")
            ),
            request,
        )
