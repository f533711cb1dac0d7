"""Search services: Serper, Brave, Tavily, Exa, Jina, SearXNG, DuckDuckGo, MediaWiki. All know the same articles, given
as ``Hit``."""

from __future__ import annotations

import datetime as dt
import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.fakes.server import Call, FakeServer, Reply, as_json


@dataclass(frozen=True, slots=True)
class Hit:
    """One article that can be found."""

    url: str
    title: str
    snippet: str
    published: dt.date | None = None


# A query to what is found for it, best first.
Finds = Callable[[str], Sequence[Hit]]

_MARKED = '<span class="searchmatch">fort</span>'
ARTICLES = (
    Hit("https://example.org/fort", "The fort of Ema", "The fort of Ema was built in 1820.", dt.date(2020, 5, 1)),
    Hit("https://example.org/bees", "Bees", "Bees dance to show where flowers are.", dt.date(2023, 3, 9)),
    Hit("https://www.example.net/ema", "Ema today", "Ema has 4,000 inhabitants & a fort."),
)


class FakeSearch(FakeServer):
    """What they have in common."""

    def __init__(self, finds: Finds | None = None, *, latency: float = 0.0, key: str = "") -> None:
        super().__init__(latency=latency)
        self.finds = finds or (lambda query: ARTICLES if query.strip() else ())
        self.key = key


class FakeSerper(FakeSearch):
    """POST /search with X-API-KEY; the date limit by ``tbs``."""

    def answer(self, call: Call) -> Reply:
        if call.method != "POST" or call.path != "/search":
            return as_json({"message": "Not Found", "statusCode": 404}, 404)
        if call.headers.get("x-api-key") != self.key:
            return as_json({"message": "Unauthorized.", "statusCode": 403}, 403)
        request = call.json()
        last = None
        if "tbs" in request:
            month, day, year = request["tbs"].removeprefix("cdr:1,cd_max:").split("/")
            last = dt.date(int(year), int(month), int(day))
        organic: list[dict[str, Any]] = []
        for hit in self.finds(request["q"]):
            if last and (hit.published is None or hit.published > last):
                continue
            row: dict[str, Any] = {"title": hit.title, "link": hit.url, "snippet": hit.snippet}
            if hit.published:
                row["date"] = f"{hit.published:%b} {hit.published.day}, {hit.published.year}"
            organic.append({**row, "position": len(organic) + 1})
        asked = {"q": request["q"], "type": "search"}
        return as_json({"searchParameters": asked, "organic": organic[: request["num"]], "credits": 1})


class FakeBrave(FakeSearch):
    """GET /res/v1/web/search with X-Subscription-Token; the date limit by ``freshness``; long queries are refused."""

    def answer(self, call: Call) -> Reply:
        if call.path != "/res/v1/web/search":
            return as_json({"error": {"detail": "Not found"}}, 404)
        if call.headers.get("x-subscription-token") != self.key:
            detail = "The provided subscription token is invalid."
            return as_json({"type": "ErrorResponse", "error": {"status": 422, "detail": detail}}, 422)
        query = call.query["q"]
        if len(query) > 400 or len(query.split()) > 50 or int(call.query["count"]) > 20:
            detail = "Unable to validate request parameter(s)"
            return as_json({"type": "ErrorResponse", "error": {"status": 422, "detail": detail}}, 422)
        first, _, last = call.query.get("freshness", "1900-01-01to9999-12-31").partition("to")
        limited = "freshness" in call.query
        rows = [
            {
                "type": "search_result",
                "title": hit.title,
                "url": hit.url,
                "description": f"<strong>{hit.snippet}</strong>".replace("&", "&amp;"),
                "page_age": f"{hit.published}T08:30:00" if hit.published else None,
                "profile": {"name": "Example"},
            }
            for hit in self.finds(query)
            if not limited or (hit.published and dt.date.fromisoformat(first) <= hit.published)
            if not limited or (hit.published and hit.published <= dt.date.fromisoformat(last))
        ]
        web = {"type": "search", "results": rows[: int(call.query["count"])]}
        return as_json({"type": "search", "query": {"original": query}, "web": web})


