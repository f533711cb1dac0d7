"""The services of a run, put together in one place: settings in, what strategies call out.

    strategy -> accounted (kept? else held against the budget, made, paid) -> provider -> limiter, retries -> socket

The store stands outside of the budget: a kept answer costs nothing, so a repeated run goes through with no budget at
all. The limiter stands innermost: a call holds a place at its host only while it is on the wire, not while it waits to
be tried again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from pipeline.clients.accounted import Account, AccountedChat, AccountedPages, AccountedRanker, AccountedSearch
from pipeline.clients.addresses import Allowed, Resolver, resolve
from pipeline.clients.base import Chat, FetchedPage, PageRequest, Ranker, SearchClient
from pipeline.clients.collected import CollectedChat, Collector
from pipeline.clients.cost_meter import Meter, Store
from pipeline.clients.embeddings import EmbeddingsRanker
from pipeline.clients.http import Patience, open_client
from pipeline.clients.limiter import Limiter, shared_limiter
from pipeline.clients.local_models import LocalRanker
from pipeline.clients.models.anthropic import AnthropicChat
from pipeline.clients.models.base import ModelClient, Prices
from pipeline.clients.models.gemini import GeminiChat
from pipeline.clients.models.openai import OpenAIChat
from pipeline.clients.models.responses import ResponsesChat
from pipeline.clients.pages import Absence, HttpPages, PageLimits, open_pages
from pipeline.clients.rerank import RerankRanker
from pipeline.clients.search.brave import BraveSearch
from pipeline.clients.search.corpus import CorpusSearch
from pipeline.clients.search.duckduckgo import DuckDuckGoSearch
from pipeline.clients.search.exa import ExaSearch
from pipeline.clients.search.jina import JinaSearch
from pipeline.clients.search.mediawiki import MediaWikiSearch
from pipeline.clients.search.searxng import SearxngSearch
from pipeline.clients.search.serper import SerperSearch
from pipeline.clients.search.tavily import TavilySearch
from pipeline.retrieval.corpus_ranking import PassageIndex

_WebSearch = (
    SerperSearch
    | BraveSearch
    | TavilySearch
    | ExaSearch
    | JinaSearch
    | SearxngSearch
    | DuckDuckGoSearch
    | MediaWikiSearch
)
_SEARCHES: dict[str, type[_WebSearch]] = {
    "serper": SerperSearch,
    "brave": BraveSearch,
    "tavily": TavilySearch,
    "exa": ExaSearch,
    "jina": JinaSearch,
    "searxng": SearxngSearch,
    "duckduckgo": DuckDuckGoSearch,
    "mediawiki": MediaWikiSearch,
}
MODELS: dict[str, type[ModelClient]] = {
    "openai": OpenAIChat,
    "responses": ResponsesChat,
    "anthropic": AnthropicChat,
    "gemini": GeminiChat,
}
PROVIDERS = (*_SEARCHES, "corpus")
_WITH_KEY = frozenset({"serper", "brave", "tavily", "exa", "jina"})


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Which services there are and how they are reached, as plain values. A blank address: not configured.

    Prices are in any one currency: a million tokens for models, a query for search. ``calls_at_once`` bounds the calls
    to one host by all threads of a process.
    """

    llm_url: str = ""
    llm_provider: str = "openai"  # the protocol: one of MODELS
    llm_key: str = field(default="", repr=False)
    llm_model: str = ""
    llm_price_prompt: float = 0.0
    llm_price_answer: float = 0.0
    embeddings_url: str = ""
    embeddings_key: str = field(default="", repr=False)
    embeddings_model: str = ""
    rerank_url: str = ""
    rerank_key: str = field(default="", repr=False)
    rerank_model: str = ""
    semantic_model: str = ""  # a folder
    search_provider: str = ""  # one of PROVIDERS
    search_url: str = ""  # blank: the provider's own
    search_key: str = field(default="", repr=False)
    search_price: float = 0.0
    pages: bool = False
    pages_robots: bool = True
    pages_allow: tuple[str, ...] = ()  # hosts and networks that may be private
    calls_at_once: int = 32
    page_limits: PageLimits | None = None  # None: the usual ones
    patience: Patience | None = None  # of all services; None: each its own


