"""The end-to-end task: a response's own label, and the claims a system found in it with their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

from annotator.core.file_problems import RowError
from annotator.core.lines import kind_of
from annotator.leaderboard.scoring.items import Gold, TaskItem, Verdicts
from annotator.leaderboard.scoring.label_sets import FACTUALITY, FALSE, RESPONSE, TRUE
from annotator.leaderboard.scoring.labels import FIELD, Labels
from annotator.leaderboard.scoring.measure import MOST, Baseline, Floats, Numbers, ScoredAnswer, Unanswered
from annotator.leaderboard.scoring.texts import SAME_CLAIM
from annotator.measures.statistics.breakdowns import share
from pipeline.metrics.alignment import align


@dataclass(frozen=True, slots=True)
class CheckedResponse:
    """``claims`` is None if the answer is only a label."""

    label: str
    claims: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True)
class EndToEnd:
    """The response's label is scored as a labeling task. Its claims are matched one to one with the checked gold claims
    and count as right only if their labels equal the gold's."""

    threshold: float = SAME_CLAIM
    labels: Labels = field(default_factory=lambda: Labels(RESPONSE, {}))
    claim_labels: Labels = field(default_factory=lambda: Labels(FACTUALITY, {}))

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.labels.names, "claim_precision", "claim_recall", "claim_f1", "verdict_f1")

    @property
    def width(self) -> int:
        return self.labels.width + 4

    def read(self, row: Mapping[str, Any]) -> ScoredAnswer:
        if FIELD not in row and "claims" not in row:
            raise RowError((FIELD, "required: write true or false, or a list of claims with their labels."))
        claims = None if row.get("claims") is None else self._claims(row["claims"])
        try:
            label = self.labels.read_label(row.get(FIELD))
        except Unanswered:
            if claims is None:
                raise
            if not claims:
                raise RowError(
                    (FIELD, "blank, and there are no claims to derive it from: write true or false.")
                ) from None
            # The paper counts responses this way: false if one claim is false or undecided.
            label = ScoredAnswer(TRUE if all(said == TRUE for _, said in claims) else FALSE)
        return ScoredAnswer(CheckedResponse(label.value, claims), label.respelled)

    def _claims(self, value: Any) -> tuple[tuple[str, str], ...]:
        if not isinstance(value, list):
            raise RowError(("claims", f"expected a list of claims, found {kind_of(value)}."))
        if len(value) > MOST:
            raise RowError(("claims", f"{len(value)} claims in one row; the limit is {MOST}."))
        return tuple(self._claim(each, number) for number, each in enumerate(value, start=1))

    def _claim(self, value: Any, number: int) -> tuple[str, str]:
        text = value.get("text") if isinstance(value, dict) else None
        if not isinstance(text, str) or not text.strip():
            raise RowError(("claims", f'item {number} must be an object with "text" and "label".'))
        try:
            return text, self.claim_labels.read_label(value.get(FIELD)).value
        except Unanswered:
            raise RowError(("claims", f"item {number} has no label.")) from None
        except RowError as error:
            raise RowError(("claims", f"item {number}: {error.complaints[0][1]}")) from None

    def numbers(self, item: TaskItem, answer: Any) -> Numbers:
        gold: Verdicts = item.gold
        cell = self.labels.numbers(
            TaskItem(item.key, item.document, item.external, item.position, gold.label), answer.label
        )
        if answer.claims is None:
            return cell
        matches = align(
            [text for text, _ in answer.claims], [text for text, _ in gold.claims], threshold=self.threshold
        )
        right = sum(answer.claims[each.first][1] == gold.claims[each.second][1] for each in matches)
        counts = (len(matches), right, len(answer.claims), len(gold.claims))
        return cell + tuple((self.labels.width + place, float(number)) for place, number in enumerate(counts) if number)

    def answered(self, numbers: Numbers) -> str:
        """The response's label in an answer with these numbers."""
        return self.labels.answered(numbers)

    def over(self, sums: Sequence[float]) -> EndToEnd:
        return replace(self, labels=self.labels.over(sums))

    def figures(self, sums: Floats) -> Sequence[Floats]:
        matched, right, found, gold = sums[:, self.labels.width :].T
        return [
            *self.labels.figures(sums[:, : self.labels.width]),
            share(matched, found),
            share(matched, gold),
            share(2 * matched, found + gold),
            share(2 * right, found + gold),
        ]

    def trivial(self, sums: Floats) -> Floats:
        """The same of the responses' labels, and no claims."""
        width = self.labels.width
        return np.concatenate([self.labels.trivial(sums[:, :width]), np.zeros((len(sums), 4))], axis=1)

    def details(self, sums: Sequence[float]) -> dict[str, Any]:
        matched, right, found, gold = (round(number) for number in sums[self.labels.width :])
        return {
            **self.labels.details(sums[: self.labels.width]),
            "claims": {"matched": matched, "right": right, "predicted": found, "gold": gold},
            "threshold": self.threshold,
        }

    def baselines(self, gold: Gold, random: Random) -> list[Baseline]:
        said = {key: item.gold.label for key, item in gold.items.items() if item.gold is not None}
        return [
            Baseline(each.name, [(key, CheckedResponse(label)) for key, label in each.answers])
            for each in self.labels.label_baselines(said.items, random)
        ]

    def blank(self) -> dict[str, Any]:
        return {FIELD: None, "claims": None}
