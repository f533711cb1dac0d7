"""Services that answer by a script, in memory: for tests of steps and strategies.

An answer is chosen by the request's step: a text, something that becomes JSON, a finished ``ChatAnswer``, an exception
to raise, a callable that is given the request and returns any of these, or ``turns`` of them, one for each call. Every
request is kept in order, so that a test can look at what was asked and hold the number of calls against a formula.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from math import log
from typing import Any, TypeVar

from pydantic import BaseModel

from pipeline import strategies
from pipeline.clients.base import (
    ChatAnswer,
    ChatRequest,
    FetchedPage,
    ModelToken,
    PageRequest,
    RankRequest,
    SearchRequest,
    SearchResult,
    Usage,
)
from pipeline.prompts import Prompt, shipped
from pipeline.tools import Tools

RETRIEVED_AT = dt.datetime(2024, 5, 1, 12, 0, tzinfo=dt.UTC)
UNREADABLE = "I would rather talk about the weather."

Result = TypeVar("Result")


def turns(*answers: Any) -> Iterator[Any]:
    """One answer after the other, one for each call; asked once more than that, a test fails."""
    return iter(answers)


class ScriptedChat:
    """A model. ``answers`` maps a step to its answer; a step that has none fails the test."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = answers
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest, readable: Callable[[ChatAnswer], bool] | None = None) -> ChatAnswer:
        self.requests.append(request)
        await asyncio.sleep(0)  # as a real call does, let others go first
        answer = _resolved(self.answers[request.step], request)
        if isinstance(answer, ChatAnswer):
            return answer
        text = answer if isinstance(answer, str) else as_json(answer)
        return ChatAnswer(text=text, usage=Usage(prompt_tokens=10, answer_tokens=5), model=request.model)

    def asked(self, step: str) -> list[str]:
        """The last turn of each request of a step, in order."""
        return [request.messages[-1].content for request in self.requests if request.step == step]


class ScriptedSearch:
    """A search service. ``results`` is a list for every query, a mapping by query, or a callable given the request."""

    def __init__(self, results: Any) -> None:
        self.results = results
        self.requests: list[SearchRequest] = []

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        self.requests.append(request)
        await asyncio.sleep(0)
        found = self.results
        if isinstance(found, Mapping):
            found = found.get(request.query, [])
        return list(_resolved(found, request))[: request.count]


class ScriptedPages:
    """The web. ``texts`` maps an address to its text, to a ``FetchedPage``, to an exception, or to None: gone."""

    def __init__(self, texts: Mapping[str, Any]) -> None:
        self.texts = texts
        self.requests: list[PageRequest] = []

    async def fetch(self, request: PageRequest) -> FetchedPage | None:
        self.requests.append(request)
        await asyncio.sleep(0)
        text = _resolved(self.texts.get(request.url), request)
        if text is None or isinstance(text, FetchedPage):
            return text
        return page(request.url, text)


class ScriptedRanker:
    """A ranker by meaning: ``score`` is given query and text, or is an exception to raise."""

    def __init__(self, score: Callable[[str, str], float] | Exception) -> None:
        self.score = score
        self.requests: list[RankRequest] = []

    async def scores(self, request: RankRequest) -> Sequence[float]:
        self.requests.append(request)
        await asyncio.sleep(0)
        if isinstance(self.score, Exception):
            raise self.score
        return [self.score(request.query, text) for text in request.texts]


def page(url: str, text: str, **fields: Any) -> FetchedPage:
    """A fetched page with its hash."""
    digest = sha256(text.encode()).hexdigest()
    return FetchedPage(url=url, text=text, content_hash=digest, retrieved_at=RETRIEVED_AT, **fields)


def tools_for(strategy: str, answers: Mapping[str, Any] | None = None, **services: Any) -> Tools:
    """Tools with the shipped prompts of a strategy, a model that gives ``answers``, and these other services."""
    chat = ScriptedChat(answers) if answers is not None else None
    return Tools(**{"model": "scripted", "chat": chat, "prompts": prompts_of(strategy)} | services)


def prompts_of(strategy: str) -> dict[str, Prompt]:
    """The shipped prompts of a strategy, as a run's plan freezes them."""
    return {name: shipped(name) for name in strategies.kind(strategy).prompts}


def chat_of(tools: Tools) -> ScriptedChat:
    """The scripted model of these tools."""
    assert isinstance(tools.chat, ScriptedChat)
    return tools.chat


def calls(tools: Tools) -> dict[str, int]:
    """How many calls each step made, over all scripted services: what a formula must come to."""
    services = (tools.chat, tools.search, tools.pages, tools.ranker)
    made = Counter(request.step for service in services for request in getattr(service, "requests", ()))
    return dict(made)


def with_tokens(pieces: Sequence[tuple[str, float]]) -> ChatAnswer:
    """An answer with log-probabilities: its tokens in order, each with its probability (above 0)."""
    tokens = tuple(ModelToken(text, log(probability)) for text, probability in pieces)
    return ChatAnswer(text="".join(token.text for token in tokens), tokens=tokens)


def run(working: Coroutine[Any, Any, Result]) -> Result:
    """What a strategy's coroutine comes to, in a thread of its own: a browser test of the same process leaves an event
    loop running in the main one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, working).result()


def as_json(answer: Any) -> str:
    """An answer as a model writes it."""
    return answer.model_dump_json() if isinstance(answer, BaseModel) else json.dumps(answer, ensure_ascii=False)


def _resolved(answer: Any, request: Any) -> Any:
    if isinstance(answer, Iterator):
        answer = next(answer)
    if callable(answer):
        answer = answer(request)
    if isinstance(answer, BaseException):
        raise answer
    return answer
