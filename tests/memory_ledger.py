"""A store and a meter in memory, for tests, benchmarks and trials."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.clients.base import BudgetSpentError, Usage
from pipeline.clients.cost_meter import CallKind, Hold, KeptAnswer


@dataclass(slots=True)
class StepCount:
    """What one step has used."""

    calls: dict[CallKind, int] = field(default_factory=lambda: defaultdict(int))
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

    def put(self, answer: KeptAnswer) -> None:
        """Keep an answer; one kept earlier under its key stays, unless it cannot be used."""
        if answer.instead:
            self.values.pop(answer.key, None)
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

    async def reserve(self, hold: Hold) -> bool:
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
        return True

    async def settle(self, hold: Hold, usage: Usage, seconds: float, answer: KeptAnswer | None) -> None:
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

    async def count_cached(self, step: str, kind: CallKind) -> None:
        with self._lock:
            self.steps[step].cached += 1

    def _give_back(self, hold: Hold) -> None:
        self.held_tokens -= hold.tokens
        self.held_money -= hold.money
