"""Runs asynchronous strategies in a synchronous worker. The event loop gets a thread of its own; the database stays in
the calling thread, with its connection and transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class Bridge:
    """Runs one coroutine to its end. The waiting thread does the coroutine's database work."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def run(self, main: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of ``main``; its calls of ``do`` are served in the meantime. Raises what it raises."""
        begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()

        async def whole() -> T:
            task = asyncio.current_task()
            assert task is not None
            begun.set_result((asyncio.get_running_loop(), task))
            return await main()

        with ThreadPoolExecutor(1, thread_name_prefix="strategy") as pool:
            ended = pool.submit(lambda: asyncio.run(whole()))
            ended.add_done_callback(lambda _: self._asked.put(None))
            try:
                self._answer()
            except BaseException:  # interrupted: cancel pending calls and release what they reserved
                if not ended.done():
                    loop, task = begun.result()
                    with suppress(RuntimeError):  # it has just ended
                        loop.call_soon_threadsafe(task.cancel)
                    self._answer()
                raise
        return ended.result()

    def _answer(self) -> None:
        """Serve the coroutine until it ends."""
        while (work := self._asked.get()) is not None:
            work()

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
