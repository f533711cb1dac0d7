"""Fetches web pages and extracts their readable text.

Bounded in every way that a hostile or broken server could use: addresses (``addresses.py``), schemes, redirects (each
hop is checked like the first), bytes also after unpacking, seconds, kinds of content, and the work of reading it. That
a page cannot be had is no fault of a run: it is an ``Absence`` with its reason. By hand: no client bounds all of these.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import re
import zlib
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import sha256
from urllib.parse import urljoin, urlsplit

import httpcore
import httpx

from pipeline.clients.addresses import AddressRefusedError, Allowed, CheckedBackend, CheckedTransport, Resolver, resolve
from pipeline.clients.answers import clean
from pipeline.clients.base import FetchedPage, PageRequest
from pipeline.clients.http import AGENT, FOR_NOW, NEVER, NotNowError, Patience, patiently, retry_after, tls
from pipeline.clients.limiter import Limiter
from pipeline.clients.reading import UnreadableError, read
from pipeline.clients.robots import SIZE as ROBOTS_SIZE
from pipeline.clients.robots import Robots
from pipeline.clients.warc import response_record

_MOVED = frozenset({301, 302, 303, 307, 308})
_GONE = frozenset({404, 410, 451})
_HOST = re.compile(rb"[A-Za-z0-9._:-]+")  # as it is looked up: names of other scripts are encoded by then
_FAULTS = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
    httpx.HTTPError,
    OSError,
)
_HEADERS = {
    "User-Agent": AGENT,
    "Accept": "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.9,*/*;q=0.1",
    "Accept-Encoding": "gzip",  # what _body can bound while it unpacks
    "Accept-Language": "en,*;q=0.5",
}


@dataclass(frozen=True, slots=True)
class Absence:
    """Why there is no text of a page, as the end of a sentence that begins with "The page could not be kept:", at most
    200 characters. ``lasting``: it will hardly be otherwise tomorrow. ``gone``: its server says that there is no such
    page any more."""

    reason: str
    lasting: bool = True
    gone: bool = False


@dataclass(frozen=True, slots=True)
class PageLimits:
    """How much one page may take: ``size`` in bytes, packed or not; ``seconds`` for one hop; ``text`` in characters;
    ``reading`` seconds of making text of it."""

    size: int = 10 * 1024 * 1024
    seconds: float = 30.0
    redirects: int = 5
    text: int = 1_000_000
    reading: float = 60.0
    patience: Patience = field(default_factory=lambda: Patience(tries=2, total=60, first_pause=1))


class _AbsentError(Exception):
    def __init__(self, reason: str, *, lasting: bool = True, gone: bool = False) -> None:
        super().__init__(reason)
        self.absence = Absence(clean(reason)[:200], lasting, gone)


@dataclass(frozen=True, slots=True)
class _Sent:
    url: str
    content_type: str
    body: bytes
    status: str
    headers: tuple[tuple[str, str], ...]


@cache
def _readers() -> ThreadPoolExecutor:
    """The threads that extract text, for the whole process. More threads than processors would not help."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="read-page")


@asynccontextmanager
async def open_pages(
    limiter: Limiter,
    *,
    allowed: Allowed | None = None,
    robots: bool = True,
    limits: PageLimits | None = None,
    resolver: Resolver = resolve,
) -> AsyncIterator[HttpPages]:
    """Pages, with connections for this event loop."""
    transport = CheckedTransport(CheckedBackend(allowed or Allowed(), resolver), tls())
    async with httpx.AsyncClient(transport=transport, trust_env=False) as client:
        yield HttpPages(client, limiter, robots=robots, limits=limits or PageLimits())