@dataclass(frozen=True, slots=True)
class Services:
    """What a strategy calls; None: not configured."""

    chat: Chat | None = None
    search: SearchClient | None = None
    pages: AccountedPages | None = None
    ranker: Ranker | None = None


def problems(settings: ServiceSettings) -> list[str]:
    """What is wrong with the settings, as sentences for the person who can change them."""
    found = [
        f"{name} is “{url}”: write an address that begins with http:// or https://."
        for name, url in (
            ("LLM_URL", settings.llm_url),
            ("EMBEDDINGS_URL", settings.embeddings_url),
            ("RERANK_URL", settings.rerank_url),
            ("SEARCH_URL", settings.search_url),
        )
        if url and (urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname)
    ]
    provider = settings.search_provider
    if settings.llm_url and not settings.llm_model:
        found.append("LLM_URL is set, but LLM_MODEL is not: name the model to use.")
    if settings.llm_provider not in MODELS:
        found.append(f"LLM_PROVIDER is “{settings.llm_provider}”: write one of {', '.join(MODELS)}.")
    if settings.embeddings_url and not settings.embeddings_model:
        found.append("EMBEDDINGS_URL is set, but EMBEDDINGS_MODEL is not: name the model to use.")
    if provider and provider not in PROVIDERS:
        found.append(f"SEARCH_PROVIDER is “{provider}”: write one of {', '.join(PROVIDERS)}.")
    if provider in _WITH_KEY and not settings.search_key:
        found.append(f"SEARCH_PROVIDER is {provider}, which needs a key: set SEARCH_KEY.")
    if provider == "searxng" and not settings.search_url:
        found.append("SEARCH_PROVIDER is searxng: set SEARCH_URL to the address of the server.")
    if settings.calls_at_once < 1:
        found.append(f"CALLS_AT_ONCE is {settings.calls_at_once}: write 1 or more.")
    return found


def described(settings: ServiceSettings) -> dict[str, str]:
    """Which services there are, by name and host, without keys: for the plan of a run and its page."""
    found: dict[str, str] = {}
    if settings.llm_url:
        found["chat"] = f"{settings.llm_model} at {_host(settings.llm_url)}"
    if settings.search_provider:
        own = f" at {_host(settings.search_url)}" if settings.search_url else ""
        found["search"] = f"{settings.search_provider}{own}"
    if settings.pages:
        found["pages"] = "fetched, robots.txt respected" if settings.pages_robots else "fetched"
    if settings.rerank_url:
        found["ranker"] = f"{settings.rerank_model or 're-ranker'} at {_host(settings.rerank_url)}"
    elif settings.semantic_model:
        found["ranker"] = settings.semantic_model.rstrip("/").rpartition("/")[2]
    elif settings.embeddings_url:
        found["ranker"] = f"{settings.embeddings_model} at {_host(settings.embeddings_url)}"
    return found


@asynccontextmanager
async def open_services(
    settings: ServiceSettings,
    store: Store,
    meter: Meter,
    *,
    index: PassageIndex | None = None,
    resolver: Resolver = resolve,
    collector: Collector | None = None,
) -> AsyncIterator[Services]:
    """The services for one document of a run, in this event loop; connections are closed at the end.

    ``collector``: requests to the model are collected for a batch there. ``index`` is searched where the provider is
    ``corpus``. Raises ValueError if something is wrong with the settings.
    """
    if wrong := problems(settings):
        raise ValueError(" ".join(wrong))
    limiter = shared_limiter(settings.calls_at_once)
    account = Account(store, meter)
    names = described(settings)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(open_client())
        model = _chat(settings, client, limiter)
        host = _host(settings.llm_url)
        chat: Chat | None = None
        if model is not None:
            chat = direct = AccountedChat(model, account, host=host)
            if collector is not None:
                chat = CollectedChat(direct, model, account, store, collector, host)
        pages = None
        if settings.pages:
            pages = await stack.enter_async_context(_open_pages(settings, limiter, resolver))
        yield Services(
            chat=chat,
            search=_search(settings, client, limiter, account, index, names.get("search", "")),
            pages=None if pages is None else AccountedPages(pages, account),
            ranker=_ranker(settings, client, limiter, account, names.get("ranker", "")),
        )


