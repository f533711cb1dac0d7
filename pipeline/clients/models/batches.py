"""Batches: many requests handed to a model's service at once, answered within a day at half the price.

A batch is created once and then looked at until it is over. Its requests are named by the key under which their answers
are kept. Where a process dies between handing a batch over and writing down its name, ``find`` finds it again, so that
nothing is paid twice.
"""

from __future__ import annotations

import datetime as dt
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import quote

from pipeline.clients.base import ChatAnswer, ChatRequest, ServiceError, Usage
from pipeline.clients.http import RefusedError, ServiceClient
from pipeline.clients.models.anthropic import AnthropicChat
from pipeline.clients.models.base import Manner, ModelClient
from pipeline.clients.models.gemini import GeminiChat
from pipeline.clients.models.openai import OpenAIChat
from pipeline.clients.models.responses import ResponsesChat

PRICE = 0.5  # of the usual price
MAX_REQUESTS = 10_000  # of one batch; the services take more, by number and size
_MAX_REQUESTS_OF = {"gemini": 500}  # in one body of at most 20 MB
_LISTED = 100
# Faults of single lines, as the answer to a read that may see an unknown form.
_ODD = (KeyError, IndexError, TypeError, AttributeError, ValueError)


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What came of a batch that is over. ``answers`` by key, at the price of batches; ``unanswered`` by key, with what
    the service said: refused, expired, canceled."""

    answers: dict[str, ChatAnswer] = field(default_factory=dict)
    unanswered: dict[str, str] = field(default_factory=dict)


class Batches(ABC):
    """The batches of one service. Every method raises ServiceError."""

    PATH: ClassVar[str]

    def __init__(self, chat: ModelClient) -> None:
        self.chat = chat

    async def works(self) -> bool:
        """Whether the service has batches at all: one request, which is free."""
        try:
            answer = await self._at(self._root).get({"limit": "1"})
        except RefusedError:
            return False
        return isinstance(answer, Mapping) and isinstance(answer.get("data"), list)

    @abstractmethod
    async def create(self, requests: Mapping[str, ChatRequest], token: str) -> str:
        """Hand requests over, by key; returns the service's name for the batch. ``token``: our own name for it."""

    @abstractmethod
    async def find(self, token: str, keys: Sequence[str], since: dt.datetime) -> str:
        """The batch that was created under that token for these keys, after that moment; "" if there is none."""

    @abstractmethod
    async def look(self, batch: str, requests: Mapping[str, ChatRequest]) -> BatchResult | None:
        """What came of it; None while the service is at work."""

    async def cancel(self, batch: str) -> None:
        """Have the service stop; what it has answered by then is still to be had, and paid."""
        await self._at(f"{self._root}/{quote(batch, safe='')}/cancel").post({})

    @property
    def _base(self) -> str:
        """The address of the service without its last part."""
        return self.chat.url.removesuffix(self.PATH)

    @property
    @abstractmethod
    def _root(self) -> str:
        """The address of its batches."""

    def _at(self, url: str) -> ServiceClient:
        return self.chat.at(url)

    def _answer(self, body: Any, request: ChatRequest) -> ChatAnswer:
        """An answer at the price of batches. Raises what ``read`` raises."""
        answer = self.chat.read(body, request)
        used = answer.usage
        cheaper = Usage(used.prompt_tokens, used.answer_tokens, PRICE * used.money)
        return ChatAnswer(
            answer.text, answer.tokens, cheaper, cut=answer.cut, model=answer.model, refused=answer.refused
        )

    def _odd(self, answer: Any) -> ServiceError:
        return ServiceError(
            f"{self._at(self._root).where} answered in a form that no service of batches uses: "
            f"{json.dumps(answer)[:200]}. Run without batches."
        )


