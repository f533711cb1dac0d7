"""A small HTTP/1.1 server in one thread, made for hundreds of connections that mostly wait.

    with FakeChat(latency=1.0) as chat:
        ...  # chat.url, chat.calls

``latency`` is waited in every call. ``first`` lays replies in wait, given out one a call before the fake's own. A fake
counts its calls, and the most that were under way at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it came. Header names are in lower case. ``at``: seconds on the clock of ``time.monotonic``."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic)

    @property
    def path(self) -> str:
        return unquote(urlsplit(self.target).path)

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query))

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Reply:
    """What is sent back. ``cut``: the connection breaks after half of the body. ``wait``: seconds before the reply,
    besides the fake's latency. ``drip``: seconds between two bytes of the body."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    wait: float = 0.0
    drip: float = 0.0
    endless: bytes = b""  # sent again and again, without a length, until the client leaves


def as_json(value: Any, status: int = 200, **headers: str) -> Reply:
    """A reply of JSON."""
    return Reply(status, json.dumps(value).encode(), {"Content-Type": "application/json", **headers})


def too_many(retry_after: str = "") -> Reply:
    """429, with Retry-After where it is given."""
    headers = {"Content-Type": "application/json"} | ({"Retry-After": retry_after} if retry_after else {})
    return Reply(429, b'{"error": {"message": "Too many requests, slow down."}}', headers)


def broken(status: int = 500) -> Reply:
    """A fault of the server."""
    return Reply(status, b"<html><h1>Something went wrong</h1></html>", {"Content-Type": "text/html"})


def malformed() -> Reply:
    """200 with JSON that ends too early."""
    return Reply(200, b'{"choices": [{"message": {"content": "ha', {"Content-Type": "application/json"})


def cut_off() -> Reply:
    """A connection that breaks in the middle of the answer."""
    return Reply(200, b'{"choices": []}' * 10, {"Content-Type": "application/json"}, cut=True)


def slow(seconds: float) -> Reply:
    """An answer that comes late."""
    return Reply(200, b"{}", {"Content-Type": "application/json"}, wait=seconds)


class FakeServer(ABC):
    """The server; a fake service overrides ``answer``."""

    def __init__(self, *, latency: float = 0.0) -> None:
        self.latency = latency
        self.calls: list[Call] = []
        self.by_path: Counter[str] = Counter()
        self.under_way = 0
        self.most_under_way = 0
        self.port = 0
        self._first: deque[Reply] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []

    @abstractmethod
    def answer(self, call: Call) -> Reply:
        """The fake's own reply."""

    @property
    def url(self) -> str:
        """The address of the server, without a path."""
        return f"http://127.0.0.1:{self.port}"

    def first(self, *replies: Reply) -> None:
        """Give these replies before any other."""
        self._first.extend(replies)

    def start(self) -> Self:
        """Listen; returns when connections are taken."""
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        self._thread.start()
        assert ready.wait(10), "the fake server did not start"
        return self

    def stop(self) -> None:
        """Close all connections and end the thread."""
        if self._thread is not None and self._loop is not None and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(10)
            self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def _serve(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        server = await asyncio.start_server(self._take, "127.0.0.1", self.port, backlog=512, limit=1 << 22)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stopping.wait()
        for listening in server.sockets:
            self._loop.remove_reader(listening.fileno())
        # Who was taken in this round gets its transport first: a closed server refuses one, and the socket would leak.
        await asyncio.sleep(0)
        server.close()
        # Connections, and those that are just being taken.
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in self._connections & others:
                task.cancel()
            await asyncio.wait(others, timeout=0.05)
        for writer in self._writers:
            writer.transport.abort()  # close() would wait for what the client does not read
        for _ in range(5):  # rounds of the loop, in which it lets go of them
            await asyncio.sleep(0)

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A plain function, so that each connection is known from its first moment and closed in any case."""
        task = asyncio.create_task(self._connected(reader, writer))
        self._connections.add(task)
        self._writers.append(writer)
        task.add_done_callback(self._connections.discard)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (call := await _read(reader)) is not None:
                self.calls.append(call)
                self.by_path[call.path] += 1
                self.under_way += 1
                self.most_under_way = max(self.most_under_way, self.under_way)
                try:
                    goes_on = await self._reply(call, writer)
                finally:
                    self.under_way -= 1
                if not goes_on:
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _reply(self, call: Call, writer: asyncio.StreamWriter) -> bool:
        try:
            reply = self._first.popleft() if self._first else self.answer(call)
        except Exception as error:  # shown to the client, and so to the test
            reply = Reply(500, f"the fake failed: {type(error).__name__}: {error}".encode())
        if self.latency or reply.wait:
            await asyncio.sleep(self.latency + reply.wait)
        lines = [f"HTTP/1.1 {reply.status} Fake"]
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
        if reply.endless:
            writer.write(("\r\n".join([*lines, "Connection: close"]) + "\r\n\r\n").encode("latin-1"))
            while True:
                writer.write(reply.endless)
                await writer.drain()
        if "Content-Length" not in reply.headers:
            lines.append(f"Content-Length: {len(reply.body)}")
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        if reply.drip:
            writer.write(head)
            async for part in _dripped(reply):
                writer.write(part)
                await writer.drain()
            return True
        writer.write(head + (reply.body[: len(reply.body) // 2] if reply.cut else reply.body))
        await writer.drain()
        return not reply.cut


async def _dripped(reply: Reply) -> AsyncIterator[bytes]:
    for position in range(len(reply.body)):
        await asyncio.sleep(reply.drip)
        yield reply.body[position : position + 1]


async def _read(reader: asyncio.StreamReader) -> Call | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None  # the client left between two calls
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Call(method, target, headers, body)
