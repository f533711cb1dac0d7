"""What a run will probably use, before it starts: measured on this benchmark if possible, else by the strategy's
formula with typical quantities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import Avg
from django.db.models.functions import Length

from annotator.core.models import Benchmark, Document
from annotator.core.vocabulary import Stage
from annotator.suggestions.queries.costs import Compared, compared
from annotator.suggestions.queries.run_scope import RunScope
from annotator.suggestions.queries.services import service_settings

if TYPE_CHECKING:
    from pipeline.catalogue import Prompt, ServiceSettings, StrategyChoice

# Defaults if nothing was measured. A token is about four characters of English, an answer about this long, and a
# service answers in about this many seconds.
CHARACTERS_A_TOKEN = 4
ANSWER_TOKENS = 250
SECONDS_A_CALL = 2.0
# Steps whose calls don't go to a model; all strategies use these names.
_SEARCHES, _PAGES, _RANKINGS = {"search"}, {"fetch", "pages"}, {"rank"}


@dataclass(frozen=True, slots=True)
class Forecast:
    """For all chosen documents together. ``measured``: the number of documents averaged, 0 if the formula was used.
    ``money_in_batches``: the cost where the model is asked in batches; None if none is asked. ``long``: documents
    decomposed in parts of at most ``part`` characters."""

    documents: int
    chats: float
    searches: float
    pages: float
    tokens: float
    money: float
    seconds: float
    measured: int
    money_in_batches: float | None = None
    long: int = 0
    part: int = 0

    @property
    def calls(self) -> float:
        return self.chats + self.searches + self.pages

    def words(self) -> str:
        """How the forecast was made, as a sentence."""
        if self.measured:
            one = self.measured == 1
            return f"Average of the {'one document' if one else f'{self.measured:,} documents'} finished here so far."
        words = "No measurements yet: estimated from the strategy’s formula with typical quantities."
        if self.long:
            which = "One response is" if self.long == 1 else f"{self.long:,} responses are"
            words += f" {which} longer than {self.part:,} characters and decomposed in parts."
        return words


def forecast(
    benchmark: Benchmark,
    choice: StrategyChoice,
    parameters: Mapping[str, object],
    stage: Stage,
    scope: RunScope,
    prompts: Mapping[str, Prompt],
) -> Forecast:
    """What a run over these documents will use. Calls are scaled by claims if those are known (at verify). Raises
    ValueError for a wrong parameter."""
    found = compared(benchmark, strategy=choice.name, stage=stage)
    if found and found[0].documents:
        return _from_measured(benchmark, choice, found[0], scope)
    return _from_formula(benchmark, choice, parameters, stage, scope, prompts)


def _in_batches(choice: StrategyChoice, model: float, search: float) -> float | None:
    """The cost in batches, from that of the model's calls and that of searches, which are never in batches."""
    from pipeline.catalogue import BATCH_PRICE

    return BATCH_PRICE * model + search if "chat" in choice.needs else None


def _model_money(services: ServiceSettings, prompt_tokens: float, answer_tokens: float) -> float:
    return (prompt_tokens * services.llm_price_prompt + answer_tokens * services.llm_price_answer) / 1e6


def _from_measured(benchmark: Benchmark, choice: StrategyChoice, past: Compared, scope: RunScope) -> Forecast:
    documents = len(scope.documents)
    share = documents / past.documents
    use = past.use
    # Answers from the store were calls once and are calls again for other documents.
    whole = use.requests / use.calls if use.calls else 1.0
    at_once = max(settings.CELERY_WORKER_CONCURRENCY, 1)
    services = service_settings(benchmark, has_corpus=benchmark.corpus_id is not None)
    # At today's prices, because what was measured may have been in batches itself.
    model = _model_money(services, use.prompt_tokens, use.answer_tokens) * whole * share
    search = use.searches * whole * share * services.search_price
    return Forecast(
        documents,
        chats=use.chats * whole * share,
        searches=use.searches * whole * share,
        pages=use.pages * whole * share,
        tokens=use.tokens * whole * share,
        money=use.money * whole * share,
        seconds=past.seconds * documents / min(at_once, max(documents, 1)),
        measured=past.documents,
        money_in_batches=_in_batches(choice, model, search),
    )


def _from_formula(
    benchmark: Benchmark,
    choice: StrategyChoice,
    parameters: Mapping[str, object],
    stage: Stage,
    scope: RunScope,
    prompts: Mapping[str, Prompt],
) -> Forecast:
    from pipeline.catalogue import formula

    documents = len(scope.documents)
    counts = dict(choice.typical.get(stage, {}))
    long = _long(benchmark, choice, scope) if stage == Stage.DECOMPOSE else []
    if long:
        more = sum(-(-length // choice.longest_at_once) - 1 for length in long) / documents
        counts |= {"answers": counts.get("answers", 0) + more, "long_parts": more}
    if stage == Stage.VERIFY and documents and counts.get("claims"):
        scale = scope.claims_in_all / documents / counts["claims"]
        counts = {name: number * scale for name, number in counts.items()}
    by_step = formula(choice.name, parameters, counts)
    searches, pages, rankings = (
        sum(calls for step, calls in by_step.items() if _is_of(step, words)) * documents
        for words in (_SEARCHES, _PAGES, _RANKINGS)
    )
    calls = sum(by_step.values()) * documents
    chats = calls - searches - pages - rankings
    length = Document.objects.filter(benchmark=benchmark).aggregate(mean=Avg(Length("response")))["mean"] or 0
    length = min(length, choice.longest_at_once or length)
    texts = [len(prompt.text) for prompt in prompts.values()]
    asked = (length + (sum(texts) / len(texts) if texts else 0)) / CHARACTERS_A_TOKEN
    services = service_settings(benchmark, has_corpus=benchmark.corpus_id is not None)
    model, search = _model_money(services, chats * asked, chats * ANSWER_TOKENS), searches * services.search_price
    # At decompose, a document's calls mostly wait for each other; at verify, its claims are processed in parallel.
    at_once = max(settings.CELERY_WORKER_CONCURRENCY, 1) * (settings.CALLS_AT_ONCE if stage == Stage.VERIFY else 1)
    return Forecast(
        documents,
        chats=chats,
        searches=searches,
        pages=pages,
        tokens=chats * (asked + ANSWER_TOKENS),
        money=model + search,
        seconds=calls * SECONDS_A_CALL / min(at_once, max(settings.CALLS_AT_ONCE, 1)),
        measured=0,
        money_in_batches=_in_batches(choice, model, search),
        long=len(long),
        part=choice.longest_at_once,
    )


def _long(benchmark: Benchmark, choice: StrategyChoice, scope: RunScope) -> list[int]:
    """The lengths of responses that the strategy decomposes in parts."""
    if not choice.longest_at_once:
        return []
    chosen = set(scope.documents)
    lengths = Document.objects.filter(benchmark=benchmark).annotate(length=Length("response"))
    long = lengths.filter(length__gt=choice.longest_at_once).values_list("pk", "length")
    return [length for pk, length in long if pk in chosen]


def _is_of(step: str, words: set[str]) -> bool:
    return any(word in step for word in words)