class OpenAIBatches(Batches):
    """Batches of chat completions or responses: a file of requests, a batch over it, a file of answers."""

    PATH = "/chat/completions"

    @property
    def _root(self) -> str:
        return f"{self._base}/batches"

    async def create(self, requests: Mapping[str, ChatRequest], token: str) -> str:
        lines = [
            {"custom_id": key, "method": "POST", "url": f"/v1{self.PATH}", "body": self.chat.body(request, Manner())}
            for key, request in requests.items()
        ]
        file = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode()
        sent = await self._at(f"{self._base}/files").upload(
            {"purpose": "batch"}, {"file": (f"{token}.jsonl", file, "application/jsonl")}
        )
        made = await self._at(self._root).post(
            {
                "input_file_id": _text(sent, "id") or self._raise(sent),
                "endpoint": f"/v1{self.PATH}",
                "completion_window": "24h",
                "metadata": {"touchstone": token},
            }
        )
        return _text(made, "id") or self._raise(made)

    async def find(self, token: str, keys: Sequence[str], since: dt.datetime) -> str:
        found = await self._at(self._root).get({"limit": str(_LISTED)})
        try:
            return next((str(each["id"]) for each in found["data"] if _token(each) == token), "")
        except _ODD:
            raise self._odd(found) from None

    async def look(self, batch: str, requests: Mapping[str, ChatRequest]) -> BatchResult | None:
        told = await self._at(f"{self._root}/{quote(batch, safe='')}").get({})
        state = _text(told, "status") or self._raise(told)
        if state not in {"completed", "expired", "cancelled", "failed"}:
            return None
        result = BatchResult()
        for name in ("output_file_id", "error_file_id"):
            if file := _text(told, name):
                content = await self._at(f"{self._base}/files/{quote(file, safe='')}/content").get_text()
                for key, line in _lines(content, requests):
                    self._sort(key, line, requests[key], result)
        why = f"the batch is {state}"
        errors = told.get("errors")
        if isinstance(errors, Mapping) and errors.get("data"):
            why = f"{why}: {errors['data'][0].get('message', '')}"
        return _rest(result, requests, why)

    def _sort(self, key: str, line: Mapping[str, Any], request: ChatRequest, result: BatchResult) -> None:
        try:
            if line.get("error"):
                result.unanswered[key] = str(line["error"]["message"])
            elif line["response"]["status_code"] == 200:
                result.answers[key] = self._answer(line["response"]["body"], request)
            else:
                result.unanswered[key] = str(line["response"]["body"]["error"]["message"])
        except _ODD:
            result.unanswered[key] = f"unreadable: {json.dumps(line)[:200]}"

    def _raise(self, answer: Any) -> str:
        raise self._odd(answer)


class ResponsesBatches(OpenAIBatches):
    """The same for the Responses API."""

    PATH = "/responses"


class AnthropicBatches(Batches):
    """Message batches: requests in one body, answers as lines."""

    PATH = "/messages"

    @property
    def _root(self) -> str:
        return f"{self.chat.url}/batches"

    async def create(self, requests: Mapping[str, ChatRequest], token: str) -> str:
        made = await self._at(self._root).post(
            {
                "requests": [
                    {"custom_id": key, "params": self.chat.body(request, Manner())} for key, request in requests.items()
                ]
            }
        )
        if not (name := _text(made, "id")):
            raise self._odd(made)
        return name

    async def find(self, token: str, keys: Sequence[str], since: dt.datetime) -> str:
        """It keeps no names of ours: a batch of as many requests, created after that moment, is taken for ours."""
        found = await self._at(self._root).get({"limit": str(_LISTED)})
        try:
            for each in found["data"]:
                number = sum(each["request_counts"].values())
                if number == len(keys) and dt.datetime.fromisoformat(each["created_at"]) >= since:
                    return str(each["id"])
        except _ODD:
            raise self._odd(found) from None
        return ""

    async def look(self, batch: str, requests: Mapping[str, ChatRequest]) -> BatchResult | None:
        told = await self._at(f"{self._root}/{quote(batch, safe='')}").get({})
        if not (state := _text(told, "processing_status")):
            raise self._odd(told)
        if state != "ended":
            return None
        result = BatchResult()
        content = await self._at(f"{self._root}/{quote(batch, safe='')}/results").get_text()
        for key, line in _lines(content, requests):
            try:
                outcome = line["result"]
                if outcome["type"] == "succeeded":
                    result.answers[key] = self._answer(outcome["message"], requests[key])
                elif outcome["type"] == "errored":
                    result.unanswered[key] = str(outcome["error"]["error"]["message"])
                else:
                    result.unanswered[key] = str(outcome["type"])
            except _ODD:
                result.unanswered[key] = f"unreadable: {json.dumps(line)[:200]}"
        return _rest(result, requests, "the batch has ended without it")


