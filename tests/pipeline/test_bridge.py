"""The way between an asynchronous strategy and the thread that holds the database."""

from __future__ import annotations

import asyncio
import threading

import pytest

from pipeline.runs.bridge import Bridge


def test_what_is_asked_is_done_in_the_thread_that_waits() -> None:
    bridge = Bridge()
    threads: list[str] = []

    async def main() -> list[int]:
        threads.append(threading.current_thread().name)
        return await asyncio.gather(*(bridge.do(lambda n=n: _noted(threads, n)) for n in range(3)))  # type: ignore[misc]

    assert bridge.run(main) == [0, 1, 2]
    assert threads[0].startswith("strategy")
    assert set(threads[1:]) == {threading.current_thread().name}


def _noted(threads: list[str], number: int) -> int:
    threads.append(threading.current_thread().name)
    return number


def test_errors_of_both_sides_are_raised() -> None:
    bridge = Bridge()

    def fail() -> None:
        raise LookupError("no row")

    async def told() -> str:
        with pytest.raises(LookupError, match="no row"):
            await bridge.do(fail)
        raise ValueError("no strategy")

    with pytest.raises(ValueError, match="no strategy"):
        bridge.run(told)


def test_what_a_cancelled_call_still_writes_is_written() -> None:
    """The coroutine ends while another one is under way: what that writes when it is cancelled is not left waiting."""
    bridge = Bridge()
    written: list[str] = []

    async def call() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            await asyncio.shield(bridge.do(lambda: written.append("given back")))

    async def main() -> None:
        task = asyncio.create_task(call())
        await asyncio.sleep(0)
        assert not task.done()

    bridge.run(main)
    assert written == ["given back"]


def test_a_thread_with_an_event_loop_of_its_own_may_wait_too() -> None:
    """As in browser tests, whose thread runs Playwright's."""

    async def outer() -> int:
        bridge = Bridge()

        async def main() -> int:
            return await bridge.do(lambda: 7)

        return bridge.run(main)

    assert asyncio.run(outer()) == 7


def test_an_interrupted_worker_ends_and_its_coroutine_writes_what_it_has_to() -> None:
    """Ctrl-C reaches the thread that answers: the event loop must not wait for it for ever."""
    bridge = Bridge()
    written: list[str] = []

    def interrupt() -> None:
        raise KeyboardInterrupt

    async def main() -> None:
        bridge._asked.put(interrupt)
        try:
            await asyncio.sleep(60)
        finally:
            await bridge.do(lambda: written.append("given back"))

    with pytest.raises(KeyboardInterrupt):
        bridge.run(main)
    assert written == ["given back"]
