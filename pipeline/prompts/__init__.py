"""The prompts: files in this folder, ``STRATEGY/STEP.md``, all in our own words.

A file starts with lines ``key: value`` (``version`` counts the versions; ``purpose`` is one sentence for people reading
the Prompts page). Then come the turns, each under a line ``=== system ===``, ``=== user ===`` or ``=== assistant ===``.
Pairs of user and assistant before the last user turn are few-shot examples. ``{{ name }}`` is replaced by a field. A
benchmark may have prompts of its own (``annotator.core.models.PromptVersion``); a run's plan freezes the texts it uses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from pipeline.clients.base import Message, Role

FOLDER = Path(__file__).parent
_TURN = re.compile(r"^=== (system|user|assistant) ===[ \t]*\n", re.MULTILINE)
_FIELD = re.compile(r"\{\{\s*([a-z_]+)\s*\}\}")
_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}


class BadPromptError(ValueError):
    """A prompt that can't be used. The message says what is wrong and where."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt: ``name`` is STRATEGY/STEP, ``label`` identifies this version in plans and tables."""

    name: str
    text: str
    label: str = ""

    @property
    def head(self) -> dict[str, str]:
        """The lines before the first turn."""
        lines = self.text[: match.start()] if (match := _TURN.search(self.text)) else self.text
        pairs = (line.partition(":") for line in lines.splitlines() if ":" in line)
        return {key.strip(): value.strip() for key, _, value in pairs}

    @property
    def digest(self) -> str:
        """The first twelve digits of the text's SHA-256, which identify the version."""
        return sha256(self.text.encode()).hexdigest()[:12]

    @property
    def fields(self) -> frozenset[str]:
        """The names of the fields that the turns use."""
        return frozenset(_FIELD.findall(self.text))

    def turns(self) -> list[tuple[Role, str]]:
        """Role and text of each turn. Raises BadPromptError if there is none or the last one isn't the user's."""
        parts = _TURN.split(self.text)[1:]
        turns = [(_ROLES[role], text.strip()) for role, text in zip(parts[::2], parts[1::2], strict=True)]
        if not turns or turns[-1][0] != "user":
            raise BadPromptError(f"“{self.name}”: the last turn must stand under “=== user ===”: it asks the question.")
        return turns

    def messages(self, fields: Mapping[str, object]) -> tuple[Message, ...]:
        """The turns with their fields filled in. Raises BadPromptError for a missing field."""

        def fill(match: re.Match[str]) -> str:
            try:
                return str(fields[match.group(1)])
            except KeyError:
                known = ", ".join(sorted(fields))
                raise BadPromptError(
                    f"“{self.name}” asks for “{match.group(1)}”, which this step does not know. It knows: {known}."
                ) from None

        return tuple(Message(role=role, content=_FIELD.sub(fill, text)) for role, text in self.turns())


@cache
def shipped(name: str) -> Prompt:
    """The prompt of that name as shipped with Touchstone. Raises BadPromptError if there is none."""
    path = FOLDER / f"{name}.md"
    if not re.fullmatch(r"[a-z0-9_]+/[a-z0-9_]+", name) or not path.is_file():
        raise BadPromptError(f"There is no prompt “{name}”.")
    prompt = Prompt(name=name, text=path.read_text(encoding="utf-8"))
    return Prompt(name=name, text=prompt.text, label=f"shipped {prompt.head.get('version', '1')}")


def check_wording(name: str, text: str) -> Prompt:
    """A benchmark's own version of a shipped prompt. Raises BadPromptError if a turn is missing or its fields
    differ."""
    prompt = Prompt(name=name, text=text.replace("\r\n", "\n"))
    prompt.turns()
    expected = shipped(name).fields
    if unknown := sorted(prompt.fields - expected):
        raise BadPromptError(f"“{name}” has no field “{unknown[0]}”. It has: {', '.join(sorted(expected))}.")
    if missing := sorted(expected - prompt.fields):
        raise BadPromptError(f"The field “{{{{ {missing[0]} }}}}” is missing: without it the model does not see it.")
    return prompt