class GeminiBatches(Batches):
    """Gemini's batches: requests in one body, the batch as an operation that carries the answers at its end."""

    PATH = ""

    @property
    def _root(self) -> str:
        return f"{self.chat.url}/batches"

    async def works(self) -> bool:
        """Whether the service lists batches."""
        try:
            return isinstance(await self._at(self._root).get({"pageSize": "1"}), Mapping)
        except RefusedError:
            return False

    async def create(self, requests: Mapping[str, ChatRequest], token: str) -> str:
        model = next(iter(requests.values()))  # a run asks one model
        place = self.chat.place(model).replace(":generateContent", ":batchGenerateContent")
        lines = [
            {"request": self.chat.body(request, Manner()), "metadata": {"key": key}}
            for key, request in requests.items()
        ]
        made = await self._at(place).post(
            {"batch": {"displayName": token, "inputConfig": {"requests": {"requests": lines}}}}
        )
        if not (name := _text(made, "name")):
            raise self._odd(made)
        return name

    async def find(self, token: str, keys: Sequence[str], since: dt.datetime) -> str:
        found = await self._at(self._root).get({"pageSize": str(_LISTED)})
        try:
            rows = found.get("operations", [])
            return next((str(each["name"]) for each in rows if each["metadata"]["displayName"] == token), "")
        except _ODD:
            raise self._odd(found) from None

    async def look(self, batch: str, requests: Mapping[str, ChatRequest]) -> BatchResult | None:
        # As text, because a batch that failed has an error of its own in an answer that is none.
        said = await self._at(self._operation(batch)).get_text()
        try:
            told = json.loads(said)
        except ValueError:
            raise self._odd(said) from None
        if not _text(told, "name"):
            raise self._odd(told)
        if not told.get("done"):
            return None
        result = BatchResult()
        response = told.get("response")
        if isinstance(response, Mapping):
            try:
                lines = response["inlinedResponses"]["inlinedResponses"]
                for key, line in _by_key(lines, requests):
                    self._sort(key, line, requests[key], result)
            except _ODD:
                raise self._odd(told) from None
        state = _text(told.get("metadata"), "state").rpartition("_")[2].lower()
        error = told.get("error")
        why = f"the batch is {state or 'over'}"
        return _rest(result, requests, f"{why}: {_text(error, 'message')}" if _text(error, "message") else why)

    async def cancel(self, batch: str) -> None:
        await self._at(f"{self._operation(batch)}:cancel").post({})

    def _operation(self, batch: str) -> str:
        return f"{self.chat.url}/{quote(batch)}"

    def _sort(self, key: str, line: Mapping[str, Any], request: ChatRequest, result: BatchResult) -> None:
        try:
            if "response" in line:
                result.answers[key] = self._answer(line["response"], request)
            else:
                result.unanswered[key] = str(line["error"]["message"])
        except _ODD:
            result.unanswered[key] = f"unreadable: {json.dumps(line)[:200]}"


def _by_key(
    lines: Sequence[Mapping[str, Any]], requests: Mapping[str, ChatRequest]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Gemini's answers by key. Some versions of the service leave the key out; then as many answers as requests are in
    the same order."""
    keys = [_text(line.get("metadata"), "key") for line in lines]
    if not any(keys) and len(lines) == len(requests):
        keys = list(requests)
    for key, line in zip(keys, lines, strict=True):
        if key in requests:
            yield key, line


_OF: dict[type[ModelClient], type[Batches]] = {
    OpenAIChat: OpenAIBatches,
    ResponsesChat: ResponsesBatches,
    AnthropicChat: AnthropicBatches,
    GeminiChat: GeminiBatches,
}


def max_requests(provider: str) -> int:
    """The most requests of one batch of a provider."""
    return _MAX_REQUESTS_OF.get(provider, MAX_REQUESTS)


def batches_of(chat: ModelClient) -> Batches:
    """The batches of the service that a client asks."""
    return _OF[type(chat)](chat)


def _text(value: Any, name: str) -> str:
    said = value.get(name) if isinstance(value, Mapping) else None
    return said if isinstance(said, str) else ""


def _token(batch: Mapping[str, Any]) -> str:
    return _text(batch.get("metadata"), "touchstone")


def _lines(content: str, requests: Mapping[str, ChatRequest]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The lines of a file of answers that belong to our requests, by key."""
    for line in content.split("\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue  # the last line is blank, and one that cannot be read is missing below
        key = _text(value, "custom_id")
        if key in requests:
            yield key, value


def _rest(result: BatchResult, requests: Mapping[str, ChatRequest], why: str) -> BatchResult:
    """What nothing was said of is unanswered, too."""
    for key in requests:
        if key not in result.answers:
            result.unanswered.setdefault(key, why)
    return result
