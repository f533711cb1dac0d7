"""Where the answers of outside services are kept, and what they cost: the protocols, and doubles in memory.

``Store`` keeps answers by the content of the request, so that the same request is paid once. ``Meter`` holds back the
most that a call can cost before it is made, and writes what it did cost when it ends, in one transaction with the kept
answer: a process that is killed forgets neither money nor answers. ``accounted.py`` alone calls them.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from pipeline.clients.base import BudgetSpentError, Usage


class Kind(StrEnum):
    """What was asked for."""

    CHAT = "chat"
    SEARCH = "search"
    PAGE = "page"
    RANK = "rank"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to keep. ``key``: SHA-256 of the request, in hexadecimal; ``value``: what was answered, as JSON holds
    it, without NUL and lone surrogates (see ``answers.py``)."""

    key: str
    kind: Kind
    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Hold:
    """What is held back for a call under way: the most it can cost."""

    step: str
    kind: Kind
    tokens: int = 0
    money: float = 0.0


class Store(Protocol):
    """Answers by the content of their request. They are put there by ``Meter.settle``."""

    async def get(self, key: str) -> Mapping[str, Any] | None:
        """The ``value`` kept under that key, None if there is none."""


class Meter(Protocol):
    """Counts what a run uses, and never lets its budget be passed. One for each document of a run."""

    async def reserve(self, hold: Hold) -> None:
        """Hold that much back. Raises BudgetSpentError, and holds nothing, where spent, held back and this together
        would pass the budget; or where the run was stopped meanwhile."""

    async def settle(self, hold: Hold, usage: Usage, seconds: float, answer: Answer | None) -> None:
        """The call ended well: in one transaction, give the hold back, count the call and its usage, and keep the
        answer (None: one that should not be kept). An answer kept meanwhile under the same key stays as it is."""

    async def release(self, hold: Hold, seconds: float) -> None:
        """The call failed, or was cancelled, after so many seconds: give the hold back."""

    async def count_cached(self, step: str, kind: Kind) -> None:
        """A request was answered from the store, or by the same request under way: count it, it costs nothing."""


@dataclass(slots=True)
class StepCount:
    """What one step has used."""

    calls: dict[Kind, int] = field(default_factory=lambda: defaultdict(int))
    cached: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    money: float = 0.0
    seconds: float = 0.0


class MemoryStore:
    """A Store in memory, for tests, benchmarks and trials; shared by all threads of a process."""

    def __init__(self) -> None:
        self.values: dict[str, Mapping[str, Any]] = {}

    async def get(self, key: str) -> Mapping[str, Any] | None:
        return self.values.get(key)

    def put(self, answer: Answer) -> None:
        """Keep an answer; one kept earlier under its key stays."""
        self.values.setdefault(answer.key, answer.value)


class MemoryMeter:
    """A Meter in memory, for tests, benchmarks and trials; shared by all threads of a process.

    ``budget_tokens`` and ``budget_money`` bound what is spent; None: no bound. ``most_tokens`` and ``most_money`` tell
    the highest sum of spent and held back that there ever was.
    """

    def __init__(
        self,
        store: MemoryStore | None = None,
        *,
        budget_tokens: int | None = None,
        budget_money: float | None = None,
    ) -> None:
        self.store = store
        self.budget_tokens = budget_tokens
        self.budget_money = budget_money
        self.steps: dict[str, StepCount] = defaultdict(StepCount)
        self.spent_tokens = 0
        self.spent_money = 0.0
        self.held_tokens = 0
        self.held_money = 0.0
        self.most_tokens = 0
        self.most_money = 0.0
        self._lock = threading.Lock()

    async def reserve(self, hold: Hold) -> None:
        with self._lock:
            tokens = self.spent_tokens + self.held_tokens + hold.tokens
            money = self.spent_money + self.held_money + hold.money
            if self.budget_tokens is not None and tokens > self.budget_tokens:
                raise BudgetSpentError(f"The next call might use {tokens} of {self.budget_tokens} tokens.")
            if self.budget_money is not None and money > self.budget_money:
                raise BudgetSpentError(f"The next call might cost {money:.4f} of {self.budget_money:.4f}.")
            self.held_tokens += hold.tokens
            self.held_money += hold.money
            self.most_tokens = max(self.most_tokens, tokens)
            self.most_money = max(self.most_money, money)

    async def settle(self, hold: Hold, usage: Usage, seconds: float, answer: Answer | None) -> None:
        with self._lock:
            self._give_back(hold)
            count = self.steps[hold.step]
            count.calls[hold.kind] += 1
            count.prompt_tokens += usage.prompt_tokens
            count.answer_tokens += usage.answer_tokens
            count.money += usage.money
            count.seconds += seconds
            self.spent_tokens += usage.prompt_tokens + usage.answer_tokens
            self.spent_money += usage.money
            if self.store is not None and answer is not None:
                self.store.put(answer)

    async def release(self, hold: Hold, seconds: float) -> None:
        with self._lock:
            self._give_back(hold)
            self.steps[hold.step].seconds += seconds

    async def count_cached(self, step: str, kind: Kind) -> None:
        with self._lock:
            self.steps[step].cached += 1

    def _give_back(self, hold: Hold) -> None:
        self.held_tokens -= hold.tokens
        self.held_money -= hold.money
