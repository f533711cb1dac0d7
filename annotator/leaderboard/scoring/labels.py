"""Tasks whose answers are labels: accuracy, precision, recall, F1, and their confusion table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from random import Random
from typing import Any

import numpy as np

from annotator.core.file_problems import RowError
from annotator.core.lines import kind_of
from annotator.leaderboard.scoring.items import Gold, TaskItem
from annotator.leaderboard.scoring.label_sets import FALSE, TRUE, LabelSet, plain
from annotator.leaderboard.scoring.measure import Baseline, Floats, Numbers, ScoredAnswer, Unanswered
from pipeline.metrics.classification import classify_counts
from pipeline.metrics.labelling import constant_tables, scores_of_tables

NAMES = ("accuracy", "precision_macro", "recall_macro", "f1_macro")
FIELD = "label"


@dataclass(frozen=True)
class Labels:
    """Gold and answers are labels of the set. Averages are over the labels of the gold: an answer with any other label
    is an error, but doesn't add a label on which every system would score 0. ``taken`` maps an answer to the label that
    is scored if several count as one."""

    set: LabelSet
    taken: Mapping[str, str]
    # The labels averaged over: those of the gold.
    averaged: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return NAMES

    @property
    def width(self) -> int:
        return len(self.set.labels) ** 2

    @cached_property
    def _spellings(self) -> dict[str, str]:
        return {plain(word): label for word, label in self.set.also.items()} | {
            plain(label): label for label in self.set.labels
        }

    @cached_property
    def _cells(self) -> dict[tuple[str, str], Numbers]:
        """The numbers of each pair of labels, created once and shared."""
        size = len(self.set.labels)
        return {
            (one, other): ((row * size + column, 1.0),)
            for row, one in enumerate(self.set.labels)
            for column, other in enumerate(self.set.labels)
        }

    def read(self, row: Mapping[str, Any]) -> ScoredAnswer:
        if FIELD not in row:
            raise RowError((FIELD, f"required: write one of {self._listed()}."))
        return self.read_label(row[FIELD])

    def read_label(self, value: Any) -> ScoredAnswer:
        """A label in any accepted spelling. Raises like ``read``."""
        if value is None or (isinstance(value, str) and not value.strip()):
            raise Unanswered
        if isinstance(value, bool):
            value = TRUE if value else FALSE
        if not isinstance(value, str):
            raise RowError((FIELD, f"expected a label, found {kind_of(value)}: write one of {self._listed()}."))
        label = self._spellings.get(plain(value))
        if label is None:
            raise RowError((FIELD, self._unknown(value)))
        respelled = None if value in self.set.labels else (value, label)
        return ScoredAnswer(self.taken.get(label, label), respelled)

    def _listed(self) -> str:
        return ", ".join(self.set.labels)

    def _unknown(self, value: str) -> str:
        meant = " or ".join(f"“{label}”" for label in self._near(plain(value[:60])))
        hint = f" Did you mean {meant}?" if meant else ""
        return f"“{value[:60]}” isn’t a valid label; choose one of {self._listed()}.{hint}"

    def _near(self, word: str) -> list[str]:
        """Labels that may have been meant: similar spellings, else labels that share a word."""
        near = get_close_matches(word, list(self._spellings), n=1, cutoff=0.7)
        if near:
            return [self._spellings[near[0]]]
        return [label for label in self.set.labels if get_close_matches(word, plain(label).split(), n=1, cutoff=0.7)]

    def numbers(self, item: TaskItem, answer: Any) -> Numbers:
        return self._cells[item.gold, answer]

    def answered(self, numbers: Numbers) -> str:
        """The label of an answer with these numbers."""
        place, _ = numbers[0]
        return self.set.labels[place % len(self.set.labels)]

    def figures(self, sums: Floats) -> Sequence[Floats]:
        size = len(self.set.labels)
        # scores_of_tables takes tables of gold by predicted.
        tables = np.round(sums, 6).reshape(len(sums), size, size)
        return scores_of_tables(tables, [label in self.averaged for label in self.set.labels])

    def over(self, sums: Sequence[float]) -> Labels:
        """The same measure, averaging over the labels of the gold in these sums."""
        size = len(self.set.labels)
        gold = np.array(sums[: size * size]).reshape(size, size).sum(axis=1)
        there = tuple(label for label, number in zip(self.set.labels, gold, strict=True) if number > 0)
        return replace(self, averaged=there)

    def trivial(self, sums: Floats) -> Floats:
        """From a group's summed numbers (1 x width), those of always answering its most frequent gold label."""
        size = len(self.set.labels)
        tables = np.round(sums, 6).reshape(len(sums), size, size)
        most = int(tables.sum(axis=(0, 2)).argmax())
        return constant_tables(tables, most).reshape(len(sums), size * size)

    def details(self, sums: Sequence[float]) -> dict[str, Any]:
        size = len(self.set.labels)
        pairs = Counter(
            {
                (one, other): round(sums[row * size + column])
                for row, one in enumerate(self.set.labels)
                for column, other in enumerate(self.set.labels)
            }
        )
        if not pairs.total():
            return {"averaged_over": [], "f1_macro_with_predicted": None, "per_label": {}, "confusion": {}}
        report = classify_counts(pairs)
        there = [label for label in self.set.labels if label in report.labels]
        return {
            "averaged_over": list(self.averaged),
            "f1_macro_with_predicted": report.f1,
            "per_label": {
                label: {
                    "precision": report.labels[label].precision,
                    "recall": report.labels[label].recall,
                    "f1": report.labels[label].f1,
                    "gold": report.labels[label].gold,
                    "predicted": report.labels[label].predicted,
                }
                for label in there
            },
            "confusion": {one: {other: report.confusion[one][other] for other in there} for one in there},
        }

    def baselines(self, gold: Gold, random: Random) -> list[Baseline]:
        """Baselines: every label of the gold as a constant answer, the most frequent one also as ``majority``, and
        uniformly random labels."""
        return self.label_baselines(
            lambda: ((key, item.gold) for key, item in gold.items.items() if item.gold is not None), random
        )

    def label_baselines(self, said: Callable[[], Iterable[tuple[str, str]]], random: Random) -> list[Baseline]:
        """The same over each item's key and gold label, read again for each baseline so that none keeps a list."""
        counted = Counter(label for _, label in said())
        there = [label for label in self.set.labels if counted[label]]
        if not there:
            return []
        # Among equally frequent labels, the first of the set.
        most = max(there, key=lambda label: counted[label])
        return [
            Baseline("majority", _constant(said(), most)),
            *(
                Baseline(self.set.constants.get(label, f"always_{label.replace('-', '_')}"), _constant(said(), label))
                for label in there
            ),
            Baseline("random", ((key, random.choice(there)) for key, _ in said())),
        ]

    def blank(self) -> dict[str, Any]:
        return {FIELD: None}


def _constant(said: Iterable[tuple[str, str]], label: str) -> Iterator[tuple[str, str]]:
    return ((key, label) for key, _ in said)
