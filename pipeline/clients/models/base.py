"""The common part of the clients for language models: what a server supports, what to give up when it refuses, whose
fault a refusal is, and what a call can cost.

The request starts with everything that was asked for. What a server answers 400 to is given up step by step (a JSON
schema for the answer, then plain JSON mode, then words alone; log-probabilities; seed; temperature), and what worked is
remembered for that server and model for a quarter of an hour. A refusal that does not name what the server stumbles
over is met for that request alone: one stray 400 must not take the schema away from all the others.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import httpx

from pipeline.clients import tokens
from pipeline.clients.base import ChatAnswer, ChatRequest, Message, PromptRefusedError, ServiceError
from pipeline.clients.http import Patience, RefusedError, ServiceClient
from pipeline.clients.limiter import Limiter

logger = logging.getLogger(__name__)

SECONDS = 240.0  # for one answer: a small machine generates ten tokens a second
PROBE_AFTER = 900.0  # seconds; then everything the server refused is tried again
FORMATS = ("json_schema", "json_object", "")
_ABOUT_FORMAT = ("format", "json", "schema", "structured", "grammar", "guided")
# Words in refusals: by a content filter, of prompts that are too long, and for faults other than the prompt.
_FILTERED: tuple[str, ...] = ("content_filter", "content filter", "content management", "content policy", "safety")
_FILTERED += ("usage polic", "moderation", "flagged", "responsibleai", "data_inspection", "sensitive")
_TOO_LONG = ("context length", "context window", "context size", "context_length", "too long", "too many tokens")
_SETTINGS: tuple[str, ...] = ("api key", "api_key", "apikey", "model not", "model_not", "unknown model", "no model")
_SETTINGS += ("invalid model", "does not exist", "not found", "billing", "credit", "quota", "authentication")
_SETTINGS += ("permission", "account")


@dataclass(frozen=True, slots=True)
class Manner:
    """What a server supports."""

    format: str = FORMATS[0]
    limit: str = "max_tokens"
    logprobs: bool = True
    seed: bool = True
    temperature: bool = True


_manners: dict[tuple[str, str], tuple[Manner, float]] = {}
_manners_lock = threading.Lock()


def forget_manners() -> None:
    """Ask every server anew what it takes; for tests."""
    with _manners_lock:
        _manners.clear()


@dataclass(frozen=True, slots=True)
class Prices:
    """Money for a million tokens read and written."""

    prompt: float = 0.0
    answer: float = 0.0

    def of(self, prompt_tokens: int, answer_tokens: int) -> float:
        """Money for so many tokens."""
        return (self.prompt * prompt_tokens + self.answer * answer_tokens) / 1e6


class ModelClient(ABC):
    """A Chat over HTTP. A class says how its protocol writes a request (``body``) and reads an answer (``read``)."""

    PROTOCOL: ClassVar[str]  # how errors name the address that was expected

    def __init__(
        self,
        client: httpx.AsyncClient,
        limiter: Limiter,
        *,
        url: str = "",
        key: str = "",
        prices: Prices | None = None,
        seconds: float = SECONDS,
        patience: Patience | None = None,
    ) -> None:
        self.url = self.address(url)
        self.prices = prices or Prices()
        self._service = ServiceClient(
            client=client,
            limiter=limiter,
            name="The language model",
            url=self.url,
            advice="Check address, key and model under Services (or LLM_URL, LLM_KEY, LLM_MODEL), and that it is up.",
            key=key,
            headers=self.headers(key),
            seconds=seconds,
            patience=patience or Patience(total=2 * seconds),
        )

    @abstractmethod
    def address(self, url: str) -> str:
        """The address that is called, of the one that people gave; of the service itself where that is blank."""

    @abstractmethod
    def headers(self, key: str) -> dict[str, str]:
        """The headers that carry the key."""

    @abstractmethod
    def body(self, request: ChatRequest, manner: Manner) -> dict[str, Any]:
        """The request as that server takes it."""

    @abstractmethod
    def read(self, answer: Any, request: ChatRequest) -> ChatAnswer:
        """The answer. Raises KeyError, IndexError, TypeError, AttributeError or ValueError for another form."""

    def place(self, request: ChatRequest) -> str:
        """The address of one request."""
        return self.url

    def at(self, url: str) -> ServiceClient:
        """The same service, called at another address."""
        return replace(self._service, url=url)

    @property
    def provider(self) -> str:
        """Who answers, as part of the key under which answers are kept."""
        return f"chat {self.url}"

    def worst_case(self, request: ChatRequest) -> tuple[int, float]:
        """Tokens and money that a call can hardly exceed."""
        prompt = tokens.at_most(request)
        return prompt + request.max_tokens, self.prices.of(prompt, request.max_tokens)

    async def complete_exactly(self, request: ChatRequest) -> ChatAnswer:
        """The answer to a request with everything that it asks for, nothing given up. Raises ServiceError, of which
        RefusedError where the server does not take it: for a test of what a server can do."""
        service = replace(self._service, url=self.place(request))
        return self._understood(await service.post(self.body(request, Manner())), request)

    async def complete(self, request: ChatRequest) -> ChatAnswer:
        """The model's answer. Raises ServiceError, of which PromptRefusedError for a refusal of this prompt alone."""
        known = (self.url, request.model)
        manner, since = _remembered(known)
        remembered = began = manner
        service = replace(self._service, url=self.place(request))
        while True:
            try:
                answer = await service.post(self.body(request, manner))
            except RefusedError as error:
                given_up = concession(error, request, manner)
                if given_up is None:
                    raise prompt_fault(error, service.where) or error from None
                logger.info("%s refused, asked again with %s: %s", service.where, given_up.changes, error.said)
                manner = replace(manner, **given_up.changes)
                if given_up.named:
                    remembered = replace(remembered, **given_up.changes)
                continue
            if remembered != began:
                with _manners_lock:
                    _manners[known] = (remembered, since)
            return self._understood(answer, request)

    def _understood(self, answer: Any, request: ChatRequest) -> ChatAnswer:
        try:
            return self.read(answer, request)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError):
            raise ServiceError(
                f"{self._service.where} answered in a form that no {self.PROTOCOL} endpoint uses: "
                f"{json.dumps(answer)[:200]}. Check that its address (LLM_URL) is that of one."
            ) from None


