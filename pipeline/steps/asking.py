"""Asking a model for an answer of a given form, and reading what it says strictly.

The answer's form is a pydantic model. Its JSON schema goes with the request, for servers that can hold a model to it;
others are read tolerantly (a fence or words around the JSON, a trailing comma). An answer that cannot be read is asked
for again with the error shown to the model; after that the step falls back to its rules, and says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from pipeline.clients.base import ChatAnswer, ChatRequest, Message
from pipeline.tools import Tools

ATTEMPTS = 2

Answer = TypeVar("Answer", bound=BaseModel)


class UnreadableAnswerError(Exception):
    """A model's answers could not be read, however often it was asked. The sentence says what was wrong with the
    last."""


@dataclass(frozen=True, slots=True)
class Asked(Generic[Answer]):
    """A model's answer, read, with the answer as it came (its text and log-probabilities) and how many calls it
    took."""

    value: Answer
    answer: ChatAnswer
    calls: int


async def ask(
    tools: Tools,
    *,
    step: str,
    prompt: str,
    fields: Mapping[str, object],
    form: type[Answer],
    max_tokens: int = 1024,
    logprobs: bool = False,
    attempts: int = ATTEMPTS,
) -> Asked[Answer]:
    """Ask with the prompt of that name and read the answer as ``form``.

    Raises UnreadableAnswerError after ``attempts`` answers that could not be read, ServiceError and BudgetSpentError
    from the client, MissingServiceError without one.
    """
    chat = tools.need_chat()
    messages = list(tools.prompts[prompt].messages(fields))
    problem = ""
    for call in range(1, attempts + 1):
        answer = await chat.complete(
            ChatRequest(
                step=step,
                messages=tuple(messages),
                model=tools.model,
                temperature=tools.temperature,
                seed=tools.seed,
                max_tokens=max_tokens,
                schema=form.model_json_schema(),
                logprobs=logprobs,
            )
        )
        try:
            return Asked(value=read(answer.text, form), answer=answer, calls=call)
        except ValueError as error:
            problem = "it was cut off at its length limit" if answer.cut else str(error)
            messages += [
                Message("assistant", answer.text),
                Message("user", f"That could not be read: {problem}. Answer again, with the JSON object alone."),
            ]
    raise UnreadableAnswerError(f"The model's answer could not be read after {attempts} tries: {problem}")


def read(text: str, form: type[Answer]) -> Answer:
    """The first JSON value in a text that has the form. Raises ValueError with what is wrong, for the model to read."""
    try:
        return form.model_validate(_json_in(text))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the answer"
        raise ValueError(f"{where}: {first['msg']}") from None


def _json_in(text: str) -> object:
    decoder = json.JSONDecoder(strict=False)
    for start in (match.start() for match in re.finditer(r"[{\[]", text)):
        for attempt in (text[start:], re.sub(r",(\s*[}\]])", r"\1", text[start:])):
            try:
                value: object = decoder.raw_decode(attempt)[0]
            except ValueError:
                continue
            return value
    raise ValueError("there is no JSON object in it")
