"""Scores of constant answers on the gold, to compare with Tables 3 and 5."""

from __future__ import annotations

from collections import Counter
from typing import Any

from annotator.core.labels import claim_is_true
from annotator.core.vocabulary import ClaimType, Factuality
from annotator.measures.statistics.figures import GoldFigures
from pipeline.metrics.classification import ClassificationReport, classify

PLACES = 3
TRUE, FALSE = "true", "false"


def sentence_majority(figures: GoldFigures) -> dict[str, float] | None:
    """Every sentence labeled check-worthy, as a yes/no question (Table 3, subtask 1)."""
    counted = {"yes": figures.checkworthy_sentences, "no": figures.number_of_sentences - figures.checkworthy_sentences}
    return _macro(_constant(counted, "yes"))


def claim_majority(figures: GoldFigures) -> dict[str, float] | None:
    """Every claim labeled factual; macro averages over the types that occur (Table 3, subtask 2)."""
    return _macro(_constant(figures.claim_type, ClaimType.FACTUAL))


def constant_verdicts(figures: GoldFigures, *, undetermined_as_false: bool) -> dict[str, Any]:
    """Every checked claim labeled true, or false (Table 5): ``n``, then precision, recall and F1 of both labels.

    Claims without enough evidence are left out or count as false.
    """
    counted: Counter[str] = Counter()
    for word, number in figures.factuality.items():
        is_true = claim_is_true(word)
        if is_true is not None:
            counted[TRUE if is_true else FALSE] += number
        elif undetermined_as_false and word == Factuality.NOT_ENOUGH_EVIDENCE:
            counted[FALSE] += number
    return {
        "n": counted.total(),
        "always_true": _of_labels(_constant(counted, TRUE)),
        "always_false": _of_labels(_constant(counted, FALSE)),
    }


def _constant(counted: Any, answer: str) -> ClassificationReport | None:
    gold = list(Counter(counted).elements())
    return classify(gold, [answer] * len(gold)) if gold else None


def _macro(report: ClassificationReport | None) -> dict[str, float] | None:
    if report is None:
        return None
    return {
        "acc": round(report.accuracy, PLACES),
        "prec": round(report.precision, PLACES),
        "recall": round(report.recall, PLACES),
        "f1": round(report.f1, PLACES),
    }


def _of_labels(report: ClassificationReport | None) -> dict[str, list[float]] | None:
    if report is None:
        return None
    found = {}
    for label in (TRUE, FALSE):
        score = report.labels.get(label)
        values = (score.precision, score.recall, score.f1) if score else (0.0, 0.0, 0.0)
        found[f"label_{label}"] = [round(value, PLACES) for value in values]
    return found
