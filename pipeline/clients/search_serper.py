"""Google's results by serper.dev."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import httpx

from pipeline.clients.base import SearchRequest, SearchResult
from pipeline.clients.http import Patience, Service
from pipeline.clients.limiter import Limiter
from pipeline.clients.results import day_of, items, listed, result

URL = "https://google.serper.dev/search"


class SerperSearch:
    """A Search over Serper. The date limit is Google's own custom range."""

    def __init__(
        self, client: httpx.AsyncClient, limiter: Limiter, *, url: str = "", key: str, patience: Patience | None = None
    ) -> None:
        self.url = url or URL
        self._service = Service(
            client=client,
            limiter=limiter,
            name="Serper",
            url=self.url,
            advice="Check SEARCH_KEY and the account's credits.",
            key=key,
            headers={"X-API-KEY": key},
            seconds=30,
            patience=patience or Patience(total=120),
        )

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
