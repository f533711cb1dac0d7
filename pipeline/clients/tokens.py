"""Estimates tokens without the model's tokenizer: a guess to report, and an upper bound to reserve."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.clients.base import ChatRequest, Message

_PER_MESSAGE = 4  # the marks around a turn


def about(text: str) -> int:
    """A guess for running text: one token per four bytes of UTF-8."""
    return math.ceil(len(text.encode("utf-8", "replace")) / 4)


def about_messages(messages: Sequence[Message]) -> int:
    """A guess for a prompt whose tokens the server does not report."""
    return sum(about(message.content) + _PER_MESSAGE for message in messages)


def at_most(request: ChatRequest) -> int:
    """What the prompt of a request hardly exceeds: a token for two bytes, the schema counted too, since servers may
    write it into the prompt. Numbers and other scripts need more tokens than English prose."""
    size = sum(len(message.content.encode("utf-8", "replace")) for message in request.messages)
    size += _schema_size(request.schema)
    return math.ceil(size / 2) + 2 * _PER_MESSAGE * (len(request.messages) + 1)


def _schema_size(schema: Mapping[str, Any] | None) -> int:
    return 0 if schema is None else len(json.dumps(schema))
