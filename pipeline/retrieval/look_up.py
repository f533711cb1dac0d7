"""Answers one question of a chain: search, choose a document, read around its snippet (Papelo, section 3.3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from pipeline.clients.base import FetchedPage, PageRequest, SearchResult, ServiceError
from pipeline.notes import StepNotes
from pipeline.retrieval.corpus_ranking import content_hash
from pipeline.retrieval.entities import named
from pipeline.retrieval.hits import hits, is_early_enough
from pipeline.retrieval.snippet_window import opening_of, window_of
from pipeline.suggestions import DocumentText, RetrievedEvidence
from pipeline.tools import Tools

_POSSESSIVE = re.compile(r"'s\s")
_PUNCTUATION = re.compile(r"[^-$.\w\s]|_")
NOTHING_FOUND = "Nothing was found."


@dataclass(frozen=True, slots=True)
class LookUpReach:
    """Limits for one question: search results, sentences per window, share of a snippet's words that a window must
    contain."""

    results: int
    sentences: int
    share: float


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The outcome of one question. ``evidence``: what the answer is based on, None if that isn't a single passage.
    ``failure``: the search service failed."""

    question: str
    query: str
    answer: str
    evidence: RetrievedEvidence | None = None
    failure: ServiceError | None = None


class ChosenDocument(BaseModel):
    """The number of the document that answers best, or None. There is an ``answer`` either way."""

    document: int | None = None
    answer: str = ""


class Answered(BaseModel):
    """An answer from one passage."""

    answer: str = Field(min_length=1)


async def look_up(
    question: str, claim: str, document: DocumentText, reach: LookUpReach, tools: Tools, tally: StepNotes
) -> LookedUp:
    """Search for one question of a claim and answer it. A failed search is noted and finds nothing; the caller decides
    what a claim without evidence means."""
    query = plain_query(f"{claim} {question}")
    try:
        query, found = await _hits(query, document, reach.results, tools, tally)
    except ServiceError as error:
        tally.note("search", f"The search for “{question}” failed: {error}")
        return LookedUp(question, query, NOTHING_FOUND, failure=error)
    while found:
        tally.counts["lists"] += 1
        choice = await _choose(question, found, tools, tally)
        if choice.document is None:
            # The answer is then based on the list of results as a whole, which isn't a passage that people could judge.
            return LookedUp(question, query, choice.answer.strip() or NOTHING_FOUND)
        tally.counts["chosen"] += 1
        hit = found[choice.document - 1]
        page = await _page(hit, tools, tally)
        if page is None or is_early_enough(page.published, document):
            evidence = _evidence(hit, page, query, reach)
            return LookedUp(question, query, await _answer(question, evidence, tools, tally), evidence)
        # The page states a date that the service didn't know, so it counts as not found.
        tally.counts["too_late"] += 1
        found = [each for each in found if each is not hit]
    return LookedUp(question, query, NOTHING_FOUND)


def plain_query(text: str) -> str:
    """A text as the authors' code sends it to the search service: without possessive endings and punctuation except
    hyphens, periods and dollar signs. Letters of any script are kept; their code keeps only ASCII."""
    return " ".join(_PUNCTUATION.sub("", _POSSESSIVE.sub(" ", text.replace("’", "'"))).split())


async def _hits(
    query: str, document: DocumentText, count: int, tools: Tools, tally: StepNotes
) -> tuple[str, list[SearchResult]]:
    """The results of a query, or of its names alone if it has none, with the query that was used."""
    tally.counts["searched"] += 1
    found = await hits(query, count, document, tools, tally)
    names = named(query)
    if found or not names:
        return query, found
    tally.counts["empty"] += 1
    return names, await hits(names, count, document, tools, tally)


async def _choose(question: str, found: Sequence[SearchResult], tools: Tools, tally: StepNotes) -> ChosenDocument:
    choice = await tally.ask(
        tools,
        step="choose_document",
        prompt="papelo/choose_document",
        fields={
            "question": question,
            "documents": "\n\n".join(
                f"Document {number}{_described(hit)}\n{' '.join(hit.snippet.split())}"
                for number, hit in enumerate(found, start=1)
            ),
        },
        form=ChosenDocument,
        instead="The first hit was read.",
        max_tokens=512,
    )
    if choice is None:
        return ChosenDocument(document=1)
    known = choice.document is not None and 1 <= choice.document <= len(found)
    return choice if known else ChosenDocument(document=None, answer=choice.answer)


async def _page(hit: SearchResult, tools: Tools, tally: StepNotes) -> FetchedPage | None:
    """The result's page, None if unavailable. Passages of the local corpus don't need fetching."""
    if tools.pages is None or tools.search is None or not hit.url:
        return None
    tally.counts["pages"] += 1
    try:
        return await tools.pages.fetch(PageRequest(step="fetch", url=hit.url))
    except ServiceError as error:
        tally.note("fetch", f"{hit.url} could not be read; its snippet was used: {error}")
        return None


def _evidence(hit: SearchResult, page: FetchedPage | None, query: str, reach: LookUpReach) -> RetrievedEvidence:
    """The window of the page around the snippet; the snippet if there is none; the page's beginning without either."""
    window = page and window_of(page.text, hit.snippet, sentences=reach.sentences, share=reach.share)
    if page and not window and not hit.snippet.strip():
        window = opening_of(page.text, sentences=reach.sentences)
    passage = window or " ".join(hit.snippet.split()) or hit.title
    return RetrievedEvidence(
        passage=passage,
        url=hit.url,
        title=hit.title or (page.title if page else ""),
        query=query,
        site=hit.site or (page.site if page else ""),
        published=hit.published or (page.published if page else None),
        content_hash=content_hash(passage),
        snapshot=page if window else None,
    )


async def _answer(question: str, evidence: RetrievedEvidence, tools: Tools, tally: StepNotes) -> str:
    answered = await tally.ask(
        tools,
        step="answer",
        prompt="papelo/answer",
        fields={"question": question, "document": f"Document{_described(evidence)}\n{evidence.passage}"},
        form=Answered,
        instead="The passage itself is used as the answer.",
        max_tokens=512,
    )
    return " ".join(answered.answer.split()) if answered else evidence.passage


def _described(source: SearchResult | RetrievedEvidence) -> str:
    """Title, site and date of a source, as far as known, because they tell how much a source is worth."""
    known = [
        f"“{' '.join(source.title.split())}”" if source.title else "",
        f"from {source.site}" if source.site else "",
        f"published {source.published.isoformat()}" if source.published else "",
    ]
    told = ", ".join(part for part in known if part)
    return f" ({told}):" if told else ":"
