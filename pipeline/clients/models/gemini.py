"""Google's Gemini API."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from pipeline.clients import tokens
from pipeline.clients.answers import clean
from pipeline.clients.base import ChatAnswer, ChatRequest, ModelToken, Usage
from pipeline.clients.models.base import Manner, ModelClient, is_number, split_system, told_or, with_schema

# What ends an answer that a filter holds back.
_HELD_BACK = frozenset({"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"})


class GeminiChat(ModelClient):
    """A Chat over generateContent. The model's name is part of the address."""

    PROTOCOL = "generateContent"

    def address(self, url: str) -> str:
        base = (url or "https://generativelanguage.googleapis.com").strip().rstrip("/")
        return base if base.endswith(("/v1", "/v1beta")) else f"{base}/v1beta"

    def headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key} if key else {}

    def place(self, request: ChatRequest) -> str:
        name = request.model.removeprefix("models/")
        return f"{self.url}/models/{quote(name, safe='')}:generateContent"

    def body(self, request: ChatRequest, manner: Manner) -> dict[str, Any]:
        messages = list(request.messages)
        config: dict[str, Any] = {"maxOutputTokens": request.max_tokens}
        if manner.temperature:
            config["temperature"] = request.temperature
        if manner.seed and request.seed is not None:
            config["seed"] = request.seed
        if manner.logprobs and request.logprobs:
            config["responseLogprobs"] = True
        if request.schema is not None:
            if manner.format:
                config["responseMimeType"] = "application/json"
            if manner.format == "json_schema":
                config["responseJsonSchema"] = dict(request.schema)
            else:
                messages = with_schema(messages, request.schema)
        system, turns = split_system(messages)
        body: dict[str, Any] = {"generationConfig": config}
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        body["contents"] = [
            {"role": "model" if each.role == "assistant" else "user", "parts": [{"text": each.content}]}
            for each in turns
        ]
        return body

    def read(self, answer: Any, request: ChatRequest) -> ChatAnswer:
        blocked = (answer.get("promptFeedback") or {}).get("blockReason")
        candidate = {} if blocked else answer["candidates"][0]
        parts = (candidate.get("content") or {}).get("parts") or []
        text = clean("".join(part.get("text", "") for part in parts if not part.get("thought")))
        chosen = (candidate.get("logprobsResult") or {}).get("chosenCandidates") or ()
        found = tuple(
            ModelToken(clean(str(each["token"])), max(float(each["logProbability"]), -9999.0))
            for each in chosen
            if is_number(each.get("logProbability"))
        )
        told = answer.get("usageMetadata") or {}
        read = told_or(told.get("promptTokenCount"), tokens.about_messages(request.messages))
        wrote = told_or(told.get("candidatesTokenCount"), len(found) or tokens.about(text))
        wrote += told_or(told.get("thoughtsTokenCount"), 0)
        ended = candidate.get("finishReason")
        return ChatAnswer(
            text=text,
            tokens=found,
            usage=Usage(read, wrote, self.prices.of(read, wrote)),
            cut=ended == "MAX_TOKENS",
            model=str(answer.get("modelVersion") or request.model),
            refused=bool(blocked) or ended in _HELD_BACK,
        )
