"""All services of a run together, against fakes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from pipeline.clients.assemble import Services, ServiceSettings, fetch_page, open_services
from pipeline.clients.base import (
    BudgetSpentError,
    ChatRequest,
    FetchedPage,
    Message,
    PageRequest,
    RankRequest,
    SearchRequest,
)
from pipeline.clients.cost_meter import CallKind
from pipeline.clients.pages import Absence
from tests.fakes.chat import FakeChat, FakeEmbeddings
from tests.fakes.search import FakeSerper, Hit
from tests.fakes.server import FakeServer
from tests.fakes.site import SENTENCES, FakeSite
from tests.memory_ledger import MemoryMeter, MemoryStore


@dataclass
class World:
    """Fakes for everything, and the settings that name them."""

    stack: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.site = self.stack.enter_context(FakeSite())
        self.chat = self.stack.enter_context(FakeChat(lambda _: "Yes.", key="k1"))
        hits = [Hit(f"{self.site.url}/", "The fort", "The fort of Ema"), Hit(f"{self.site.url}/gone", "Gone", "Gone")]
        self.serper = self.stack.enter_context(FakeSerper(lambda _: hits, key="k2"))
        self.embeddings = self.stack.enter_context(FakeEmbeddings())
        self.settings = ServiceSettings(
            llm_url=self.chat.url,
            llm_key="k1",
            llm_model="m",
            llm_price_prompt=1_000_000,  # one a token
            llm_price_answer=2_000_000,
            embeddings_url=self.embeddings.url,
            embeddings_model="e",
            search_provider="serper",
            search_url=f"{self.serper.url}/search",
            search_key="k2",
            search_price=0.5,
            pages=True,
            pages_allow=("127.0.0.1",),
            calls_at_once=6,
        )

    @property
    def servers(self) -> tuple[FakeServer, ...]:
        return (self.site, self.chat, self.serper, self.embeddings)

    def calls(self) -> list[int]:
        return [len(server.calls) for server in self.servers]


@pytest.fixture
def world() -> Any:
    world = World()
    with world.stack:
        yield world


def run(
    world: World, work: Callable[[Services], Awaitable[Any]], store: MemoryStore, meter: MemoryMeter, **changes: Any
) -> Any:
    async def main() -> Any:
        async with open_services(world.settings, store, meter, **changes) as services:
            return await work(services)

    return asyncio.run(main())


async def one_claim(services: Services) -> list[object]:
    """What a strategy does for a claim, roughly."""
    assert services.chat
    assert services.search
    assert services.pages
    assert services.ranker
    results = await services.search.search(SearchRequest("search", "fort", count=5))
    pages = await asyncio.gather(*(services.pages.fetch(PageRequest("fetch", each.url)) for each in results))
    scores = await services.ranker.scores(RankRequest("rank", "fort", tuple(SENTENCES)))
    said = await services.chat.complete(ChatRequest("stance", (Message("user", "Is it?"),), "m", max_tokens=10))
    return [results, pages, scores, said.text]


def test_a_repeated_run_costs_nothing_and_gives_the_same(world: World) -> None:
    store, first, second = MemoryStore(), MemoryMeter(), MemoryMeter(budget_tokens=0, budget_money=0)
    first.store = store
    found = run(world, one_claim, store, first)
    assert [page is not None for page in found[1]] == [True, False]
    made = world.calls()
    assert made == [3, 1, 1, 1]  # robots.txt, and two pages
    assert run(world, one_claim, store, second) == found
    assert world.calls() == made
    assert first.spent_money == pytest.approx(0.5 + first.steps["stance"].prompt_tokens + 2)
    assert second.spent_money == 0
    assert {step: dict(count.calls) for step, count in first.steps.items()} == {
        "search": {CallKind.SEARCH: 1},
        "fetch": {CallKind.PAGE: 2},
        "rank": {CallKind.RANK: 1},
        "stance": {CallKind.CHAT: 1},
    }
    assert {step: count.cached for step, count in second.steps.items()} == {
        "search": 1,
        "fetch": 2,
        "rank": 1,
        "stance": 1,
    }


def test_a_budget_stops_before_the_call(world: World) -> None:
    store = MemoryStore()
    with pytest.raises(BudgetSpentError):
        run(world, one_claim, store, MemoryMeter(store, budget_money=0.7))
    assert world.calls() == [3, 0, 1, 1]


def test_threads_share_the_limit_of_a_host(world: World) -> None:
    world.chat.latency = 0.02
    store = MemoryStore()

    def document(number: int) -> None:
        async def ask(services: Services) -> None:
            assert services.chat
            questions = [(Message("user", f"{number} {each}?"),) for each in range(10)]
            await asyncio.gather(*(services.chat.complete(ChatRequest("s", each, "m")) for each in questions))

        run(world, ask, store, MemoryMeter(store))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(document, range(4)))
    assert len(world.chat.calls) == 40
    assert 1 < world.chat.most_under_way <= 6


def test_a_page_that_a_person_adds_is_fetched_like_any_other(world: World) -> None:
    page = asyncio.run(fetch_page(world.settings, f"{world.site.url}/"))
    assert isinstance(page, FetchedPage)
    assert SENTENCES[0] in page.text
    gone = asyncio.run(fetch_page(world.settings, f"{world.site.url}/gone"))
    assert gone == Absence("its server answered 410", gone=True)
    assert isinstance(asyncio.run(fetch_page(world.settings, "file:///etc/passwd")), Absence)
    private = asyncio.run(fetch_page(ServiceSettings(), f"{world.site.url}/"))
    assert isinstance(private, Absence)
    assert "not on the public internet" in private.reason


def test_nothing_is_left_open(world: World) -> None:
    """A server sees all connections of a run closed at its end."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Services]:
        store = MemoryStore()
        async with open_services(world.settings, store, MemoryMeter(store)) as services:
            yield services

    async def main() -> None:
        async with opened() as services:
            await one_claim(services)
        await asyncio.sleep(0.05)

    asyncio.run(main())
    assert [len(server._connections) for server in world.servers] == [0, 0, 0, 0]
