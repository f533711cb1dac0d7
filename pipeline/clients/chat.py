"""Chat completions of any OpenAI-compatible server: hosted ones, vLLM, Ollama, llama.cpp and their like.

Servers differ in what they take. The request starts with everything that was asked for; what a server answers 400 to
is given up step by step (a JSON schema for the answer, then plain JSON mode, then words alone; ``max_tokens`` for
``max_completion_tokens``; log-probabilities; seed; temperature), and what worked is remembered for that server and
model for a quarter of an hour. A refusal that does not name what the server stumbles over is met for that request
alone: one stray 400 must not take the schema away from all the others.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx

from pipeline.clients import tokens
from pipeline.clients.answers import clean
from pipeline.clients.base import (
    ChatAnswer,
    ChatRequest,
    Message,
    ModelToken,
    PromptRefusedError,
    ServiceError,
    Usage,
)
from pipeline.clients.http import Patience, RefusedError, ServiceClient, bearer, endpoint
from pipeline.clients.limiter import Limiter

logger = logging.getLogger(__name__)

SECONDS = 240.0  # for one answer: a small machine writes ten tokens a second
PROBE_AFTER = 900.0  # seconds; then the server is asked again for all that it once refused
_FORMATS = ("json_schema", "json_object", "")
_ABOUT_FORMAT = ("format", "json", "schema", "structured", "grammar", "guided")
# What services say when a prompt offends their filter, when it is too long, and when the fault is not the prompt's.
_FILTERED = ("content_filter", "content filter", "content management", "content policy", "usage polic", "safety")
_FILTERED += ("moderation", "flagged", "responsibleai", "data_inspection", "sensitive")
_TOO_LONG = ("context length", "context window", "context size", "context_length", "too long", "too many tokens")
_SETTINGS = ("api key", "api_key", "apikey", "model not", "model_not", "unknown model", "invalid model", "no model")
_SETTINGS += ("does not exist", "not found", "billing", "credit", "quota", "authentication", "permission", "account")


@dataclass(frozen=True, slots=True)
class Manner:
    """What a server takes."""

    format: str = _FORMATS[0]
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


class OpenAIChat:
    """A Chat over HTTP."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        limiter: Limiter,
        *,
        url: str,
        key: str = "",
        prices: Prices | None = None,
        seconds: float = SECONDS,
        patience: Patience | None = None,
    ) -> None:
        self.url = endpoint(url, "chat/completions")
        self.prices = prices or Prices()
        self._service = ServiceClient(
            client=client,
            limiter=limiter,
            name="The language model",
            url=self.url,
            advice="Check LLM_URL, LLM_KEY and LLM_MODEL, and that the server is up.",
            key=key,
            headers=bearer(key),
            seconds=seconds,
            patience=patience or Patience(total=2 * seconds),
        )

    @property
    def provider(self) -> str:
        """Who answers, as part of the key under which answers are kept."""
        return f"chat {self.url}"

    def worst_case(self, request: ChatRequest) -> tuple[int, float]:
        """Tokens and money that a call can hardly exceed."""
        prompt = tokens.at_most(request)
        return prompt + request.max_tokens, self.prices.of(prompt, request.max_tokens)

    async def complete(self, request: ChatRequest) -> ChatAnswer:
        """The model's answer. Raises ServiceError."""
        known = (self.url, request.model)
        manner, since = self._remembered(known)
        remembered = began = manner
        while True:
            try:
                answer = await self._service.post(body_of(request, manner))
            except RefusedError as error:
                given_up = concession(error, request, manner)
                if given_up is None:
                    raise prompt_fault(error, self._service.where) or error from None
                logger.info("%s refused, asked again with %s: %s", self._service.where, given_up.changes, error.said)
                manner = replace(manner, **given_up.changes)
                if given_up.named:
                    remembered = replace(remembered, **given_up.changes)
                continue
            if remembered != began:
                with _manners_lock:
                    _manners[known] = (remembered, since)
            return self._read(answer, request)

    def _remembered(self, known: tuple[str, str]) -> tuple[Manner, float]:
        """What that server takes as far as is known, and since when: everything, where that was long ago."""
        now = time.monotonic()
        with _manners_lock:
            manner, since = _manners.get(known, (Manner(), now))
        return (Manner(), now) if now - since > PROBE_AFTER else (manner, since)

    def _read(self, answer: Any, request: ChatRequest) -> ChatAnswer:
        try:
            choice = answer["choices"][0]
            message = choice["message"] if "message" in choice else {"content": choice["text"]}
            text = _text(message)
            refused = choice.get("finish_reason") == "content_filter" or bool(
                message.get("refusal") and not message.get("content")
            )
            found = _tokens(choice.get("logprobs"))
        except (KeyError, IndexError, TypeError, AttributeError, ValueError):
            raise ServiceError(
                f"{self._service.where} answered in a form that no chat endpoint uses: {json.dumps(answer)[:200]}. "
                "Check that LLM_URL is an OpenAI-compatible address."
            ) from None
        told = answer.get("usage")
        told = told if isinstance(told, Mapping) else {}
        prompt_tokens = _count(told.get("prompt_tokens"), tokens.about_messages(request.messages))
        answer_tokens = _count(told.get("completion_tokens"), len(found) or tokens.about(text))
        return ChatAnswer(
            text=text,
            tokens=found,
            usage=Usage(prompt_tokens, answer_tokens, self.prices.of(prompt_tokens, answer_tokens)),
            cut=choice.get("finish_reason") == "length",
            refused=refused,
            model=str(answer.get("model") or request.model),
        )


