"""Asynchronous strategies in a synchronous worker: the event loop has a thread of its own, the database stays in the
thread that asks, with its connection and its transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class Bridge:
    """Runs one coroutine to its end; what that asks of the database is done by the thread that waits for it."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def run(self, main: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of ``main``, whose calls of ``do`` are answered meanwhile. Raises what it raises."""
        with ThreadPoolExecutor(1, thread_name_prefix="strategy") as pool:
            ended = pool.submit(asyncio.run, main())
            ended.add_done_callback(lambda _: self._asked.put(None))
            while (work := self._asked.get()) is not None:
                work()
        return ended.result()

    async def do(self, function: Callable[[], T]) -> T:
        """The result of ``function``, called in the thread that called ``run``. Raises what it raises."""
        answer: Future[T] = Future()

        def work() -> None:
            if not answer.set_running_or_notify_cancel():
                return
            try:
                answer.set_result(function())
            except BaseException as error:
                answer.set_exception(error)

        self._asked.put(work)
        return await asyncio.wrap_future(answer)