class FakeTavily(FakeSearch):
    """POST /search with a bearer token; results from before ``end_date``; long queries are refused."""

    def answer(self, call: Call) -> Reply:
        if call.method != "POST" or call.path != "/search":
            return as_json({"detail": "Not Found"}, 404)
        if call.headers.get("authorization") != f"Bearer {self.key}":
            return as_json({"detail": {"error": "Unauthorized: missing or invalid API key."}}, 401)
        request = call.json()
        if len(request["query"]) > 400 or not 0 <= request["max_results"] <= 20:
            return as_json({"detail": {"error": "Query is too long. Max query length is 400 characters."}}, 400)
        last = dt.date.fromisoformat(request.get("end_date", "9999-12-31"))
        rows = [
            {
                "url": hit.url,
                "title": hit.title,
                "content": hit.snippet,
                "score": 0.9,
                "raw_content": None,
                **({"published_date": f"{hit.published:%a, %d %b %Y} 00:00:00 GMT"} if hit.published else {}),
            }
            for hit in self.finds(request["query"])
            if "end_date" not in request or (hit.published and hit.published < last)
        ]
        found = rows[: request["max_results"]]
        return as_json({"query": request["query"], "answer": None, "images": [], "results": found, "response_time": 1})


class FakeExa(FakeSearch):
    """POST /search with x-api-key; results published up to ``endPublishedDate``."""

    def answer(self, call: Call) -> Reply:
        if call.method != "POST" or call.path != "/search":
            return as_json({"error": "Not found"}, 404)
        if call.headers.get("x-api-key") != self.key:
            return as_json({"requestId": "r", "error": "Invalid API key", "tag": "INVALID_API_KEY"}, 401)
        request = call.json()
        last = request.get("endPublishedDate", "9999-12-31T23:59:59.999Z")
        rows = [
            {
                "id": hit.url,
                "url": hit.url,
                "title": hit.title,
                "publishedDate": f"{hit.published}T00:00:00.000Z" if hit.published else None,
                "author": "",
                "highlights": [hit.snippet] if "highlights" in request.get("contents", {}) else [],
                "highlightScores": [0.4],
            }
            for hit in self.finds(request["query"])
            if "endPublishedDate" not in request or (hit.published and f"{hit.published}T00:00:00.000Z" <= last)
        ]
        return as_json({"requestId": "r", "resolvedSearchType": "neural", "results": rows[: request["numResults"]]})


class FakeJina(FakeSearch):
    """POST / with a bearer token; JSON and no texts of pages only if the headers ask for it; no range of dates."""

    def answer(self, call: Call) -> Reply:
        if call.path != "/":
            return as_json({"data": None, "code": 404, "name": "NotFound", "message": "Not found"}, 404)
        if call.headers.get("authorization") != f"Bearer {self.key}":
            said = {"code": 401, "name": "AuthenticationRequiredError", "message": "Authentication is required"}
            return as_json({"data": None, **said}, 401)
        if call.headers.get("accept") != "application/json":
            return Reply(200, b"[1] Title: The fort of Ema", {"Content-Type": "text/plain"})
        request = call.json()
        rows = [
            {
                "title": hit.title,
                "url": hit.url,
                "description": hit.snippet,
                "content": "" if call.headers.get("x-respond-with") == "no-content" else hit.snippet * 40,
                **({"date": f"{hit.published:%b} {hit.published.day}, {hit.published.year}"} if hit.published else {}),
                "usage": {"tokens": 1000},
            }
            for hit in self.finds(request["q"])
        ]
        return as_json({"code": 200, "status": 20000, "data": rows[: request["num"]]})


