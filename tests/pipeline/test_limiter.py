"""The one limiter of a process: over threads, over event loops, in order, and with people who leave the queue."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipeline.clients.limiter import Limiter, shared_limiter


class Counted:
    """How many are inside at once, over all threads."""

    def __init__(self) -> None:
        self.now = 0
        self.most = 0
        self.done = 0
        self._lock = threading.Lock()

    async def visit(self, limiter: Limiter, host: str = "a", seconds: float = 0.001) -> None:
        async with limiter.place(host):
            with self._lock:
                self.now += 1
                self.most = max(self.most, self.now)
            await asyncio.sleep(seconds)
            with self._lock:
                self.now -= 1
                self.done += 1


def test_threads_with_event_loops_of_their_own_share_the_places() -> None:
    limiter, counted = Limiter(5), Counted()

    def one_thread() -> None:
        async def main() -> None:
            await asyncio.gather(*(counted.visit(limiter) for _ in range(50)))

        asyncio.run(main())

    with ThreadPoolExecutor(8) as pool:
        for each in [pool.submit(one_thread) for _ in range(8)]:
            each.result(timeout=30)
    assert (counted.done, counted.most) == (400, 5)
    assert limiter.hosts() == []


def test_hosts_do_not_wait_for_each_other() -> None:
    limiter, first, second = Limiter(1), Counted(), Counted()

    async def main() -> None:
        async with limiter.place("a"):
            await asyncio.wait_for(second.visit(limiter, "b"), 5)
            assert limiter.hosts() == ["a"]
        await first.visit(limiter, "a")

    asyncio.run(main())
    assert (first.done, second.done) == (1, 1)


def test_places_are_given_in_the_order_of_asking() -> None:
    limiter, order = Limiter(2), []

    async def visit(number: int) -> None:
        async with limiter.place("a"):
            order.append(number)
            await asyncio.sleep(0.001)

    async def main() -> None:
        await asyncio.gather(*(visit(number) for number in range(30)))

    asyncio.run(main())
    assert order == list(range(30))


def test_who_comes_late_does_not_overtake_those_who_wait_in_another_thread() -> None:
    limiter, order = Limiter(1), []
    holds, waits = threading.Event(), threading.Event()

    async def hold() -> None:
        async with limiter.place("a"):
            holds.set()
            await asyncio.to_thread(waits.wait, 5)
            await asyncio.sleep(0.02)
        async with limiter.place("a"):  # asks again at once, behind the one who waits
            order.append("holder again")

    async def wait() -> None:
        await asyncio.to_thread(holds.wait, 5)
        task = asyncio.create_task(enter())
        await asyncio.sleep(0)
        waits.set()
        await task

    async def enter() -> None:
        async with limiter.place("a"):
            order.append("waiter")

    with ThreadPoolExecutor(2) as pool:
        for each in [pool.submit(asyncio.run, hold()), pool.submit(asyncio.run, wait())]:
            each.result(timeout=10)
    assert order == ["waiter", "holder again"]


def test_who_gives_up_waiting_leaves_no_hole() -> None:
    limiter, counted = Limiter(1), Counted()

    async def main() -> None:
        async with limiter.place("a"):
            waiting = [asyncio.create_task(counted.visit(limiter)) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            await asyncio.sleep(0)
        await asyncio.gather(*waiting, return_exceptions=True)
        assert counted.done == 2
        assert limiter.hosts() == []

    asyncio.run(main())


def test_a_place_that_comes_too_late_is_handed_on() -> None:
    limiter, counted = Limiter(1), Counted()

    async def main() -> None:
        async with limiter.place("a"):
            gone = asyncio.create_task(counted.visit(limiter))
            next_one = asyncio.create_task(counted.visit(limiter))
            await asyncio.sleep(0)
        gone.cancel()  # the place is already on its way to it
        await asyncio.wait_for(next_one, 5)
        assert gone.cancelled() or gone.cancelling()
        assert limiter.hosts() == []

    asyncio.run(main())
    assert counted.done == 1


def test_a_waiter_whose_event_loop_is_gone_keeps_nothing() -> None:
    limiter, counted = Limiter(1), Counted()
    holding, asked, over = threading.Event(), threading.Event(), threading.Event()

    def lost() -> None:
        loop = asyncio.new_event_loop()
        coroutine = counted.visit(limiter)
        task = loop.create_task(coroutine)
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        asked.set()
        over.wait(5)
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is lost on purpose
        coroutine.close()

    async def main() -> None:
        async with limiter.place("a"):
            thread = threading.Thread(target=lost)
            thread.start()
            await asyncio.to_thread(asked.wait, 5)
            holding.set()
        await asyncio.wait_for(counted.visit(limiter), 5)
        over.set()
        await asyncio.to_thread(thread.join, 5)

    asyncio.run(main())
    assert counted.done == 1


def test_an_error_inside_gives_the_place_back() -> None:
    limiter = Limiter(1)

    async def main() -> None:
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                async with limiter.place("a"):
                    raise ZeroDivisionError
        assert limiter.hosts() == []

    asyncio.run(main())


def test_one_limiter_a_process_for_a_number() -> None:
    assert shared_limiter(7) is shared_limiter(7)
    with pytest.raises(ValueError, match="not 0"):
        Limiter(0)
