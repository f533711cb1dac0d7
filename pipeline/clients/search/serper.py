"""Google's results by serper.dev."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from pipeline.clients.base import SearchRequest, SearchResult
from pipeline.clients.http import Provider
from pipeline.clients.search.results import day_of, items, listed, result


class SerperSearch(Provider):
    """A Search over Serper. The date limit is Google's own custom range."""

    NAME = "Serper"
    ADVICE = "Check SEARCH_KEY and the account's credits."
    URL = "https://google.serper.dev/search"

    def headers(self, key: str) -> dict[str, str]:
        return {"X-API-KEY": key}

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        """Best first, at most 100. Raises ServiceError."""
        body: dict[str, Any] = {"q": request.query, "num": min(request.count, 100)}
        if request.before:
            last = request.before - dt.timedelta(days=1)  # Google's range includes its end
            body["tbs"] = f"cdr:1,cd_max:{last:%m/%d/%Y}"
        answer = await self._service.post(body)
        return listed(
            (
                result(
                    url=each.get("link"),
                    title=each.get("title"),
                    snippet=each.get("snippet"),
                    published=day_of(each.get("date")),
                )
                for each in items(answer, "organic")
            ),
            request,
        )
