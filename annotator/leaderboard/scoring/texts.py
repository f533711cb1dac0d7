"""Tasks whose answers are text: the revised response, and the claims of a sentence or response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from annotator.core.file_problems import RowError
from annotator.core.lines import kind_of
from annotator.leaderboard.scoring.items import Gold, TaskItem
from annotator.leaderboard.scoring.measure import (
    MOST,
    Baseline,
    Floats,
    Numbers,
    ScoredAnswer,
    TaskMeasure,
    Unanswered,
)
from annotator.measures.statistics.breakdowns import share
from pipeline.metrics.alignment import match_score
from pipeline.metrics.decomposition import apart_in_order
from pipeline.metrics.text import edit_distance, word_overlap

# Above this word similarity (token F1), two claims match, unless another threshold is given.
SAME_CLAIM = 0.8


@dataclass(frozen=True)
class Revision:
    """The revised response beside the gold one, texts as stored (Factcheck-Bench, section 4.4 and Table 6)."""

    names = ("edit_distance", "word_overlap", "exact_match")
    width = 4

    def read(self, row: Mapping[str, Any]) -> ScoredAnswer:
        if "revised" not in row:
            raise RowError(("revised", "required: write the revised response as text."))
        value = row["revised"]
        if value is None:
            raise Unanswered
        if not isinstance(value, str):
            raise RowError(("revised", f"expected a text, found {kind_of(value)}."))
        return ScoredAnswer(value)

    def numbers(self, item: TaskItem, answer: Any) -> Numbers:
        return (
            (0, edit_distance(answer, item.gold)),
            (1, word_overlap(answer, item.gold)),
            (2, float(answer.strip() == item.gold.strip())),
            (3, 1.0),
        )

    def over(self, sums: Sequence[float]) -> TaskMeasure:
        return self

    def figures(self, sums: Floats) -> Sequence[Floats]:
        return [share(sums[:, place], sums[:, 3]) for place in range(3)]

    def details(self, sums: Sequence[float]) -> dict[str, Any]:
        return {}

    def baselines(self, gold: Gold, random: Random) -> list[Baseline]:
        """Baselines: the unchanged response, and the response with each word dropped with probability one half."""
        asked = {key: item.text for key, item in gold.items.items() if item.gold is not None}
        return [
            Baseline("unchanged", asked.items()),
            Baseline(
                "random",
                (
                    (key, " ".join(word for word in text.split() if random.random() < 0.5))
                    for key, text in asked.items()
                ),
            ),
        ]

    def blank(self) -> dict[str, Any]:
        return {"revised": None}


@dataclass(frozen=True)
class DecompositionMeasure:
    """Claims matched one to one with the gold claims of the same sentence or response, and their distance in order if
    there are equally many (Factcheck-Bench, section 4.1)."""

    threshold: float = SAME_CLAIM

    names = ("precision", "recall", "f1", "edit_distance", "word_overlap", "same_number")
    width = 8

    def read(self, row: Mapping[str, Any]) -> ScoredAnswer:
        if "claims" not in row:
            raise RowError(("claims", "required: write a list of texts, or [] if there are no claims."))
        value = row["claims"]
        if value is None:
            raise Unanswered
        return ScoredAnswer(read_texts(value, "claims"))

    def numbers(self, item: TaskItem, answer: Any) -> Numbers:
        gold: Sequence[str] = item.gold
        score = match_score(answer, gold, threshold=self.threshold)
        apart = apart_in_order(answer, gold)
        numbers: list[float] = [score.matched, score.found, score.gold]
        numbers += [sum(each[0] for each in apart or ()), sum(each[1] for each in apart or ()), len(apart or ())]
        # The right number means something only if there is a claim.
        numbers += [float(apart is not None and bool(gold)), float(bool(gold))]
        return tuple((place, float(number)) for place, number in enumerate(numbers) if number)

    def over(self, sums: Sequence[float]) -> TaskMeasure:
        return self

    def figures(self, sums: Floats) -> Sequence[Floats]:
        matched, found, gold, distance, overlap, compared, same, asked = sums.T
        return [
            share(matched, found),
            share(matched, gold),
            share(2 * matched, found + gold),
            share(distance, compared),
            share(overlap, compared),
            share(same, asked),
        ]

    def details(self, sums: Sequence[float]) -> dict[str, Any]:
        matched, found, gold = (round(number) for number in sums[:3])
        return {"claims": {"matched": matched, "predicted": found, "gold": gold}, "threshold": self.threshold}

    def baselines(self, gold: Gold, random: Random) -> list[Baseline]:
        """Baselines: every sentence as one claim, and sentences split into one to four claims at random words."""
        asked = {
            key: [line for line in item.text.split("\n") if line.strip()]
            for key, item in gold.items.items()
            if item.gold is not None
        }
        return [
            Baseline("sentence_as_claim", asked.items()),
            Baseline(
                "random", ((key, [part for text in each for part in _cut(text, random)]) for key, each in asked.items())
            ),
        ]

    def blank(self) -> dict[str, Any]:
        return {"claims": None}


def read_texts(value: Any, name: str) -> list[str]:
    """A list of texts; blank ones are refused. Raises ``RowError``."""
    if not isinstance(value, list):
        raise RowError((name, f"expected a list of texts, found {kind_of(value)}."))
    if len(value) > MOST:
        raise RowError((name, f"{len(value)} claims in one row; the limit is {MOST}. Split the row."))
    for number, each in enumerate(value, start=1):
        if not isinstance(each, str) or not each.strip():
            shown = "a blank text" if isinstance(each, str) else kind_of(each)
            raise RowError((name, f"expected a text as item {number}, found {shown}."))
    return value


def _cut(text: str, random: Random) -> list[str]:
    words = text.split()
    places = sorted(random.sample(range(1, len(words)), min(random.randint(0, 3), len(words) - 1))) if words else []
    return [" ".join(words[start:end]) for start, end in zip([0, *places], [*places, len(words)], strict=True)]
