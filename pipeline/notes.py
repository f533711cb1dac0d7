"""What happened while one claim or document was worked on: notes for people, counts for the cost formula."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel

from pipeline.asking import NoAnswerError, ask
from pipeline.suggestions import Note
from pipeline.tools import Tools

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(slots=True)
class StepNotes:
    """Filled while a strategy works. ``counts["STEP_again"]``: how often a step's answer could not be read and was
    asked for once more."""

    notes: list[Note] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def note(self, step: str, text: str) -> None:
        """Keep a sentence for the person who reads the suggestion."""
        self.notes.append(Note(step, text))

    async def ask(
        self,
        tools: Tools,
        *,
        step: str,
        prompt: str,
        fields: Mapping[str, object],
        form: type[Answer],
        instead: str,
        max_tokens: int = 1024,
    ) -> Answer | None:
        """A model's answer; None where it could not be read, noted with what is done ``instead`` (a sentence). Raises
        what ``asking.ask`` raises else."""
        try:
            asked = await ask(tools, step=step, prompt=prompt, fields=fields, form=form, max_tokens=max_tokens)
        except NoAnswerError as error:
            self.counts[f"{step}_again"] += error.calls - 1
            self.note(step, f"{str(error).rstrip('.')}. {instead}")
            return None
        if asked.calls > 1:
            self.counts[f"{step}_again"] += asked.calls - 1
        return asked.value
