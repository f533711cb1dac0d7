"""Step 4a by a model: search queries from several angles, without repetition (Factcheck-Bench section B.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from pipeline.asking import Sample
from pipeline.metrics.text import words
from pipeline.notes import StepNotes
from pipeline.retrieval.corpus_ranking import stems
from pipeline.retrieval.queries import query_for
from pipeline.suggestions import ClaimText, DocumentText
from pipeline.together import together
from pipeline.tools import Tools

# Question words distinguish questions about the same thing.
_ASKING = frozenset("who whom whose what when where which why how many much".split())


class Queries(BaseModel):
    """Queries for a web search."""

    queries: list[str] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class QueryReach:
    """How queries are requested: ``rounds`` times, each with its own seed at that ``temperature``; at most ``most`` in
    all, each with less than ``similarity`` (0 to 1) to every earlier one."""

    rounds: int
    temperature: float
    most: int
    similarity: float


async def queries_by_model(
    claim: ClaimText, document: DocumentText, reach: QueryReach, tools: Tools, tally: StepNotes
) -> list[str]:
    """The union of the queries of all rounds; the claim itself if the model's output is unreadable. Never empty."""

    async def one_round(number: int) -> Sequence[str]:
        said = await tally.ask(
            tools,
            step="queries",
            prompt="factcheck_gpt/queries",
            fields={"claim": claim.text, "most": reach.most},
            form=Queries,
            instead="The queries of the other rounds were used, or the claim itself if there were none.",
            max_tokens=512,
            sample=Sample(number, reach.temperature),
        )
        return said.queries if said else ()

    rounds = await together(one_round(number) for number in range(reach.rounds))
    found = distinct([query for queries in rounds for query in queries], reach.similarity)[: reach.most]
    return found or [query_for(claim.text, document.prompt)]


def distinct(queries: Sequence[str], similarity: float) -> list[str]:
    """The queries with less than ``similarity`` (0 to 1) to every one kept before them."""
    kept: list[str] = []
    for query in queries:
        query = " ".join(query.split())
        if words(query) and all(likeness(query, other) < similarity for other in kept):
            kept.append(query)
    return kept


def likeness(first: str, second: str) -> float:
    """The share of word stems that two queries have in common (Jaccard), 0 to 1, ignoring function words except
    question words."""
    one, two = _asked(first), _asked(second)
    return len(one & two) / len(one | two) if one | two else float(words(first) == words(second))


def _asked(query: str) -> frozenset[str]:
    return frozenset(stems(query)) | _ASKING.intersection(words(query))
