"""Step 4 as a whole: search, fetch and cut pages, rank passages, take the best of all queries.

A page that can't or mustn't be fetched is quoted by its search snippet. Without a search service, the local corpus is
searched.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

from pipeline.clients.base import FetchedPage, PageFetcher, PageRequest, SearchRequest, SearchResult, ServiceError
from pipeline.clients.search.corpus import CorpusSearch
from pipeline.notes import StepNotes
from pipeline.retrieval.corpus_ranking import PER_CLAIM, content_hash
from pipeline.retrieval.passages import SENTENCE_LENGTH, STRIDE, WINDOW, passages, without_near_duplicates
from pipeline.retrieval.ranking import Ranked, ranked
from pipeline.suggestions import RetrievedEvidence
from pipeline.together import together
from pipeline.tools import Tools


@dataclass(frozen=True, slots=True)
class SearchReach:
    """How much is read and kept: pages per query, sentences per passage, the stride between passages, characters per
    sentence (longer ones are cut or dropped), passages per page, passages per claim."""

    pages: int = 5
    window: int = WINDOW
    stride: int = STRIDE
    longest: int = SENTENCE_LENGTH
    drops_long: bool = True
    passages_a_page: int = 3
    passages_a_claim: int = PER_CLAIM


@dataclass(frozen=True, slots=True)
class _Read:
    """A page with its passages in order; None if it couldn't be read."""

    page: FetchedPage | None
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Cut:
    """A passage with its page; ``position`` is its index among the page's passages."""

    text: str
    hit: SearchResult
    page: FetchedPage | None
    position: int


async def evidence_for(
    queries: Sequence[str], before: dt.date | None, reach: SearchReach, tools: Tools, tally: StepNotes
) -> list[RetrievedEvidence]:
    """The best passages over all queries, alternating: the best of each, then the second best of each.

    ``before``: excludes anything published on or after that day, as far as the search service and the page state dates.
    A query that fails is noted; if all fail, the last ServiceError is raised. Counts ``queries`` (sent to a search
    service), ``pages`` (fetched, each once per claim) and ``ranked`` (queries also ranked by meaning).
    """
    looking = _Looking(before, reach, tools, tally)
    orders = await together(looking.find(query) for query in queries)
    if queries and len(looking.failures) == len(queries):
        raise looking.failures[-1]
    if looking.unread:
        tally.note("fetch", f"{looking.unread} of {len(looking.fetched)} pages could not be read: quoted by snippet.")
    turns = [each for turn in zip_longest(*orders) for each in turn if each is not None]
    apart = list(_apart(turns, reach))
    kept = [apart[position] for position in without_near_duplicates(each.passage for each, _ in apart)]
    return [each for each, _ in kept[: reach.passages_a_claim]]


