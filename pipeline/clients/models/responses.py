"""OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.clients import tokens
from pipeline.clients.answers import clean
from pipeline.clients.base import ChatAnswer, ChatRequest, ModelToken, Usage
from pipeline.clients.http import bearer, endpoint
from pipeline.clients.models.base import Manner, ModelClient, is_number, split_system, told_or, with_schema
from pipeline.clients.models.openai import URL, strict_schema


class ResponsesChat(ModelClient):
    """A Chat over responses. Nothing is stored by the service. It takes no seed."""

    PROTOCOL = "responses"

    def address(self, url: str) -> str:
        return endpoint(url or URL, "responses")

    def headers(self, key: str) -> dict[str, str]:
        return bearer(key)

    def body(self, request: ChatRequest, manner: Manner) -> dict[str, Any]:
        messages = list(request.messages)
        body: dict[str, Any] = {
            "model": request.model,
            "max_output_tokens": max(request.max_tokens, 16),  # the least that is taken
            "store": False,
        }
        if manner.temperature:
            body["temperature"] = request.temperature
        if manner.logprobs and request.logprobs:
            body["include"] = ["message.output_text.logprobs"]
        if request.schema is not None:
            if manner.format == "json_schema":
                schema, strict = strict_schema(request.schema)
                form = {"type": "json_schema", "name": "answer", "schema": schema, "strict": strict}
                body["text"] = {"format": form}
            else:
                messages = with_schema(messages, request.schema)
                if manner.format == "json_object":
                    body["text"] = {"format": {"type": "json_object"}}
        system, turns = split_system(messages)
        if system:
            body["instructions"] = system
        body["input"] = [{"role": each.role, "content": each.content} for each in turns]
        return body

    def read(self, answer: Any, request: ChatRequest) -> ChatAnswer:
        parts = [part for item in answer["output"] if item["type"] == "message" for part in item["content"]]
        written = [part for part in parts if part["type"] == "output_text"]
        refusals = [part["refusal"] for part in parts if part["type"] == "refusal"]
        why = answer.get("incomplete_details")
        why = why.get("reason") if isinstance(why, Mapping) else None
        text = clean("".join(part["text"] for part in written) or "".join(refusals))
        found = tuple(
            ModelToken(clean(str(each["token"])), max(float(each["logprob"]), -9999.0))
            for part in written
            for each in part.get("logprobs") or ()
            if is_number(each.get("logprob"))
        )
        told = answer.get("usage") or {}
        read = told_or(told.get("input_tokens"), tokens.about_messages(request.messages))
        wrote = told_or(told.get("output_tokens"), len(found) or tokens.about(text))
        return ChatAnswer(
            text=text,
            tokens=found,
            usage=Usage(read, wrote, self.prices.of(read, wrote)),
            cut=why == "max_output_tokens",
            model=str(answer.get("model") or request.model),
            refused=why == "content_filter" or bool(refusals and not written),
        )