def _remembered(known: tuple[str, str]) -> tuple[Manner, float]:
    """What that server is known to support, and since when. After a while, everything is tried again."""
    now = time.monotonic()
    with _manners_lock:
        manner, since = _manners.get(known, (Manner(), now))
    return (Manner(), now) if now - since > PROBE_AFTER else (manner, since)


def with_schema(messages: list[Message], schema: Mapping[str, Any]) -> list[Message]:
    """The messages with the schema in words, for a server that cannot enforce it."""
    said = f"Answer with one JSON object and nothing else. It follows this JSON schema: {json.dumps(schema)}"
    if messages and messages[0].role == "system":
        return [Message("system", f"{messages[0].content}\n\n{said}"), *messages[1:]]
    return [Message("system", said), *messages]


def split_system(messages: list[Message]) -> tuple[str, list[Message]]:
    """The text of the system turns, and the other turns, for protocols that keep the two apart."""
    system = "\n\n".join(each.content for each in messages if each.role == "system")
    return system, [each for each in messages if each.role != "system"]


def is_number(value: object) -> bool:
    """Whether a service sent a number."""
    return isinstance(value, int | float) and not math.isnan(value)


def told_or(told: object, guess: int) -> int:
    """The number of tokens that a service told, else a guess."""
    return told if isinstance(told, int) and told >= 0 else guess


@dataclass(frozen=True, slots=True)
class Concession:
    """What to give up of a ``Manner``. ``named``: the refusal spoke of it, so it holds for other requests too."""

    changes: dict[str, Any]
    named: bool = True


def concession(error: RefusedError, request: ChatRequest, manner: Manner) -> Concession | None:
    """What to give up after a refusal; None where nothing is left, or where it was about something else."""
    said = error.said.lower()
    if error.status not in {400, 415, 422} or _speaks_of(said, _FILTERED) or _speaks_of(said, _TOO_LONG):
        return None
    choices: list[tuple[bool, dict[str, Any]]] = [
        ("max_tokens" in said and manner.limit == "max_tokens", {"limit": "max_completion_tokens"}),
        ("max_completion_tokens" in said and manner.limit == "max_completion_tokens", {"limit": "max_tokens"}),
        ("logprob" in said and manner.logprobs and request.logprobs, {"logprobs": False}),
        ("temperature" in said and manner.temperature, {"temperature": False}),
        ("seed" in said and manner.seed and request.seed is not None, {"seed": False}),
    ]
    for fits, changes in choices:
        if fits:
            return Concession(changes)
    if request.schema is not None and manner.format:
        # Last, because many servers do not name the cause of a refusal.
        less = FORMATS[FORMATS.index(manner.format) + 1]
        return Concession({"format": less}, named=_speaks_of(said, _ABOUT_FORMAT))
    return None


def prompt_fault(error: RefusedError, where: str) -> PromptRefusedError | None:
    """The refusal as one of this prompt alone; None where key, model or account are at fault, so that every other
    prompt would be refused, too. ``where``: the service as people know it."""
    said = error.said.lower()
    if error.status in {400, 403, 422} and _speaks_of(said, _FILTERED):
        why = "refused the text of this prompt (content filter)"
        return PromptRefusedError(f"{where} {why}: {error.said}.", f"The model {why}.")
    if error.status in {400, 413, 422} and (error.status == 413 or _speaks_of(said, _TOO_LONG)):
        why = "refused this prompt because it is too long"
        return PromptRefusedError(f"{where} {why}: {error.said}.", f"The model {why}.")
    if error.status in {400, 422} and not _speaks_of(said, _SETTINGS):
        return PromptRefusedError(f"{where} refused this prompt: {error.status} {error.said}.")
    return None


def _speaks_of(said: str, words: tuple[str, ...]) -> bool:
    return any(word in said for word in words)
