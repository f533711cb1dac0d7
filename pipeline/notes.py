"""What happened while a claim or document was processed: notes for people, counts for the cost formula."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel

from pipeline.asking import Asking, NoAnswerError, Sample, ask
from pipeline.suggestions import Note
from pipeline.tools import Tools

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(slots=True)
class StepNotes:
    """Filled while a strategy works. ``counts["STEP_again"]``: how often a step's output was unreadable and was
    requested again, or was cut off and continued."""

    notes: list[Note] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def note(self, step: str, text: str) -> None:
        """Keep a sentence for the person who reviews the suggestion."""
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
        sample: Sample | None = None,
    ) -> Answer | None:
        """A model's output; None if it gave nothing usable, with a note that says what is done ``instead`` (a
        sentence). If a list was cut off at its length limit, returns the complete items and adds a note. Otherwise
        raises what ``asking.ask`` raises."""
        asked = await self.asking(
            tools,
            step=step,
            prompt=prompt,
            fields=fields,
            form=form,
            instead=instead,
            max_tokens=max_tokens,
            sample=sample,
        )
        if asked is None:
            return None
        if asked.cut:
            self.note(step, "The model's answer was cut off at its length limit; its complete part was used.")
        return asked.value

    async def asking(
        self,
        tools: Tools,
        *,
        step: str,
        prompt: str,
        fields: Mapping[str, object],
        form: type[Answer],
        instead: str,
        max_tokens: int = 1024,
        logprobs: bool = False,
        sample: Sample | None = None,
    ) -> Asking[Answer] | None:
        """Like ``ask``, for callers that continue output that was cut off (``Asking.cut``)."""
        try:
            asked = await ask(
                tools,
                step=step,
                prompt=prompt,
                fields=fields,
                form=form,
                max_tokens=max_tokens,
                logprobs=logprobs,
                sample=sample,
            )
        except NoAnswerError as error:
            self.again(step, error.calls - 1)
            self.note(step, f"{str(error).rstrip('.')}. {instead}")
            return None
        self.again(step, asked.calls - 1)
        return asked

    def again(self, step: str, calls: int = 1) -> None:
        """Count calls of a step that its formula doesn't include."""
        if calls:
            self.counts[f"{step}_again"] += calls
