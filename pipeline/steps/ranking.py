"""Step 4c: passages in the order in which they speak about a query, by their words and, if possible, by their meaning.

Factcheck-Bench re-ranks with a lexical and a semantic similarity together (sections 3.1 and B.2). Here the two orders
are fused by reciprocal ranks (Cormack et al. 2009), because the scores of different rankers have no common scale.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from pipeline.clients.base import Ranker, RankRequest
from pipeline.steps.rerank import stems

# Where a repeated word stops to count more, and how much longer passages are held back (BM25's usual values).
_SATURATION, _LENGTH = 1.5, 0.75
_FUSION = 60  # the usual constant of reciprocal rank fusion
# A long page has thousands of passages; so many, the best by words, are compared by meaning.
MOST_BY_MEANING = 200


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage by its position among those that were given, with its score: higher is nearer, 0 the least."""

    position: int
    score: float


async def ranked(query: str, passages: Sequence[str], ranker: Ranker | None, step: str) -> list[Ranked]:
    """All passages, best first; equals in the order in which they were given.

    With a ``ranker`` the lexical and the semantic order are fused, in one call for ``step``; without one, or with less
    than two passages, the lexical order stands alone. Raises ServiceError, BudgetSpentError from the ranker.
    """
    # Tens of milliseconds for some hundred passages: beside the loop, so that other answers are not kept waiting.
    by_words = _ordered(await asyncio.to_thread(lexical_scores, query, passages))
    if ranker is None or len(passages) < 2:
        return by_words
    compared = [each.position for each in by_words[:MOST_BY_MEANING]]
    texts = tuple(passages[position] for position in compared)
    scores = await ranker.scores(RankRequest(step=step, query=query, texts=texts))
    by_meaning = [Ranked(compared[each.position], each.score) for each in _ordered(list(scores))]
    return fused(by_words, by_meaning)


def lexical_scores(query: str, passages: Sequence[str]) -> list[float]:
    """BM25 of each passage over word stems (Robertson and Zaragoza 2009), rarity taken from these passages alone: for
    the pages of one query. Each at least 0; all 0 where no word is shared. ``PassageIndex`` is for whole corpora."""
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
        # In the order of the rarities: a set's order differs from process to process, and so would the last digit.
        found = (
            weight * count[word] / (count[word] + held_back) for word, weight in sorted(rarity.items()) if count[word]
        )
        scores.append(sum(found))
    return scores


def fused(*orders: Sequence[Ranked]) -> list[Ranked]:
    """One order out of several by reciprocal ranks: a place counts 1 / (60 + place), equal scores share a place, and
    what an order leaves out gets nothing from it. Scores between 0 and 1, 1 for what is first everywhere."""
    total: defaultdict[int, float] = defaultdict(float)
    for order in orders:
        place, before = 0, None
        for number, each in enumerate(order, start=1):
            if each.score != before:
                place, before = number, each.score
            total[each.position] += 1 / (_FUSION + place)
    most = len(orders) / (_FUSION + 1)
    best = sorted(total, key=lambda position: (-total[position], position))
    return [Ranked(position, total[position] / most) for position in best]


def _ordered(scores: Sequence[float]) -> list[Ranked]:
    best = sorted(range(len(scores)), key=lambda position: (-scores[position], position))
    return [Ranked(position, scores[position]) for position in best]
