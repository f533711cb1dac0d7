"""Database work of many calls, done together: what is asked for while the database's thread is busy waits, and is then
written in one transaction instead of one for each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Generic, TypeVar

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
        self.result: asyncio.Future[Given] = asyncio.get_running_loop().create_future()
        self.is_done = False
        self.given: Given | None = None
        self.fault: Exception | None = None


class Gathered(Generic[Asked, Given]):
    """``together`` gives one result for each thing that was asked for, in order, in a transaction of its own. Where it
    fails for several, each is tried alone, so that one cannot take the others with it. ``linger``: seconds that the
    first waits for others, so that calls that end at nearly the same moment share a transaction, and so do the calls
    that follow from them."""

    def __init__(
        self, bridge: Bridge, together: Callable[[Sequence[Asked]], Sequence[Given]], *, linger: float = 0.0
    ) -> None:
        self._bridge = bridge
        self._together = together
        self._linger = linger
        self._queue: list[_Waiting[Asked, Given]] = []
        self._worker: asyncio.Task[None] | None = None

    async def do(self, asked: Asked) -> Given:
        """The result for one of them. Raises what ``together`` raises for it."""
        waiting: _Waiting[Asked, Given] = _Waiting(asked)
        self._queue.append(waiting)
        if self._worker is None:
            self._worker = asyncio.create_task(self._work_off())
        try:
            return await waiting.result
        except asyncio.CancelledError:
            with suppress(ValueError):  # it is being done
                self._queue.remove(waiting)
            raise

    async def _work_off(self) -> None:
        """Hand what waits to the database's thread, until nothing does."""
        try:
            while self._queue:
                await asyncio.sleep(self._linger)
                taken, self._queue = self._queue, []
                try:
                    await self._bridge.do(partial(persistently, partial(self._work, taken)))
                except Exception as error:  # the database did not come back
                    fault: Exception | None = error
                else:
                    fault = None
                for each in taken:
                    _tell(each, fault)
        finally:
            self._worker = None

    def _work(self, taken: Sequence[_Waiting[Asked, Given]]) -> None:
        """Do what was taken, in the database's thread. After a lost database, what is left of it is done again."""
        left = [each for each in taken if not each.is_done]
        if left and not self._done(left):
            for each in left:
                self._done([each])

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


def _tell(waiting: _Waiting[Asked, Given], fault: Exception | None) -> None:
    if waiting.result.done():  # canceled meanwhile
        return
    error = waiting.fault if waiting.is_done else fault
    if error is not None:
        waiting.result.set_exception(error)
    else:
        waiting.result.set_result(waiting.given)  # type: ignore[arg-type]  # set together with is_done