def body_of(request: ChatRequest, manner: Manner) -> dict[str, Any]:
    """The request as that server takes it."""
    messages = list(request.messages)
    body: dict[str, Any] = {"model": request.model, manner.limit: request.max_tokens}
    if manner.temperature:
        body["temperature"] = request.temperature
    if manner.seed and request.seed is not None:
        body["seed"] = request.seed
    if manner.logprobs and request.logprobs:
        body["logprobs"] = True
    if request.schema is not None:
        if manner.format == "json_schema":
            schema, strict = strict_schema(request.schema)
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": schema, "strict": strict},
            }
        else:
            # The server cannot hold the model to the schema, so the model is told; JSON mode wants the word, too.
            messages = _with_schema(messages, request.schema)
            if manner.format == "json_object":
                body["response_format"] = {"type": "json_object"}
    body["messages"] = [{"role": each.role, "content": each.content} for each in messages]
    return body


def _with_schema(messages: list[Message], schema: Mapping[str, Any]) -> list[Message]:
    said = f"Answer with one JSON object and nothing else. It follows this JSON schema: {json.dumps(schema)}"
    if messages and messages[0].role == "system":
        return [Message("system", f"{messages[0].content}\n\n{said}"), *messages[1:]]
    return [Message("system", said), *messages]


def strict_schema(schema: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """A JSON schema as strict servers want it (every property required, none besides, no defaults), and whether it
    could be made so: an object with free keys cannot."""
    strict = True

    def tightened(part: Any) -> Any:
        nonlocal strict
        if isinstance(part, list):
            return [tightened(each) for each in part]
        if not isinstance(part, Mapping):
            return part
        new: dict[str, Any] = {}
        for name, value in part.items():
            if name in {"properties", "$defs", "definitions"}:
                new[name] = {inner: tightened(each) for inner, each in value.items()}
            elif name in {"enum", "const", "required"}:
                new[name] = value
            elif name not in {"default", "title"}:
                new[name] = tightened(value)
        if "properties" in new:
            new["required"] = list(new["properties"])
            new["additionalProperties"] = False
        elif new.get("type") == "object":
            strict = False
        return new

    tight = tightened(schema)
    return (tight, True) if strict else (dict(schema), False)


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
    choices = [
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
        # Last, since many servers do not name what they stumble over.
        less = _FORMATS[_FORMATS.index(manner.format) + 1]
        return Concession({"format": less}, named=_speaks_of(said, _ABOUT_FORMAT))
    return None


def prompt_fault(error: RefusedError, where: str) -> PromptRefusedError | None:
    """The refusal as one of this prompt alone; None where key, model or account are at fault, so that every other
    prompt would be refused, too. ``where``: the service as people know it."""
    said = error.said.lower()
    if error.status in {400, 403, 422} and _speaks_of(said, _FILTERED):
        return PromptRefusedError(f"{where} refused the text of this prompt (content filter): {error.said}.")
    if error.status in {400, 413, 422} and (error.status == 413 or _speaks_of(said, _TOO_LONG)):
        return PromptRefusedError(f"{where} refused this prompt because it is too long: {error.said}.")
    if error.status in {400, 422} and not _speaks_of(said, _SETTINGS):
        return PromptRefusedError(f"{where} refused this prompt: {error.status} {error.said}.")
    return None


def _speaks_of(said: str, words: tuple[str, ...]) -> bool:
    return any(word in said for word in words)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, Sequence) and not isinstance(content, str):
        content = "".join(str(part.get("text") or "") for part in content)
    return clean(str(content or message.get("refusal") or ""))


def _tokens(logprobs: Any) -> tuple[ModelToken, ...]:
    """The tokens of an answer: of the chat form (``content``) or the older form of two lists."""
    if not isinstance(logprobs, Mapping):
        return ()
    if logprobs.get("content"):
        pairs = [(each["token"], each["logprob"]) for each in logprobs["content"]]
    else:
        pairs = list(zip(logprobs.get("tokens") or (), logprobs.get("token_logprobs") or (), strict=False))
    return tuple(ModelToken(clean(str(text)), max(float(value), -9999.0)) for text, value in pairs if _is_number(value))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not math.isnan(value)


def _count(told: object, guess: int) -> int:
    return told if isinstance(told, int) and told >= 0 else guess
