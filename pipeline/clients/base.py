"""Typed requests that strategies make to outside services, and a protocol for each kind.

Strategies and steps know these names only. The provider, caching, retries, budgets and accounting are decided where a
run is assembled. Every request names its step, so that costs can be told step by step.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol


class ServiceError(Exception):
    """An outside service failed after all retries. The message is for owners: which service, what it said, what to
    do."""


class PromptRefusedError(ServiceError):
    """The service refuses this one prompt (content filter, or longer than the model accepts) and would refuse it again.
    Other prompts work, so the step falls back. ``public``: the same for everybody, without the service's name."""

    def __init__(self, said: str, public: str = "The model refused this prompt.") -> None:
        super().__init__(said)
        self.public = public


class BudgetSpentError(Exception):
    """The next call could exceed the run's budget, so it was not made. The run pauses and keeps all finished work.
    ``advice``: what people can do."""

    advice = "Raise the budget and resume."


Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to a model. ``schema`` is the JSON schema of the answer, asked for where the server can;
    ``None``: free text. ``max_tokens`` bounds the answer, and with the prompt what the call may cost."""

    step: str
    messages: tuple[Message, ...]
    model: str
    temperature: float = 0.0
    seed: int | None = None
    max_tokens: int = 1024
    schema: Mapping[str, Any] | None = None
    logprobs: bool = False


@dataclass(frozen=True, slots=True)
class ModelToken:
    """One token of an answer with the natural logarithm of its probability."""

    text: str
    logprob: float


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of one call: input and output tokens, and cost in the currency of the prices."""

    prompt_tokens: int = 0
    answer_tokens: int = 0
    money: float = 0.0


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """What a model said. ``tokens`` is empty where the server gives no log-probabilities. ``cut``: it ran into
    ``max_tokens``. ``refused``: it would not answer, or a filter held its answer back."""

    text: str
    tokens: tuple[ModelToken, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cut: bool = False
    model: str = ""
    refused: bool = False


class Chat(Protocol):
    """A language model."""

    async def complete(self, request: ChatRequest, readable: Callable[[ChatAnswer], bool] | None = None) -> ChatAnswer:
        """The model's answer. One that is not ``readable`` is not kept: the same request is asked again next time.
        Raises ServiceError, of which PromptRefusedError for this prompt alone; BudgetSpentError."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One query. ``before``: only pages published before that day, where the service can tell (exclusive)."""

    step: str
    query: str
    count: int = 10
    before: dt.date | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One hit, in the service's order. ``published`` as far as the service says."""

    url: str
    title: str
    snippet: str
    site: str = ""
    published: dt.date | None = None


class SearchClient(Protocol):
    """A search service, or a local corpus."""

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        """Best first, at most ``count``. Raises ServiceError, BudgetSpentError."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One page to fetch."""

    step: str
    url: str


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """The readable text of a page as it was at ``retrieved_at`` (UTC). ``content_hash`` is the SHA-256 of ``text`` in
    UTF-8, in hexadecimal. ``warc``: the answer as it came, as a WARC record; blank where it is not at hand."""

    url: str
    text: str
    content_hash: str
    retrieved_at: dt.datetime
    title: str = ""
    site: str = ""
    published: dt.date | None = None
    warc: bytes = field(default=b"", repr=False)


class PageFetcher(Protocol):
    """Fetches pages and keeps their text."""

    async def fetch(self, request: PageRequest) -> FetchedPage | None:
        """The page's text; None if there is none to be had (gone, refused, not text), which is no fault of the run.
        Raises BudgetSpentError."""


@dataclass(frozen=True, slots=True)
class RankRequest:
    """Texts to score against a query."""

    step: str
    query: str
    texts: tuple[str, ...]


class Ranker(Protocol):
    """Scores texts by meaning: embeddings, a re-ranking endpoint, a local cross-encoder, LSA."""

    async def scores(self, request: RankRequest) -> Sequence[float]:
        """One score a text, in the order of the texts, higher is nearer. Raises ServiceError, BudgetSpentError."""
