"""Figures of a study of comparisons: preferences by stratum, agreement, win rates and order bias."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from annotator.studies.figures.ranking import Strength, strengths
from pipeline.metrics.agreement import Agreement, RatedItem, agreement
from pipeline.metrics.intervals import wilson

TIE = "tie"


@dataclass(frozen=True, slots=True)
class Chosen:
    """One person's choice on an item: the sources chosen (none for a tie), and all sources in the order shown.
    ``person`` is the rater's number; the first of two gives the rows of the confusion matrix."""

    item: int
    stratum: str
    person: int
    chosen: tuple[str, ...]
    order: tuple[str, ...]
    is_slight: bool = False

    @property
    def label(self) -> str:
        """The choice as a single label, for computing agreement."""
        return " + ".join(self.chosen) or TIE


@dataclass(frozen=True, slots=True)
class Preference:
    """How often a source was preferred, strongly and slightly, in ``judgements`` of a stratum."""

    stratum: str
    source: str
    strong: int
    slight: int
    judgements: int

    @property
    def preferred(self) -> int:
        return self.strong + self.slight

    @property
    def share(self) -> float:
        return self.preferred / self.judgements if self.judgements else 0.0


@dataclass(frozen=True, slots=True)
class Place:
    """How often the candidate in a place (from 1) was the only one chosen, and the share with its 95% interval
    (Wilson). ``expected`` is the share if order had no influence."""

    place: int
    chosen: int
    judgements: int
    expected: float
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.chosen / self.judgements if self.judgements else 0.0

    @property
    def is_biased(self) -> bool:
        """Is the expected share outside the interval?"""
        return not self.low <= self.expected <= self.high


@dataclass(frozen=True, slots=True)
class ComparisonFigures:
    """``unanimous``: items with two or more judgments that all agree. ``labels``: candidates chosen; more than
    judgments if someone chose several identical candidates. ``groups``: by grouping and group, how often a candidate
    of the group was preferred."""

    items: int
    judgements: int
    labels: int
    ties: int
    strata: tuple[Preference, ...]
    totals: tuple[Preference, ...]
    rated: int
    unanimous: int
    agreement: Agreement
    ranking: tuple[Strength, ...]
    places: tuple[Place, ...]
    groups: Mapping[str, Mapping[str, int]]


def comparison_figures(
    choices: Sequence[Chosen], groups: Mapping[str, Mapping[str, str]] | None = None, *, resamples: int = 500
) -> ComparisonFigures:
    """Compute all figures from these choices."""
    by_item: dict[int, dict[int, str]] = {}
    for each in choices:
        by_item.setdefault(each.item, {})[each.person] = each.label
    rated = [labels for labels in by_item.values() if len(labels) > 1]
    sources = sorted({source for each in choices for source in each.order})
    return ComparisonFigures(
        items=len(by_item),
        judgements=len(choices),
        labels=sum(len(each.chosen) for each in choices),
        ties=sum(not each.chosen for each in choices),
        strata=tuple(_preferences(choices, sources)),
        totals=tuple(_preferences([_without_stratum(each) for each in choices], sources)),
        rated=len(rated),
        unanimous=sum(len(set(labels.values())) == 1 for labels in rated),
        agreement=agreement(
            (RatedItem(item, labels) for item, labels in by_item.items()), resamples=resamples if rated else 0
        ),
        ranking=strengths(_contests(choices), sources),
        places=tuple(_places(choices)),
        groups={name: _grouped(choices, group) for name, group in (groups or {}).items()},
    )


def _without_stratum(each: Chosen) -> Chosen:
    return Chosen(each.item, "", each.person, each.chosen, each.order, each.is_slight)


def _preferences(choices: Iterable[Chosen], sources: Sequence[str]) -> Iterable[Preference]:
    judgements: Counter[str] = Counter()
    strong: Counter[tuple[str, str]] = Counter()
    slight: Counter[tuple[str, str]] = Counter()
    for each in choices:
        judgements[each.stratum] += 1
        for source in each.chosen:
            (slight if each.is_slight else strong)[each.stratum, source] += 1
    for stratum in sorted(judgements):
        for source in sources:
            yield Preference(stratum, source, strong[stratum, source], slight[stratum, source], judgements[stratum])


def _contests(choices: Iterable[Chosen]) -> Mapping[int, Mapping[tuple[str, str], tuple[int, int, int]]]:
    """Per item and pair of sources: wins of the first, draws, wins of the second."""
    found: dict[int, dict[tuple[str, str], tuple[int, int, int]]] = {}
    for each in choices:
        won = set(each.chosen)
        pairs = found.setdefault(each.item, {})
        order = sorted(each.order)
        for number, one in enumerate(order):
            for other in order[number + 1 :]:
                if won and one not in won and other not in won:
                    continue  # a third candidate won, so these two weren't compared
                first, draws, second = pairs.get((one, other), (0, 0, 0))
                if (one in won) == (other in won):
                    draws += 1
                elif one in won:
                    first += 1
                else:
                    second += 1
                pairs[one, other] = first, draws, second
    return found


def _places(choices: Sequence[Chosen]) -> Iterable[Place]:
    single = [each for each in choices if len(each.chosen) == 1]
    size = max((len(each.order) for each in single), default=0)
    counted = [each for each in single if len(each.order) == size]
    total = len(counted)
    at = Counter(each.order.index(each.chosen[0]) for each in counted)
    for place in range(size):
        low, high = wilson(at[place], total)
        yield Place(place + 1, at[place], total, 1 / size, low, high)


def _grouped(choices: Iterable[Chosen], group: Mapping[str, str]) -> Mapping[str, int]:
    found: Counter[str] = Counter()
    for each in choices:
        for source in each.chosen:
            found[group.get(source, source)] += 1
    return dict(sorted(found.items()))
