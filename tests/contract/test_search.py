"""The search clients, each against its service."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from pipeline.clients.base import SearchClient, SearchRequest, SearchResult, ServiceError
from pipeline.clients.http import Patience, open_client
from pipeline.clients.limiter import Limiter
from pipeline.clients.search.brave import BraveSearch
from pipeline.clients.search.duckduckgo import DuckDuckGoSearch
from pipeline.clients.search.exa import ExaSearch
from pipeline.clients.search.jina import JinaSearch
from pipeline.clients.search.mediawiki import MediaWikiSearch
from pipeline.clients.search.searxng import SearxngSearch
from pipeline.clients.search.serper import SerperSearch
from pipeline.clients.search.tavily import TavilySearch
from tests.contract.variants import variants
from tests.fakes.search import (
    ARTICLES,
    FakeBrave,
    FakeDuckDuckGo,
    FakeExa,
    FakeJina,
    FakeMediaWiki,
    FakeSearch,
    FakeSearxng,
    FakeSerper,
    FakeTavily,
)
from tests.fakes.server import Reply, as_json, broken, cut_off, malformed, too_many

KINDS: dict[str, tuple[type[Any], type[FakeSearch], str]] = {
    "serper": (SerperSearch, FakeSerper, "/search"),
    "brave": (BraveSearch, FakeBrave, "/res/v1/web/search"),
    "tavily": (TavilySearch, FakeTavily, "/search"),
    "exa": (ExaSearch, FakeExa, "/search"),
    "jina": (JinaSearch, FakeJina, "/"),
    "searxng": (SearxngSearch, FakeSearxng, ""),
    "duckduckgo": (DuckDuckGoSearch, FakeDuckDuckGo, "/html/"),
    "mediawiki": (MediaWikiSearch, FakeMediaWiki, "/w/api.php"),
}
NEEDS = {name: ["SEARCH_KEY"] for name in ("serper", "brave", "tavily", "exa", "jina")}
NEEDS |= {"searxng": ["SEARCH_URL"], "duckduckgo": ["SEARCH_URL"], "mediawiki": []}
QUICK = Patience(tries=3, total=10, first_pause=0.01)
QUERY = "When was the fort of Ema built?"


def search(provider: str, url: str, key: str, **request: Any) -> list[SearchResult]:
    async def main() -> list[SearchResult]:
        async with open_client() as client:
            service: SearchClient = KINDS[provider][0](client, Limiter(8), url=url, key=key, patience=QUICK)
            return list(await service.search(SearchRequest(step="test", **{"query": QUERY, **request})))

    return asyncio.run(main())


@contextmanager
def fake(provider: str, **options: Any) -> Iterator[tuple[FakeSearch, str]]:
    _, kind, path = KINDS[provider]
    with kind(key="a key", **options) as server:
        yield server, server.url + path


@pytest.fixture(
    params=[
        pytest.param((kind, name), marks=[pytest.mark.enable_socket] if kind == "real" else [], id=f"{name}-{kind}")
        for name, needs in NEEDS.items()
        for kind in ("fake", "real")[: len(variants(*needs, SEARCH_PROVIDER=name))]
    ]
)
def service(request: pytest.FixtureRequest) -> Iterator[tuple[str, str, str]]:
    kind, provider = request.param
    if kind == "real":
        yield provider, os.environ.get("SEARCH_URL", ""), os.environ.get("SEARCH_KEY", "")
        return
    with fake(provider) as (_, url):
        yield provider, url, "a key"


def test_a_query_finds_pages_with_their_sources(service: tuple[str, str, str]) -> None:
    found = search(*service, query="history of the Eiffel tower fort", count=2)
    assert 1 <= len(found) <= 2
    for each in found:
        assert httpx.URL(each.url).scheme in {"http", "https"}
        assert each.title
        assert each.site
        assert "<" not in each.title + each.snippet
    assert any(each.snippet for each in found)


def test_nothing_published_too_late_is_given(service: tuple[str, str, str]) -> None:
    before = dt.date(2022, 1, 1)
    found = search(*service, query="history of the Eiffel tower fort", before=before)
    assert all(each.published is None or each.published < before for each in found)
    assert "Bees" not in [each.title for each in found]


# --- each against its fake ------------------------------------------------------------------------


@pytest.mark.parametrize("provider", KINDS)
def test_what_was_found_comes_in_order(provider: str) -> None:
    with fake(provider) as (server, url):
        found = search(provider, url, "a key")
        assert len(server.calls) == 1
    assert [each.title for each in found] == [each.title for each in ARTICLES]
    assert [each.snippet for each in found] == [each.snippet for each in ARTICLES]
    if provider == "mediawiki":
        assert found[0].url == f"http://127.0.0.1:{server.port}/wiki/The_fort_of_Ema"
        assert {each.site for each in found} == {"Fake wiki"}
    else:
        assert [each.url for each in found] == [each.url for each in ARTICLES]
        assert [each.published for each in found] == [each.published for each in ARTICLES]


@pytest.mark.parametrize("provider", KINDS)
def test_at_most_as_many_as_wanted(provider: str) -> None:
    with fake(provider) as (_, url):
        assert len(search(provider, url, "a key", count=2)) == 2


@pytest.mark.parametrize("provider", KINDS)
def test_nothing_found_is_no_fault(provider: str) -> None:
    with fake(provider, finds=lambda query: ()) as (_, url):
        assert search(provider, url, "a key") == []


@pytest.mark.parametrize("provider", KINDS)
def test_the_day_itself_is_too_late(provider: str) -> None:
    day = ARTICLES[0].published
    assert day
    with fake(provider) as (_, url):
        on_the_day = [each.title for each in search(provider, url, "a key", before=day)]
        day_after = [each.title for each in search(provider, url, "a key", before=day + dt.timedelta(days=1))]
    assert ARTICLES[0].title not in on_the_day
    assert ARTICLES[0].title in day_after


@pytest.mark.parametrize("provider", ["serper", "brave", "tavily", "exa", "duckduckgo"])
def test_a_range_is_asked_for_where_the_service_knows_one(provider: str) -> None:
    with fake(provider) as (server, url):
        found = search(provider, url, "a key", before=dt.date(2021, 2, 1))
        [call] = server.calls
    # What has no date cannot be in the range, and the service leaves it out.
    assert [each.title for each in found] == ["The fort of Ema"]
    asked = call.query if call.method == "GET" else call.json()
    name, value = {
        "serper": ("tbs", "cdr:1,cd_max:01/31/2021"),
        "brave": ("freshness", "1990-01-01to2021-01-31"),
        "tavily": ("end_date", "2021-02-01"),
        "exa": ("endPublishedDate", "2021-01-31T23:59:59.999Z"),
        "duckduckgo": ("df", "1990-01-01..2021-01-31"),
    }[provider]
    assert asked[name] == value


def test_a_wiki_gives_the_version_of_the_day() -> None:
    with fake("mediawiki") as (server, url):
        found = search("mediawiki", url, "", before=dt.date(2023, 1, 1))
    [fort] = found  # the other articles are younger, or of unknown age
    assert fort.url == f"http://127.0.0.1:{server.port}/w/index.php?oldid=1002"
    assert fort.published == dt.date(2022, 5, 1)
    assert fort.snippet == ""  # today's words are not those of then


@pytest.mark.parametrize("provider", ["brave", "tavily"])
def test_a_service_gets_no_longer_query_than_it_takes(provider: str) -> None:
    with fake(provider) as (server, url):
        for query in ("word " * 80, "longwords " * 45, "x" * 500):
            assert search(provider, url, "a key", query=query)
        sent = [call.query["q"] if provider == "brave" else call.json()["query"] for call in server.calls]
        assert all(len(query) > 200 for query in sent)


@pytest.mark.parametrize("provider", KINDS)
@pytest.mark.parametrize("fault", [too_many("0"), broken(), malformed(), cut_off()])
def test_a_passing_fault_is_tried_again(provider: str, fault: Reply) -> None:
    with fake(provider) as (server, url):
        server.first(fault)
        assert search(provider, url, "a key")
        assert len(server.calls) == 2


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        ("serper", r"Serper \(.*403 Unauthorized.*SEARCH_KEY"),
        ("brave", r"Brave.*invalid.*SEARCH_KEY"),
        ("tavily", r"Tavily.*401 Unauthorized: missing or invalid API key.*SEARCH_KEY"),
        ("exa", r"Exa.*401 Invalid API key.*SEARCH_KEY"),
        ("jina", r"Jina.*401 Authentication is required.*SEARCH_KEY"),
    ],
)
def test_a_wrong_key_is_said_and_not_shown(provider: str, said: str) -> None:
    with fake(provider) as (server, url):
        with pytest.raises(ServiceError, match=said) as caught:
            search(provider, url, "my-own-key")
        assert len(server.calls) == 1
    assert "my-own-key" not in str(caught.value)


def test_exa_without_highlights_quotes_the_beginning_of_the_page() -> None:
    rows = [
        {"url": "https://a.example/", "title": "A", "highlights": [], "text": "Built in 1820. " * 100},
        {"url": "https://b.example/", "title": "B", "highlights": ["One.", "", "Two."]},
        {"url": "https://c.example/", "title": "C"},
    ]
    with fake("exa") as (server, url):
        server.first(as_json({"results": rows}))
        first, second, third = search("exa", url, "a key")
    assert first.snippet.startswith("Built in 1820.")
    assert len(first.snippet) <= 500
    assert second.snippet == "One. … Two."
    assert third.snippet == ""


def test_a_page_that_asks_for_proof_of_a_person_is_said_so() -> None:
    with fake("duckduckgo") as (server, url):
        server.first(Reply(202, b'<html><div class="anomaly-modal__title">', {"Content-Type": "text/html"}))
        with pytest.raises(ServiceError, match=r"DuckDuckGo.*proof that a person.*CALLS_AT_ONCE"):
            search("duckduckgo", url, "")
        assert len(server.calls) == 1


def test_a_searxng_without_json_says_what_to_set() -> None:
    with (
        fake("searxng", formats=("html",)) as (_, url),
        pytest.raises(ServiceError, match=r"SearXNG.*403.*json.*settings\.yml"),
    ):
        search("searxng", url, "")


@pytest.mark.parametrize("answer", [b"[]", b"{}", b'{"organic": {"a": 1}}', b'{"organic": [null, {"link": 5}, {}]}'])
def test_an_answer_of_an_odd_form_is_nothing_found(answer: bytes) -> None:
    with fake("serper") as (server, url):
        server.first(Reply(200, answer, {"Content-Type": "application/json"}))
        assert search("serper", url, "a key") == []
