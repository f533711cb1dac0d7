"""Protocols for storing services' responses and counting their cost.

``Store`` keeps responses by the content of the request, so that the same request is paid once. ``Meter`` reserves the
maximum cost of a call before it is made, and records its actual cost when it ends, in one transaction with the stored
response: a killed process loses neither money nor responses. Only ``accounted.py`` calls them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from pipeline.clients.base import Usage


class CallKind(StrEnum):
    """The kind of call."""

    CHAT = "chat"
    SEARCH = "search"
    PAGE = "page"
    RANK = "rank"


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """A response to store. ``key``: SHA-256 of the request, in hexadecimal; ``value``: the response as JSON, without
    NUL and lone surrogates (see ``answers.py``). ``instead``: replaces a stored response that can't be used."""

    key: str
    kind: CallKind
    value: Mapping[str, Any]
    instead: bool = False


@dataclass(frozen=True, slots=True)
class Hold:
    """The reservation for a pending call: its maximum cost. ``key``: the request's, so that nobody else makes the same
    call at the same time; blank: anyone may. ``service``: who is asked, as people know it. ``instead``: a stored
    response can't be used, so the call is made although there is one."""

    step: str
    kind: CallKind
    tokens: int = 0
    money: float = 0.0
    key: str = ""
    service: str = ""
    instead: bool = False


class Store(Protocol):
    """Responses by the content of their request. ``Meter.settle`` stores them."""

    async def get(self, key: str) -> Mapping[str, Any] | None:
        """The ``value`` stored under that key, None if there is none."""


class Meter(Protocol):
    """Counts a run's usage and never lets it exceed the budget. One for each document of a run."""

    async def reserve(self, hold: Hold) -> bool:
        """Reserve the cost. False without a reservation if the same call is being made, or has been: its response is in
        the store, or will be soon. Raises BudgetSpentError without a reservation if spent and reserved costs would
        exceed the budget, or the run was stopped in the meantime."""

    async def settle(self, hold: Hold, usage: Usage, seconds: float, answer: KeptAnswer | None) -> None:
        """The call succeeded: in one transaction, release the reservation, count the call and its usage, and store the
        response (None: don't store). A response stored under the same key in the meantime is kept."""

    async def release(self, hold: Hold, seconds: float) -> None:
        """The call failed or was canceled after this many seconds: release the reservation."""

    async def count_cached(self, step: str, kind: CallKind) -> None:
        """A request was answered from the store, or by the same pending request: count it at no cost."""
