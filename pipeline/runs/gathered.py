"""Database work of many calls, done together: what is asked for while the database's thread is busy waits, and is then
written in one transaction instead of one for each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Generic, TypeVar, cast

from pipeline.runs.bridge import Bridge
from pipeline.runs.db_retry import LOST, persistently

Asked = TypeVar("Asked")
Given = TypeVar("Given")


class NotTogetherError(Exception):
    """What was asked for has to be done one by one."""


class _Waiting(Generic[Asked, Given]):
    """One thing that was asked for, and what came of it."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.is_done = False
        self.given: Given | None = None
        self.fault: Exception | None = None


class Gathered(Generic[Asked, Given]):
    """``together`` gives one result for each thing that was asked for, in order, in a transaction of its own. Where it
    fails for several, each is tried alone, so that one cannot take the others with it."""

    def __init__(self, bridge: Bridge, together: Callable[[Sequence[Asked]], Sequence[Given]]) -> None:
        self._bridge = bridge
        self._together = together
        self._queue: deque[_Waiting[Asked, Given]] = deque()

    async def do(self, asked: Asked) -> Given:
        """The result for one of them. Raises what ``together`` raises for it."""
        waiting: _Waiting[Asked, Given] = _Waiting(asked)
        self._queue.append(waiting)
        try:
            await self._bridge.do(partial(persistently, self._work))
        except BaseException:
            with suppress(ValueError):  # it has been taken from the queue
                self._queue.remove(waiting)
            raise
        if waiting.fault is not None:
            raise waiting.fault
        return cast(Given, waiting.given)

    def _work(self) -> None:
        """Do what waits, in the database's thread. What a lost database left undone waits again."""
        taken = [self._queue.popleft() for _ in range(len(self._queue))]
        try:
            if taken and not self._done(taken):
                for each in taken:
                    self._done([each])
        except LOST:
            self._queue.extendleft(reversed([each for each in taken if not each.is_done]))
            raise

    def _done(self, several: Sequence[_Waiting[Asked, Given]]) -> bool:
        """Whether there are results; a fault is the result of one that was tried alone."""
        try:
            results = self._together([each.asked for each in several])
        except LOST:
            raise
        except Exception as error:
            if len(several) > 1:
                return False
            several[0].fault, several[0].is_done = error, True
            return True
        for each, given in zip(several, results, strict=True):
            each.given, each.is_done = given, True
        return True