class _Looking:
    """The search for one claim's evidence. Its queries share the pages they find."""

    def __init__(self, before: dt.date | None, reach: SearchReach, tools: Tools, tally: StepNotes) -> None:
        self.before = before
        self.reach = reach
        self.tools = tools
        self.tally = tally
        self.failures: list[ServiceError] = []
        self.fetched: dict[str, asyncio.Task[_Read]] = {}
        self.unread = 0

    async def find(self, query: str) -> list[tuple[RetrievedEvidence, int]]:
        """The passages for one query, best first, each with its position in its page; none if the search failed."""
        try:
            hits = await self._hits(query)
        except ServiceError as error:
            self.failures.append(error)
            self.tally.note("search", f"The search for “{query}” failed: {error}")
            return []
        pages = await together(self._read(hit) for hit in hits)
        cuts: list[_Cut] = []
        seen: set[str] = set()  # a corpus returns several passages of one page; the page is quoted once
        for hit, read in zip(hits, pages, strict=True):
            if read is None or hit.url not in seen:
                cuts += self._cut(hit, read)
            if read is not None:
                seen.add(hit.url)
        order = await self._ranked(query, [cut.text for cut in cuts])
        taken: dict[str, list[int]] = {}
        found = []
        for each in order:
            cut = cuts[each.position]
            of_page = taken.setdefault(cut.hit.url, [])
            if len(of_page) < self.reach.passages_a_page and not _overlaps(cut.position, of_page, self.reach):
                of_page.append(cut.position)
                found.append((_evidence(cut, query, each.score), cut.position))
        return found

    async def _hits(self, query: str) -> list[SearchResult]:
        tools, count = self.tools, self.reach.pages
        if tools.search is None and tools.index is not None:
            # The search returned passages rather than pages.
            search, count = CorpusSearch(tools.index), count * self.reach.passages_a_page
            hits = await search.search(SearchRequest("search", query, count, self.before))
        else:
            self.tally.counts["queries"] += 1
            hits = await tools.need_search().search(SearchRequest("search", query, count, self.before))
        return [hit for hit in hits if self._is_early_enough(hit.published)][:count]

    def _is_early_enough(self, published: dt.date | None) -> bool:
        return self.before is None or published is None or published < self.before

    async def _read(self, hit: SearchResult) -> _Read | None:
        """A search result's page, cut into passages; None if it isn't available."""
        if self.tools.pages is None or self.tools.search is None or not hit.url:
            return None
        if hit.url not in self.fetched:
            self.tally.counts["pages"] += 1
            self.fetched[hit.url] = asyncio.ensure_future(self._fetched(self.tools.pages, hit.url))
        read = await self.fetched[hit.url]
        return read if read.page else None

    async def _fetched(self, pages: PageFetcher, url: str) -> _Read:
        try:
            page = await pages.fetch(PageRequest("fetch", url))
        except ServiceError as error:
            self.tally.note("fetch", f"{url} could not be read: {error}")
            page = None
        if page is None:
            self.unread += 1
            return _Read(None, ())
        # Cutting 150 sentences takes ten milliseconds, so it runs in a thread and doesn't block other responses.
        reach = self.reach
        return _Read(page, await asyncio.to_thread(_passages, page.text, reach))

    def _cut(self, hit: SearchResult, read: _Read | None) -> Iterator[_Cut]:
        """The passages of a page, or its snippet if there are none. A page that turns out to be published too late has
        none."""
        if read is not None and read.page is not None:
            if not self._is_early_enough(read.page.published):
                return
            for position, text in enumerate(read.passages):
                yield _Cut(text, hit, read.page, position)
        snippet = " ".join(hit.snippet.replace("\x00", " ").split())
        if snippet and not (read and read.passages):
            yield _Cut(snippet, hit, None, -1)

    async def _ranked(self, query: str, texts: Sequence[str]) -> list[Ranked]:
        ranker = self.tools.ranker
        if ranker is None or len(texts) < 2:
            return await ranked(query, texts, None, "rank")
        self.tally.counts["ranked"] += 1
        try:
            return await ranked(query, texts, ranker, "rank")
        except ServiceError as error:
            self.tally.note("rank", f"Passages were ranked by their words alone: {error}")
            return await ranked(query, texts, None, "rank")


@lru_cache(maxsize=128)
def _passages(text: str, reach: SearchReach) -> tuple[str, ...]:
    """Claims of one document often lead to the same pages."""
    return tuple(
        passages(text, window=reach.window, stride=reach.stride, longest=reach.longest, drops_long=reach.drops_long)
    )


def _overlaps(position: int, taken: Sequence[int], reach: SearchReach) -> bool:
    """Whether a window shares a sentence with one already taken from its page."""
    return position >= 0 and any(abs(position - other) * reach.stride < reach.window for other in taken)


def _apart(
    found: Sequence[tuple[RetrievedEvidence, int]], reach: SearchReach
) -> Iterator[tuple[RetrievedEvidence, int]]:
    """Without passages that another query found, and windows that overlap them."""
    taken: dict[str, list[int]] = {}
    for evidence, position in found:
        of_page = taken.setdefault(evidence.url, [])
        if not _overlaps(position, of_page, reach):
            of_page.append(position)
            yield evidence, position


def _evidence(cut: _Cut, query: str, score: float) -> RetrievedEvidence:
    hit, page = cut.hit, cut.page
    return RetrievedEvidence(
        passage=cut.text,
        url=hit.url,
        title=hit.title or (page.title if page else ""),
        query=query,
        site=hit.site or (page.site if page else ""),
        published=hit.published or (page.published if page else None),
        score=score,
        content_hash=content_hash(cut.text),
        snapshot=page,
    )
