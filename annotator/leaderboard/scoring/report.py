"""Scores of one or two systems with intervals, beside what one scores without looking, as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random
from typing import Any

import numpy as np

from annotator.leaderboard.scoring.crossing import Cell, cell_of
from annotator.leaderboard.scoring.items import Gold
from annotator.leaderboard.scoring.joining import KINDS, Joined
from annotator.leaderboard.scoring.labels import NAMES, Labels
from annotator.leaderboard.scoring.measure import Baseline, Floats, Numbers, TaskMeasure
from annotator.leaderboard.scoring.responses import EndToEnd
from annotator.leaderboard.scoring.tasks import Options, Task, headline, measure_of
from annotator.measures.statistics.breakdowns import BREAKDOWNS, UNKNOWN, order_of, too_few
from pipeline.metrics.agreement import RESAMPLES, Estimate, sums_estimates
from pipeline.metrics.paired import mcnemar, randomisation
from pipeline.metrics.ranking import holm, rank_intervals

SEED = 0
# A document's numbers, added up, and how many items they are of.
_Sums = tuple[list[float], int]
# Baselines are given as the paper's tables print them.
PLACES = 3


@dataclass(frozen=True, slots=True)
class Scorer:
    """One task on one gold."""

    task: Task
    options: Options
    gold: Gold
    resamples: int = RESAMPLES
    seed: int = SEED

    @property
    def measure(self) -> TaskMeasure:
        return measure_of(self.task, self.options)

    def scores(self, scored: Mapping[str, Numbers]) -> dict[str, Any]:
        """The figures of what was scored. Figures that are not defined, and those that the task does not have, are
        null."""
        sums = self._sums(scored)
        measure, figures = _over_all(self.measure, sums), self._estimates(sums)
        total = np.array(list(sums.values())).sum(axis=0).tolist() if sums else [0.0] * measure.width
        return {
            "items": len(scored),
            "documents": len(sums),
            **dict.fromkeys(NAMES),
            "per_label": {},
            **{name: _value(each) for name, each in figures.items()},
            **measure.details(total),
            "intervals": {name: _interval(each) for name, each in figures.items()},
        }

    def _sums(self, scored: Mapping[str, Numbers]) -> dict[str, list[float]]:
        """The numbers of each document, added up."""
        width = self.measure.width
        sums: dict[str, list[float]] = {}
        # In the order of the gold, whatever the order of the file: the same answers give the same intervals.
        for key, item in self.gold.items.items():
            if key in scored:
                row = sums.setdefault(item.document, [0.0] * width)
                for place, number in scored[key]:
                    row[place] += number
        return sums

    def baselines(self) -> dict[str, Any]:
        """The scores of every baseline, by name, to three decimals."""
        return {
            each.name: rounded(self.scores(self._answered(each)))
            for each in self.measure.baselines(self.gold, Random(self.seed))
        }

    def _answered(self, baseline: Baseline) -> dict[str, Numbers]:
        measure = self.measure
        return {key: measure.numbers(self.gold.items[key], answer) for key, answer in baseline.answers}

    def difference(self, first: Joined, second: Joined) -> dict[str, Any]:
        """The first system against the second, over what both answered."""
        both = [key for key in first.scored if key in second.scored]
        if not both:
            return {"items": 0, "difference": {}, "p": {}}
        one, two = (self._sums({key: each.scored[key] for key in both}) for each in (first, second))
        measure = _over_all(self.measure, one)
        found = dict(zip(measure.names, randomisation(one, two, measure.figures, seed=self.seed), strict=True))
        report: dict[str, Any] = {
            "items": len(both),
            "documents": len(one),
            "difference": {name: each and each.value for name, each in found.items()},
            "p": {name: each and each.p for name, each in found.items()},
        }
        if isinstance(measure, Labels):
            report["mcnemar"] = self._mcnemar(both, first, second)
        if isinstance(measure, Labels | EndToEnd):
            report["crossed"] = self._crossed(both, first, second)
        return report

    def _crossed(self, both: Sequence[str], first: Joined, second: Joined) -> dict[str, dict[str, int]]:
        """Where the two systems err: how many items are in each cell, by gold label."""
        table: dict[str, dict[str, int]] = {}
        for key in both:
            gold, one, two = self.gold.items[key].label, first.answer_of(key), second.answer_of(key)
            if gold is not None and one is not None and two is not None:
                row = table.setdefault(gold, {cell.value: 0 for cell in Cell})
                row[cell_of(gold, one, two).value] += 1
        return table

    def breakdowns(
        self, scored: Mapping[str, Numbers], groups: Mapping[str, Mapping[str, str]]
    ) -> dict[str, list[dict[str, Any]]]:
        """The figures of each group, by breakdown: ``groups`` has the group of each document, by public id; "label" is
        added where the gold is labels. Groups with too few items or documents have their counts and null figures.

        Intervals are from a fifth of the resamples, so that all breakdowns together take no longer than the whole.
        """
        part = replace(self, resamples=self.resamples // 5)
        sums = self._sums(scored)
        items = Counter(self.gold.items[key].document for key in scored)
        by: dict[str, dict[str, dict[str, _Sums]]] = {}
        for name, group_of in groups.items():
            by[name] = {}
            for document, numbers in sums.items():
                by[name].setdefault(group_of.get(document, UNKNOWN), {})[document] = numbers, items[document]
        labels = self._by_label(scored)
        if len(labels) > 1:
            by["label"] = labels
        found = {}
        for name in (each for each in BREAKDOWNS if each in by):
            # Of items with one gold label only the share that is right says something.
            names = ("accuracy",) if name == "label" else self.measure.names
            rows = [part._group(group, each, names) for group, each in by[name].items()]
            found[name] = sorted(rows, key=lambda row: order_of(row["group"], row["items"]))
        return found

    def _by_label(self, scored: Mapping[str, Numbers]) -> dict[str, dict[str, _Sums]]:
        """The numbers of each document and how many items they are of, by gold label; {} where the gold has none."""
        width = self.measure.width
        found: dict[str, dict[str, _Sums]] = {}
        for key, item in self.gold.items.items():
            if key in scored and item.label is not None:
                of_label = found.setdefault(item.label, {})
                row, number = of_label.get(item.document, ([0.0] * width, 0))
                for place, value in scored[key]:
                    row[place] += value
                of_label[item.document] = row, number + 1
        return found

    def _group(self, name: str, rows: Mapping[str, _Sums], names: Sequence[str]) -> dict[str, Any]:
        items = sum(number for _, number in rows.values())
        about = {"group": name, "items": items, "documents": len(rows)}
        if too_few(items, len(rows)):
            return {**about, "figures": None, "intervals": None}
        figures = self._estimates({document: numbers for document, (numbers, _) in rows.items()})
        return {
            **about,
            "figures": {each: _value(figures[each]) for each in names},
            "intervals": {each: _interval(figures[each]) for each in names},
        }

    def _estimates(self, sums: Mapping[str, Sequence[float]]) -> dict[str, Estimate | None]:
        """The figures over these documents by name, with intervals."""
        measure = _over_all(self.measure, sums)
        found = sums_estimates(
            list(sums.items()), measure.width, measure.figures, resamples=self.resamples, seed=self.seed
        ) if sums else [None] * len(measure.names)  # fmt: skip
        return dict(zip(measure.names, found, strict=True))

    def standing(self, systems: Mapping[str, Joined]) -> dict[str, Any]:
        """Several systems by the figure that ranks, over what all of them answered: the rank of each with its 95%
        interval, and each pair's difference with its p-value and the one that holds for all pairs together (Holm)."""
        both = [key for key in self.gold.items if all(key in each.scored for each in systems.values())]
        sums = {name: self._sums({key: each.scored[key] for key in both}) for name, each in systems.items()}
        documents = len(next(iter(sums.values()), ()))
        if documents < 2 or len(systems) < 2:
            return {"items": len(both), "documents": documents, "ranks": {}, "pairs": []}
        measure = _over_all(self.measure, next(iter(sums.values())))
        place = measure.names.index(headline(self.task))

        def figure(drawn: Floats) -> Floats:
            return measure.figures(drawn)[place]

        ranks = rank_intervals(list(sums.values()), figure, resamples=max(1, self.resamples), seed=self.seed)
        tested = [
            (one, other, found)
            for one, other in combinations(sums, 2)
            for found in randomisation(sums[one], sums[other], lambda drawn: [figure(drawn)], seed=self.seed)
            if found is not None
        ]
        adjusted = holm([found.p for *_, found in tested])
        return {
            "figure": measure.names[place],
            "items": len(both),
            "documents": documents,
            "ranks": {
                name: {"rank": each.rank, "interval": [each.low, each.high]}
                for name, each in zip(sums, ranks, strict=True)
            },
            "pairs": [
                {"systems": [one, other], "difference": found.value, "p": found.p, "p_holm": p}
                for (one, other, found), p in zip(tested, adjusted, strict=True)
            ],
        }

    def _mcnemar(self, both: Sequence[str], first: Joined, second: Joined) -> dict[str, Any]:
        golds = self.gold.items
        right = [(first.answer_of(key) == golds[key].gold, second.answer_of(key) == golds[key].gold) for key in both]
        only_first, only_second = (sum(pair == which for pair in right) for which in ((True, False), (False, True)))
        return {"only_first_right": only_first, "only_second_right": only_second, "p": mcnemar(only_first, only_second)}


def _value(estimate: Estimate | None) -> float | None:
    return estimate.value if estimate else None


def _interval(estimate: Estimate | None) -> list[float | None] | None:
    return None if estimate is None or estimate.low is None else [estimate.low, estimate.high]


def _over_all(measure: TaskMeasure, sums: Mapping[str, Sequence[float]]) -> TaskMeasure:
    return measure.over(np.array(list(sums.values())).sum(axis=0).tolist()) if sums else measure


def rounded(value: Any) -> Any:
    """A JSON value with every fraction to three decimals."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, PLACES) if isinstance(value, float) else value


def told(joined: Joined) -> dict[str, Any]:
    """What became of the rows of a file."""
    return {
        "read": joined.rows,
        "scored": len(joined.scored),
        "without_gold": joined.without_gold,
        **{kind: joined.counts[kind] for kind in KINDS},
        "respelled": [
            {"written": written, "taken_as": taken, "rows": count}
            for (written, taken), count in joined.respelled.most_common()
        ],
    }
