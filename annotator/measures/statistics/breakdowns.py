"""The document traits by which figures are broken down, the resulting groups, and their figures. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.metrics.agreement import RESAMPLES
from pipeline.metrics.groups import Group, group_estimates

# A group with fewer items or documents has no figures, because they would say nothing about similar documents.
FEWEST_ITEMS, FEWEST_DOCUMENTS = 10, 5
# Groups use a quarter of the resamples, so that all of them together take no longer than twice the plain figures.
PARTS = 4
# Beyond this number, the smallest groups become one, "other".
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
    """The known traits of a document; ``words`` is None if its response isn't available."""

    source: str
    model: str
    metadata: Mapping[str, Any]
    words: int | None
    claims: int


def groups_of(documents: Mapping[str, DocumentTraits]) -> dict[str, dict[str, str]]:
    """The group of each document, by breakdown ("label" is a trait of items, so it isn't here). Breakdowns in which all
    documents are in one group are left out."""
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
    """Domain and language from a document's metadata, and nothing else from it."""
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


SumFigures = Callable[[NDArray[np.float64]], Sequence[NDArray[np.float64]]]


@dataclass(frozen=True, slots=True)
class Rows:
    """The documents' contributions to the groups of one breakdown; a row is one document in one group.

    ``documents`` has each row's document, counted from 0, ``items`` how many items the row stands for, ``sums`` (rows x
    width) the numbers that add up. ``figures`` takes a group's summed numbers (1 x width) and returns a function of
    sums, one row per resample, which gives one value per row for each of ``names``, NaN if undefined. Names that end in
    ``_macro`` are averages over labels, all others shares.

    ``trivial`` takes a group's places in ``groups`` and its summed numbers, and returns the sums (1 x width) of the
    trivial baseline on the same items; None if there is no such baseline.
    """

    groups: Sequence[str]
    documents: NDArray[np.int64]
    items: NDArray[np.int64]
    sums: NDArray[np.float64]
    names: Sequence[str]
    figures: Callable[[NDArray[np.float64]], SumFigures]
    trivial: Callable[[Sequence[int], NDArray[np.float64]], NDArray[np.float64]] | None = None


def broken_down(
    breakdowns: Mapping[str, Rows], documents: int, *, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, list[dict[str, Any]]]:
    """The figures of each group with intervals and the trivial baseline's, by breakdown, in the order given.
    ``documents`` is the number of documents. A group with too few items or documents has counts, and null figures.
    ``resamples`` is the number for the plain figures."""
    told: dict[str, list[dict[str, Any]]] = {}
    large: list[tuple[dict[str, Any], Sequence[str], Group]] = []
    for name in (each for each in BREAKDOWNS if each in breakdowns):
        rows = breakdowns[name]
        places: dict[str, list[int]] = defaultdict(list)
        for place, group in enumerate(rows.groups):
            places[group].append(place)
        told[name] = []
        for group, these in places.items():
            items = int(rows.items[these].sum())
            entry: dict[str, Any] = {"group": group, "items": items, "documents": len(these)}
            entry |= {"figures": None, "intervals": None} | ({} if rows.trivial is None else {"baseline": None})
            told[name].append(entry)
            if not too_few(items, len(these)):
                sums = rows.sums[these]
                total = sums.sum(axis=0, keepdims=True)
                figures = rows.figures(total)
                large.append((entry, rows.names, Group(rows.documents[these], sums, figures, averages(rows.names))))
                if rows.trivial is not None:
                    values = (float(each[0]) for each in figures(rows.trivial(these, total)))
                    entry["baseline"] = {
                        each: None if np.isnan(value) else value for each, value in zip(rows.names, values, strict=True)
                    }
        told[name].sort(key=lambda entry: order_of(entry["group"], entry["items"]))
    found = group_estimates([group for *_, group in large], documents, resamples=resamples // PARTS, seed=seed)
    for (entry, names, _), estimates in zip(large, found, strict=True):
        named = dict(zip(names, estimates, strict=True))
        entry["figures"] = {name: each and each.value for name, each in named.items()}
        entry["intervals"] = {name: each and each.interval for name, each in named.items()}
    return told


def mean_scores(
    groups: Mapping[str, Sequence[str]],
    scores: Sequence[float],
    trivial: Callable[[Sequence[int]], float] | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """The mean score of each group, by breakdown, if every score belongs to a different document. ``groups`` has the
    group of each score; ``trivial`` takes the places of a group's scores and returns the sum of those of the trivial
    baseline."""

    def of_baseline(places: Sequence[int], total: NDArray[np.float64]) -> NDArray[np.float64]:
        assert trivial is not None
        return np.array([[trivial(places), total[0, 1]]])

    number = np.arange(len(scores))
    sums = np.array([(score, 1.0) for score in scores])
    items = np.ones_like(number)
    rows = {
        name: Rows(
            each,
            number,
            items,
            sums,
            ("score",),
            lambda _: lambda drawn: [share(drawn[:, 0], drawn[:, 1])],
            of_baseline if trivial and name != "label" else None,
        )
        for name, each in groups.items()
    }
    return broken_down(rows, len(scores))


def share(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    """Division that returns NaN for a zero denominator."""
    found: NDArray[np.float64] = np.divide(above, below, out=np.full_like(below, np.nan), where=below > 0)
    return found


def averages(names: Sequence[str]) -> tuple[int, ...]:
    """Which of these figures are averages over labels, so not shares."""
    return tuple(place for place, name in enumerate(names) if name.endswith("_macro"))


def too_few(items: int, documents: int) -> bool:
    """Whether a group is too small for figures."""
    return items < FEWEST_ITEMS or documents < FEWEST_DOCUMENTS


def order_of(group: str, items: int) -> tuple[int, int]:
    """The sort key of a group: steps by their numbers, other groups by size, largest first."""
    if group.startswith("up to "):
        return 0, 0
    first = group.removeprefix("over ").split(" to ")[0]
    return (1, int(first)) if first.isdecimal() else (2, -items)


def _few(groups: Mapping[str, str]) -> dict[str, str]:
    """The same with at most ``MAX_GROUPS`` groups: the smallest are merged."""
    counted = Counter(groups.values())
    kept = {name for name, _ in counted.most_common(MAX_GROUPS)} if len(counted) > MAX_GROUPS else set(counted)
    return {key: (name[:80] or UNKNOWN) if name in kept else OTHER for key, name in groups.items()}
