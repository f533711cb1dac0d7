"""The strategies by name."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from pipeline.strategies.base import Parameters, Strategy
from pipeline.strategies.claimify import Claimify
from pipeline.strategies.factcheck_gpt import FactcheckGpt
from pipeline.strategies.fastfact import FastFact
from pipeline.strategies.fire import Fire
from pipeline.strategies.offline import Offline
from pipeline.strategies.papelo import Papelo
from pipeline.strategies.safe import Safe
from pipeline.strategies.veriscore import VeriScore

STRATEGIES: dict[str, type[Strategy]] = {
    each.name: each for each in (Offline, FactcheckGpt, VeriScore, FastFact, Papelo, Fire, Safe, Claimify)
}


def kind(name: str) -> type[Strategy]:
    """The class of the strategy of that name. Raises ValueError listing the known names."""
    try:
        return STRATEGIES[name]
    except KeyError:
        known = ", ".join(sorted(STRATEGIES))
        raise ValueError(f"There is no strategy “{name}”. Known: {known}.") from None


def parameters_of(name: str, values: Mapping[str, object]) -> Parameters:
    """A strategy's parameters, with its paper's defaults. Raises ValueError naming the parameter and its problem."""
    try:
        return kind(name).parameters_type.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        wrong = first["msg"].removeprefix("Value error, ")
        raise ValueError(f"Parameter “{where}” of “{name}”: {wrong} (given: {first['input']!r}).") from None


def get(name: str, values: Mapping[str, object] | None = None) -> Strategy:
    """The strategy of that name with these parameters. Raises ValueError for an unknown name or a bad parameter."""
    return kind(name)(parameters_of(name, values or {}))
