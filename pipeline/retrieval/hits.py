"""Searches with the claim itself as the query."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from pipeline.clients.base import SearchRequest, SearchResult
from pipeline.notes import StepNotes
from pipeline.suggestions import DocumentText
from pipeline.tools import Tools


async def hits(query: str, count: int, document: DocumentText, tools: Tools, tally: StepNotes) -> list[SearchResult]:
    """At most ``count`` results, best first, without any known to be published on or after the document's reference
    date. Without a search service, results of the benchmark's corpus, counted as ``local`` because that isn't a call.

    Raises ServiceError, BudgetSpentError, MissingServiceError.
    """
    if tools.search is None and tools.index is not None:
        tally.counts["local"] += 1
        found: Sequence[SearchResult] = [
            SearchResult(url=each.url, title=each.title, snippet=each.passage, site=each.site, published=each.published)
            for each in tools.index.search(query, count)
        ]
    else:
        request = SearchRequest(step="search", query=query, count=count, before=document.reference_date)
        found = await tools.need_search().search(request)
    return [hit for hit in found if is_early_enough(hit.published, document)][:count]


def is_early_enough(published: dt.date | None, document: DocumentText) -> bool:
    """Whether a source may be used: published before the reference date, as far as known."""
    return published is None or document.reference_date is None or published < document.reference_date
