"""DuckDuckGo's page for browsers without scripts, or another server that answers like it. It needs no key."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from html.parser import HTMLParser
from urllib.parse import parse_qs, urljoin, urlsplit

from pipeline.clients.base import SearchRequest, SearchResult, ServiceError
from pipeline.clients.http import Provider
from pipeline.clients.search.results import day_of, listed, result

MAX_CHARACTERS = 490  # it answers longer queries with its own front page
_EARLIEST = dt.date(1990, 1, 1)


class DuckDuckGoSearch(Provider):
    """A Search over the HTML page. Results tell their day seldom; a date limit is asked for as a range, and results
    that tell a later day are dropped."""

    NAME = "DuckDuckGo"
    ADVICE = "Check SEARCH_URL. It blocks frequent requests: lower CALLS_AT_ONCE, or use a service with a key."
    URL = "https://html.duckduckgo.com/html/"

    def headers(self, key: str) -> dict[str, str]:
        return {"Accept": "text/html"}

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        """Best first, of its first page of results. Raises ServiceError."""
        asked = {"q": request.query[:MAX_CHARACTERS], "kl": "wt-wt"}
        if request.before:
            asked["df"] = f"{_EARLIEST}..{request.before - dt.timedelta(days=1)}"
        page = await self._service.get_page(asked)
        if "anomaly" in page and "result__a" not in page:
            raise ServiceError(f"{self._service.where} asked for proof that a person is searching. {self.ADVICE}")
        reader = _Results()
        reader.feed(page)
        reader.close()
        return listed(
            (
                result(
                    url=_target(each["url"]),
                    title=each["title"],
                    snippet=each["snippet"],
                    published=day_of(each["extras"].strip().rpartition(" ")[2]),
                )
                for each in reader.found
            ),
            request,
        )


def _target(address: str) -> str:
    """Where a result leads: its links go by way of a page that counts them."""
    parts = urlsplit(urljoin("https://duckduckgo.com/", address))
    asked = parse_qs(parts.query).get("uddg")
    return asked[0] if asked and parts.path == "/l/" else parts.geturl()


class _Results(HTMLParser):
    """The results of the page, each with the texts of its parts."""

    _PARTS = (("result__a", "title"), ("result__snippet", "snippet"), ("result__extras__url", "extras"))
    _EMPTY = frozenset({"br", "img", "input", "link", "meta", "hr", "wbr"})  # elements that have no end

    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str]] = []
        self._part = ""
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        names = (given.get("class") or "").split()
        if self._part:
            self._depth += tag not in self._EMPTY
            return
        part = next((part for name, part in self._PARTS if name in names), "")
        if part == "title":
            self.found.append({"url": given.get("href") or "", "title": "", "snippet": "", "extras": ""})
        if part and self.found:
            self._part, self._depth = part, 1

    def handle_endtag(self, tag: str) -> None:
        if self._part and tag not in self._EMPTY:
            self._depth -= 1
            if not self._depth:
                self._part = ""

    def handle_data(self, data: str) -> None:
        if self._part:
            self.found[-1][self._part] += data
