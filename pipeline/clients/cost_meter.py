"""Where the answers of outside services are kept, and what they cost: the protocols.

``Store`` keeps answers by the content of the request, so that the same request is paid once. ``Meter`` holds back the
most that a call can cost before it is made, and writes what it did cost when it ends, in one transaction with the kept
answer: a process that is killed forgets neither money nor answers. ``accounted.py`` alone calls them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from pipeline.clients.base import Usage


class CallKind(StrEnum):
    """What was asked for."""

    CHAT = "chat"
    SEARCH = "search"
    PAGE = "page"
    RANK = "rank"


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer to keep. ``key``: SHA-256 of the request, in hexadecimal; ``value``: what was answered, as JSON holds
    it, without NUL and lone surrogates (see ``answers.py``). ``instead``: of one that is kept and cannot be used."""

    key: str
    kind: CallKind
    value: Mapping[str, Any]
    instead: bool = False


@dataclass(frozen=True, slots=True)
class Hold:
    """What is held back for a call under way: the most it can cost. ``key``: that of its request, so that nobody else
    makes the same call meanwhile; blank: anybody may."""

    step: str
    kind: CallKind
    tokens: int = 0
    money: float = 0.0
    key: str = ""


class Store(Protocol):
    """Answers by the content of their request. They are put there by ``Meter.settle``."""

    async def get(self, key: str) -> Mapping[str, Any] | None:
        """The ``value`` kept under that key, None if there is none."""


class Meter(Protocol):
    """Counts what a run uses, and never lets its budget be passed. One for each document of a run."""

    async def reserve(self, hold: Hold) -> bool:
        """Hold that much back. False, and nothing held, where another process is making the same call: its answer will
        be in the store soon. Raises BudgetSpentError, and holds nothing, where spent, held back and this together
        would pass the budget; or where the run was stopped meanwhile."""

    async def settle(self, hold: Hold, usage: Usage, seconds: float, answer: KeptAnswer | None) -> None:
        """The call ended well: in one transaction, give the hold back, count the call and its usage, and keep the
        answer (None: one that should not be kept). An answer kept meanwhile under the same key stays as it is."""

    async def release(self, hold: Hold, seconds: float) -> None:
        """The call failed, or was cancelled, after so many seconds: give the hold back."""

    async def count_cached(self, step: str, kind: CallKind) -> None:
        """A request was answered from the store, or by the same request under way: count it, it costs nothing."""
