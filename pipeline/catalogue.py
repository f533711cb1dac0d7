"""What there is to choose from: strategies with their parameters and formulas, and the shipped prompts.

The third door from ``annotator`` to ``pipeline`` (ADR 0011): pages show what can be chosen, and check what was chosen,
before a run is made. Nothing here reaches out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from annotator.core.vocabulary import Stage
from pipeline import strategies
from pipeline.clients.assemble import MODELS, PROVIDERS, ServiceSettings, described, problems
from pipeline.clients.models.batches import PRICE as BATCH_PRICE
from pipeline.prompts import BadPromptError, Prompt, check_wording, shipped

__all__ = [
    "BATCH_PRICE",
    "MODELS",
    "PROVIDERS",
    "BadPromptError",
    "ParameterField",
    "Prompt",
    "ServiceSettings",
    "StrategyChoice",
    "check_wording",
    "checked",
    "choice",
    "choices",
    "described",
    "formula",
    "formulas",
    "problems",
    "shipped",
]


@dataclass(frozen=True, slots=True)
class ParameterField:
    """One parameter: its name, what it means, its type as a word (int, float, bool, str, choice) and its default."""

    name: str
    description: str
    type: str
    default: Any
    options: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class StrategyChoice:
    """One strategy as a person chooses it."""

    name: str
    label: str
    summary: str
    paper: str
    stages: tuple[Stage, ...]
    needs: tuple[str, ...]
    prompts: tuple[str, ...]
    formula: str
    typical: Mapping[Stage, Mapping[str, float]]
    longest_at_once: int
    fields: tuple[ParameterField, ...]


def choices() -> list[StrategyChoice]:
    """All strategies, in the order in which they are offered."""
    return [
        StrategyChoice(
            name=each.name,
            label=each.label,
            summary=each.summary,
            paper=each.paper,
            stages=each.stages,
            needs=tuple(sorted(each.needs)),
            prompts=each.prompts,
            formula=each.formula_text,
            typical=each.typical,
            longest_at_once=each.longest_at_once,
            fields=tuple(
                _field(name, schema)
                for name, schema in each.parameters_type.model_json_schema().get("properties", {}).items()
            ),
        )
        for each in strategies.STRATEGIES.values()
    ]


def choice(name: str) -> StrategyChoice | None:
    """The strategy of that name as a person chooses it; None if there is none."""
    return next((each for each in choices() if each.name == name), None)


def checked(name: str, values: Mapping[str, object]) -> dict[str, Any]:
    """All parameters of a strategy, the given ones checked. Raises ValueError that says which one is wrong and how."""
    return strategies.parameters_of(name, values).model_dump(mode="json")


def formula(name: str, values: Mapping[str, object], counts: Mapping[str, float]) -> dict[str, float]:
    """Calls by step of a document with these counts. Raises ValueError like ``checked``."""
    return strategies.get(name, values).formula(counts)


def formulas(name: str, values: Mapping[str, object], rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Calls by step of documents with these counts, summed. Raises ValueError like ``checked``."""
    strategy = strategies.get(name, values)
    sums: dict[str, float] = {}
    for counts in rows:
        for step, calls in strategy.formula(counts).items():
            sums[step] = sums.get(step, 0) + calls
    return sums


def _field(name: str, schema: Mapping[str, Any]) -> ParameterField:
    kinds = {"integer": "int", "number": "float", "boolean": "bool", "string": "str"}
    options = tuple(schema.get("enum", ()))
    return ParameterField(
        name=name,
        description=schema.get("description", name.replace("_", " ")),
        type="choice" if options else kinds[schema["type"]],
        default=schema.get("default"),
        options=options,
        least=schema.get("minimum"),
        most=schema.get("maximum"),
    )
