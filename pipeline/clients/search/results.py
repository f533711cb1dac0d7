"""What all search services need: dates as they write them, texts without markup, and the date limit."""

from __future__ import annotations

import datetime as dt
import html
import re
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from pipeline.clients.answers import clean
from pipeline.clients.base import SearchRequest, SearchResult

_TAG = re.compile(r"<[^<>]{0,500}>")
_AGO = re.compile(r"(\d+)\s+(minute|hour|day|week|month|year)s?\s+ago", re.IGNORECASE)
_DAYS = {"minute": 0, "hour": 0, "day": 1, "week": 7, "month": 30, "year": 365}
_WRITTEN: tuple[str, ...] = ("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%Y/%m/%d", "%d.%m.%Y")
_WRITTEN += ("%a, %d %b %Y %H:%M:%S GMT",)


def result(
    *,
    url: object,
    title: object = "",
    snippet: object = "",
    site: object = "",
    published: dt.date | None = None,
) -> SearchResult | None:
    """A result from what a service sent; None without a web address."""
    address = text_of(url)
    host = _host(address)
    if not host:
        return None
    return SearchResult(
        url=address,
        title=text_of(title),
        snippet=text_of(snippet),
        site=text_of(site) or host,
        published=published,
    )


def listed(found: Iterable[SearchResult | None], request: SearchRequest) -> list[SearchResult]:
    """The results to hand over: each address once, none that is known to be too late, as many as were asked for."""
    by_url: dict[str, SearchResult] = {}
    for each in found:
        if each is None or (request.before and each.published and each.published >= request.before):
            continue
        by_url.setdefault(each.url, each)
    return list(by_url.values())[: request.count]


def items(value: Any, *path: str) -> Sequence[dict[str, Any]]:
    """The list of objects at that place of a service's answer; empty where there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text_of(value: object) -> str:
    """A text that a service sent, without tags, entities and needless white space."""
    if not isinstance(value, str):
        return ""
    return " ".join(clean(html.unescape(_TAG.sub("", value))).split())


def day_of(value: object, today: dt.date | None = None) -> dt.date | None:
    """The day that a service wrote: ISO, "May 5, 2021", "5 May 2021", "3 days ago"; None where it cannot be told."""
    if not isinstance(value, str) or not value.strip():
        return None
    written = " ".join(value.split())
    if ago := _AGO.search(written):
        try:
            return (today or dt.datetime.now(dt.UTC).date()) - dt.timedelta(days=int(ago[1]) * _DAYS[ago[2].lower()])
        except OverflowError:
            return None
    try:
        return dt.date.fromisoformat(written[:10])
    except ValueError:
        pass
    for form in _WRITTEN:
        try:
            return dt.datetime.strptime(written, form).replace(tzinfo=dt.UTC).date()
        except ValueError:
            continue
    return None


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        return (parts.hostname or "").removeprefix("www.") if parts.scheme in {"http", "https"} else ""
    except ValueError:
        return ""
