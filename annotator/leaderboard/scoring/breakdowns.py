"""What documents are told apart by when scores are broken down, and the groups that result. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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
_LENGTHS = (50, 100, 200)
_CLAIMS = (5, 10, 20)


@dataclass(frozen=True, slots=True)
class DocumentTraits:
    """What is known of a document."""

    source: str
    model: str
    metadata: Mapping[str, Any]
    words: int
    claims: int


def groups_of(documents: Mapping[str, DocumentTraits]) -> dict[str, dict[str, str]]:
    """The group of each document, by breakdown ("label" is one of items, and not here). Breakdowns by which all
    documents are alike are left out."""
    found = {
        "source": {key: each.source for key, each in documents.items()},
        "domain": {key: _told(each.metadata, "domain", "topic") for key, each in documents.items()},
        "model": {key: each.model for key, each in documents.items()},
        "language": {key: _told(each.metadata, "language", "lang") for key, each in documents.items()},
        "length": {key: _step(each.words, _LENGTHS) for key, each in documents.items()},
        "claims": {key: _step(each.claims, _CLAIMS) for key, each in documents.items()},
    }
    return {name: _few(groups) for name, groups in found.items() if len(set(groups.values())) > 1}


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
