"""The facts of a response, each made self-contained and judged for relevance (SAFE, Wei et al. 2024, sections 3 and C).

Three calls a fact at most: the sentence that it is from is split, the fact is rewritten, and its relevance is asked.
"""

from __future__ import annotations

from pydantic import BaseModel, Field

from pipeline.claims.long_responses import around
from pipeline.claims.on_sentences import Extracted
from pipeline.notes import StepNotes
from pipeline.sentences.boundaries import SentenceSpan
from pipeline.suggestions import DocumentText, Prejudgement
from pipeline.together import together
from pipeline.tools import Tools

IRRELEVANT = "irrelevant"


class Facts(BaseModel):
    """The facts of one sentence."""

    facts: list[str]


class Statement(BaseModel):
    """A fact that can be understood alone."""

    statement: str = Field(min_length=1)


class Relevance(BaseModel):
    """Whether a fact has to do with the question."""

    reason: str = ""
    relevant: bool


async def facts_of(
    span: SentenceSpan, document: DocumentText, tools: Tools, tally: StepNotes
) -> list[Extracted] | None:
    """The facts of one sentence, irrelevant ones marked as settled: they are not rated. None where the sentence could
    not be split. Counts ``facts`` (those that the sentence was split into)."""
    said = await tally.ask(
        tools,
        step="split",
        prompt="safe/split",
        fields={"sentence": " ".join(span.text.split())},
        form=Facts,
        instead="The sentence was decomposed by rules.",
    )
    if said is None:
        return None
    texts = list(dict.fromkeys(text for fact in said.facts if (text := " ".join(fact.split()))))
    tally.counts["facts"] += len(texts)
    context = around(document.response, span.start, span.end)
    return await together(_judged(text, context, document, tools, tally) for text in texts)


async def _judged(text: str, context: str, document: DocumentText, tools: Tools, tally: StepNotes) -> Extracted:
    revised = await tally.ask(
        tools,
        step="revise",
        prompt="safe/revise",
        fields={"response": context, "statement": text},
        form=Statement,
        instead="The statement was left as it was.",
        max_tokens=512,
    )
    statement = " ".join(revised.statement.split()) if revised else text
    relevance = await tally.ask(
        tools,
        step="relevance",
        prompt="safe/relevance",
        fields={"question": document.prompt, "response": context, "statement": statement},
        form=Relevance,
        instead="The statement was treated as relevant.",
        max_tokens=512,
    )
    if relevance is None or relevance.relevant:
        return Extracted(statement)
    return Extracted(statement, Prejudgement(IRRELEVANT, None, settled=True), irrelevant=True)
