"""Chat completions of any OpenAI-compatible server: hosted ones, vLLM, Ollama, llama.cpp and their like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.clients import tokens
from pipeline.clients.answers import clean
from pipeline.clients.base import ChatAnswer, ChatRequest, ModelToken, Usage
from pipeline.clients.http import bearer, endpoint
from pipeline.clients.models.base import Manner, ModelClient, is_number, told_or, with_schema

URL = "https://api.openai.com"


class OpenAIChat(ModelClient):
    """A Chat over chat completions."""

    PROTOCOL = "chat"

    def address(self, url: str) -> str:
        return endpoint(url or URL, "chat/completions")

    def headers(self, key: str) -> dict[str, str]:
        return bearer(key)

    def body(self, request: ChatRequest, manner: Manner) -> dict[str, Any]:
        return body_of(request, manner)

    def read(self, answer: Any, request: ChatRequest) -> ChatAnswer:
        choice = answer["choices"][0]
        message = choice["message"] if "message" in choice else {"content": choice["text"]}
        text = _text(message)
        held_back = message.get("refusal") and not message.get("content")
        found = _tokens(choice.get("logprobs"))
        told = answer.get("usage")
        told = told if isinstance(told, Mapping) else {}
        prompt_tokens = told_or(told.get("prompt_tokens"), tokens.about_messages(request.messages))
        answer_tokens = told_or(told.get("completion_tokens"), len(found) or tokens.about(text))
        return ChatAnswer(
            text=text,
            tokens=found,
            usage=Usage(prompt_tokens, answer_tokens, self.prices.of(prompt_tokens, answer_tokens)),
            cut=choice.get("finish_reason") == "length",
            model=str(answer.get("model") or request.model),
            refused=choice.get("finish_reason") == "content_filter" or bool(held_back),
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
            messages = with_schema(messages, request.schema)
            if manner.format == "json_object":
                body["response_format"] = {"type": "json_object"}
    body["messages"] = [{"role": each.role, "content": each.content} for each in messages]
    return body


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
    return tuple(ModelToken(clean(str(text)), max(float(value), -9999.0)) for text, value in pairs if is_number(value))
