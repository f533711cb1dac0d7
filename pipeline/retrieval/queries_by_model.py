"""Step 4a by a model: what to search for, from several sides, each query once (Factcheck-Bench section B.2)."""

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

# What a question asks for tells it from another about the same thing.
_ASKING = frozenset("who whom whose what when where which why how many much".split())


class Queries(BaseModel):
    """Queries for a web search."""

    queries: list[str] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class QueryReach:
    """How queries are asked for: ``rounds`` times, each with a seed of its own at that ``temperature``; at most
    ``most`` in all, each less than ``similarity`` (0 to 1) like those before it."""

    rounds: int
    temperature: float
    most: int
    similarity: float


async def queries_by_model(
    claim: ClaimText, document: DocumentText, reach: QueryReach, tools: Tools, tally: StepNotes
) -> list[str]:
    """The union of the queries of all rounds; the claim itself where the model's cannot be read. Never empty."""

    async def one_round(number: int) -> Sequence[str]:
        said = await tally.ask(
            tools,
            step="queries",
            prompt="factcheck_gpt/queries",
            fields={"claim": claim.text, "most": reach.most},
            form=Queries,
            instead="The queries of other rounds were searched for, without any the claim itself.",
            max_tokens=512,
            sample=Sample(number, reach.temperature),
        )
        return said.queries if said else ()

    rounds = await together(one_round(number) for number in range(reach.rounds))
    found = distinct([query for queries in rounds for query in queries], reach.similarity)[: reach.most]
    return found or [query_for(claim.text, document.prompt)]


def distinct(queries: Sequence[str], similarity: float) -> list[str]:
    """The queries that are less than ``similarity`` (0 to 1) like every one that is kept before them."""
    kept: list[str] = []
    for query in queries:
        query = " ".join(query.split())
        if words(query) and all(likeness(query, other) < similarity for other in kept):
            kept.append(query)
    return kept


def likeness(first: str, second: str) -> float:
    """Share of the word stems of two queries that they have in common (Jaccard), 0 to 1; words without content aside,
    but for those that ask."""
    one, two = _asked(first), _asked(second)
    return len(one & two) / len(one | two) if one | two else float(words(first) == words(second))


def _asked(query: str) -> frozenset[str]:
    return frozenset(stems(query)) | _ASKING.intersection(words(query))
