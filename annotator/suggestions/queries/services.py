"""Which outside services a benchmark has, what they were used for, and what a strategy lacks. The settings are
explained in docs/running-strategies.md."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import Q, Sum

from annotator.core.models import Benchmark, PendingCall
from annotator.core.vocabulary import Stage
from annotator.suggestions.models.service import CHAT, SEARCH, Service, ServiceUse, UnreadableKeyError

if TYPE_CHECKING:
    from pipeline.catalogue import ServiceSettings, StrategyChoice

CORPUS = "corpus"
_KEPT = "_services_in_use"

# Which services a strategy uses at which stage, of those that it cannot do without.
_USED = {Stage.DECOMPOSE: {"chat"}, Stage.VERIFY: {"chat", "search", "pages"}, Stage.REVISE: {"chat"}}


def services_of(benchmark: Benchmark) -> dict[str, Service]:
    """The services that owners added, by kind: the benchmark's own, else the installation's. One query, once for each
    object."""
    kept: dict[str, Service] | None = vars(benchmark).get(_KEPT)
    if kept is None:
        rows = Service.objects.filter(Q(benchmark=benchmark) | Q(benchmark__isnull=True))
        kept = {row.kind: row for row in sorted(rows, key=lambda row: row.benchmark_id is not None)}
        vars(benchmark)[_KEPT] = kept
    return kept


def own_services(benchmark: Benchmark | None) -> dict[str, Service]:
    """The services of this benchmark alone, or (None) of the installation, by kind. One query."""
    return {row.kind: row for row in Service.objects.filter(benchmark=benchmark)}


def search_provider(benchmark: Benchmark, *, has_corpus: bool) -> str:
    """Who is asked at searches: the provider that owners added, else that of the settings, else the benchmark's corpus;
    "" for nobody."""
    return _provider(services_of(benchmark), has_corpus=has_corpus)


def _provider(added: Mapping[str, Service], *, has_corpus: bool) -> str:
    if SEARCH in added:
        return added[SEARCH].provider
    if settings.SEARCH_PROVIDER in ("", CORPUS):
        return CORPUS if has_corpus else ""
    return str(settings.SEARCH_PROVIDER)


def service_settings(benchmark: Benchmark, *, has_corpus: bool) -> ServiceSettings:
    """The settings of all services of a benchmark, with or without a corpus: what its owners added stands before what
    the installation has, and that before what the environment names."""
    return settings_with(services_of(benchmark), has_corpus=has_corpus)


def settings_with(added: Mapping[str, Service], *, has_corpus: bool = False) -> ServiceSettings:
    """The settings of the environment with these services, by kind, instead of its own. A key that can no longer be
    read is left out, so that the service refuses."""
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
        search_provider=_provider(added, has_corpus=has_corpus),
        search_url=settings.SEARCH_URL,
        search_key=settings.SEARCH_KEY,
        search_price=settings.SEARCH_PRICE,
        pages=settings.PAGES,
        pages_robots=settings.PAGES_ROBOTS,
        pages_allow=tuple(settings.PAGES_ALLOW),
        calls_at_once=settings.CALLS_AT_ONCE,
    )
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
        lacking.append("a language model, which an owner can add under Services")
    if "search" in needs and not provider:
        lacking.append("a search service, which an owner can add under Services, or a corpus")
    # A corpus holds the whole pages that its search finds.
    if "pages" in needs and provider != CORPUS and not settings.PAGES:
        lacking.append("full pages, but this installation fetches none (PAGES)")
    return f"{choice.label} needs {'; and '.join(lacking)}." if lacking else ""


def can_search(benchmark: Benchmark) -> bool:
    """Is there anything to find evidence in: a corpus, or a search service?"""
    return bool(search_provider(benchmark, has_corpus=benchmark.corpus_id is not None))


# --- what they were used for ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Used:
    """What runs used of a service: ``calls`` that were made, tokens, and cost in the currency of the prices."""

    kind: str
    name: str
    calls: int
    prompt_tokens: int
    answer_tokens: int
    money: float


def use_by_service(benchmark: Benchmark | None, *, since: dt.date | None = None) -> list[Used]:
    """What was used of each service since a day, in a benchmark or (None) in all, the most expensive first. One
    query."""
    rows = ServiceUse.objects.all() if benchmark is None else ServiceUse.objects.filter(benchmark=benchmark)
    if since is not None:
        rows = rows.filter(day__gte=since)
    found = rows.order_by().values_list("kind", "name")
    sums = found.annotate(
        in_calls=Sum("calls"), read=Sum("prompt_tokens"), wrote=Sum("answer_tokens"), in_money=Sum("money")
    )
    return [Used(*row) for row in sums.order_by("-in_money", "-in_calls", "name")]


def first_of_month(today: dt.date | None = None) -> dt.date:
    """The first day of this month, UTC: where monthly limits begin to count."""
    return (today or dt.datetime.now(dt.UTC).date()).replace(day=1)


def money_this_month(service: Service) -> float:
    """What a service has cost this month, the calls under way and lost at the most they can cost. Two queries."""
    since = first_of_month()
    settled = ServiceUse.objects.filter(service=service.public_id, day__gte=since)
    return float(settled.aggregate(sum=Sum("money", default=0.0))["sum"]) + money_held(service, since)


def money_held(service: Service, since: dt.date, *, lost: bool = True) -> float:
    """The most that calls under way since a day can cost, with those that were ``lost`` with their worker."""
    rows = PendingCall.objects.filter(service=service, began_at__date__gte=since)
    if not lost:
        rows = rows.filter(lost_at__isnull=True)
    return float(rows.aggregate(sum=Sum("money", default=0.0))["sum"])
