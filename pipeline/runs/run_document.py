"""One document of a run: what its strategy is given, the strategy at work, and what is stored of it.

Nothing is locked while services are asked. Storing is one function, called in the transaction of the document's result.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db import DatabaseError, transaction

from annotator.core.models import Claim, Document, PipelineRun, RunItem
from annotator.core.vocabulary import Stage
from pipeline import strategies
from pipeline.clients.base import SearchRequest
from pipeline.retrieval.corpus_ranking import PER_CLAIM, content_hash
from pipeline.runs import inputs
from pipeline.runs.bridge import Bridge
from pipeline.runs.run_budget import RunMeter
from pipeline.runs.services import index_of, open_tools, settings_of
from pipeline.runs.store import store_decomposition, store_revision, store_searched, store_verification
from pipeline.runs.suggesters import suggest_stances, suggest_types
from pipeline.strategies.base import Strategy
from pipeline.suggestions import ClaimText, DocumentText, Note, RetrievedEvidence, Verification
from pipeline.tools import Tools

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Result:
    """A strategy's result: how to store it, and what to write to the document's row."""

    store: Callable[[], None]
    notes: list[dict[str, str]] = field(default_factory=list)
    counts: dict[str, float] = field(default_factory=dict)


def suggest(item: RunItem, meter: RunMeter, bridge: Bridge) -> Result:
    """Let the run's strategy work on a document. Raises what it raises: ServiceError, BudgetSpentError, ValueError for
    wrong settings or parameters."""
    run, document = item.run, item.document
    strategy = strategies.get(run.strategy, run.plan.get("parameters", {}))
    given = inputs.document_text(document)
    if run.stage == Stage.DECOMPOSE:
        cut = _at_work(item, meter, bridge, None, lambda tools: strategy.decompose(given, tools))

        def keep() -> None:
            store_decomposition(run, document, cut)
            _add_learned(suggest_types, item)

        return Result(keep, *_reported([cut]))
    if run.stage == Stage.REVISE:
        claims = inputs.checked_claims(document)
        revised = _at_work(item, meter, bridge, None, lambda tools: strategy.revise(given, claims, tools))
        if revised is None:
            return Result(lambda: None)
        return Result(lambda: store_revision(run, document, revised), *_reported([revised]))
    return _verify(item, strategy, given, meter, bridge)


def _verify(item: RunItem, strategy: Strategy, given: DocumentText, meter: RunMeter, bridge: Bridge) -> Result:
    run = item.run
    claims = inputs.claims_to_verify(run, item.document)
    index = index_of(run.plan.get("corpus"))
    if run.plan.get("again"):
        query = str(run.plan["query"])
        passages = _at_work(item, meter, bridge, index, lambda tools: _searched(query, given, tools))
        return Result(lambda: _each(claims, lambda claim: store_searched(run, claim, passages)))
    texts = [inputs.claim_text(claim) for claim in claims]

    async def verify(tools: Tools) -> list[Verification]:
        async def one(text: ClaimText) -> Verification:
            return await strategy.verify(text, given, tools)

        return await _together([one(text) for text in texts], meter)

    found = _at_work(item, meter, bridge, index, verify)

    def store() -> None:
        for claim, each in zip(claims, found, strict=True):
            store_verification(run, claim, each)
        _add_learned(suggest_stances, item)

    return Result(store, *_reported(found))


def _add_learned(suggest: Callable[[PipelineRun, Document], int], item: RunItem) -> None:
    """Let the benchmark's own suggesters label what the strategy left open. Runs inside the storing transaction; if
    they fail, the strategy's suggestions are stored all the same."""
    try:
        with transaction.atomic():
            suggest(item.run, item.document)
    except DatabaseError:
        raise
    except Exception:
        logger.exception("The suggesters of %s failed on document %s", item.run.benchmark, item.document_id)


def _at_work(
    item: RunItem,
    meter: RunMeter,
    bridge: Bridge,
    index: Any,
    work: Callable[[Tools], Awaitable[T]],
) -> T:
    settings = settings_of(item.run)

    async def main() -> T:
        async with open_tools(item.run, settings, index, meter, bridge) as tools:
            return await work(tools)

    return bridge.run(main)


async def _together(works: Sequence[Awaitable[T]], meter: RunMeter) -> list[T]:
    """All results in order. At the first failure no further call is made; those under way end, since they are paid
    for, and their answers are kept. Raises what failed first."""
    faults: list[BaseException] = []

    async def one(work: Awaitable[T]) -> T | None:
        try:
            return await work
        except Exception as error:
            faults.append(error)
            meter.stop("Another claim of the document failed.")
            return None

    results = await asyncio.gather(*(one(work) for work in works))
    if faults:
        raise faults[0]
    return [result for result in results if result is not None]


async def _searched(query: str, given: DocumentText, tools: Tools) -> list[RetrievedEvidence]:
    """Search for a person's own query, unchanged: in the corpus if there is one, else by the search service."""
    if tools.index is not None:
        return tools.index.search(query, PER_CLAIM)
    request = SearchRequest("search again", query, PER_CLAIM, before=given.reference_date)
    return [
        RetrievedEvidence(
            passage=hit.snippet,
            url=hit.url,
            title=hit.title,
            query=query,
            site=hit.site,
            published=hit.published,
            content_hash=content_hash(hit.snippet),
        )
        for hit in await tools.need_search().search(request)
    ]


def _each(claims: Iterable[Claim], store: Callable[[Claim], None]) -> None:
    for claim in claims:
        store(claim)


def _reported(parts: Iterable[Any]) -> tuple[list[dict[str, str]], dict[str, float]]:
    """The distinct notes of several suggestions, and the sums of their counts."""
    notes: list[Note] = []
    counts: Counter[str] = Counter()
    for part in parts:
        notes += part.notes
        reported: Mapping[str, int] = part.counts
        counts.update(reported)
    return [{"step": note.step, "text": note.text} for note in dict.fromkeys(notes)], dict(counts)
