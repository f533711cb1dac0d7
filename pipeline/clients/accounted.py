"""All calls of a run pass through here: answered from the store, or else reserved in the budget, made and paid.

The order matters. The store is asked first, so that a kept answer costs nothing and needs no budget. Identical
requests under way at the same time are made once: the first is paid, the others count as cached. In one process they
share its answer; another process waits until the answer is in the store. What the
call cost is written together with its answer (``Meter.settle``), so that a killed process forgets neither.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pipeline.clients import answers
from pipeline.clients.base import (
    ChatAnswer,
    ChatRequest,
    FetchedPage,
    PageRequest,
    Ranker,
    RankRequest,
    SearchClient,
    SearchRequest,
    SearchResult,
    ServiceError,
    Usage,
)
from pipeline.clients.cost_meter import CallKind, Hold, KeptAnswer, Meter, Store
from pipeline.clients.pages import Absence

_NOTHING = Usage()


@dataclass(frozen=True, slots=True)
class _Made:
    """The result of a call: the value to store, what it used, and whether the value will still hold tomorrow."""

    value: Mapping[str, Any]
    usage: Usage = _NOTHING
    lasting: bool = True


# Pending calls of this process, by key. All requests with a key get the first one's value.
_under_way: dict[str, Future[Mapping[str, Any]]] = {}
_under_way_lock = threading.Lock()


class Account:
    """The store and the meter of one document of a run."""

    def __init__(self, store: Store, meter: Meter) -> None:
        self._store = store
        self._meter = meter
        self.busy = 0  # calls that are being made or waited for

    async def get(
        self,
        key: str,
        hold: Hold,
        make: Callable[[], Awaitable[_Made]],
        usable: Callable[[Mapping[str, Any]], bool] | None = None,
    ) -> tuple[Mapping[str, Any], bool]:
        """The answer to a request, kept or made, and whether it was kept. A kept one that is not ``usable`` is made
        anew. Raises ServiceError, BudgetSpentError."""
        self.busy += 1
        try:
            return await self._get(key, hold, make, usable)
        finally:
            self.busy -= 1

    async def _get(
        self,
        key: str,
        hold: Hold,
        make: Callable[[], Awaitable[_Made]],
        usable: Callable[[Mapping[str, Any]], bool] | None,
    ) -> tuple[Mapping[str, Any], bool]:
        while True:
            with _under_way_lock:
                first = _under_way.get(key)
                if first is None:
                    mine: Future[Mapping[str, Any]] = Future()
                    mine.set_running_or_notify_cancel()  # so that those who wait for it cannot cancel it
                    _under_way[key] = mine
                    break
            try:
                value = await asyncio.wrap_future(first)
            except _NotMadeError:
                continue  # its run was stopped or out of budget; ours may not be
            await self._meter.count_cached(hold.step, hold.kind)
            return value, True
        try:
            value, cached = await self._found_or_made(key, hold, make, usable)
        except BaseException as error:
            with _under_way_lock:
                del _under_way[key]
            # A failing service concerns everyone who waits; anything else only this run.
            mine.set_exception(error if isinstance(error, ServiceError) else _NotMadeError())
            raise
        with _under_way_lock:
            del _under_way[key]
        mine.set_result(value)
        return value, cached

    async def _found_or_made(
        self,
        key: str,
        hold: Hold,
        make: Callable[[], Awaitable[_Made]],
        usable: Callable[[Mapping[str, Any]], bool] | None,
    ) -> tuple[Mapping[str, Any], bool]:
        hold = replace(hold, key=key)
        while True:
            kept = await self._store.get(key)
            if kept is not None and (usable is None or usable(kept)):
                await self._meter.count_cached(hold.step, hold.kind)
                return kept, True
            hold = replace(hold, instead=kept is not None)
            if await self._meter.reserve(hold):
                if kept is None:
                    break
                # Another process may have replaced the unusable answer between the look-up and the reservation.
                kept = await self._store.get(key)
                if kept is None or (usable is not None and not usable(kept)):
                    break
                await _surely(self._meter.release(hold, 0.0))
        began = time.monotonic()
        try:
            made = await make()
        except BaseException:
            await _surely(self._meter.release(hold, time.monotonic() - began))
            raise
        answer = KeptAnswer(key, hold.kind, made.value, instead=kept is not None) if made.lasting else None
        await _surely(self._meter.settle(hold, made.usage, time.monotonic() - began, answer))
        return made.value, False


class _NotMadeError(Exception):
    """The first of several identical requests was abandoned."""


async def _surely(writing: Coroutine[Any, Any, None]) -> None:
    """Finish writing even if the run is canceled now, so that costs and reservations are not lost."""
    task = asyncio.ensure_future(writing)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


class PricedChat(Protocol):
    """A Chat that knows who answers and what a call can cost."""

    @property
    def provider(self) -> str: ...

    def worst_case(self, request: ChatRequest) -> tuple[int, float]: ...

    async def complete(self, request: ChatRequest) -> ChatAnswer: ...


class AccountedChat:
    """A Chat whose answers are kept and counted. ``host``: where it is, for the costs by service."""

    def __init__(self, inner: PricedChat, account: Account, *, host: str = "") -> None:
        self._inner = inner
        self._account = account
        self._host = host

    async def complete(self, request: ChatRequest, readable: Callable[[ChatAnswer], bool] | None = None) -> ChatAnswer:
        """The model's answer; a kept one costs nothing. One that was refused or is not ``readable`` is paid and not
        kept. Raises ServiceError, BudgetSpentError."""
        tokens, money = self._inner.worst_case(request)

        def is_good(answer: ChatAnswer) -> bool:
            return not answer.refused and (readable is None or readable(answer))

        async def make() -> _Made:
            answer = await self._inner.complete(request)
            return _Made(answers.chat_to_json(answer), answer.usage, lasting=is_good(answer))

        def usable(kept: Mapping[str, Any]) -> bool:
            return is_good(answers.chat_from_json(kept, cached=True))

        key = answers.key_of(self._inner.provider, request)
        service = f"{request.model} at {self._host}" if self._host else request.model
        hold = Hold(request.step, CallKind.CHAT, tokens, money, service=service)
        value, cached = await self._account.get(key, hold, make, usable)
        return answers.chat_from_json(value, cached=cached)


class AccountedSearch:
    """A Search whose results are counted, and ``kept`` if wanted. ``price``: money for a query; ``name``: who searches,
    for the costs by service."""

    def __init__(
        self,
        inner: SearchClient,
        account: Account,
        *,
        provider: str,
        price: float = 0.0,
        kept: bool = True,
        name: str = "",
    ) -> None:
        self._name = name
        self._inner = inner
        self._kept = kept
        self._account = account
        self._provider = provider
        self._price = price

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        """Best first. Raises ServiceError, BudgetSpentError."""

        async def make() -> _Made:
            found = await self._inner.search(request)
            return _Made(answers.results_to_json(found), Usage(money=self._price), lasting=self._kept)

        key = answers.key_of(self._provider, request)
        hold = Hold(request.step, CallKind.SEARCH, money=self._price, service=self._name)
        value, _ = await self._account.get(key, hold, make)
        return answers.results_from_json(value)


class PageReader(Protocol):
    """Pages that say why there is none."""

    async def read(self, request: PageRequest) -> FetchedPage | Absence: ...


class AccountedPages:
    """Pages whose texts are stored and counted. A page that is gone is stored as such; one without an answer is not."""

    def __init__(self, inner: PageReader, account: Account) -> None:
        self._inner = inner
        self._account = account

    async def read(self, request: PageRequest) -> FetchedPage | Absence:
        """The page's text, or why there is none. Raises BudgetSpentError."""

        async def make() -> _Made:
            page = await self._inner.read(request)
            if isinstance(page, Absence):
                return _Made({"absent": page.reason, "lasting": page.lasting}, lasting=page.lasting)
            return _Made(answers.page_to_json(page))

        key = answers.key_of("pages", request)
        value, _ = await self._account.get(key, Hold(request.step, CallKind.PAGE), make)
        if "absent" in value:
            return Absence(value["absent"], value["lasting"])
        return answers.page_from_json(value)

    async def fetch(self, request: PageRequest) -> FetchedPage | None:
        """The page's text, None if there is none to be had. Raises BudgetSpentError."""
        page = await self.read(request)
        return None if isinstance(page, Absence) else page


class AccountedRanker:
    """A Ranker whose scores are kept and counted."""

    def __init__(self, inner: Ranker, account: Account, *, provider: str, name: str = "") -> None:
        self._name = name
        self._inner = inner
        self._account = account
        self._provider = provider

    async def scores(self, request: RankRequest) -> Sequence[float]:
        """One score a text. Raises ServiceError, BudgetSpentError."""

        async def make() -> _Made:
            return _Made({"scores": [float(each) for each in await self._inner.scores(request)]})

        key = answers.key_of(self._provider, request)
        value, _ = await self._account.get(key, Hold(request.step, CallKind.RANK, service=self._name), make)
        return list(value["scores"])
