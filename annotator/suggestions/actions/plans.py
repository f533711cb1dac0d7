"""The frozen plan of a run: everything its result depends on, recorded when it is requested (ADR 0011)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark, Corpus
from annotator.core.vocabulary import Stage
from annotator.suggestions.queries.prompts import prompts_in_use
from annotator.suggestions.queries.services import CORPUS, missing, search_provider, service_settings

if TYPE_CHECKING:
    from pipeline.catalogue import StrategyChoice

SEED = 0
IN_BATCHES = "in_batches"  # in the plan of a run whose requests to the model go out in batches


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What someone chose for a run; None means the benchmark's default, or the installation's."""

    strategy: str | None = None
    parameters: Mapping[str, object] | None = None
    budget_tokens: int | None = None
    budget_money: float | None = None
    model: str = ""
    seed: int | None = SEED
    temperature: float = 0.0
    in_batches: bool = False  # half the price, answers within a day
    extra: Mapping[str, object] = field(default_factory=dict)  # what the stage needs: claims, a query


def choice_of(benchmark: Benchmark, strategy: str | None = None) -> StrategyChoice | None:
    """The strategy that a run would use; None if the benchmark has none, or its name is unknown."""
    from pipeline.catalogue import choice  # imported late because strategies load slowly

    name = benchmark.strategy if strategy is None else strategy
    return choice(name) if name else None


def obstacle(benchmark: Benchmark, choice: StrategyChoice, stage: Stage) -> str:
    """Why a strategy can't work at a stage of this benchmark, with what to do; "" if it can."""
    if stage not in choice.stages:
        return f"{choice.label} makes no suggestions for the {stage.label.lower()} stage."
    return missing(choice, stage, benchmark)


def frozen_plan(benchmark: Benchmark, choice: StrategyChoice, wish: RunRequest) -> dict[str, Any]:
    """The plan of a run. Raises BadValueError naming a wrong parameter and its problem."""
    from pipeline.catalogue import BadPromptError, checked, described

    values = wish.parameters
    if values is None:
        values = benchmark.parameters if choice.name == benchmark.strategy else {}
    try:
        parameters = checked(choice.name, values)
        prompts = prompts_in_use(benchmark, choice.prompts)
    except (ValueError, BadPromptError) as error:
        raise BadValueError(str(error)) from None
    corpus = benchmark.corpus_id
    installed = service_settings(benchmark, has_corpus=corpus is not None)
    model = wish.model or installed.llm_model
    plan: dict[str, Any] = {"corpus": corpus, "parameters": parameters}
    if corpus is not None:
        plan["corpus_revision"] = Corpus.objects.values_list("revision", flat=True).get(pk=corpus)
    if choice.needs:
        plan["services"] = described(replace(installed, llm_model=model))
        plan |= {"model": model, "seed": wish.seed, "temperature": wish.temperature}
        if wish.in_batches and "chat" in choice.needs:
            plan[IN_BATCHES] = True
        plan["prompts"] = {
            name: {"label": each.label, "digest": each.digest, "text": each.text} for name, each in prompts.items()
        }
    elif wish.extra.get("again") and search_provider(benchmark, has_corpus=corpus is not None) != CORPUS:
        plan["services"] = described(service_settings(benchmark, has_corpus=False))
    return plan | dict(wish.extra)
