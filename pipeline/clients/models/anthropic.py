"""Anthropic's Messages API."""

from __future__ import annotations

import json
from typing import Any

from pipeline.clients import tokens
from pipeline.clients.answers import clean
from pipeline.clients.base import ChatAnswer, ChatRequest, Usage
from pipeline.clients.http import endpoint
from pipeline.clients.models.base import Manner, ModelClient, split_system, told_or, with_schema

VERSION = "2023-06-01"
_TOOL = "answer"


class AnthropicChat(ModelClient):
    """A Chat over messages. A schema is that of a tool which the model has to call. There are no log-probabilities and
    no seed."""

    PROTOCOL = "messages"

    def address(self, url: str) -> str:
        return endpoint(url or "https://api.anthropic.com", "messages")

    def headers(self, key: str) -> dict[str, str]:
        return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})

    def body(self, request: ChatRequest, manner: Manner) -> dict[str, Any]:
        messages = list(request.messages)
        body: dict[str, Any] = {"model": request.model, "max_tokens": request.max_tokens}
        if manner.temperature:
            body["temperature"] = min(request.temperature, 1.0)
        if request.schema is not None:
            if manner.format == "json_schema":
                tool = {"name": _TOOL, "description": "Gives the answer.", "input_schema": dict(request.schema)}
                body["tools"] = [tool]
                body["tool_choice"] = {"type": "tool", "name": _TOOL}
            else:
                messages = with_schema(messages, request.schema)
        system, turns = split_system(messages)
        if system:
            body["system"] = system
        body["messages"] = [{"role": each.role, "content": each.content} for each in turns]
        return body

    def read(self, answer: Any, request: ChatRequest) -> ChatAnswer:
        blocks = answer["content"]
        used = [json.dumps(block["input"], ensure_ascii=False) for block in blocks if block["type"] == "tool_use"]
        text = clean(used[0] if used else "".join(block["text"] for block in blocks if block["type"] == "text"))
        told = answer.get("usage") or {}
        read = told_or(told.get("input_tokens"), tokens.about_messages(request.messages))
        wrote = told_or(told.get("output_tokens"), tokens.about(text))
        return ChatAnswer(
            text=text,
            usage=Usage(read, wrote, self.prices.of(read, wrote)),
            cut=answer.get("stop_reason") == "max_tokens",
            model=str(answer.get("model") or request.model),
            refused=answer.get("stop_reason") == "refusal",
        )
