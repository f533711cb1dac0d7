"""Tests what a service can do, with a few small calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipeline.clients.assemble import ServiceSettings, open_chat, open_search, problems
from pipeline.clients.base import ChatRequest, Message, SearchRequest, ServiceError
from pipeline.clients.http import Patience, RefusedError
from pipeline.clients.models.base import ModelClient
from pipeline.clients.models.batches import batches_of

_PATIENCE = Patience(tries=2, total=60)
_SCHEMA = {"type": "object", "properties": {"capital": {"type": "string"}}, "required": ["capital"]}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one test. ``text`` is a sentence for the person who started it."""

    works: bool
    text: str


async def probe_chat(settings: ServiceSettings) -> list[Finding]:
    """Whether the model answers, holds to a JSON schema, gives log-probabilities and takes batches: at most
    four calls. Where it does not answer at all, the others are not made."""
    if wrong := problems(settings):
        return [Finding(False, " ".join(wrong))]
    async with open_chat(replace(settings, patience=_PATIENCE)) as chat:
        try:
            answer = await chat.complete(_request(settings))
        except ServiceError as error:
            return [Finding(False, str(error))]
        found = [Finding(True, f"It answers: “{' '.join(answer.text.split())[:80]}”")]
        found.append(await _schema(chat, settings))
        found.append(await _logprobs(chat, settings))
        found.append(await _batches(chat))
        return found


async def probe_search(settings: ServiceSettings) -> list[Finding]:
    """Whether a search finds anything: one call."""
    if wrong := problems(settings):
        return [Finding(False, " ".join(wrong))]
    async with open_search(replace(settings, patience=_PATIENCE)) as search:
        try:
            hits: Sequence[object] = await search.search(SearchRequest("test", "Eiffel Tower height", 3))
        except ServiceError as error:
            return [Finding(False, str(error))]
    return [Finding(bool(hits), f"It answers with {len(hits)} results." if hits else "It answers, but finds nothing.")]


def _request(settings: ServiceSettings) -> ChatRequest:
    question = Message("user", "Which city is the capital of France? Answer in one word, as JSON if you are asked to.")
    return ChatRequest("test", (question,), settings.llm_model, max_tokens=64)


async def _schema(chat: ModelClient, settings: ServiceSettings) -> Finding:
    no = "It doesn't support JSON schemas: the prompt describes the format, and answers are parsed leniently."
    try:
        answer = await chat.complete_exactly(replace(_request(settings), schema=_SCHEMA))
        return Finding(True, "It follows JSON schemas.") if "capital" in json.loads(answer.text) else Finding(False, no)
    except (RefusedError, ValueError, TypeError):
        return Finding(False, no)
    except ServiceError as error:
        return Finding(False, str(error))


async def _logprobs(chat: ModelClient, settings: ServiceSettings) -> Finding:
    no = "It returns no log-probabilities: FastFact searches for every claim."
    try:
        answer = await chat.complete_exactly(replace(_request(settings), logprobs=True))
    except RefusedError:
        return Finding(False, no)
    except ServiceError as error:
        return Finding(False, str(error))
    return Finding(True, "It gives log-probabilities.") if answer.tokens else Finding(False, no)


async def _batches(chat: ModelClient) -> Finding:
    try:
        if await batches_of(chat).works():
            return Finding(True, "It supports batches: a run can get its answers within a day, at half the price.")
    except ServiceError as error:
        return Finding(False, str(error))
    return Finding(False, "It doesn't support batches: runs make one call at a time.")
