"""The questions that lead to a claim's evidence, one after another (Papelo, sections 3.1, 3.2 and 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import BaseModel, Field, model_validator

from pipeline.metrics.text import words
from pipeline.notes import StepNotes
from pipeline.sentences.boundaries import split_sentences
from pipeline.suggestions import DocumentText, QuestionAnswer
from pipeline.tools import Tools

# Rephrasings requested at once (Papelo, appendix B).
REPHRASINGS = 4
# The facts given about a claim: our words for them, and their possible names in the document's metadata. Everything
# else is withheld, because an imported label or fact-check would reveal the answer.
_TOLD: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Said by", ("speaker", "author", "claimant")),
    ("Said on", ("claim_date", "date")),
    ("Appeared in", ("reporting_source", "medium", "publisher")),
    ("Place", ("location_iso_code", "location", "place", "country")),
)
_LONGEST_TOLD = 200  # characters


class FirstQuestion(BaseModel):
    """The first question."""

    question: str = Field(min_length=3)


class NextStep(BaseModel):
    """What follows from the chain so far: the claim is decided, or one more question."""

    settled: Literal["true", "false", "no"]
    question: str = ""

    @model_validator(mode="after")
    def _asks_or_settles(self) -> Self:
        if self.settled == "no" and not self.question.strip():
            raise ValueError('"settled" is "no", so "question" must hold the next question')
        return self


class Rephrasings(BaseModel):
    """Other ways to put one question."""

    questions: list[str]


@dataclass(frozen=True, slots=True)
class NextQuestion:
    """``question``: what to ask next, "" for nothing. ``settled``: whether the claim is already known to be true or
    false; None: neither."""

    question: str = ""
    settled: bool | None = None


def about(document: DocumentText) -> str:
    """Who made a claim, when and where, as lines for a prompt, as far as known."""
    metadata = {key.casefold(): str(value) for key, value in document.metadata.items()}
    lines = []
    for title, keys in _TOLD:
        value = next((metadata[key] for key in keys if metadata.get(key, "").strip()), "")
        if not value and title == "Said on" and document.reference_date:
            value = document.reference_date.isoformat()
        if value:
            lines.append(f"{title}: {' '.join(value.split())[:_LONGEST_TOLD]}")
    return "\n".join(lines) or "Nothing is known of who said it, when or where."


def as_text(chain: Sequence[QuestionAnswer]) -> str:
    """A chain as a prompt shows it: numbered questions with their answers."""
    return "\n".join(
        f"{number}. Question: {link.question}\n   Answer: {link.answer}" for number, link in enumerate(chain, start=1)
    )


async def first_question(claim: str, told: str, tools: Tools, tally: StepNotes) -> str:
    """The first question. If the model's is unreadable, it asks whether the claim is true."""
    asked = await tally.ask(
        tools,
        step="first_question",
        prompt="papelo/first_question",
        fields={"claim": claim, "about": told},
        form=FirstQuestion,
        instead="The claim itself was asked as a question.",
        max_tokens=256,
    )
    return one_question(asked.question) if asked else f"Is it correct that {claim.strip().rstrip('.')}?"


async def next_question(
    claim: str, told: str, chain: Sequence[QuestionAnswer], tools: Tools, tally: StepNotes
) -> NextQuestion:
    """What is still missing after these answers, as one question, or that nothing is."""
    asked = await tally.ask(
        tools,
        step="next_question",
        prompt="papelo/next_question",
        fields={"claim": claim, "about": told, "chain": as_text(chain)},
        form=NextStep,
        instead="No further question was asked.",
        max_tokens=256,
    )
    if asked is None:
        return NextQuestion()
    if asked.settled != "no":
        return NextQuestion(settled=asked.settled == "true")
    question = one_question(asked.question)
    # The same question would find the same page.
    return NextQuestion() if is_among(question, [link.question for link in chain]) else NextQuestion(question=question)


async def rephrasings(question: str, count: int, tools: Tools, tally: StepNotes) -> list[str]:
    """At least ``count`` other ways to ask a question, if the model finds that many; no two are equal."""
    asked = await tally.ask(
        tools,
        step="paraphrase",
        prompt="papelo/paraphrase",
        fields={"question": question, "count": max(count, REPHRASINGS)},
        form=Rephrasings,
        instead="The chain was not shortened.",
        max_tokens=512,
    )
    found: list[str] = []
    for other in asked.questions if asked else ():
        if other.strip() and not is_among(other, [question, *found]):
            found.append(one_question(other))
    return found


def one_question(text: str) -> str:
    """The first sentence with a question mark, the whole text without one (Papelo, section 3.2)."""
    flat = " ".join(text.split())
    return next((span.text for span in split_sentences(flat) if "?" in span.text), flat)


def is_among(question: str, others: Sequence[str]) -> bool:
    """Whether a question was asked before, ignoring case and punctuation."""
    return words(question) in [words(other) for other in others]
