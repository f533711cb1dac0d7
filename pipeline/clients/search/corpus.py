"""The passages of a local corpus as search results: no key, no network, no cost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pipeline.clients.base import SearchRequest, SearchResult
from pipeline.retrieval.corpus_ranking import PassageIndex

# With a date limit some of the best passages fall away: so many times more are looked at.
_MORE = 5


class CorpusSearch:
    """A Search over a PassageIndex: each passage is a result, its text the snippet. Pages without a date pass the
    limit."""

    def __init__(self, index: PassageIndex) -> None:
        self._index = index

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        """Best first; several passages of one page are several results."""
        wanted = request.count * (_MORE if request.before else 1)
        found = await asyncio.to_thread(self._index.search, request.query, wanted)
        return [
            SearchResult(url=each.url, title=each.title, snippet=each.passage, site=each.site, published=each.published)
            for each in found
            if not (request.before and each.published and each.published >= request.before)
        ][: request.count]