@asynccontextmanager
async def open_chat(settings: ServiceSettings) -> AsyncIterator[ModelClient]:
    """The model alone, to test it and for batches: nothing is stored or counted. Raises ValueError without one."""
    async with open_client() as client:
        chat = _chat(settings, client, shared_limiter(settings.calls_at_once))
        if chat is None:
            raise ValueError("There is no language model.")
        yield chat


@asynccontextmanager
async def open_search(settings: ServiceSettings) -> AsyncIterator[SearchClient]:
    """The search alone, to test it: nothing is stored or counted. Raises ValueError for a corpus, or without one."""
    if settings.search_provider not in _SEARCHES:
        raise ValueError("There is no search service.")
    async with open_client() as client:
        yield _SEARCHES[settings.search_provider](
            client,
            shared_limiter(settings.calls_at_once),
            url=settings.search_url,
            key=settings.search_key,
            patience=settings.patience,
        )


async def fetch_page(settings: ServiceSettings, url: str, *, resolver: Resolver = resolve) -> FetchedPage | Absence:
    """One page, for evidence that a person adds: fetched like any other, not stored here, at no cost. Works even if
    runs may not fetch pages."""
    async with open_page_reader(settings, resolver=resolver) as pages:
        return await pages.read(PageRequest(step="by hand", url=url))


def open_page_reader(
    settings: ServiceSettings, *, resolver: Resolver = resolve
) -> AbstractAsyncContextManager[HttpPages]:
    """Pages alone, to check them again: nothing is stored or counted. Works even if runs may not fetch pages."""
    return _open_pages(settings, shared_limiter(settings.calls_at_once), resolver)


def _open_pages(
    settings: ServiceSettings, limiter: Limiter, resolver: Resolver
) -> AbstractAsyncContextManager[HttpPages]:
    return open_pages(
        limiter,
        allowed=Allowed.of(settings.pages_allow),
        robots=settings.pages_robots,
        limits=settings.page_limits,
        resolver=resolver,
    )


def _chat(settings: ServiceSettings, client: httpx.AsyncClient, limiter: Limiter) -> ModelClient | None:
    if not settings.llm_url:
        return None
    return MODELS[settings.llm_provider](
        client,
        limiter,
        url=settings.llm_url,
        key=settings.llm_key,
        prices=Prices(settings.llm_price_prompt, settings.llm_price_answer),
        patience=settings.patience,
    )


def _search(
    settings: ServiceSettings,
    client: httpx.AsyncClient,
    limiter: Limiter,
    account: Account,
    index: PassageIndex | None,
    label: str,
) -> SearchClient | None:
    name = settings.search_provider
    if name in _SEARCHES:
        inner = _SEARCHES[name](
            client, limiter, url=settings.search_url, key=settings.search_key, patience=settings.patience
        )
        provider = f"{name} {inner.url}"
        return AccountedSearch(inner, account, provider=provider, price=settings.search_price, name=label)
    if name == "corpus" and index is not None:
        # Counted but not stored: the corpus is local and may change before the next run.
        return AccountedSearch(CorpusSearch(index), account, provider=f"corpus {id(index)}", kept=False)
    return None


def _ranker(
    settings: ServiceSettings, client: httpx.AsyncClient, limiter: Limiter, account: Account, label: str
) -> Ranker | None:
    """The best ranker configured: a re-ranking endpoint, else a local model, else embeddings."""
    inner: RerankRanker | LocalRanker | EmbeddingsRanker
    if settings.rerank_url:
        inner = RerankRanker(
            client,
            limiter,
            url=settings.rerank_url,
            model=settings.rerank_model,
            key=settings.rerank_key,
            patience=settings.patience,
        )
    elif settings.semantic_model:
        inner = LocalRanker(settings.semantic_model)
    elif settings.embeddings_url:
        inner = EmbeddingsRanker(
            client,
            limiter,
            url=settings.embeddings_url,
            model=settings.embeddings_model,
            key=settings.embeddings_key,
            patience=settings.patience,
        )
    else:
        return None
    return AccountedRanker(inner, account, provider=inner.provider, name=label)


def _host(url: str) -> str:
    return urlsplit(url).hostname or url
