"""The Brave Search API."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from pipeline.clients.base import SearchRequest, SearchResult
from pipeline.clients.http import Provider
from pipeline.clients.search.results import day_of, items, listed, result

# Longer queries are refused.
MAX_CHARACTERS = 400
MAX_WORDS = 50
MAX_RESULTS = 20
# The range of "freshness" needs a beginning; nothing on the web is older.
_FIRST_DAY = dt.date(1990, 1, 1)


class BraveSearch(Provider):
    """A Search over Brave. The date limit is its range of freshness."""

    NAME = "Brave Search"
    ADVICE = "Check SEARCH_KEY and what its plan allows."
    URL = "https://api.search.brave.com/res/v1/web/search"

    def headers(self, key: str) -> dict[str, str]:
        return {"X-Subscription-Token": key, "Accept": "application/json"}

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        """Best first, at most 20. Queries are cut to the 50 words and 400 characters that Brave takes. Raises
        ServiceError."""
        parameters = {
            "q": shortened(request.query),
            "count": str(min(request.count, MAX_RESULTS)),
            "text_decorations": "false",
            "result_filter": "web",
        }
        if request.before:
            parameters["freshness"] = f"{_FIRST_DAY}to{request.before - dt.timedelta(days=1)}"
        answer = await self._service.get(parameters)
        return listed(
            (
                result(
                    url=each.get("url"),
                    title=each.get("title"),
                    snippet=each.get("description"),
                    site=(each.get("profile") or {}).get("name"),
                    published=day_of(each.get("page_age")),
                )
                for each in items(answer, "web", "results")
            ),
            request,
        )


def shortened(query: str) -> str:
    """The query as far as Brave takes it, cut between words."""
    words = query.split()[:MAX_WORDS]
    while len(words) > 1 and len(" ".join(words)) > MAX_CHARACTERS:
        words.pop()
    return " ".join(words)[:MAX_CHARACTERS]
