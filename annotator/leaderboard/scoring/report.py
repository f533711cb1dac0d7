"""Scores of one or two systems with intervals, beside what one scores without looking, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Any

import numpy as np

from annotator.leaderboard.scoring.answered import Answered, numbered
from annotator.leaderboard.scoring.crossing import Cell, cell_of
from annotator.leaderboard.scoring.items import Gold
from annotator.leaderboard.scoring.joining import KINDS, Joined
from annotator.leaderboard.scoring.labels import NAMES, Labels
from annotator.leaderboard.scoring.measure import Baseline, Floats, Numbers, TaskMeasure
from annotator.leaderboard.scoring.responses import EndToEnd
from annotator.leaderboard.scoring.tasks import Options, Task, headline, measure_of
from annotator.measures.statistics.breakdowns import UNKNOWN, Rows, SumFigures, averages, broken_down
from pipeline.metrics.agreement import RESAMPLES, Estimate, estimates
from pipeline.metrics.paired import mcnemar, randomisation
from pipeline.metrics.ranking import holm, rank_intervals

SEED = 0
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
        answered = Answered.of(self.gold, scored, self.measure.width)
        documents, of_document = answered.documents()
        sums = answered.sums(of_document, len(documents))
        measure, figures = self._over_all(sums), self._estimates(sums)
        return {
            "items": len(answered.items),
            "documents": len(documents),
            **dict.fromkeys(NAMES),
            "per_label": {},
            **{name: each and each.value for name, each in figures.items()},
            **measure.details(sums.sum(axis=0).tolist()),
            "intervals": {name: each and each.interval for name, each in figures.items()},
        }

    def _by_document(self, joined: Joined, keys: Iterable[str]) -> dict[str, list[float]]:
        """The numbers of each document over these items, added up."""
        answered = Answered.of(self.gold, {key: joined.scored[key] for key in keys}, self.measure.width)
        documents, of_document = answered.documents()
        return dict(zip(documents, answered.sums(of_document, len(documents)).tolist(), strict=True))

    def _over_all(self, sums: Floats) -> TaskMeasure:
        return self.measure.over(sums.sum(axis=0).tolist()) if len(sums) else self.measure

    def _estimates(self, sums: Floats) -> dict[str, Estimate | None]:
        """The figures over these documents by name, with intervals."""
        measure = self._over_all(sums)
        if not len(sums):
            return dict.fromkeys(measure.names)
        found = estimates(
            sums, measure.figures, resamples=self.resamples, seed=self.seed, others=averages(measure.names)
        )
        return dict(zip(measure.names, found, strict=True))

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
        one, two = (self._by_document(each, both) for each in (first, second))
        measure = self._over_all(np.array(list(one.values())))
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
        """
        answered = Answered.of(self.gold, scored, self.measure.width)
        documents, of_document = answered.documents()
        items, sums = np.bincount(of_document), answered.sums(of_document, len(documents))
        trivial = self._trivial(scored)
        found = {
            name: Rows(
                [group_of.get(document, UNKNOWN) for document in documents],
                np.arange(len(documents)),
                items,
                sums,
                self.measure.names,
                lambda total: self._over_all(total).figures,
                trivial,
            )
            for name, group_of in groups.items()
        }
        labels, of_label = numbered(item.label or UNKNOWN for item in answered.items)
        if len(labels) > 1:
            # A row is a document's items with one gold label.
            rows, of_row, items = np.unique(
                of_label * len(documents) + of_document, return_inverse=True, return_counts=True
            )
            found["label"] = Rows(
                [labels[label] for label in (rows // len(documents)).tolist()],
                rows % len(documents),
                items,
                answered.sums(of_row, len(rows)),
                # Of items with one gold label only the share that is right says something.
                ("accuracy",),
                self._accuracy,
            )
        return broken_down(found, len(documents), resamples=self.resamples, seed=self.seed)

    def _trivial(self, scored: Mapping[str, Numbers]) -> Callable[[Sequence[int], Floats], Floats]:
        """The sums of the trivial baseline over some rows of ``breakdowns``, which are documents: always the most
        frequent label of these; if answers aren't labels, the task's first baseline."""
        measure = self.measure
        if isinstance(measure, Labels | EndToEnd):
            return lambda _, total: measure.trivial(total)
        first = measure.baselines(self.gold, Random(self.seed))[0]
        numbers = {key: measure.numbers(self.gold.items[key], each) for key, each in first.answers if key in scored}
        answered = Answered.of(self.gold, numbers, measure.width)
        documents, of_document = answered.documents()
        sums = answered.sums(of_document, len(documents))
        return lambda rows, _: sums[rows].sum(axis=0, keepdims=True)

    def _accuracy(self, sums: Floats) -> SumFigures:
        measure = self._over_all(sums)
        place = measure.names.index("accuracy")
        return lambda drawn: [measure.figures(drawn)[place]]

    def standing(self, systems: Mapping[str, Joined]) -> dict[str, Any]:
        """Several systems by the figure that ranks, over what all of them answered: the rank of each with its 95%
        interval, and each pair's difference with its p-value and the one that holds for all pairs together (Holm)."""
        both = [key for key in self.gold.items if all(key in each.scored for each in systems.values())]
        sums = {name: self._by_document(each, both) for name, each in systems.items()}
        documents = len(next(iter(sums.values()), ()))
        if documents < 2 or len(systems) < 2:
            return {"items": len(both), "documents": documents, "ranks": {}, "pairs": []}
        measure = self._over_all(np.array(list(next(iter(sums.values())).values())))
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
