"""What a site's robots.txt allows (RFC 9309): fetched once per site and cached for all runs of a process."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from protego import Protego

ROBOT = "Touchstone"
SIZE = 512 * 1024  # bytes that must be read at least (section 2.5)
KEPT = 24 * 3600.0
KEPT_AFTER_FAULT = 300.0
MAX_SITES = 10_000

# Fetches a robots.txt: its text; "" where there is none; None where the site could not say.
FetchRules = Callable[[str], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class _Rules:
    allows: Protego | None  # None: the site could not say, so nothing is allowed for now (section 2.3.1.4)
    until: float


_known: dict[str, _Rules] = {}
_known_lock = threading.Lock()


def forget_rules() -> None:
    """Ask every site anew; for tests."""
    with _known_lock:
        _known.clear()


class Robots:
    """The rules of sites, for one event loop; what is learned is shared by all."""

    def __init__(self, fetch: FetchRules) -> None:
        self._fetch = fetch
        self._asking: dict[str, asyncio.Lock] = {}

    async def permits(self, url: str) -> bool | None:
        """True or False as the site says; None where it could not say."""
        parts = urlsplit(url)
        site = f"{parts.scheme}://{parts.netloc}"
        rules = _kept(site)
        if rules is None:
            async with self._asking.setdefault(site, asyncio.Lock()):
                rules = _kept(site) or await self._learn(site)
        return None if rules.allows is None else bool(rules.allows.can_fetch(url, ROBOT))

    def delay(self, url: str) -> float:
        """The pause in seconds that the site asks for (``Crawl-delay``); 0 where it does not, or was not asked yet."""
        parts = urlsplit(url)
        rules = _kept(f"{parts.scheme}://{parts.netloc}")
        asked = rules.allows.crawl_delay(ROBOT) if rules is not None and rules.allows is not None else None
        return float(asked or 0.0)

    async def _learn(self, site: str) -> _Rules:
        text = await self._fetch(f"{site}/robots.txt")
        now = time.monotonic()
        if text is None:
            rules = _Rules(None, now + KEPT_AFTER_FAULT)
        else:
            rules = _Rules(Protego.parse(text), now + KEPT)
        with _known_lock:
            if len(_known) >= MAX_SITES:
                _known.clear()
            _known[site] = rules
        return rules


def _kept(site: str) -> _Rules | None:
    with _known_lock:
        rules = _known.get(site)
    return rules if rules is not None and rules.until > time.monotonic() else None
