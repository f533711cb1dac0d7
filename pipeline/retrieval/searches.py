"""Consecutive searches and their results so far, as FIRE and SAFE show them to the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.clients.base import ServiceError
from pipeline.notes import StepNotes
from pipeline.retrieval.corpus_ranking import content_hash
from pipeline.retrieval.hits import hits
from pipeline.suggestions import DocumentText, QuestionAnswer, RetrievedEvidence
from pipeline.tools import Tools

NOTHING_FOUND = "Nothing was found."


@dataclass(frozen=True, slots=True)
class Searched:
    """A query with the snippets of its results, best first."""

    query: str
    found: tuple[RetrievedEvidence, ...]


async def search_once(
    query: str, count: int, searches: list[Searched], document: DocumentText, tools: Tools, tally: StepNotes
) -> bool:
    """Search, and add the results to ``searches``. False if the search failed after earlier ones succeeded, which is
    noted. Raises ServiceError if the first one fails, because then the claim wasn't examined. Counts ``searched``."""
    tally.counts["searched"] += 1
    try:
        found = await hits(query, count, document, tools, tally)
    except ServiceError as error:
        if not searches:
            raise
        tally.note("search", f"The search for “{query}” failed: {error}")
        return False
    passages = (
        RetrievedEvidence(
            passage=passage,
            url=hit.url,
            title=hit.title,
            query=query,
            site=hit.site,
            published=hit.published,
            content_hash=content_hash(passage),
        )
        for hit in found
        if (passage := " ".join(hit.snippet.split()) or hit.title)
    )
    searches.append(Searched(query, tuple(passages)))
    return True


def as_text(searches: Sequence[Searched]) -> str:
    """Queries with their numbered results, as a prompt shows them."""
    return "\n\n".join(_one_as_text(each) for each in searches) or "None."


def _one_as_text(searched: Searched) -> str:
    lines = [
        f"{number}. {f'({title}) ' if (title := ' '.join(each.title.split())) else ''}{each.passage}"
        for number, each in enumerate(searched.found, start=1)
    ]
    return "\n".join([f"Query: {searched.query}", *(lines or [NOTHING_FOUND])])


def evidence_of(searches: Sequence[Searched]) -> tuple[RetrievedEvidence, ...]:
    """All passages without repetition, in the order they were found."""
    found = {(each.url, each.passage): each for searched in reversed(searches) for each in reversed(searched.found)}
    return tuple(reversed(found.values()))


def chain_of(searches: Sequence[Searched]) -> tuple[QuestionAnswer, ...]:
    """The searches as links of a chain, each with its first result."""
    places = {(each.url, each.passage): place for place, each in enumerate(evidence_of(searches))}
    return tuple(
        QuestionAnswer(
            question=each.query,
            query=each.query,
            answer=each.found[0].passage if each.found else NOTHING_FOUND,
            evidence=places[each.found[0].url, each.found[0].passage] if each.found else None,
        )
        for each in searches
    )
