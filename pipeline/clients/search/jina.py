"""Jina's search."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.clients.base import SearchRequest, SearchResult
from pipeline.clients.http import Provider, bearer
from pipeline.clients.search.results import day_of, items, listed, result

MAX_RESULTS = 20


class JinaSearch(Provider):
    """A Search over Jina, without the texts of pages. It knows no range of dates: results that tell a later day are
    dropped, those that tell none stay."""

    NAME = "Jina"
    ADVICE = "Check SEARCH_KEY and the account's tokens."
    URL = "https://s.jina.ai/"

    def headers(self, key: str) -> dict[str, str]:
        return {**bearer(key), "Accept": "application/json", "X-Respond-With": "no-content"}

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        """Best first, at most 20. Raises ServiceError."""
        answer = await self._service.post({"q": request.query, "num": min(request.count, MAX_RESULTS)})
        return listed(
            (
                result(
                    url=each.get("url"),
                    title=each.get("title"),
                    snippet=each.get("description") or each.get("content"),
                    published=day_of(each.get("date")),
                )
                for each in items(answer, "data")
            ),
            request,
        )
