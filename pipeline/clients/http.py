"""Calls to JSON services: limits per host, timeouts, and retries.

Connection errors, timeouts, invalid JSON and the statuses that mean "not now" (408, 425, 429 and 5xx) are retried,
after the time in ``Retry-After`` or else a growing, random pause. Other refusals are final.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import random
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, stop_before_delay

from pipeline.clients.answers import clean
from pipeline.clients.base import ServiceError
from pipeline.clients.limiter import Limiter

AGENT = "Touchstone/0.2 (fact-checking research)"
FOR_NOW = frozenset({408, 425, 429})
NEVER = frozenset({501, 505})
Made = TypeVar("Made")
_TAGS = re.compile(r"<(script|style|title)\b.*?</\1>|<[^<>]*>", re.IGNORECASE | re.DOTALL)
SAID = 300  # characters of a service's message that people see


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long a call is tried; times in seconds. ``longest_pause`` limits our own pauses, not those that
    a service asks for."""

    tries: int = 6
    total: float = 300.0
    first_pause: float = 0.5
    longest_pause: float = 30.0


class RefusedError(ServiceError):
    """The service refused this request and would do so again. ``said``: its own words."""

    def __init__(self, sentence: str, status: int, said: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.said = said


class NotNowError(Exception):
    """Worth a retry. ``after``: seconds the service asked for; ``busy``: it gets more calls than it accepts. Used only
    within this package."""

    def __init__(self, said: str, after: float | None = None, *, busy: bool = False) -> None:
        super().__init__(said)
        self.after = after
        self.busy = busy


async def patiently(patience: Patience, attempt: Callable[[], Awaitable[Made]]) -> Made:
    """The result of ``attempt``, retried after pauses while it raises NotNowError; then raises the last of those."""

    def pause(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.after if isinstance(error, NotNowError) else None
        chosen: float = min(patience.longest_pause, patience.first_pause * 2.0 ** (state.attempt_number - 1))
        # Randomized, so that calls refused together don't return together.
        return chosen * random.uniform(0.5, 1.0) if asked is None else asked + chosen * random.uniform(0, 0.5)

    return await AsyncRetrying(
        retry=retry_if_exception_type(NotNowError),
        stop=stop_after_attempt(patience.tries) | stop_before_delay(patience.total),
        wait=pause,
        reraise=True,
    )(attempt)


@cache
def tls() -> ssl.SSLContext:
    """The trusted certificates, read once per process, because that takes longer than a call."""
    return httpx.create_ssl_context()


@asynccontextmanager
async def open_client() -> AsyncIterator[httpx.AsyncClient]:
    """Connections for the services of one run in this event loop. The limiter bounds calls, so the pool does not."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=30)
    async with httpx.AsyncClient(verify=tls(), limits=limits, headers={"User-Agent": AGENT}) as client:
        yield client


def endpoint(url: str, path: str, version: str = "/v1") -> str:
    """The address of one endpoint of a service of which people give the host, the base, or the endpoint itself:
    ``endpoint("http://localhost:11434", "chat/completions")`` is ``http://localhost:11434/v1/chat/completions``."""
    url = url.strip().rstrip("/")
    if url.endswith(f"/{path}"):
        return url
    return f"{url}/{path}" if urlsplit(url).path else f"{url}{version}/{path}"


def bearer(key: str) -> dict[str, str]:
    """The header that carries a key, none without one."""
    return {"Authorization": f"Bearer {key}"} if key else {}


@dataclass(frozen=True, slots=True)
class ServiceClient:
    """One service: how it is called, for people (``name``) and over the wire. ``key`` is never shown; ``advice`` says
    what to do when it fails for good; ``seconds`` bounds one try."""

    client: httpx.AsyncClient
    limiter: Limiter
    name: str
    url: str
    advice: str
    key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    seconds: float = 60.0
    patience: Patience = Patience()

    async def post(self, body: Mapping[str, Any]) -> Any:
        """The JSON answer to a JSON body. Raises ServiceError, of which RefusedError for a final refusal."""
        return await self._call("POST", json=body)

    async def get(self, parameters: Mapping[str, str]) -> Any:
        """The JSON answer to a query. Raises ServiceError, of which RefusedError for a final refusal."""
        return await self._call("GET", params=dict(parameters))

    async def get_page(self, parameters: Mapping[str, str]) -> str:
        """The HTML page that answers a query. Raises ServiceError, of which RefusedError for a final refusal."""
        return str(await self._call("GET", read=_page_of, params=dict(parameters)))

    async def get_text(self) -> str:
        """A file of text. Raises ServiceError, of which RefusedError for a final refusal."""
        return str(await self._call("GET", read=_text_of))

    async def upload(self, fields: Mapping[str, str], files: Mapping[str, tuple[str, bytes, str]]) -> Any:
        """The JSON answer to a form with files (name, content, type). Raises ServiceError, of which RefusedError for a
        final refusal."""
        return await self._call("POST", data=dict(fields), files=dict(files))

    async def _call(self, method: str, read: Callable[[httpx.Response], Any] | None = None, **content: Any) -> Any:
        tries = 0

        async def attempt() -> Any:
            nonlocal tries
            tries += 1
            return await self._try(method, read or _json_of, content)

        try:
            return await patiently(self.patience, attempt)
        except NotNowError as error:
            times = "once" if tries == 1 else f"{tries} times"
            wants = f" It asks you to wait {error.after:.0f} seconds." if error.after else ""
            advice = "Lower CALLS_AT_ONCE, or continue later." if error.busy else self.advice
            raise ServiceError(f"{self.where} could not answer, asked {times}: {error}.{wants} {advice}") from None

    async def _try(self, method: str, read: Callable[[httpx.Response], Any], content: Mapping[str, Any]) -> Any:
        async with self.limiter.place(urlsplit(self.url).netloc):
            try:
                async with asyncio.timeout(self.seconds):
                    answer = await self.client.request(
                        method, self.url, headers=dict(self.headers), timeout=self.seconds, **content
                    )
            except (TimeoutError, httpx.TimeoutException):
                raise NotNowError(f"no answer within {self.seconds:g} seconds") from None
            except httpx.LocalProtocolError:  # its words would quote the key
                raise ServiceError(
                    f"{self.where} cannot be called: its key contains characters that cannot be sent. {self.advice}"
                ) from None
            except httpx.TransportError as error:
                raise NotNowError(self._hide(str(error) or type(error).__name__)) from None
            except (httpx.InvalidURL, httpx.HTTPError, ValueError) as error:
                raise ServiceError(f"{self.where} cannot be called: {self._hide(str(error))}. {self.advice}") from None
        if answer.is_success:
            try:
                value = read(answer)
            except ValueError as error:
                raise NotNowError(f"its answer isn't {error}: {self._hide(answer.text)}") from None
            fault = _fault_within(value)
            if fault is None:
                return value
            return self._refuse(*fault, answer.headers)
        return self._refuse(answer.status_code, message_in(answer), answer.headers)

    def _refuse(self, status: int, said: str, headers: httpx.Headers) -> Any:
        said = self._hide(said)
        what = f"{status} {said}".strip()
        spent = "insufficient_quota" in said  # asks for money, not for patience
        if (status in FOR_NOW or status >= 500) and status not in NEVER and not spent:
            raise NotNowError(what, retry_after(headers.get("Retry-After", "")), busy=status == 429)
        raise RefusedError(f"{self.where} refused: {what}. {self.advice}", status, said)

    @property
    def where(self) -> str:
        """The service as people know it, with its host."""
        return f"{self.name} ({urlsplit(self.url).hostname or self.url})"

    def _hide(self, said: str) -> str:
        """What a service said, without the key, short."""
        said = " ".join(clean(said).split()).rstrip(".")
        if self.key:
            said = said.replace(self.key, "…")
        return said if len(said) <= SAID else said[:SAID] + "…"


def _json_of(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        raise ValueError("JSON") from None


def _page_of(answer: httpx.Response) -> str:
    if "html" not in answer.headers.get("Content-Type", ""):
        raise ValueError("a page")
    return answer.text


def _text_of(answer: httpx.Response) -> str:
    return answer.content.decode("utf-8", "replace")


class Provider:
    """A service behind one address, and what its clients have in common: a class says how it is called."""

    NAME: ClassVar[str]
    ADVICE: ClassVar[str]
    URL: ClassVar[str] = ""  # where it is when no address is given
    SECONDS: ClassVar[float] = 30.0
    TOTAL: ClassVar[float] = 120.0  # seconds for a call with all its tries

    def __init__(
        self,
        client: httpx.AsyncClient,
        limiter: Limiter,
        *,
        url: str = "",
        key: str = "",
        patience: Patience | None = None,
    ) -> None:
        self.url = self.address(url)
        self._service = ServiceClient(
            client=client,
            limiter=limiter,
            name=self.NAME,
            url=self.url,
            advice=self.ADVICE,
            key=key,
            headers=self.headers(key),
            seconds=self.SECONDS,
            patience=patience or Patience(total=self.TOTAL),
        )

    def address(self, url: str) -> str:
        """The address that is called, of the one that people gave."""
        return url or self.URL

    def headers(self, key: str) -> dict[str, str]:
        """The headers that carry the key."""
        return bearer(key)


def retry_after(value: str, now: dt.datetime | None = None) -> float | None:
    """Seconds that a ``Retry-After`` header asks for, given as seconds or as a date (RFC 9110, 10.2.3); None where it
    says nothing that can be read."""
    value = value.strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            until = parsedate_to_datetime(value)
        except ValueError:
            return None
        if until.tzinfo is None:
            until = until.replace(tzinfo=dt.UTC)
        seconds = (until - (now or dt.datetime.now(dt.UTC))).total_seconds()
    # "inf" and "nan" are floats too, and no time to wait for.
    return max(0.0, seconds) if abs(seconds) < 1e9 else None


def message_in(answer: httpx.Response) -> str:
    """What a refusal says: the message of the error object that most services send, else the start of its text."""
    try:
        said = _message(answer.json())
    except ValueError:
        said = ""
    return said or _TAGS.sub(" ", answer.text)[: 4 * SAID]


def _fault_within(value: object) -> tuple[int, str] | None:
    """Some gateways send a fault of the service behind them as 200 with an error object instead of an answer."""
    if not isinstance(value, dict) or not value.get("error"):
        return None
    error = value["error"]
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 502, _message(value)


def _message(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "; ".join(filter(None, (_message(each) for each in value[:3])))
    if isinstance(value, dict):
        said = next(
            (said for name in ("error", "message", "detail", "msg", "info") if (said := _message(value.get(name)))), ""
        )
        code = value.get("code")
        return f"{code}: {said}" if said and isinstance(code, str) and code not in said else said
    return ""
