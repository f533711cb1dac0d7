"""A model whose requests are collected for a batch instead of being made.

A document's strategy runs until all that it asks for waits for a batch, and is put back; when the answers are there it
runs again from its start, finds them kept, and goes on to its next requests. So nothing but requests and answers has to
outlive a worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Protocol

from pipeline.clients import answers
from pipeline.clients.accounted import Account, AccountedChat
from pipeline.clients.base import BudgetSpentError, ChatAnswer, ChatRequest, Message
from pipeline.clients.cost_meter import CallKind, Hold, Meter, Store
from pipeline.clients.models.base import ModelClient
from pipeline.clients.models.batches import PRICE

CALM = 0.25  # seconds in which nothing more is asked for: then all that can be asked for now is known
_LOOK = 0.05


class WaitsForBatchError(BudgetSpentError):
    """The document's next answers come with a batch: it is put back until then."""


class Collector(Meter, Protocol):
    """A Meter that also collects requests."""

    unanswered: frozenset[str]

    async def collect(self, hold: Hold, request: Mapping[str, Any]) -> None:
        """Have a request answered with the next batch, unless it already waits for one. Raises BudgetSpentError."""

    def forget(self, key: str) -> None:
        """Keep that answer no longer than this document needs it."""


class CollectedChat:
    """A Chat that answers from the store, and collects what is not there. ``direct`` makes the calls that a batch left
    unanswered."""

    def __init__(
        self, direct: AccountedChat, model: ModelClient, account: Account, store: Store, meter: Collector, host: str
    ) -> None:
        self._direct = direct
        self._model = model
        self._account = account
        self._store = store
        self._meter = meter
        self._host = host
        self._last = 0.0

    async def complete(self, request: ChatRequest, readable: Callable[[ChatAnswer], bool] | None = None) -> ChatAnswer:
        """The kept answer, also one that is not ``readable``: asked again it would be the same. Raises
        WaitsForBatchError for one that is not there, when everything else that can be asked for has been."""
        key = answers.key_of(self._model.provider, request)
        if key in self._meter.unanswered:
            return await self._direct.complete(request, readable)
        kept = await self._store.get(key)
        if kept is not None:
            answer = answers.chat_from_json(kept, cached=True)
            if answer.refused or (readable is not None and not readable(answer)):
                self._meter.forget(key)
            await self._meter.count_cached(request.step, CallKind.CHAT)
            return answer
        tokens, money = self._model.worst_case(request)
        service = f"{request.model} at {self._host}"
        hold = Hold(request.step, CallKind.CHAT, tokens, PRICE * money, key=key, service=service)
        await self._meter.collect(hold, {"service": service, "request": request_to_json(request)})
        clock = asyncio.get_running_loop()
        self._last = clock.time()
        while self._account.busy or clock.time() - self._last < CALM:
            await asyncio.sleep(_LOOK)
        raise WaitsForBatchError("The next answers come with a batch.")


def request_to_json(request: ChatRequest) -> dict[str, Any]:
    """A request as it is kept until its batch is handed over."""
    return asdict(request)


def request_from_json(value: Mapping[str, Any]) -> ChatRequest:
    """A request from its JSON."""
    return ChatRequest(**{**value, "messages": tuple(Message(**each) for each in value["messages"])})
