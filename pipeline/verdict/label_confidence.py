"""How sure a model was of a label that it wrote: the probability of the label's tokens (FastFact, section 4.1).

Tokenizers cut labels as they like, and glue quotes to them. So the label is looked up by its place in the text that the
tokens make, and every token counts that shares a character with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

from pipeline.clients.base import ModelToken

_THOUGHT = "</think>"  # models that think aloud end their draft so
_QUOTE = "[\"'“”‘’]"


@dataclass(frozen=True, slots=True)
class WrittenLabel:
    """A label as the model wrote it, with the probability of its tokens, 0 to 1."""

    text: str
    probability: float


def written_labels(tokens: Sequence[ModelToken], key: str) -> list[WrittenLabel]:
    """The values of ``key`` in an answer, in the order in which they were written; none without log-probabilities.

    The probability is exp of the sum of the log-probabilities of all tokens that hold a character of the value.
    """
    text = "".join(token.text for token in tokens)
    begin = max(0, text.rfind(_THOUGHT))
    ends: list[int] = []
    at = 0
    for token in tokens:
        at += len(token.text)
        ends.append(at)
    found = []
    # In a string of JSON quotes are escaped, so that a claim which speaks of labels is not taken for one.
    pattern = re.compile(rf"{_QUOTE}{re.escape(key)}{_QUOTE}\s*:\s*{_QUOTE}([^\"'“”‘’\\]*){_QUOTE}")
    for match in pattern.finditer(text, begin):
        start, end = match.span(1)
        total = sum(
            token.logprob
            for token, last in zip(tokens, ends, strict=True)
            if last > start and last - len(token.text) < end
        )
        found.append(WrittenLabel(match[1], min(1.0, exp(total))))
    return found
