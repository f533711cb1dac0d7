"""Servers of models that people run themselves, each OpenAI-compatible in its own way: vLLM, Ollama, llama.cpp. They
differ in the form of their refusals, in JSON schemas and log-probabilities, and in further fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.fakes.chat import FakeChat
from tests.fakes.server import Call, Reply, as_json

MODEL = "qwen2.5-7b"


class _LocalServer(FakeChat):
    """``context``: how many words of six letters go into a prompt and its answer."""

    context = 1 << 20

    def answer(self, call: Call) -> Reply:
        if call.path == "/v1/models":
            return as_json({"object": "list", "data": [{"id": MODEL, "object": "model", "created": 1}]})
        if call.path != "/v1/chat/completions":
            return self.fault(404, f"Not Found: {call.path}", "not_found_error")
        if self.key and call.headers.get("authorization") != f"Bearer {self.key}":
            return self.unauthorized()
        request = call.json()
        refused = self.refusal(request, sum(len(each["content"]) // 6 for each in request["messages"]))
        if refused is not None:
            return refused
        request = self.understood(request)
        reply = super().answer(Call(call.method, call.target, call.headers, json.dumps(request).encode()))
        return reply if reply.status != 200 else as_json(self.dressed(json.loads(reply.body), request))

    def unauthorized(self) -> Reply:
        return as_json({"error": "Unauthorized"}, 401)

    def fault(self, status: int, message: str, kind: str) -> Reply:
        """An error in this server's own format."""
        raise NotImplementedError  # each server's class below has its own

    def refusal(self, request: Mapping[str, Any], words: int) -> Reply | None:
        """What this server refuses; None where it takes the request."""

    def understood(self, request: dict[str, Any]) -> dict[str, Any]:
        """The request without what this server passes over in silence."""
        return request

    def dressed(self, answer: dict[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer as this server writes it."""
        return answer


class FakeVllm(_LocalServer):
    """vLLM. ``old``: one that knew JSON schemas as guided_json alone, and refuses them as a response_format."""

    old = False

    def fault(self, status: int, message: str, kind: str) -> Reply:
        error = {"message": message, "type": kind, "param": None, "code": status}
        return as_json({"object": "error"} | error if self.old else {"error": error}, status)

    def refusal(self, request: Mapping[str, Any], words: int) -> Reply | None:
        if request["model"] != MODEL:
            return self.fault(404, f"The model `{request['model']}` does not exist.", "NotFoundError")
        if self.old and request.get("response_format", {}).get("type") == "json_schema":
            seen = [{"type": "literal_error", "loc": ["body", "response_format", "type"], "input": "json_schema"}]
            return self.fault(400, str(seen), "BadRequestError")
        if words + request["max_tokens"] > self.context:
            message = (
                f"This model's maximum context length is {self.context} tokens. However, you requested "
                f"{words + request['max_tokens']} tokens. Please reduce the length of the messages or completion."
            )
            return self.fault(400, message, "BadRequestError")
        return None

    def dressed(self, answer: dict[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
        answer["choices"][0]["message"] |= {"reasoning_content": None, "tool_calls": []}
        answer["choices"][0] |= {"stop_reason": None}
        return answer | {"prompt_logprobs": None, "kv_transfer_params": None}


class FakeOllama(_LocalServer):
    """Ollama. It asks for no key, cuts a long prompt in silence, and passes over what it does not know:
    log-probabilities always, JSON schemas where it is ``old``."""

    old = False

    def unauthorized(self) -> Reply:
        raise AssertionError("Ollama looks at no key")

    def fault(self, status: int, message: str, kind: str) -> Reply:
        return as_json({"error": {"message": message, "type": kind, "param": None, "code": None}}, status)

    def refusal(self, request: Mapping[str, Any], words: int) -> Reply | None:
        if request["model"] != MODEL:
            message = f'model "{request["model"]}" not found, try pulling it first'
            return self.fault(404, message, "not_found_error")
        return None

    def understood(self, request: dict[str, Any]) -> dict[str, Any]:
        passed_over = {"logprobs", "top_logprobs"} | ({"response_format"} if self.old else set())
        return {name: value for name, value in request.items() if name not in passed_over}

    def dressed(self, answer: dict[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
        return answer | {"system_fingerprint": "fp_ollama"}


class FakeLlamaCpp(_LocalServer):
    """llama.cpp's server. It has one model whatever it is called, makes a grammar of a schema (``no_grammar``: it
    fails), says 503 while it loads the model, and writes its log-probabilities with ids."""

    no_grammar = False
    loading = 0  # calls

    def unauthorized(self) -> Reply:
        return self.fault(401, "Invalid API Key", "authentication_error")

    def fault(self, status: int, message: str, kind: str) -> Reply:
        return as_json({"error": {"code": status, "message": message, "type": kind}}, status)

    def refusal(self, request: Mapping[str, Any], words: int) -> Reply | None:
        if self.loading:
            self.loading -= 1
            return self.fault(503, "Loading model", "unavailable_error")
        if self.no_grammar and request.get("response_format", {}).get("type") == "json_schema":
            return self.fault(400, "Failed to parse grammar", "invalid_request_error")
        if words > self.context:
            message = "the request exceeds the available context size, try increasing it"
            error = {"code": 400, "message": message, "type": "exceed_context_size_error"}
            return as_json({"error": error | {"n_prompt_tokens": words, "n_ctx": self.context}}, 400)
        return None

    def dressed(self, answer: dict[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
        logprobs = answer["choices"][0].pop("logprobs")
        if logprobs:
            tokens = [{"id": place, **each} for place, each in enumerate(logprobs["content"])]
            answer["choices"][0]["logprobs"] = {"content": tokens}
        return answer | {"model": "gpt-3.5-turbo", "timings": {"prompt_n": 1, "predicted_ms": 3.2}}
