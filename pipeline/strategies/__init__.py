"""The strategies by name."""

from __future__ import annotations

from pipeline.strategies.base import Strategy
from pipeline.strategies.offline import Offline

STRATEGIES: dict[str, type[Strategy]] = {Offline.name: Offline}


def get(name: str) -> Strategy:
    """The strategy of that name. Raises ValueError that lists the known names."""
    try:
        return STRATEGIES[name]()
    except KeyError:
        known = ", ".join(sorted(STRATEGIES))
        raise ValueError(f"There is no strategy “{name}”. Known: {known}.") from None
