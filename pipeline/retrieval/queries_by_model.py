"""Step 4a by a model: what to search for, from several sides, each query once (Factcheck-Bench section B.2)."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from pipeline.metrics.text import words
from pipeline.notes import StepNotes
from pipeline.retrieval.corpus_ranking import stems
from pipeline.retrieval.queries import query_for
from pipeline.suggestions import ClaimText, DocumentText
from pipeline.tools import Tools

# What a question asks for tells it from another about the same thing.
_ASKING = frozenset("who whom whose what when where which why how many much".split())


class Queries(BaseModel):
    """Queries for a web search."""

    queries: list[str] = Field(min_length=1)


async def queries_by_model(
    claim: ClaimText, document: DocumentText, *, most: int, similarity: float, tools: Tools, tally: StepNotes
) -> list[str]:
    """At most ``most`` queries, each less than ``similarity`` like those before it; the claim itself where the model's
    cannot be read. Never empty."""
    said = await tally.ask(
        tools,
        step="queries",
        prompt="factcheck_gpt/queries",
        fields={"claim": claim.text, "most": most},
        form=Queries,
        instead="The claim itself was searched for.",
        max_tokens=512,
    )
    found = distinct(said.queries, similarity)[:most] if said else []
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
