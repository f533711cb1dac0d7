"""An OpenAI-compatible server: chat completions, embeddings, re-ranking."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from tests.fakes.server import Call, FakeServer, Reply, as_json

# A request as it came, to what the model says: a text, or an object that is said as JSON.
Script = Callable[[Mapping[str, Any]], object]
_TOKEN = re.compile(r"\s*\S{1,6}")


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a script gives where the server refuses the prompt: the error object of its answer."""

    error: Mapping[str, Any]
    status: int = 400


class FakeChat(FakeServer):
    """A model that says what ``script`` says.

    ``refuses`` names what it answers 400 to: json_schema, json_object, max_tokens, logprobs, seed, temperature.
    ``usage=False``: it does not tell tokens. ``logprob`` is that of every token. ``key``: asked of every call.
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        latency: float = 0.0,
        refuses: tuple[str, ...] = (),
        usage: bool = True,
        logprob: float = -0.001,
        key: str = "",
    ) -> None:
        super().__init__(latency=latency)
        self.script = script or (lambda request: "Yes.")
        self.refuses = refuses
        self.usage = usage
        self.logprob = logprob
        self.key = key

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies of all calls."""
        return [call.json() for call in self.calls]

    def answer(self, call: Call) -> Reply:
        if call.path != "/v1/chat/completions" or call.method != "POST":
            return as_json({"error": {"message": f"Unknown request URL: {call.path}"}}, 404)
        if self.key and call.headers.get("authorization") != f"Bearer {self.key}":
            given = call.headers.get("authorization", "none")
            return as_json({"error": {"message": f"Incorrect API key provided: {given}"}}, 401)
        request = call.json()
        if refused := self._refused(request):
            return as_json({"error": {"message": refused, "type": "invalid_request_error"}}, 400)
        said = self.script(request)
        if isinstance(said, Refusal):
            return as_json({"error": dict(said.error)}, said.status)
        text = said if isinstance(said, str) else json.dumps(said)
        words = _TOKEN.findall(text)
        most = request.get("max_tokens", request.get("max_completion_tokens", 1 << 20))
        is_cut = len(words) > most
        words = words[:most]
        choice: dict[str, Any] = {
            "index": 0,
            "message": {"role": "assistant", "content": "".join(words)},
            "finish_reason": "length" if is_cut else "stop",
            "logprobs": None,
        }
        if request.get("logprobs"):
            choice["logprobs"] = {
                "content": [
                    {"token": word, "logprob": self.logprob, "bytes": list(word.encode()), "top_logprobs": []}
                    for word in words
                ]
            }
        answer: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "model": request["model"],
            "choices": [choice],
        }
        if self.usage:
            prompt = sum(len(_TOKEN.findall(each["content"])) for each in request["messages"])
            answer["usage"] = {
                "prompt_tokens": prompt,
                "completion_tokens": len(words),
                "total_tokens": prompt + len(words),
            }
        return as_json(answer)

    def _refused(self, request: Mapping[str, Any]) -> str:
        form = request.get("response_format", {}).get("type", "")
        if form in self.refuses:
            return f"This response_format type is unavailable: {form}"
        if form == "json_object" and not any("json" in each["content"].lower() for each in request["messages"]):
            return "'messages' must contain the word 'json' to use 'response_format' of type 'json_object'."
        name = next((name for name in self.refuses if name in request), "")
        return f"Unsupported parameter: '{name}' is not supported with this model." if name else ""


class FakeEmbeddings(FakeServer):
    """Embeddings of 64 dimensions: a word is a direction, so texts that share words are near."""

    def answer(self, call: Call) -> Reply:
        if call.path != "/v1/embeddings":
            return as_json({"error": {"message": f"Unknown request URL: {call.path}"}}, 404)
        request = call.json()
        texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
        if any(not text for text in texts):
            return as_json({"error": {"message": "'$.input' is invalid: an empty string."}}, 400)
        rows = [{"object": "embedding", "index": place, "embedding": _vector(text)} for place, text in enumerate(texts)]
        # Order is told by the index alone.
        return as_json({"object": "list", "data": rows[::-1], "model": request["model"], "usage": {"prompt_tokens": 8}})


class FakeRerank(FakeServer):
    """A re-ranker that counts shared words. ``style``: "documents" (Jina, Cohere) or "texts"
    (text-embeddings-inference, at most 32 at once)."""

    def __init__(self, style: str = "documents", *, latency: float = 0.0) -> None:
        super().__init__(latency=latency)
        self.style = style

    def answer(self, call: Call) -> Reply:
        if not call.path.endswith("/rerank"):
            return as_json({"detail": "Not Found"}, 404)
        request = call.json()
        if self.style not in request:
            message = f"Failed to deserialize the JSON body into the target type: missing field `{self.style}`"
            return Reply(422, message.encode(), {"Content-Type": "text/plain"})
        texts = request[self.style]
        scores = [len(_words(request["query"]) & _words(text)) / 10 for text in texts]
        order = sorted(range(len(texts)), key=lambda place: -scores[place])
        if self.style == "texts":
            if len(texts) > 32:
                return as_json({"error": "batch size > maximum allowed batch size 32", "error_type": "Validation"}, 422)
            return as_json([{"index": place, "score": scores[place]} for place in order])
        return as_json({"results": [{"index": place, "relevance_score": scores[place]} for place in order]})


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _vector(text: str) -> list[float]:
    vector = [0.0] * 64
    for word in _words(text):
        vector[crc32(word.encode()) % 64] += 1.0
    return vector