class FakeSearxng(FakeSearch):
    """GET /search?format=json, which the server's settings must allow; no range of dates."""

    def __init__(
        self, finds: Finds | None = None, *, latency: float = 0.0, key: str = "", formats: tuple[str, ...] = ("json",)
    ) -> None:
        super().__init__(finds, latency=latency, key=key)
        self.formats = formats

    def answer(self, call: Call) -> Reply:
        if call.path != "/search":
            return Reply(404, b"Not Found", {"Content-Type": "text/html"})
        if call.query.get("format") not in self.formats:
            return Reply(403, b"<!doctype html><title>403 Forbidden</title>", {"Content-Type": "text/html"})
        rows = [
            {
                "url": hit.url,
                "title": hit.title,
                "content": hit.snippet,
                "publishedDate": f"{hit.published}T00:00:00" if hit.published else None,
                "engine": "duckduckgo",
                "score": 1.0,
            }
            for hit in self.finds(call.query["q"])
        ]
        return as_json({"query": call.query["q"], "number_of_results": 0, "results": rows, "answers": []})


class FakeDuckDuckGo(FakeSearch):
    """GET /html/: a page of results whose links lead over a counting page; the date limit by ``df``."""

    def answer(self, call: Call) -> Reply:
        if call.path != "/html/":
            return Reply(404, b"<html>Not Found</html>", {"Content-Type": "text/html"})
        last = call.query.get("df", "1990-01-01..9999-12-31").partition("..")[2]
        limited = "df" in call.query
        shown = "".join(
            f"""<div class="result results_links web-result"><div class="links_main result__body">
<h2 class="result__title"><a rel="nofollow" class="result__a"
 href="//duckduckgo.com/l/?uddg={quote(hit.url, safe="")}&amp;rut=ab12">{html.escape(hit.title)}</a></h2>
<div class="result__extras"><div class="result__extras__url"><span class="result__icon"><img src="//x.ico"/></span>
<a class="result__url" href="#">{hit.url.removeprefix("https://")}</a>
{f"<span>&nbsp; &nbsp; {hit.published}T00:00:00.0000000</span>" if hit.published else ""}</div></div>
<a class="result__snippet" href="#">{html.escape(hit.snippet).replace("fort", "<b>fort</b>")}</a></div></div>"""
            for hit in self.finds(call.query["q"])
            if not limited or (hit.published and f"{hit.published}" <= last)
        )
        page = f'<!DOCTYPE html><html><body><div id="links" class="results">{shown}</div></body></html>'
        return Reply(200, page.encode(), {"Content-Type": "text/html; charset=UTF-8"})


class FakeMediaWiki(FakeSearch):
    """GET /w/api.php: search, and the version of an article at a time. An article's ``published`` is the day of its
    first version; it has one a year since."""

    def answer(self, call: Call) -> Reply:
        if call.path != "/w/api.php" or call.query.get("action") != "query":
            return Reply(404, b"Not Found", {"Content-Type": "text/html"})
        asked = call.query
        if asked.get("list") == "search":
            rows = [
                {
                    "ns": 0,
                    "title": hit.title,
                    "pageid": place,
                    "snippet": hit.snippet.replace("&", "&amp;").replace("fort", _MARKED),
                }
                for place, hit in enumerate(self.finds(asked["srsearch"]), start=1)
            ]
            general = {
                "sitename": "Fake wiki",
                "server": f"//127.0.0.1:{self.port}",
                "articlepath": "/wiki/$1",
                "script": "/w/index.php",
            }
            return as_json({"query": {"general": general, "search": rows[: int(asked["srlimit"])]}})
        [hit] = [hit for hit in self.finds(asked["titles"]) if hit.title == asked["titles"]]
        start = dt.date.fromisoformat(asked["rvstart"][:10])
        page: dict[str, Any] = {"pageid": 1, "ns": 0, "title": hit.title}
        if hit.published and hit.published <= start:
            years = (start - hit.published).days // 365
            day = hit.published + dt.timedelta(days=365 * years)
            page["revisions"] = [{"revid": 1000 + years, "parentid": 0, "timestamp": f"{day}T12:00:00Z"}]
        return as_json({"query": {"pages": [page]}})
