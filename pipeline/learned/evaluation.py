"""How good a suggester is: cross-validation in which no document is both learned from and judged.

Each fold is judged by a suggester trained on the other folds alone: word rarities, standardization, weights,
temperature and shift all come from there. A seed deals the documents out anew. All predictions of one seed are scored
together, as one table over all examples.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, pstdev

import numpy as np

from annotator.core.vocabulary import SuggesterKind
from pipeline.learned.examples import ExampleDocument
from pipeline.learned.fitting import evening_shift, group_folds
from pipeline.learned.linear import chosen
from pipeline.learned.suggester import Examples, examples_of, train_on
from pipeline.metrics.classification import ClassificationReport, classify
from pipeline.metrics.labelling import LabelledSpan, Labelling, labelling

FOLDS = 10
# Merging complete and partial support gives the three-label space of Factcheck-Bench (Table 4).
SUPPORT = "support"
THREE_LABELS: Mapping[str, str] = {"completely_support": SUPPORT, "partially_support": SUPPORT}
_BINS = 10


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over several seeds: its mean and standard deviation."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(mean(values), pstdev(values))


@dataclass(frozen=True, slots=True)
class Quality:
    """Cross-validated scores. ``reports``: one a seed. ``calibration_error``: expected, over ten equal bins of the
    greatest probability, 0 to 1. ``first_seed``: the scores of the first seed and of always the most frequent label,
    with 95% intervals over documents: how much the figures owe to which documents there are, which other seeds do not
    show."""

    documents: int
    examples: int
    reports: tuple[ClassificationReport, ...]
    calibration_error: Spread
    first_seed: Labelling

    @property
    def accuracy(self) -> Spread:
        return Spread.of([report.accuracy for report in self.reports])

    @property
    def precision(self) -> Spread:
        return Spread.of([report.precision for report in self.reports])

    @property
    def recall(self) -> Spread:
        return Spread.of([report.recall for report in self.reports])

    @property
    def f1(self) -> Spread:
        return Spread.of([report.f1 for report in self.reports])


@dataclass(slots=True)
class _Judged:
    """What was said of examples that the suggester had not seen."""

    documents: list[int] = field(default_factory=list)
    gold: list[str] = field(default_factory=list)
    predicted: list[str] = field(default_factory=list)
    certainty: list[float] = field(default_factory=list)
    certain_right: list[bool] = field(default_factory=list)

    def add(self, other: _Judged) -> None:
        self.documents += other.documents
        self.gold += other.gold
        self.predicted += other.predicted
        self.certainty += other.certainty
        self.certain_right += other.certain_right


def cross_validate(
    kind: SuggesterKind,
    documents: Sequence[ExampleDocument],
    *,
    merges: Sequence[Mapping[str, str]] = ({},),
    labels: Collection[str] | None = None,
    seeds: Sequence[int] = (0,),
    folds: int = FOLDS,
) -> list[Quality]:
    """Quality in each of the label spaces ``merges`` (what each label is called there), from the same models.

    ``labels``: learn and judge examples with these alone (default: all). Fewer documents than folds: one fold each.
    Raises ValueError where nothing has a label.
    """
    positions = np.arange(len(documents))
    judged: list[list[_Judged]] = [[] for _ in merges]
    for seed in seeds:
        of_seed = [_Judged() for _ in merges]
        for training, held in group_folds(positions, min(folds, len(documents)), seed):
            learnt = examples_of(kind, [documents[each] for each in training])
            asked = examples_of(kind, [documents[each] for each in held], rarity=learnt.rarity)
            for whole, part in zip(of_seed, _judge(kind, learnt, asked, merges, labels, seed), strict=True):
                part.documents = [int(held[each]) for each in part.documents]
                whole.add(part)
        for into, whole in zip(judged, of_seed, strict=True):
            into.append(whole)
    return [
        Quality(
            documents=len(documents),
            examples=len(seeds_of[0].gold),
            reports=tuple(classify(each.gold, each.predicted) for each in seeds_of),
            calibration_error=Spread.of([_calibration_error(each) for each in seeds_of]),
            first_seed=labelling(
                [
                    LabelledSpan(document, gold, predicted)
                    for document, gold, predicted in zip(
                        seeds_of[0].documents, seeds_of[0].gold, seeds_of[0].predicted, strict=True
                    )
                ]
            ),
        )
        for seeds_of in judged
    ]


def _judge(
    kind: SuggesterKind,
    learnt: Examples,
    asked: Examples,
    merges: Sequence[Mapping[str, str]],
    labels: Collection[str] | None,
    seed: int,
) -> list[_Judged]:
    kept = [place for place, label in enumerate(asked.labels) if labels is None or label in labels]
    if not kept:
        return [_Judged() for _ in merges]
    known = {label for label in learnt.labels if labels is None or label in labels}
    if len(known) < 2:  # all other labels are in the fold that is judged
        return [_constant(asked, kept, merge, next(iter(known), "")) for merge in merges]
    suggester, fitted = train_on(kind, learnt, labels=labels, seed=seed)
    found = suggester.model.probabilities(asked.matrix[kept])
    results = []
    for merge in merges:
        names = list(dict.fromkeys(merge.get(label, label) for label in suggester.labels))
        merged = np.array([[merge.get(label, label) == name for name in names] for label in suggester.labels], float)
        shift = suggester.model.shift
        if merge:  # frequencies differ in this space, so it is evened out anew, on the training folds
            shift = evening_shift(fitted.held_out @ merged, merged.argmax(axis=1)[fitted.labels])
        here = found @ merged
        gold = [merge.get(asked.labels[place], asked.labels[place]) for place in kept]
        results.append(
            _Judged(
                documents=[int(asked.groups[place]) for place in kept],
                gold=gold,
                predicted=[names[each] for each in chosen(here, shift)],
                certainty=[float(each) for each in here.max(axis=1)],
                certain_right=[names[best] == label for best, label in zip(here.argmax(axis=1), gold, strict=True)],
            )
        )
    return results


def _constant(asked: Examples, kept: Sequence[int], merge: Mapping[str, str], label: str) -> _Judged:
    gold = [merge.get(asked.labels[place], asked.labels[place]) for place in kept]
    said = merge.get(label, label)
    return _Judged(
        documents=[int(asked.groups[place]) for place in kept],
        gold=gold,
        predicted=[said] * len(gold),
        certainty=[1.0] * len(gold),
        certain_right=[said == each for each in gold],
    )


def _calibration_error(judged: _Judged) -> float:
    """By how much the greatest probability misses how often it is right, each bin by its size."""
    certainty, right = np.array(judged.certainty), np.array(judged.certain_right, float)
    bins = np.minimum((certainty * _BINS).astype(int), _BINS - 1)
    gaps = [abs(float((certainty[bins == each] - right[bins == each]).sum())) for each in np.unique(bins)]
    return sum(gaps) / len(certainty)