class HttpPages:
    """A Pages that also says why there is no page. Made by ``open_pages``, whose client checks addresses."""

    def __init__(self, client: httpx.AsyncClient, limiter: Limiter, *, robots: bool, limits: PageLimits) -> None:
        self._client = client
        self._limiter = limiter
        self._limits = limits
        self._robots = Robots(self._rules) if robots else None

    async def fetch(self, request: PageRequest) -> FetchedPage | None:
        """The page's text, None if there is none to be had."""
        page = await self.read(request)
        return None if isinstance(page, Absence) else page

    async def read(self, request: PageRequest) -> FetchedPage | Absence:
        """The page's text, or why there is none. Its ``url`` is where the redirects ended."""
        try:
            sent = await self._follow(request.url, self._limits.size, ask=self._robots)
            return await self._text_of(sent)
        except _AbsentError as error:
            return error.absence

    def delay(self, url: str) -> float:
        """The seconds that the site asks robots to leave between two requests, as far as it was asked; else 0."""
        return 0.0 if self._robots is None else self._robots.delay(url)

    async def _text_of(self, sent: _Sent) -> FetchedPage:
        limits = self._limits
        retrieved_at = dt.datetime.now(dt.UTC)
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(
            _readers(),
            lambda: read(sent.content_type, sent.body, sent.url, longest=limits.text, seconds=limits.reading / 2),
        )
        try:
            async with asyncio.timeout(limits.reading):
                found = await work
        except TimeoutError:
            raise _AbsentError(f"it could not be read within {limits.reading:g} seconds", lasting=False) from None
        except UnreadableError as error:
            raise _AbsentError(str(error)) from None
        return FetchedPage(
            url=sent.url,
            text=found.text,
            content_hash=sha256(found.text.encode("utf-8")).hexdigest(),
            retrieved_at=retrieved_at,
            title=found.title,
            site=found.site or site_of(sent.url),
            published=found.published,
            warc=await loop.run_in_executor(
                _readers(), partial(response_record, sent.url, sent.status, sent.headers, sent.body, retrieved_at)
            ),
        )

    async def _follow(self, url: str, size: int, *, ask: Robots | None, cut: bool = False) -> _Sent:
        """The response after all redirects. Each hop is checked like the first."""
        seen: set[str] = set()
        for _ in range(self._limits.redirects + 1):
            url = checked_url(url)
            if url in seen:
                raise _AbsentError("its redirects go in a circle")
            seen.add(url)
            if ask is not None:
                permitted = await ask.permits(url)
                if permitted is None:
                    raise _AbsentError("its site could not say whether robots may read it", lasting=False)
                if not permitted:
                    raise _AbsentError("its site asks robots not to read it (robots.txt)")
            try:
                sent = await patiently(self._limits.patience, partial(self._get, url, size, cut))
            except NotNowError as error:
                raise _AbsentError(str(error), lasting=False) from None
            if isinstance(sent, _Sent):
                return sent
            url = _joined(url, sent)
        raise _AbsentError(f"it redirects more than {self._limits.redirects} times")

    async def _get(self, url: str, size: int, cut: bool) -> _Sent | str:
        """What a server sends, or the address it redirects to. Raises _AbsentError, NotNowError."""
        async with self._limiter.place(urlsplit(url).netloc):
            try:
                async with (
                    asyncio.timeout(self._limits.seconds),
                    self._client.stream("GET", url, headers=_HEADERS, timeout=self._limits.seconds) as answer,
                ):
                    status = answer.status_code
                    if status in _MOVED and answer.headers.get("Location"):
                        return str(answer.headers["Location"])
                    if (status in FOR_NOW or status >= 500) and status not in NEVER:
                        raise NotNowError(f"its server answered {status}", retry_after(_header(answer, "Retry-After")))
                    if not answer.is_success:
                        raise _AbsentError(f"its server answered {status}", gone=status in _GONE)
                    return _Sent(
                        url,
                        _header(answer, "Content-Type"),
                        await _body(answer, size, cut),
                        f"{status} {answer.reason_phrase}".strip(),
                        tuple(answer.headers.multi_items()),
                    )
            except (TimeoutError, httpcore.TimeoutException):
                reason = f"its server did not send it within {self._limits.seconds:g} seconds"
                raise _AbsentError(reason, lasting=False) from None
            except AddressRefusedError as error:
                raise _AbsentError(str(error).rstrip(".")) from None
            except _FAULTS as error:
                raise NotNowError(f"its server could not be reached ({str(error) or type(error).__name__})") from None
            except (ValueError, RuntimeError) as error:  # of the libraries below, on odd headers and addresses
                raise _AbsentError(f"its server's answer could not be understood ({error})") from None

    async def _rules(self, url: str) -> str | None:
        """A robots.txt: "" where there is none (then all is allowed), None where the site could not say."""
        try:
            sent = await self._follow(url, ROBOTS_SIZE, ask=None, cut=True)
        except _AbsentError as error:
            return "" if error.absence.lasting else None
        return sent.body.decode("utf-8", "replace")


# PostgreSQL indexes at most 2,704 bytes of a snapshot's address and hash (64) together.
_LONGEST_URL = 2_500


def checked_url(url: str) -> str:
    """An address without its fragment, if it is one that may be fetched. Raises _AbsentError."""
    try:
        parsed = httpx.URL(url.strip())
        port = parsed.port
    except (httpx.InvalidURL, ValueError, TypeError):
        raise _AbsentError("its address is not a web address") from None
    if parsed.scheme not in {"http", "https"} or not _HOST.fullmatch(parsed.raw_host):
        raise _AbsentError("its address is not a web address (http or https)")
    if parsed.userinfo:
        raise _AbsentError("its address contains a name or password")
    if not (port is None or 0 < port < 1 << 16):
        raise _AbsentError("its address is not a web address")
    whole = str(parsed.copy_with(fragment=None))  # percent-encoded: longer than it was written
    if len(whole) > _LONGEST_URL:
        raise _AbsentError("its address is too long to be kept")
    return whole


def _joined(url: str, to: str) -> str:
    try:
        return urljoin(url, to)
    except ValueError:
        raise _AbsentError("its server redirects to an invalid address") from None


def site_of(url: str) -> str:
    """The host of an address, for messages."""
    return (urlsplit(url).hostname or "").removeprefix("www.")


def _header(answer: httpx.Response, name: str) -> str:
    return str(answer.headers.get(name, ""))


async def _body(answer: httpx.Response, size: int, cut: bool) -> bytes:
    """The body unpacked, never holding more than ``size`` bytes of it; what is longer is cut there, or refused. Raises
    _AbsentError."""
    too_large = _AbsentError(f"it is larger than {size // 1024} KiB")
    length = _header(answer, "Content-Length")
    if not cut and length.isdecimal() and int(length[:20]) > size:
        raise too_large
    packing = _header(answer, "Content-Encoding").strip().lower()
    if packing not in {"", "identity", "gzip", "x-gzip", "deflate"}:
        raise _AbsentError(f"it is compressed in an unexpected way ({packing[:40]})")
    # 32 more: gzip or zlib, whichever it is.
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32) if packing not in {"", "identity"} else None
    body = bytearray()
    async for part in answer.aiter_raw():
        if unpacker is not None:
            try:
                part = unpacker.decompress(part, size - len(body) + 1)
            except zlib.error:
                raise _AbsentError("it could not be decompressed") from None
        body += part
        if len(body) > size:
            if cut:
                return bytes(body[:size])
            raise too_large
    return bytes(body)
