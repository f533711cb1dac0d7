"""Converts requests and answers to JSON and back, and computes the key under which an answer is stored."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from pipeline.clients.base import ChatAnswer, FetchedPage, ModelToken, SearchResult, Usage

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without NUL and lone surrogates, which PostgreSQL and UTF-8 refuse."""
    return _UNSTORABLE.sub("", text)


def key_of(provider: str, request: Any) -> str:
    """SHA-256 of who is asked and what: the canonical JSON of a request (a dataclass) without its step, in
    hexadecimal. Two steps that ask the same get the same answer."""
    asked = {field.name: getattr(request, field.name) for field in dataclasses.fields(request) if field.name != "step"}
    content = {"provider": provider, "kind": type(request).__name__, "request": asked}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=_plain)
    return sha256(text.encode("ascii")).hexdigest()


def _plain(value: object) -> Any:
    if isinstance(value, dt.date):
        return value.isoformat()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no place in a request")


def chat_to_json(answer: ChatAnswer) -> dict[str, Any]:
    """A model's answer as it is kept."""
    return {
        "text": answer.text,
        "tokens": [[token.text, token.logprob] for token in answer.tokens],
        "cut": answer.cut,
        "model": answer.model,
        "refused": answer.refused,
        "usage": [answer.usage.prompt_tokens, answer.usage.answer_tokens, answer.usage.money],
    }


def chat_from_json(value: Mapping[str, Any], *, cached: bool) -> ChatAnswer:
    """An answer from its JSON. A stored one (``cached``) costs nothing."""
    prompt_tokens, answer_tokens, money = (0, 0, 0.0) if cached else value["usage"]
    return ChatAnswer(
        text=value["text"],
        tokens=tuple(ModelToken(text, logprob) for text, logprob in value["tokens"]),
        usage=Usage(prompt_tokens, answer_tokens, money),
        cut=value["cut"],
        model=value["model"],
        refused=value.get("refused", False),
    )


def results_to_json(results: Sequence[SearchResult]) -> dict[str, Any]:
    """The results of a search as they are kept."""
    return {
        "results": [
            {
                "url": each.url,
                "title": each.title,
                "snippet": each.snippet,
                "site": each.site,
                "published": _day(each.published),
            }
            for each in results
        ]
    }


def results_from_json(value: Mapping[str, Any]) -> list[SearchResult]:
    """Kept results of a search."""
    return [
        SearchResult(
            url=each["url"],
            title=each["title"],
            snippet=each["snippet"],
            site=each["site"],
            published=_date(each["published"]),
        )
        for each in value["results"]
    ]


def page_to_json(page: FetchedPage) -> dict[str, Any]:
    """A fetched page as it is kept."""
    return {
        "url": page.url,
        "text": page.text,
        "content_hash": page.content_hash,
        "retrieved_at": page.retrieved_at.isoformat(),
        "title": page.title,
        "site": page.site,
        "published": _day(page.published),
        "warc": b64encode(page.warc).decode("ascii"),
    }


def page_from_json(value: Mapping[str, Any]) -> FetchedPage:
    """A kept page."""
    return FetchedPage(
        url=value["url"],
        text=value["text"],
        content_hash=value["content_hash"],
        retrieved_at=dt.datetime.fromisoformat(value["retrieved_at"]),
        title=value["title"],
        site=value["site"],
        published=_date(value["published"]),
        warc=b64decode(value.get("warc", "")),
    )


def _day(date: dt.date | None) -> str | None:
    return None if date is None else date.isoformat()


def _date(day: str | None) -> dt.date | None:
    return None if day is None else dt.date.fromisoformat(day)
