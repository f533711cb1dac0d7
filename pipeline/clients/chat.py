"""Chat completions of any OpenAI-compatible server: hosted ones, vLLM, Ollama, llama.cpp and their like.

Servers differ in what they take. The request starts with everything that was asked for; what a server answers 400 to
is given up step by step (a JSON schema for the answer, then plain JSON mode, then words alone; ``max_tokens`` for
``max_completion_tokens``; log-probabilities; seed; temperature), and what worked is remembered for that server and
model as long as the process lives.
"""

from __future__ import annotations

import json
import logging
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx

from pipeline.clients import tokens
from pipeline.clients.answers import clean
from pipeline.clients.base import ChatAnswer, ChatRequest, Message, ModelToken, ServiceError, Usage
from pipeline.clients.http import Patience, RefusedError, ServiceClient, bearer, endpoint
from pipeline.clients.limiter import Limiter

logger = logging.getLogger(__name__)

SECONDS = 240.0  # for one answer: a small machine writes ten tokens a second
_FORMATS = ("json_schema", "json_object", "")


@dataclass(frozen=True, slots=True)
class Manner:
    """What a server takes."""

    format: str = _FORMATS[0]
    limit: str = "max_tokens"
    logprobs: bool = True
    seed: bool = True
    temperature: bool = True


_manners: dict[tuple[str, str], Manner] = {}
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
        with _manners_lock:
            began = manner = _manners.get(known, Manner())
        while True:
            try:
                answer = await self._service.post(body_of(request, manner))
            except RefusedError as error:
                next_manner = concession(error, request, manner)
                if next_manner is None:
                    raise
                logger.info("%s refused, asked again with %s: %s", self._service.where, next_manner, error.said)
                manner = next_manner
                continue
            if manner != began:
                with _manners_lock:
                    _manners[known] = manner
            return self._read(answer, request)

    def _read(self, answer: Any, request: ChatRequest) -> ChatAnswer:
        try:
            choice = answer["choices"][0]
            text = _text(choice["message"] if "message" in choice else {"content": choice["text"]})
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


def concession(error: RefusedError, request: ChatRequest, manner: Manner) -> Manner | None:
    """What to give up after a refusal; None where nothing is left, or where it was about something else."""
    said = error.said.lower()
    if error.status not in {400, 415, 422} or "context length" in said or "context window" in said:
        return None
    formatted = request.schema is not None and bool(manner.format)
    less_format = _FORMATS[_FORMATS.index(manner.format) + 1] if formatted else ""
    choices = [
        ("max_tokens" in said and manner.limit == "max_tokens", replace(manner, limit="max_completion_tokens")),
        (
            "max_completion_tokens" in said and manner.limit == "max_completion_tokens",
            replace(manner, limit="max_tokens"),
        ),
        ("logprob" in said and manner.logprobs and request.logprobs, replace(manner, logprobs=False)),
        ("temperature" in said and manner.temperature, replace(manner, temperature=False)),
        ("seed" in said and manner.seed and request.seed is not None, replace(manner, seed=False)),
        # Last, since many servers do not name what they stumble over.
        (formatted, replace(manner, format=less_format)),
    ]
    return next((choice for fits, choice in choices if fits), None)


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
