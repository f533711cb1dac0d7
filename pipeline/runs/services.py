"""The tools of one document of a run, from the settings and the run's frozen plan."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from time import monotonic

from annotator.core.models import Corpus, CorpusPage, PipelineRun
from annotator.suggestions.actions.plans import IN_BATCHES
from annotator.suggestions.queries.services import CORPUS, service_settings
from pipeline.clients.assemble import ServiceSettings, open_services, problems
from pipeline.clients.base import FetchedPage, PageRequest, Usage
from pipeline.clients.cost_meter import CallKind, Hold
from pipeline.prompts import Prompt
from pipeline.retrieval.corpus_ranking import PassageIndex
from pipeline.runs.bridge import Bridge
from pipeline.runs.db_retry import persistently
from pipeline.runs.kept_answers import DatabaseStore
from pipeline.runs.run_budget import RunMeter
from pipeline.runs.saved_index import index_of_revision
from pipeline.tools import MissingServiceError, Tools


def settings_of(run: PipelineRun) -> ServiceSettings:
    """The services of a run: those of this installation, searching the corpus that its plan names."""
    return service_settings(run.benchmark, has_corpus=bool(run.plan.get("corpus")))


@asynccontextmanager
async def open_tools(
    run: PipelineRun, settings: ServiceSettings, index: PassageIndex | None, meter: RunMeter, bridge: Bridge
) -> AsyncIterator[Tools]:
    """What the run's strategy works with, in this event loop, which cannot read the database: ``settings`` are those
    of ``settings_of``. Raises MissingServiceError if a setting is wrong."""
    plan = run.plan
    if not plan.get("services"):
        yield Tools(index=index)
        return
    if wrong := problems(settings):
        raise MissingServiceError(" ".join(wrong))
    collector = meter if plan.get(IN_BATCHES) else None
    async with open_services(settings, DatabaseStore(bridge), meter, index=index, collector=collector) as services:
        in_corpus = settings.search_provider == CORPUS
        yield Tools(
            model=plan.get("model", ""),
            chat=services.chat,
            search=services.search,
            pages=CorpusPages(plan["corpus"], meter, bridge) if in_corpus else services.pages,
            ranker=services.ranker,
            index=index,
            prompts={
                name: Prompt(name=name, text=each["text"], label=each["label"])
                for name, each in plan.get("prompts", {}).items()
            },
            seed=plan.get("seed"),
            temperature=plan.get("temperature", 0.0),
        )


class CorpusPages:
    """Pages from the searched corpus: its stored texts, without fetching. Counted at no cost."""

    def __init__(self, corpus_id: int, meter: RunMeter, bridge: Bridge) -> None:
        self._corpus_id = corpus_id
        self._meter = meter
        self._bridge = bridge

    async def fetch(self, request: PageRequest) -> FetchedPage | None:
        """The page's text as it was imported; None for an address that the corpus does not have."""
        hold = Hold(request.step, CallKind.PAGE)
        await self._meter.reserve(hold)
        began = monotonic()
        page = await self._bridge.do(partial(persistently, partial(_corpus_page, self._corpus_id, request.url)))
        await self._meter.settle(hold, Usage(), monotonic() - began, None)
        return page


def _corpus_page(corpus_id: int, url: str) -> FetchedPage | None:
    row = CorpusPage.objects.filter(corpus_id=corpus_id, url=url).select_related("corpus").order_by("-pk").first()
    if row is None:
        return None
    return FetchedPage(
        url=row.url,
        text=row.text,
        content_hash=row.content_hash,
        retrieved_at=row.corpus.created_at,
        title=row.title,
        site=row.site,
        published=row.published,
    )


def index_of(corpus_id: int | None) -> PassageIndex | None:
    """The passage index of a corpus at its current revision: built once for all processes, opened once in each."""
    if corpus_id is None:
        return None
    revision = Corpus.objects.filter(pk=corpus_id).values_list("revision", flat=True).first()
    return None if revision is None else _built_index(corpus_id, revision)


@lru_cache(maxsize=2)
def _built_index(corpus_id: int, revision: int) -> PassageIndex:
    return index_of_revision(corpus_id, revision)
