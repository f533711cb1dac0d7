"""Which outside services a benchmark has, and what a strategy lacks. The settings are explained in
docs/running-strategies.md."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import prefetch_related_objects

from annotator.core.models import Benchmark
from annotator.core.vocabulary import Stage
from annotator.suggestions.models.service import CHAT, SEARCH, Service, UnreadableKeyError

if TYPE_CHECKING:
    from pipeline.catalogue import ServiceSettings, StrategyChoice

CORPUS = "corpus"

# Which services a strategy uses at which stage, of those that it cannot do without.
_USED = {Stage.DECOMPOSE: {"chat"}, Stage.VERIFY: {"chat", "search", "pages"}, Stage.REVISE: {"chat"}}


def services_of(benchmark: Benchmark) -> dict[str, Service]:
    """The services that the benchmark's owners added, by kind. One query, once for each object."""
    prefetch_related_objects([benchmark], "services")
    return {row.kind: row for row in benchmark.services.all()}


def search_provider(benchmark: Benchmark, *, has_corpus: bool) -> str:
    """Who is asked at searches: the provider that the benchmark's owners added, else that of the settings, else the
    benchmark's corpus; "" for nobody."""
    added = services_of(benchmark).get(SEARCH)
    if added is not None:
        return added.provider
    if settings.SEARCH_PROVIDER in ("", CORPUS):
        return CORPUS if has_corpus else ""
    return str(settings.SEARCH_PROVIDER)


def service_settings(benchmark: Benchmark, *, has_corpus: bool) -> ServiceSettings:
    """The settings of all services of a benchmark, with or without a corpus: what its owners added stands before what
    the environment names. A key that can no longer be read is left out, so that the service refuses."""
    from pipeline.catalogue import ServiceSettings  # loads what strategies need: late

    found = ServiceSettings(
        llm_url=settings.LLM_URL,
        llm_provider=settings.LLM_PROVIDER,
        llm_key=settings.LLM_KEY,
        llm_model=settings.LLM_MODEL,
        llm_price_prompt=settings.LLM_PRICE_PROMPT,
        llm_price_answer=settings.LLM_PRICE_ANSWER,
        embeddings_url=settings.EMBEDDINGS_URL,
        embeddings_key=settings.EMBEDDINGS_KEY,
        embeddings_model=settings.EMBEDDINGS_MODEL,
        rerank_url=settings.RERANK_URL,
        rerank_key=settings.RERANK_KEY,
        rerank_model=settings.RERANK_MODEL,
        semantic_model=settings.SEMANTIC_MODEL,
        search_provider=search_provider(benchmark, has_corpus=has_corpus),
        search_url=settings.SEARCH_URL,
        search_key=settings.SEARCH_KEY,
        search_price=settings.SEARCH_PRICE,
        pages=settings.PAGES,
        pages_robots=settings.PAGES_ROBOTS,
        pages_allow=tuple(settings.PAGES_ALLOW),
        calls_at_once=settings.CALLS_AT_ONCE,
    )
    added = services_of(benchmark)
    if model := added.get(CHAT):
        found = replace(
            found,
            llm_url=model.url,
            llm_provider=model.provider,
            llm_key=_key_of(model),
            llm_model=model.model,
            llm_price_prompt=model.price_prompt,
            llm_price_answer=model.price_answer,
        )
    if search := added.get(SEARCH):
        found = replace(found, search_url=search.url, search_key=_key_of(search), search_price=search.price_query)
    return found


def _key_of(service: Service) -> str:
    try:
        return service.key()
    except UnreadableKeyError:
        return ""


def missing(choice: StrategyChoice, stage: Stage, benchmark: Benchmark) -> str:
    """Why a strategy cannot work at a stage of this benchmark, as a sentence that says what to do; "" where it can."""
    needs = set(choice.needs) & _USED[stage]
    provider = search_provider(benchmark, has_corpus=benchmark.corpus_id is not None)
    lacking = []
    if "chat" in needs and not settings.LLM_URL and CHAT not in services_of(benchmark):
        lacking.append("a language model: an owner adds one under Services, or set LLM_URL and LLM_MODEL")
    if "search" in needs and not provider:
        lacking.append("a search: an owner adds one under Services, or set SEARCH_PROVIDER, or choose a corpus")
    # A corpus holds the whole pages that its search finds.
    if "pages" in needs and provider != CORPUS and not settings.PAGES:
        lacking.append("full pages, but fetching is turned off: set PAGES=1")
    return f"{choice.label} needs {'; and '.join(lacking)}." if lacking else ""


def can_search(benchmark: Benchmark) -> bool:
    """Is there anything to find evidence in: a corpus, or a search service?"""
    return bool(search_provider(benchmark, has_corpus=benchmark.corpus_id is not None))
