"""What documents are told apart by when figures are broken down, the groups that result, and their figures. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.metrics.agreement import RESAMPLES, sums_estimates

# A group with fewer items or documents has no figures: they would say nothing of others like it.
FEWEST_ITEMS, FEWEST_DOCUMENTS = 10, 5
# More groups than this become one, "other".
MAX_GROUPS = 12
UNKNOWN, OTHER = "not specified", "other"

BREAKDOWNS = {
    "source": "Source",
    "domain": "Domain",
    "model": "Model",
    "language": "Language",
    "label": "Gold label",
    "length": "Length of the response, in words",
    "claims": "Number of claims",
}
_METADATA = {"domain": ("domain", "topic"), "language": ("language", "lang")}
_LENGTHS = (50, 100, 200)
_CLAIMS = (5, 10, 20)


@dataclass(frozen=True, slots=True)
class DocumentTraits:
    """What is known of a document; ``words`` None: its response is not at hand."""

    source: str
    model: str
    metadata: Mapping[str, Any]
    words: int | None
    claims: int


def groups_of(documents: Mapping[str, DocumentTraits]) -> dict[str, dict[str, str]]:
    """The group of each document, by breakdown ("label" is one of items, and not here). Breakdowns by which all
    documents are alike are left out."""
    found = {
        "source": {key: each.source for key, each in documents.items()},
        "domain": {key: _told(each.metadata, *_METADATA["domain"]) for key, each in documents.items()},
        "model": {key: each.model for key, each in documents.items()},
        "language": {key: _told(each.metadata, *_METADATA["language"]) for key, each in documents.items()},
        "length": {key: "" if each.words is None else _step(each.words, _LENGTHS) for key, each in documents.items()},
        "claims": {key: _step(each.claims, _CLAIMS) for key, each in documents.items()},
    }
    return {name: _few(groups) for name, groups in found.items() if len(set(groups.values())) > 1}


def described(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Domain and language as a document's metadata say them, and nothing else of it."""
    found = {name: _told(metadata, *keys) for name, keys in _METADATA.items()}
    return {name: value for name, value in found.items() if value}


def _told(metadata: Mapping[str, Any], *names: str) -> str:
    return next((str(metadata[name]) for name in names if isinstance(metadata.get(name), str | int)), "")


def _step(number: int, limits: Iterable[int]) -> str:
    """ "up to 50", "51 to 100", … "over 200"."""
    below = 0
    for limit in limits:
        if number <= limit:
            return f"{below + 1} to {limit}" if below else f"up to {limit}"
        below = limit
    return f"over {below}"


# Sums over documents, one row a resample, into figures; NaN where one is not defined.
SumFigures = Callable[[NDArray[np.float64]], Sequence[NDArray[np.float64]]]


def grouped(
    rows: Iterable[tuple[str, str, int, Sequence[float]]], names: Sequence[str], figures: SumFigures
) -> list[dict[str, Any]]:
    """The figures of each group, in their order: ``rows`` has for each group and document how many items there are and
    the numbers that add up. A group with too few items or documents has counts, and null figures.

    Intervals draw documents and are from a fifth of the resamples, so that all breakdowns together take no longer than
    the figures of the whole.
    """
    by_group: dict[str, list[tuple[str, int, Sequence[float]]]] = defaultdict(list)
    for group, document, items, numbers in rows:
        by_group[group].append((document, items, numbers))
    counted = {group: sum(items for _, items, _ in each) for group, each in by_group.items()}
    return [
        _figures_of(group, by_group[group], counted[group], names, figures)
        for group in sorted(by_group, key=lambda each: order_of(each, counted[each]))
    ]


def _figures_of(
    group: str,
    rows: Sequence[tuple[str, int, Sequence[float]]],
    items: int,
    names: Sequence[str],
    figures: SumFigures,
) -> dict[str, Any]:
    documents = len({document for document, _, _ in rows})
    about = {"group": group, "items": items, "documents": documents}
    if too_few(items, documents):
        return {**about, "figures": None, "intervals": None}
    numbers = [(document, each) for document, _, each in rows]
    found = sums_estimates(numbers, len(numbers[0][1]), figures, resamples=RESAMPLES // 5)
    named = dict(zip(names, found, strict=True))
    return {
        **about,
        "figures": {name: each and each.value for name, each in named.items()},
        "intervals": {
            name: None if each is None or each.low is None else [each.low, each.high] for name, each in named.items()
        },
    }


def too_few(items: int, documents: int) -> bool:
    """Whether a group is too small for figures."""
    return items < FEWEST_ITEMS or documents < FEWEST_DOCUMENTS


def order_of(group: str, items: int) -> tuple[int, int]:
    """Where a group stands: steps by their numbers, other groups by their size, the largest first."""
    if group.startswith("up to "):
        return 0, 0
    first = group.removeprefix("over ").split(" to ")[0]
    return (1, int(first)) if first.isdecimal() else (2, -items)


def _few(groups: Mapping[str, str]) -> dict[str, str]:
    """The same with no more than ``MAX_GROUPS`` groups: the rarest are one."""
    counted = Counter(groups.values())
    kept = {name for name, _ in counted.most_common(MAX_GROUPS)} if len(counted) > MAX_GROUPS else set(counted)
    return {key: (name[:80] or UNKNOWN) if name in kept else OTHER for key, name in groups.items()}
