"""Which outside services this installation has, and what a strategy lacks. The settings are explained in
docs/running-strategies.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings

from annotator.core.vocabulary import Stage

if TYPE_CHECKING:
    from pipeline.catalogue import ServiceSettings, StrategyChoice

CORPUS = "corpus"

# Which services a strategy uses at which stage, of those that it cannot do without.
_USED = {Stage.DECOMPOSE: {"chat"}, Stage.VERIFY: {"chat", "search", "pages"}, Stage.REVISE: {"chat"}}


def search_provider(*, has_corpus: bool) -> str:
    """Who is asked at searches: the provider of the settings, else the benchmark's corpus; "" for nobody."""
    if settings.SEARCH_PROVIDER in ("", CORPUS):
        return CORPUS if has_corpus else ""
    return str(settings.SEARCH_PROVIDER)


def service_settings(*, has_corpus: bool) -> ServiceSettings:
    """The settings of all services, for a benchmark with or without a corpus."""
    from pipeline.catalogue import ServiceSettings  # loads what strategies need: late

    return ServiceSettings(
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
        search_provider=search_provider(has_corpus=has_corpus),
        search_url=settings.SEARCH_URL,
        search_key=settings.SEARCH_KEY,
        search_price=settings.SEARCH_PRICE,
        pages=settings.PAGES,
        pages_robots=settings.PAGES_ROBOTS,
        pages_allow=tuple(settings.PAGES_ALLOW),
        calls_at_once=settings.CALLS_AT_ONCE,
    )


def missing(choice: StrategyChoice, stage: Stage, *, has_corpus: bool) -> str:
    """Why a strategy cannot work at a stage here, as a sentence that names the setting; "" where it can."""
    needs = set(choice.needs) & _USED[stage]
    provider = search_provider(has_corpus=has_corpus)
    lacking = []
    if "chat" in needs and not settings.LLM_URL:
        lacking.append("a language model: set LLM_URL and LLM_MODEL")
    if "search" in needs and not provider:
        lacking.append("a search: set SEARCH_PROVIDER, or give the benchmark a corpus")
    # A corpus holds the whole pages that its search finds.
    if "pages" in needs and provider != CORPUS and not settings.PAGES:
        lacking.append("full pages, but fetching is turned off: set PAGES=1")
    return f"{choice.label} needs {'; and '.join(lacking)}." if lacking else ""


def can_search(*, has_corpus: bool) -> bool:
    """Is there anything to find evidence in: a corpus, or a search service?"""
    return bool(search_provider(has_corpus=has_corpus))
