"""The search of a MediaWiki: Wikipedia by default, or any other."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urljoin

from pipeline.clients.base import SearchRequest, SearchResult
from pipeline.clients.http import Provider
from pipeline.clients.search.results import day_of, items, listed, result, text_of

MAX_RESULTS = 50
MAX_CHARACTERS = 300  # CirrusSearch refuses longer queries


class MediaWikiSearch(Provider):
    """A Search over a MediaWiki.

    A wiki has no dates of publication but keeps every version. With a date limit each result is the version of its day
    (one more call a result): its permanent address, which is what a page fetched from it reads. Articles that did not
    exist yet are dropped. The snippet is today's, so it is left out.
    """

    NAME = "MediaWiki"
    ADVICE = "Check that SEARCH_URL is the address of the wiki's api.php."
    URL = "https://en.wikipedia.org/w/api.php"

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        """Best first, at most 50. Raises ServiceError."""
        answer = await self._service.get(
            {
                "action": "query",
                "format": "json",
                "formatversion": "2",
                "list": "search",
                "srsearch": request.query[:MAX_CHARACTERS],
                "srlimit": str(min(request.count, MAX_RESULTS)),
                "srprop": "snippet",
                "meta": "siteinfo",
            }
        )
        wiki = answer.get("query", {}).get("general", {}) if isinstance(answer, dict) else {}
        hits = items(answer, "query", "search")
        found = [self._article(each, wiki) for each in hits]
        if request.before:
            before = request.before
            found = await asyncio.gather(
                *(
                    self._as_of(str(hit.get("title")), article, wiki, before)
                    for hit, article in zip(hits, found, strict=True)
                    if article is not None
                )
            )
        return listed(found, request)

    def _article(self, hit: Mapping[str, Any], wiki: Mapping[str, Any]) -> SearchResult | None:
        title = str(hit.get("title") or "")
        path = str(wiki.get("articlepath") or "/wiki/$1").replace("$1", quote(title.replace(" ", "_"), safe="/:@,()"))
        return result(
            url=urljoin(self._server(wiki), path),
            title=title,
            snippet=hit.get("snippet"),
            site=wiki.get("sitename"),
        )

    async def _as_of(
        self, title: str, article: SearchResult, wiki: Mapping[str, Any], before: dt.date
    ) -> SearchResult | None:
        """The article's last version before that day; None if it is younger."""
        answer = await self._service.get(
            {
                "action": "query",
                "format": "json",
                "formatversion": "2",
                "prop": "revisions",
                "titles": title,
                "rvprop": "ids|timestamp",
                "rvlimit": "1",
                "rvdir": "older",
                "rvstart": f"{before - dt.timedelta(days=1)}T23:59:59Z",
            }
        )
        for page in items(answer, "query", "pages"):
            for version in items(page, "revisions"):
                script = str(wiki.get("script") or "/w/index.php")
                address = urljoin(self._server(wiki), f"{script}?oldid={int(version['revid'])}")
                return replace(article, url=address, snippet="", published=day_of(version.get("timestamp")))
        return None

    def _server(self, wiki: Mapping[str, Any]) -> str:
        """The wiki's own address, which may leave out http or https."""
        return urljoin(self.url, text_of(wiki.get("server")) or "/")
