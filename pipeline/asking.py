"""Asking a model for an answer of a given form, and reading what it says strictly.

The answer's form is a pydantic model. Its JSON schema goes with the request, for servers that can hold a model to it;
others are read tolerantly (json-repair). An answer that cannot be read is asked for again with the error shown to
the model; after that the step falls back to its rules, and says so.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, Generic, TypeVar

import json_repair
from pydantic import BaseModel, ValidationError

from pipeline.clients.base import ChatAnswer, ChatRequest, Message, PromptRefusedError
from pipeline.tools import Tools

logger = logging.getLogger(__name__)

ATTEMPTS = 2
_LONGEST_PLACE = 100  # characters; a key that the model made up may be of any length
_MAX_VALUES = 40  # objects and lists of one answer that are tried
_MAX_BRACKETS = 1000  # json-repair's time grows with their square
_THOUGHT = "</think>"  # models that think aloud end their draft so
_START = re.compile(r"""\{\s*(?:["'“‘}]|\w+\s*:)|\[\s*["'“‘{\[\]]""")  # no bracket in running text
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")  # as JSON escapes it; an escaped backslash may stand before it

Answer = TypeVar("Answer", bound=BaseModel)


class NoAnswerError(Exception):
    """A model gave no answer that can be used: it refused the prompt, or its answers could not be read however often
    it was asked. The sentence says what was wrong; ``calls`` is how often it was asked."""

    def __init__(self, text: str, calls: int) -> None:
        super().__init__(text)
        self.calls = calls


@dataclass(frozen=True, slots=True)
class Sample:
    """One of several answers to the same prompt, each with a seed of its own. ``number``: from 0."""

    number: int
    temperature: float


@dataclass(frozen=True, slots=True)
class Asking(Generic[Answer]):
    """A model's answer, read, with the answer as it came (its text and log-probabilities) and how many calls it
    took. ``cut``: it ran into its length limit, and ``value`` holds the items that were complete by then."""

    value: Answer
    answer: ChatAnswer
    calls: int
    cut: bool = False


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
    sample: Sample | None = None,
) -> Asking[Answer]:
    """Ask with the prompt of that name and read the answer as ``form``. ``sample``: one of several answers to the same
    prompt.

    Raises NoAnswerError after ``attempts`` answers that could not be read, and at once where the prompt is refused;
    ServiceError and BudgetSpentError from the client, MissingServiceError without one.
    """
    chat = tools.need_chat()
    schema = _schema_of(form)
    messages = list(tools.prompts[prompt].messages(fields))
    problem = ""
    for call in range(1, attempts + 1):
        request = ChatRequest(
            step=step,
            messages=tuple(messages),
            model=tools.model,
            temperature=tools.temperature if sample is None else sample.temperature,
            seed=tools.seed if sample is None else (tools.seed or 0) + sample.number,
            max_tokens=max_tokens,
            schema=schema,
            logprobs=logprobs,
        )
        try:
            answer = await chat.complete(request, lambda answer: _is_readable(answer, form))
        except PromptRefusedError as error:
            logger.info("A prompt of step %s: %s", step, error)
            raise NoAnswerError(error.public, call) from None
        if answer.refused:
            said = " ".join(answer.text.split())[:_LONGEST_PLACE]
            raise NoAnswerError(f"The model refused to answer this prompt{f': “{said}”' if said else ''}.", call)
        try:
            value, cut = _understood(answer, form)
            return Asking(value=value, answer=answer, calls=call, cut=cut)
        except ValueError as error:
            problem = "it was cut off at its length limit" if answer.cut else str(error)
            messages += [
                Message("assistant", answer.text.strip() or "{}"),  # servers refuse an empty turn
                Message("user", f"That could not be read: {problem}. Answer again, with the JSON object alone."),
            ]
    raise NoAnswerError(f"The model's answer could not be read after {attempts} tries: {problem}", attempts)


@cache
def _schema_of(form: type[BaseModel]) -> dict[str, Any]:
    """The form as JSON Schema; nobody changes it."""
    return form.model_json_schema()


def _is_readable(answer: ChatAnswer, form: type[BaseModel]) -> bool:
    try:
        _understood(answer, form)
    except ValueError:
        return False
    return True


def _understood(answer: ChatAnswer, form: type[Answer]) -> tuple[Answer, bool]:
    """The answer as its form, and whether it is the complete part of one that was cut. Raises ValueError."""
    try:
        return read(answer.text, form), False
    except ValueError:
        part = complete_part(answer.text, form) if answer.cut else None
        if part is None:
            raise
        return part, True


def read(text: str, form: type[Answer]) -> Answer:
    """The first value in a text that has the form. A bare list does for a form of one field: models leave the object
    around it out. Raises ValueError with what is wrong, for the model to read, and nothing else."""
    problem = ""
    names = list(form.model_fields)
    for outermost in _values_in(text):
        for value in islice(_nested(outermost), _MAX_VALUES):
            bare = value is outermost and isinstance(value, list) and len(names) == 1
            try:
                return form.model_validate({names[0]: value} if bare else value)
            except ValidationError as error:
                problem = problem or _told(error)
    raise ValueError(problem or "there is no JSON object in it")


def complete_part(text: str, form: type[Answer]) -> Answer | None:
    """The complete items of an answer that was cut, for a form that is one list; None where there is none."""
    [name, *others] = form.model_fields
    start = re.search(rf"""["'“‘]{re.escape(name)}["'”’]\s*:\s*\[|^\s*\[""", text.rpartition(_THOUGHT)[2])
    if others or start is None:
        return None
    body, items = text.rpartition(_THOUGHT)[2][start.end() :], []
    while body := body.lstrip(" \t\r\n,"):
        try:
            item, end = json.JSONDecoder(strict=False).raw_decode(body)
        except (ValueError, RecursionError):
            break
        items.append(_storable(item))
        body = body[end:]
    try:
        return form.model_validate({name: items}) if items else None
    except ValidationError:
        return None


def _values_in(text: str) -> Iterator[object]:
    """The first object or list of a text as strict JSON has it, then all of them as json-repair understands them.

    Brackets that stay open are a sign of a truncated answer; json-repair would pass its last text off as complete.
    """
    body = text.rpartition(_THOUGHT)[2]
    start = _START.search(body)
    if start is None:
        return
    body = body[start.start() :]
    try:
        yield _storable(json.JSONDecoder(strict=False).raw_decode(body)[0])
    except (ValueError, RecursionError):
        pass
    opened, closed = body.count("{") + body.count("["), body.count("}") + body.count("]")
    if opened <= min(closed, _MAX_BRACKETS):
        try:
            yield _storable(json_repair.loads(body))
        except (ValueError, RecursionError):
            pass


def _storable(value: object) -> object:
    """The value without NUL and without halves of characters, which databases refuse."""
    text = _NUL.sub(r"\1", json.dumps(value, ensure_ascii=False))
    whole: object = json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return whole


def _nested(outermost: object) -> Iterator[object]:
    """The objects and lists of a value, outer ones before what is inside them."""
    waiting = [outermost]
    for value in waiting:
        if isinstance(value, dict | list):
            yield value
            waiting += value.values() if isinstance(value, dict) else value


def _told(error: ValidationError) -> str:
    """The first thing that is wrong, with its place."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the answer"
    return f"{where[:_LONGEST_PLACE]}: {first['msg']}"
