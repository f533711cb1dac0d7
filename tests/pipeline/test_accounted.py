"""What is kept, what is counted, and that a budget is never passed."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from pipeline.clients import answers
from pipeline.clients.accounted import Account, AccountedChat, AccountedPages, AccountedRanker, AccountedSearch
from pipeline.clients.base import (
    BudgetSpentError,
    ChatAnswer,
    ChatRequest,
    FetchedPage,
    Message,
    ModelToken,
    PageRequest,
    RankRequest,
    SearchRequest,
    SearchResult,
    ServiceError,
    Usage,
)
from pipeline.clients.cost_meter import CallKind
from pipeline.clients.pages import Absence
from tests.memory_ledger import MemoryMeter, MemoryStore

ANSWER = ChatAnswer("Yes.", (ModelToken("Yes", -0.5), ModelToken(".", 0.0)), Usage(60, 40, 0.01), cut=True, model="m-1")


class Model:
    """A chat that counts its calls and costs 100 tokens and 0.01 each."""

    provider = "chat test"

    def __init__(self, *, wait: float = 0.0, fails: int = 0, error: Exception | None = None) -> None:
        self.calls = 0
        self._wait = wait
        self._fails = fails
        self._error = error or ServiceError("It is broken.")
        self._lock = threading.Lock()

    def worst_case(self, request: ChatRequest) -> tuple[int, float]:
        return 100 + request.max_tokens, 0.02

    async def complete(self, request: ChatRequest) -> ChatAnswer:
        with self._lock:
            self.calls += 1
            number = self.calls
        await asyncio.sleep(self._wait)
        if number <= self._fails:
            raise self._error
        return ANSWER


def request(text: str = "Is it so?", **options: Any) -> ChatRequest:
    return ChatRequest(**{"step": "stance", "messages": (Message("user", text),), "model": "m", **options})


def chat(model: Model, store: MemoryStore, **budget: Any) -> tuple[AccountedChat, MemoryMeter]:
    meter = MemoryMeter(store, **budget)
    return AccountedChat(model, Account(store, meter)), meter


# --- keeping --------------------------------------------------------------------------------------


def test_the_same_request_is_paid_once_whatever_its_step() -> None:
    model, store = Model(), MemoryStore()
    first, meter = chat(model, store)
    again, later = chat(model, store, budget_tokens=0, budget_money=0.0)  # a kept answer needs no budget
    assert asyncio.run(first.complete(request())) == ANSWER
    kept = asyncio.run(again.complete(request(step="verify")))
    assert kept == replace(ANSWER, usage=Usage())  # it has cost nothing now
    assert model.calls == 1
    assert (meter.spent_tokens, meter.spent_money) == (100, 0.01)
    assert meter.steps["stance"].calls == {CallKind.CHAT: 1}
    assert (later.spent_tokens, later.spent_money) == (0, 0)
    assert (later.steps["verify"].cached, later.steps["verify"].calls) == (1, {})


def test_an_answer_that_cannot_be_read_is_paid_and_not_kept() -> None:
    model, store = Model(), MemoryStore()
    service, meter = chat(model, store)
    for _ in range(2):
        asyncio.run(service.complete(request(), lambda answer: False))
    assert (model.calls, meter.spent_tokens, store.values) == (2, 200, {})
    asyncio.run(service.complete(request(), lambda answer: True))
    asyncio.run(service.complete(request(), lambda answer: True))
    assert (model.calls, len(store.values)) == (3, 1)


def test_a_kept_answer_that_cannot_be_read_is_asked_for_anew_and_replaced() -> None:
    model, store = Model(), MemoryStore()
    service, _ = chat(model, store)
    asyncio.run(service.complete(request()))
    [key] = store.values
    store.values[key] = answers.chat_to_json(ChatAnswer("<html>"))  # kept by an earlier version
    for _ in range(2):
        assert asyncio.run(service.complete(request(), lambda answer: answer.text == "Yes.")).text == "Yes."
    assert model.calls == 2


@pytest.mark.parametrize(
    "other",
    [
        {"messages": (Message("user", "Is it not?"),)},
        {"messages": (Message("system", "Is it so?"),)},
        {"model": "n"},
        {"temperature": 0.5},
        {"seed": 1},
        {"max_tokens": 7},
        {"schema": {"type": "object"}},
        {"logprobs": True},
    ],
)
def test_another_request_has_another_key(other: dict[str, Any]) -> None:
    assert answers.key_of("chat test", request()) != answers.key_of("chat test", request(**other))
    assert answers.key_of("chat test", request()) != answers.key_of("chat other", request())


def test_keys_are_the_same_in_every_process() -> None:
    """They are kept for years: a change here throws away every kept answer."""
    asked = SearchRequest(step="search", query="Ema ☕", count=5, before=dt.date(2020, 1, 2))
    assert answers.key_of("serper x", asked) == answers.key_of("serper x", replace(asked, step="other"))
    assert answers.key_of("serper x", asked) == "b4265ea9f8acf1237d98df80b973a6c14a61c9d22bd96daea28de3e57ffbd379"
    first = request(schema={"a": 1, "b": 2})
    assert answers.key_of("x", first) == answers.key_of("x", request(schema={"b": 2, "a": 1}))


def test_searches_pages_and_scores_come_back_as_they_were() -> None:
    result = SearchResult("https://a.example/", "A", "text", "a.example", dt.date(2020, 1, 2))
    page = FetchedPage(
        "https://a.example/", "text", "hash", dt.datetime(2026, 1, 2, 3, 4, 5, 6, dt.UTC), "A", "a", dt.date(2020, 1, 2)
    )
    store = MemoryStore()
    meter = MemoryMeter(store)
    account = Account(store, meter)
    calls: list[str] = []

    class Service:
        async def search(self, request: SearchRequest) -> list[SearchResult]:
            calls.append("search")
            return [result]

        async def read(self, request: PageRequest) -> FetchedPage | Absence:
            calls.append(request.url)
            if request.url.endswith("gone"):
                return Absence("its server answered 410")
            return Absence("it was slow", lasting=False) if request.url.endswith("slow") else page

        async def scores(self, request: RankRequest) -> list[float]:
            calls.append("rank")
            return [0.5, -1.25]

    search = AccountedSearch(Service(), account, provider="p", price=0.001)
    pages = AccountedPages(Service(), account)
    ranker = AccountedRanker(Service(), account, provider="r")

    async def twice() -> None:
        for _ in range(2):
            assert await search.search(SearchRequest("search", "q")) == [result]
            assert await pages.fetch(PageRequest("fetch", "https://a.example/")) == page
            assert await pages.read(PageRequest("fetch", "gone")) == Absence("its server answered 410")
            assert await pages.fetch(PageRequest("fetch", "slow")) is None
            assert await ranker.scores(RankRequest("rank", "q", ("a", "b"))) == [0.5, -1.25]

    asyncio.run(twice())
    assert sorted(calls) == ["gone", "https://a.example/", "rank", "search", "slow", "slow"]
    assert meter.spent_money == 0.001
    assert meter.steps["fetch"].calls == {CallKind.PAGE: 4}
    assert meter.steps["fetch"].cached == 2


# --- one call for all who ask the same at once ----------------------------------------------------


def test_identical_requests_at_once_are_made_once() -> None:
    model, store = Model(wait=0.02), MemoryStore()
    service, meter = chat(model, store)

    async def main() -> list[ChatAnswer]:
        return await asyncio.gather(*(service.complete(request()) for _ in range(20)))

    found = asyncio.run(main())
    assert {each.text for each in found} == {"Yes."}
    assert model.calls == 1
    assert meter.spent_tokens == 100
    assert meter.steps["stance"].cached == 19


def test_identical_requests_of_several_threads_are_made_once() -> None:
    model, store = Model(wait=0.1), MemoryStore()
    meters = [chat(model, store) for _ in range(6)]
    together = threading.Barrier(6)

    def one(service: AccountedChat) -> ChatAnswer:
        async def main() -> ChatAnswer:
            together.wait(5)
            return await service.complete(request())

        return asyncio.run(main())

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(one, [service for service, _ in meters]))
    assert {each.text for each in found} == {"Yes."}
    assert model.calls == 1
    assert sum(meter.spent_tokens for _, meter in meters) == 100
    assert sum(meter.steps["stance"].cached for _, meter in meters) == 5


def test_a_fault_of_the_service_is_the_fault_of_all_who_wait_and_is_not_kept() -> None:
    model, store = Model(wait=0.02, fails=1), MemoryStore()
    service, meter = chat(model, store, budget_tokens=10_000)

    async def main() -> list[ChatAnswer | BaseException]:
        return await asyncio.gather(*(service.complete(request()) for _ in range(5)), return_exceptions=True)

    assert [type(each) for each in asyncio.run(main())] == [ServiceError] * 5
    assert (model.calls, meter.spent_tokens, meter.held_tokens) == (1, 0, 0)
    assert asyncio.run(service.complete(request())) == ANSWER


def test_who_waits_goes_on_when_the_first_runs_out_of_budget_or_is_stopped() -> None:
    model, store = Model(wait=0.05), MemoryStore()
    poor, _ = chat(model, store)
    rich, meter = chat(model, store)

    async def main() -> None:
        first = asyncio.create_task(poor.complete(request()))
        second = asyncio.create_task(rich.complete(request()))
        await asyncio.sleep(0.01)
        first.cancel()
        assert await asyncio.wait_for(second, 5) == ANSWER
        assert first.cancelled()

    asyncio.run(main())
    assert model.calls == 2
    assert meter.spent_tokens == 100


def test_a_stopped_call_gives_back_what_it_held() -> None:
    service, meter = chat(Model(wait=5), MemoryStore(), budget_tokens=10_000, budget_money=1.0)

    async def main() -> None:
        task = asyncio.create_task(service.complete(request()))
        await asyncio.sleep(0.01)
        assert meter.held_tokens > 0
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert (meter.held_tokens, meter.held_money, meter.spent_tokens) == (0, 0, 0)


def test_what_was_paid_is_written_even_if_the_run_is_stopped_at_that_moment() -> None:
    store = MemoryStore()

    class SlowMeter(MemoryMeter):
        async def settle(self, *given: Any) -> None:
            await asyncio.sleep(0.05)
            await super().settle(*given)

    meter = SlowMeter(store)
    service = AccountedChat(Model(), Account(store, meter))

    async def main() -> None:
        task = asyncio.create_task(service.complete(request()))
        await asyncio.sleep(0.02)  # the answer is here, and is being written
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert meter.spent_tokens == 100
    assert len(store.values) == 1


# --- budget ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [{"budget_tokens": 2_000}, {"budget_money": 0.2}])
def test_a_budget_is_never_passed_by_32_calls_at_once(budget: dict[str, Any]) -> None:
    model, store = Model(wait=0.002), MemoryStore()
    meter = MemoryMeter(store, **budget)
    spent: list[BaseException] = []

    def one_thread(thread: int) -> None:
        service = AccountedChat(model, Account(store, meter))

        async def one(number: int) -> None:
            try:
                await service.complete(request(f"{thread} {number}", max_tokens=100))
            except BudgetSpentError as error:
                spent.append(error)

        async def main() -> None:
            await asyncio.gather(*(one(number) for number in range(8)))

        for _ in range(3):
            asyncio.run(main())

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one_thread, range(4)))
    assert spent
    assert 0 < model.calls <= 32
    assert meter.most_tokens <= budget.get("budget_tokens", 1e9)
    assert meter.most_money <= budget.get("budget_money", 1e9) + 1e-9
    assert meter.spent_tokens <= budget.get("budget_tokens", 1e9)
    assert meter.held_tokens == 0
    assert meter.held_money == pytest.approx(0)


def test_what_was_held_too_much_is_free_again() -> None:
    model, store = Model(), MemoryStore()
    service, meter = chat(model, store, budget_tokens=1_000)
    with pytest.raises(BudgetSpentError, match="of 1000 tokens"):
        asyncio.run(service.complete(request(max_tokens=901)))

    async def one_by_one() -> None:
        for number in range(8):  # each holds 300 and uses 100
            await service.complete(request(str(number), max_tokens=200))

    asyncio.run(one_by_one())
    assert meter.spent_tokens == 800
    assert meter.most_tokens == 1_000
