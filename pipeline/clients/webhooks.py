"""Sends one signed event to a receiver that someone has named: what is sent, to where it may go, how long it may take.

The address is a stranger's, so the same holds as for pages: only public addresses or those that the settings allow,
checked when connecting (``addresses.py``); no redirect is followed; time and the size of the answer are bounded.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx

from pipeline.clients.addresses import AddressRefusedError, Allowed, CheckedBackend, CheckedTransport, Resolver, resolve
from pipeline.clients.answers import clean
from pipeline.clients.http import AGENT, tls

EXCERPT = 500  # characters of the answer that are kept
_READ = 4 * EXCERPT  # bytes of the answer that are read: UTF-8 has at most four for a character
_FAULTS = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.UnsupportedProtocol,
    httpx.HTTPError,
    httpx.InvalidURL,
    OSError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt went. ``problem`` is blank where the receiver has taken the event, else a sentence; ``status`` is
    None where no answer came."""

    status: int | None = None
    excerpt: str = ""
    problem: str = ""


def body_of(payload: Mapping[str, Any]) -> bytes:
    """An event as it is sent, always the same bytes: JSON, keys in order."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """``t=UNIX,v1=HEX``: HMAC-SHA256 under the secret of the timestamp, a full stop and the body. With the time in it
    a receiver can refuse what someone has recorded and sends again."""
    digest = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={digest}"


def headers_of(payload: Mapping[str, Any], secret: str, timestamp: int) -> dict[str, str]:
    """The headers of an event: its id, its name, and the signature."""
    return {
        "Content-Type": "application/json",
        "User-Agent": AGENT,
        "Touchstone-Event": str(payload["event"]),
        "Touchstone-Event-Id": str(payload["id"]),
        "Touchstone-Signature": signature(secret, timestamp, body_of(payload)),
    }


async def send(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    allowed: Allowed,
    seconds: float,
    resolver: Resolver = resolve,
) -> Outcome:
    """Send it once; all of it may take ``seconds``. Nothing is raised: what goes wrong is the outcome's problem."""
    transport = CheckedTransport(CheckedBackend(allowed, resolver), tls())
    try:
        async with (
            asyncio.timeout(seconds),
            httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=False, timeout=seconds) as client,
            client.stream("POST", url, content=body, headers=dict(headers)) as answer,
        ):
            return _outcome(answer.status_code, await _beginning(answer))
    except (TimeoutError, httpcore.TimeoutException, httpx.TimeoutException):
        return Outcome(problem=f"The receiver did not answer within {seconds:g} seconds.")
    except AddressRefusedError:
        return Outcome(
            problem="The address is not on the public internet, so nothing is sent there. An administrator "
            "can allow it with WEBHOOKS_ALLOW."
        )
    except _FAULTS as error:
        return Outcome(problem=f"The receiver could not be reached: {clean(str(error)) or type(error).__name__}.")


def _outcome(status: int, excerpt: str) -> Outcome:
    if 200 <= status < 300:
        return Outcome(status, excerpt)
    if 300 <= status < 400:
        return Outcome(status, excerpt, f"The receiver answered {status}: redirects are not followed.")
    return Outcome(status, excerpt, f"The receiver answered {status}.")


async def _beginning(answer: httpx.Response) -> str:
    """The first characters of an answer; the rest is not read. As it came: what is packed is not unpacked."""
    found = bytearray()
    async for part in answer.aiter_raw():
        found += part
        if len(found) >= _READ:
            break
    return clean(bytes(found[:_READ]).decode("utf-8", "replace"))[:EXCERPT]
