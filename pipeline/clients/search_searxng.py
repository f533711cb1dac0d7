"""A SearXNG server of one's own."""

from __future__ import annotations

from collections.abc import Sequence

import httpx

from pipeline.clients.base import SearchRequest, SearchResult
from pipeline.clients.http import Patience, Service, bearer, endpoint
from pipeline.clients.limiter import Limiter
from pipeline.clients.results import day_of, items, listed, result


class SearxngSearch:
    """A Search over SearXNG. It knows no range of dates: results that tell a later day are dropped, those that tell
    none stay."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        limiter: Limiter,
        *,
        url: str,
        key: str = "",
        patience: Patience | None = None,
    ) -> None:
        self.url = endpoint(url, "search", version="")
        self._service = Service(
            client=client,
            limiter=limiter,
            name="SearXNG",
            url=self.url,
            advice="Check SEARCH_URL, and that “json” is among search.formats in the server's settings.yml.",
            key=key,
            headers=bearer(key),
            seconds=30,
            patience=patience or Patience(total=120),
        )

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
