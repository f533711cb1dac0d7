"""The ideal schedule of calls: the same work played again in virtual time, in which only calls take time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from pipeline.clients import answers
from pipeline.clients.base import (
    ChatAnswer,
    ChatRequest,
    FetchedPage,
    PageRequest,
    SearchRequest,
    SearchResult,
)
from pipeline.clients.limiter import Limiter

Result = TypeVar("Result")


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock stands still while anything can be done, and then jumps to the next timer."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0

    def time(self) -> float:
        return self._now

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """At once and here: work takes no virtual time, and the clock must not run on while a thread has it."""
        done = self.create_future()
        done.set_result(func(*args))
        return done

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:
            self._now = max(self._now, self._scheduled[0].when())
        super()._run_once()


def seconds_of(working: Coroutine[Any, Any, Result]) -> tuple[Result, float]:
    """What a coroutine comes to, and after how many virtual seconds."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(working), loop.time()
    finally:
        loop.close()


class Replay:
    """The answers that were kept of a run, given again by the same services, each after its latency."""

    def __init__(self, kept: Mapping[str, Mapping[str, Any]], limiter: Limiter) -> None:
        self._kept = kept
        self._limiter = limiter
        self._given: dict[str, asyncio.Future[None]] = {}

    async def give(self, service: str, key: str, latency: float) -> Mapping[str, Any]:
        """The kept answer: at once if it was given before, together with a request for it that is under way."""
        if key not in self._given:
            self._given[key] = asyncio.get_running_loop().create_future()
            async with self._limiter.place(service):
                await asyncio.sleep(latency)
            self._given[key].set_result(None)
        await self._given[key]
        return self._kept[key]


class ReplayedChat:
    """The model of a run."""

    def __init__(self, replay: Replay, provider: str, latency: float) -> None:
        self._replay, self._provider, self._latency = replay, provider, latency

    async def complete(self, request: ChatRequest, readable: Callable[[ChatAnswer], bool] | None = None) -> ChatAnswer:
        value = await self._replay.give("chat", answers.key_of(self._provider, request), self._latency)
        return answers.chat_from_json(value, cached=True)


class ReplayedSearch:
    """The search service of a run."""

    def __init__(self, replay: Replay, provider: str, latency: float) -> None:
        self._replay, self._provider, self._latency = replay, provider, latency

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        value = await self._replay.give("search", answers.key_of(self._provider, request), self._latency)
        return answers.results_from_json(value)


class ReplayedPages:
    """The pages of a run."""

    def __init__(self, replay: Replay, latency: float) -> None:
        self._replay, self._latency = replay, latency

    async def fetch(self, request: PageRequest) -> FetchedPage | None:
        value = await self._replay.give("pages", answers.key_of("pages", request), self._latency)
        return None if "absent" in value else answers.page_from_json(value)
