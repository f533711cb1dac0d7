"""Step 4c: passages ranked for a query by their words and, if possible, by their meaning.

Factcheck-Bench re-ranks with lexical and semantic similarity combined (sections 3.1 and B.2). Here, the two rankings
are fused by the sum of their scores after scaling both to the same range, which tolerates a weak ranker better than
reciprocal ranks do (measured in docs/benchmarks.md; Bruch et al. 2023 found the same).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from pipeline.clients.base import Ranker, RankRequest
from pipeline.retrieval.corpus_ranking import stems

# BM25's usual values for term saturation and length normalization.
_SATURATION, _LENGTH = 1.5, 0.75
_MEANING = 0.5  # its weight in the fused score
# A long page has thousands of passages. This many, the best by words, are also compared by meaning.
MAX_BY_MEANING = 200


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage by its position in the input, with its score: higher is better, 0 is the minimum."""

    position: int
    score: float


async def ranked(query: str, passages: Sequence[str], ranker: Ranker | None, step: str) -> list[Ranked]:
    """All passages, best first; equal ones stay in input order.

    With a ``ranker``, the lexical and semantic rankings are fused, in one call for ``step``. Without one, or with fewer
    than two passages, only the lexical ranking counts. Raises ServiceError, BudgetSpentError from the ranker.
    """
    # Several hundred passages take tens of milliseconds, so this runs in a thread and doesn't block other responses.
    by_words = _ordered(await asyncio.to_thread(lexical_scores, query, passages))
    if ranker is None or len(passages) < 2:
        return by_words
    compared = [each.position for each in by_words[:MAX_BY_MEANING]]
    texts = tuple(passages[position] for position in compared)
    scores = await ranker.scores(RankRequest(step=step, query=query, texts=texts))
    by_meaning = [Ranked(compared[each.position], each.score) for each in _ordered(list(scores))]
    return fused(by_words, by_meaning)


def lexical_scores(query: str, passages: Sequence[str]) -> list[float]:
    """BM25 of each passage over word stems (Robertson and Zaragoza 2009), with word rarity taken from these passages
    only: for the pages of one query. Scores are at least 0, and all 0 if no word is shared. ``PassageIndex`` is for
    whole corpora."""
    wanted = set(stems(query))
    counted = [Counter(stems(text)) for text in passages]
    lengths = [count.total() for count in counted]
    mean = sum(lengths) / len(lengths) if lengths and any(lengths) else 1.0
    holding = {word: sum(word in count for count in counted) for word in wanted}
    rarity = {
        word: log(1 + (len(counted) - number + 0.5) / (number + 0.5)) for word, number in holding.items() if number
    }
    scores = []
    for count, length in zip(counted, lengths, strict=True):
        held_back = _SATURATION * (1 - _LENGTH + _LENGTH * length / mean)
        # In the order of the rarities: a set's order differs between processes, and then the last digit would, too.
        found = (
            weight * count[word] / (count[word] + held_back) for word, weight in sorted(rarity.items()) if count[word]
        )
        scores.append(sum(found))
    return scores


def fused(by_words: Sequence[Ranked], by_meaning: Sequence[Ranked], meaning: float = _MEANING) -> list[Ranked]:
    """One ranking from two, both best first: the weighted sum of their scores, scaled to 0 to 1 over what both contain.

    ``meaning`` is the weight of the second. What it leaves out comes last, in the order of the first, with score 0.
    """
    compared = {each.position for each in by_meaning}
    words = _stretched([each for each in by_words if each.position in compared])
    total = {
        position: (1 - meaning) * words[position] + meaning * score
        for position, score in _stretched(by_meaning).items()
    }
    best = sorted(total, key=lambda position: (-total[position], position))
    behind = [Ranked(each.position, 0.0) for each in by_words if each.position not in compared]
    return [*(Ranked(position, total[position]) for position in best), *behind]


def _stretched(order: Sequence[Ranked]) -> dict[int, float]:
    """Scores by position, 1 for the first and 0 for the last; all 0 if they are equal."""
    most, least = order[0].score, order[-1].score
    return {each.position: (each.score - least) / (most - least) if most > least else 0.0 for each in order}


def _ordered(scores: Sequence[float]) -> list[Ranked]:
    best = sorted(range(len(scores)), key=lambda position: (-scores[position], position))
    return [Ranked(position, scores[position]) for position in best]
