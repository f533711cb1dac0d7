"""The chunks of whole pages that best match a claim, by BM25 over all pages of its search (FastFact, sections 4.2 and
4.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.clients.base import FetchedPage, PageRequest, SearchResult, ServiceError
from pipeline.notes import StepNotes
from pipeline.retrieval.corpus_ranking import content_hash
from pipeline.retrieval.hits import is_early_enough
from pipeline.retrieval.page_chunks import page_chunks
from pipeline.retrieval.ranking import lexical_scores
from pipeline.suggestions import DocumentText, RetrievedEvidence
from pipeline.together import together
from pipeline.tools import Tools


@dataclass(frozen=True, slots=True)
class PageCut:
    """How pages are cut and how much is kept: words per chunk, words of overlap, chunks per claim."""

    length: int
    overlap: int
    most: int


@dataclass(frozen=True, slots=True)
class _PageChunk:
    text: str
    hit: SearchResult
    page: FetchedPage | None


async def page_evidence(
    claim: str, found: Sequence[SearchResult], cut: PageCut, document: DocumentText, tools: Tools, tally: StepNotes
) -> list[RetrievedEvidence]:
    """The best chunks, best first, if they share a word with the claim.

    Each URL is fetched once, all in parallel, counted as ``pages``. If a page is unavailable (gone, refused, fetching
    disabled), the search snippet is used instead. A page published too late for the document is left out.
    """
    places = list({hit.url or f"#{number}": hit for number, hit in enumerate(found)}.values())
    read = await together(_page(hit, tools, tally) for hit in places)
    # Cutting long pages takes a while, during which other calls should continue.
    return await asyncio.to_thread(_best, claim, found, list(zip(places, read, strict=True)), cut, document)


def _best(
    claim: str,
    found: Sequence[SearchResult],
    read: Sequence[tuple[SearchResult, FetchedPage | None]],
    cut: PageCut,
    document: DocumentText,
) -> list[RetrievedEvidence]:
    chunks: dict[str, _PageChunk] = {}  # two URLs may lead to the same text
    for hit, page in read:
        if page is None:
            # A corpus may return several passages of one page.
            texts = [
                " ".join(each.snippet.split()) for each in found if each is hit or (hit.url and each.url == hit.url)
            ]
        elif is_early_enough(page.published, document):
            texts = page_chunks(page.text, length=cut.length, overlap=cut.overlap)
        else:
            texts = []
        for text in texts:
            if text:
                chunks.setdefault(text, _PageChunk(text, hit, page))
    listed = list(chunks.values())
    scores = lexical_scores(claim, [each.text for each in listed])
    best = sorted(range(len(listed)), key=lambda position: (-scores[position], position))[: cut.most]
    return [_evidence(listed[position], claim, scores[position]) for position in best if scores[position] > 0]


async def _page(hit: SearchResult, tools: Tools, tally: StepNotes) -> FetchedPage | None:
    if tools.pages is None or tools.search is None or not hit.url:
        return None
    tally.counts["pages"] += 1
    try:
        return await tools.pages.fetch(PageRequest(step="fetch", url=hit.url))
    except ServiceError as error:
        tally.note("fetch", f"{hit.url} could not be read; its snippet was used: {error}")
        return None


def _evidence(chunk: _PageChunk, claim: str, score: float) -> RetrievedEvidence:
    hit, page = chunk.hit, chunk.page
    return RetrievedEvidence(
        passage=chunk.text,
        url=hit.url,
        title=hit.title or (page.title if page else ""),
        query=claim,
        site=hit.site or (page.site if page else ""),
        published=hit.published or (page.published if page else None),
        score=score,
        content_hash=content_hash(chunk.text),
        snapshot=page,
    )
