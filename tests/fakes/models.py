"""Language models that speak other protocols than chat completions: OpenAI's Responses, Anthropic's, Gemini's."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from tests.fakes.chat import Refusal, Script
from tests.fakes.server import Call, FakeServer, Reply, as_json

_TOKEN = re.compile(r"\s*\S{1,6}")


class FakeModel(FakeServer, ABC):
    """A model that says what ``script`` says of the body of a request. ``refuses``: names of parameters, at any depth,
    that it answers 400 to. ``key``: asked of every call."""

    PATH: str

    def __init__(
        self, script: Script | None = None, *, latency: float = 0.0, refuses: tuple[str, ...] = (), key: str = "k"
    ) -> None:
        super().__init__(latency=latency)
        self.script = script or (lambda request: "Yes.")
        self.refuses = refuses
        self.key = key

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies of all calls."""
        return [call.json() for call in self.calls]

    def answer(self, call: Call) -> Reply:
        if call.method != "POST" or not re.fullmatch(self.PATH, call.path):
            return self.fault(404, f"Not found: {call.path}")
        if self.given_key(call) != self.key:
            return self.fault(401, "invalid api key")
        request = call.json()
        if wrong := next((name for name in self.refuses if name in _names(request)), ""):
            return self.fault(400, f"Unsupported parameter: {wrong}")
        said = self.script(request)
        if isinstance(said, Refusal):
            return self.fault(said.status, str(said.error["message"]))
        return self.said(said, request)

    @abstractmethod
    def given_key(self, call: Call) -> str:
        """The key of a call."""

    @abstractmethod
    def fault(self, status: int, message: str) -> Reply:
        """A refusal as this protocol words it."""

    @abstractmethod
    def said(self, said: object, request: Mapping[str, Any]) -> Reply:
        """An answer as this protocol words it."""


class FakeResponses(FakeModel):
    """POST /v1/responses."""

    PATH = "/v1/responses"

    def given_key(self, call: Call) -> str:
        return call.headers.get("authorization", "").removeprefix("Bearer ")

    def fault(self, status: int, message: str) -> Reply:
        return as_json({"error": {"message": message, "type": "invalid_request_error", "code": None}}, status)

    def said(self, said: object, request: Mapping[str, Any]) -> Reply:
        words, is_cut = _cut(said, request["max_output_tokens"])
        part: dict[str, Any] = {"type": "output_text", "text": "".join(words), "annotations": []}
        if "message.output_text.logprobs" in request.get("include", ()):
            part["logprobs"] = [{"token": word, "logprob": -0.01, "top_logprobs": []} for word in words]
        message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
        return as_json(
            {
                "id": "resp_1",
                "object": "response",
                "status": "incomplete" if is_cut else "completed",
                "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
                "model": request["model"],
                "output": [{"type": "reasoning", "id": "rs_1", "summary": []}, message],
                "usage": {"input_tokens": 11, "output_tokens": len(words), "total_tokens": 11 + len(words)},
            }
        )


class FakeAnthropic(FakeModel):
    """POST /v1/messages. Turns alternate and begin with the user's; a forced tool is called with the answer."""

    PATH = "/v1/messages"

    def given_key(self, call: Call) -> str:
        return call.headers.get("x-api-key", "") if call.headers.get("anthropic-version") else "no version"

    def fault(self, status: int, message: str) -> Reply:
        return as_json({"type": "error", "error": {"type": "invalid_request_error", "message": message}}, status)

    def said(self, said: object, request: Mapping[str, Any]) -> Reply:
        roles = [each["role"] for each in request["messages"]]
        if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"] or "max_tokens" not in request:
            return self.fault(400, "messages: roles must alternate between user and assistant")
        words, is_cut = _cut(said, request["max_tokens"])
        content: list[dict[str, Any]] = [{"type": "text", "text": "".join(words)}]
        if request.get("tool_choice", {}).get("type") == "tool":
            whole = {} if is_cut or not isinstance(said, Mapping) else said
            content = [{"type": "tool_use", "id": "toolu_1", "name": request["tools"][0]["name"], "input": whole}]
        stop = "max_tokens" if is_cut else "tool_use" if request.get("tools") else "end_turn"
        return as_json(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": request["model"],
                "content": content,
                "stop_reason": stop,
                "usage": {"input_tokens": 11, "output_tokens": len(words)},
            }
        )


class FakeGemini(FakeModel):
    """POST /v1beta/models/MODEL:generateContent."""

    PATH = r"/v1beta/models/[\w.-]+:generateContent"

    def given_key(self, call: Call) -> str:
        return call.headers.get("x-goog-api-key", "")

    def fault(self, status: int, message: str) -> Reply:
        return as_json({"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}, status)

    def said(self, said: object, request: Mapping[str, Any]) -> Reply:
        config = request["generationConfig"]
        words, is_cut = _cut(said, config["maxOutputTokens"])
        candidate: dict[str, Any] = {
            "content": {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": "".join(words)}]},
            "finishReason": "MAX_TOKENS" if is_cut else "STOP",
            "index": 0,
        }
        if config.get("responseLogprobs"):
            chosen = [{"token": word, "tokenId": 1, "logProbability": -0.01} for word in words]
            candidate["logprobsResult"] = {"chosenCandidates": chosen}
        usage = {"promptTokenCount": 11, "candidatesTokenCount": len(words), "thoughtsTokenCount": 3}
        return as_json({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake-1"})


def _cut(said: object, most: int) -> tuple[list[str], bool]:
    words = _TOKEN.findall(said if isinstance(said, str) else json.dumps(said))
    return words[:most], len(words) > most


def _names(value: object) -> set[str]:
    if isinstance(value, Mapping):
        return set(value).union(*map(_names, value.values()))
    return set().union(*map(_names, value)) if isinstance(value, list) else set()
