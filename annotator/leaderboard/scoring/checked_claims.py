"""Predictions of AVeriTeC's task beside the gold: which row answers which claim, and the score.

docs/formats/scores.md describes both.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotator.core.file_problems import Problem
from annotator.exchange.formats.answers import CheckedRow
from annotator.measures.statistics.breakdowns import DocumentTraits, groups_of, mean_scores
from pipeline.metrics.agreement import mean_estimate
from pipeline.metrics.averitec import MAX_PAIRS, THRESHOLD, CheckedClaimLabel, averitec_score
from pipeline.metrics.meteor import variant

NAME = "averitec"


@dataclass(slots=True)
class Paired:
    """Each claim beside its one prediction, in the order of the gold. ``problems`` has one for each row that answers no
    claim or one already answered, ``missing`` one for each claim without a row; a claim with two rows is in no pair."""

    pairs: list[tuple[CheckedRow, CheckedRow]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    missing: list[Problem] = field(default_factory=list)


def pair(gold: Sequence[CheckedRow], predicted: Iterable[CheckedRow]) -> Paired:
    """Joins predictions to the gold: by claim_id; a row without one by the claim's text, the nth row of a text to the
    nth claim that has it; a row without either by its place in the file.

    A claim of the gold without claim_id is named by its place from 0, as in the shared task. Where a place named the
    claim, and where several claims share an id, the text has to be the same, if the row has one.
    """
    by_id: dict[str, list[int]] = defaultdict(list)
    by_text: dict[str, list[int]] = defaultdict(list)
    by_line = {claim.line: place for place, claim in enumerate(gold)}
    for place, claim in enumerate(gold):
        by_id[claim.key or str(claim.line - 1)].append(place)
        by_text[_words(claim)].append(place)
    found = Paired()
    answered: dict[int, CheckedRow] = {}
    twice: set[int] = set()
    for row in predicted:
        named = f"claim “{(row.key or row.text)[:60]}”" if row.key or row.text else f"row {row.line}"
        if row.key:
            places = by_id.get(row.key, [])
        elif row.text:
            places = by_text.get(_words(row), [])
        else:
            places = [by_line[row.line]] if row.line in by_line else []
        if not places:
            found.problems.append(Problem(row.line, "claim", f"{named} is not in the gold."))
            continue
        exact = [place for place in places if not row.text or _words(gold[place]) == _words(row)]
        if row.key and not exact and (len(places) > 1 or not gold[places[0]].key):
            reason = f"{named} is “{gold[places[0]].text[:60]}” in the gold, but “{row.text[:60]}” here."
            found.problems.append(Problem(row.line, "claim", reason))
            continue
        chosen = exact or places
        free = [place for place in chosen if place not in answered]
        if free:
            answered[free[0]] = row
        else:
            twice.add(chosen[0])
            found.problems.append(
                Problem(row.line, "claim", f"was already answered, on line {answered[chosen[0]].line}.")
            )
    for place, claim in enumerate(gold):
        if place not in answered:
            reason = f"no row for “{claim.text[:60]}” (number {place} of the gold)."
            found.missing.append(Problem(0, "claim", reason))
        elif place not in twice:
            found.pairs.append((claim, answered[place]))
    return found


def _words(row: CheckedRow) -> str:
    return " ".join(row.text.split())


def score(pairs: Sequence[tuple[CheckedRow, CheckedRow]], *, max_pairs: int = MAX_PAIRS) -> dict[str, Any]:
    """The AVeriTeC score over pairs of gold and prediction, and the accuracy of labels, with 95% intervals; of a
    prediction's question-answer pairs the first ``max_pairs`` count. ``baseline`` is always answering the most frequent
    label of the gold, with this prediction's evidence. Raises ValueError without a pair."""
    gold = [CheckedClaimLabel(one.label, one.pairs) for one, _ in pairs]
    said = [CheckedClaimLabel(two.label, two.pairs) for _, two in pairs]
    value, each = averitec_score(gold, said, max_pairs=max_pairs)
    right = [
        float(one.label == two.label and evidence > THRESHOLD)
        for one, two, evidence in zip(gold, said, each, strict=True)
    ]
    most = Counter(one.label for one in gold).most_common(1)[0][0]
    trivial = [float(one.label == most) for one in gold]
    score_interval, labels, most_score, most_labels = (
        mean_estimate(list(enumerate(values)))
        for values in (
            right,
            [float(one.label == two.label) for one, two in zip(gold, said, strict=True)],
            [is_most * (evidence > THRESHOLD) for is_most, evidence in zip(trivial, each, strict=True)],
            trivial,
        )
    )
    assert score_interval and labels and most_score and most_labels
    return {
        "metric": NAME,
        "score": value,
        "interval": score_interval.interval,
        "claims": len(pairs),
        "label_accuracy": labels.value,
        "label_accuracy_interval": labels.interval,
        "baseline": {
            "label": most,
            "score": most_score.value,
            "interval": most_score.interval,
            "label_accuracy": most_labels.value,
            "label_accuracy_interval": most_labels.interval,
        },
        "evidence_mean": sum(each) / len(each),
        "threshold": THRESHOLD,
        "max_pairs": max_pairs,
        "pairs_beyond": sum(max(0, len(two.pairs) - max_pairs) for two in said),
        "meteor": variant(),
        "labels": dict(Counter(one.label for one in gold)),
        "breakdowns": _breakdowns([one for one, _ in pairs], right, [evidence > THRESHOLD for evidence in each]),
    }


def _breakdowns(
    gold: Sequence[CheckedRow], right: Sequence[float], supported: Sequence[bool]
) -> dict[str, list[dict[str, Any]]]:
    """The score by where claims are from, beside that of always answering the group's most frequent label with this
    prediction's evidence, and by gold label. ``supported``: whether a claim's evidence passes the threshold."""

    def always_the_most_frequent(places: Sequence[int]) -> float:
        most = Counter(gold[place].label for place in places).most_common(1)[0][0]
        return sum(gold[place].label == most and supported[place] for place in places)

    told = groups_of({str(place): DocumentTraits(row.source, "", {}, None, 0) for place, row in enumerate(gold)})
    groups = {name: list(each.values()) for name, each in told.items()}
    return mean_scores(groups | {"label": [row.label for row in gold]}, right, always_the_most_frequent)
