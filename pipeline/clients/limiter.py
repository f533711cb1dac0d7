"""Limits the concurrent calls to one host, over all threads and event loops of a process.

Each worker thread runs an event loop of its own, so asyncio's own primitives, which belong to one loop, cannot do this.
Places are given in the order of the requests.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache


@dataclass(slots=True, eq=False)
class _Waiter:
    loop: asyncio.AbstractEventLoop
    woken: asyncio.Future[None]
    granted: bool = False


@dataclass(slots=True, eq=False)
class _Host:
    free: int
    waiting: deque[_Waiter] = field(default_factory=deque)


class Limiter:
    """At most ``at_once`` holders of a place at each host."""

    def __init__(self, at_once: int) -> None:
        if at_once < 1:
            raise ValueError(f"At least one call at once, not {at_once}.")
        self.at_once = at_once
        self._lock = threading.Lock()
        self._hosts: dict[str, _Host] = {}

    @asynccontextmanager
    async def place(self, host: str) -> AsyncIterator[None]:
        """Wait for a place at the host, and hold it."""
        await self._take(host)
        try:
            yield
        finally:
            self._give(host)

    def hosts(self) -> list[str]:
        """Hosts with a holder, for tests."""
        with self._lock:
            return sorted(self._hosts)

    async def _take(self, name: str) -> None:
        with self._lock:
            host = self._hosts.setdefault(name, _Host(free=self.at_once))
            if host.free:
                host.free -= 1
                return
            loop = asyncio.get_running_loop()
            waiter = _Waiter(loop, loop.create_future())
            host.waiting.append(waiter)
        try:
            await waiter.woken
        except BaseException:  # canceled: leave the queue, or pass on a place that came too late
            with self._lock:
                if waiter in host.waiting:
                    host.waiting.remove(waiter)
            if waiter.granted:
                self._give(name)
            raise

    def _give(self, name: str) -> None:
        with self._lock:
            host = self._hosts[name]
            while host.waiting:
                waiter = host.waiting.popleft()
                try:
                    waiter.loop.call_soon_threadsafe(_wake, waiter.woken)
                except RuntimeError:  # its event loop is closed, so nobody waits there
                    continue
                waiter.granted = True
                return
            host.free += 1
            if host.free == self.at_once:
                del self._hosts[name]


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


@cache
def shared_limiter(at_once: int) -> Limiter:
    """The one limiter of this process for that number."""
    return Limiter(at_once)
