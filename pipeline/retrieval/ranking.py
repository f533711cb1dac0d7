"""Step 4c: passages in the order in which they speak about a query, by their words and, if possible, by their meaning.

Factcheck-Bench re-ranks with a lexical and a semantic similarity together (sections 3.1 and B.2). Here the two orders
are fused by the sum of their scores, each stretched to the same scale, which bears a weak ranker better than reciprocal
ranks do (measured: docs/benchmarks.md; so found Bruch et al. 2023).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from pipeline.clients.base import Ranker, RankRequest
from pipeline.retrieval.corpus_ranking import stems

# Where a repeated word stops to count more, and how much longer passages are held back (BM25's usual values).
_SATURATION, _LENGTH = 1.5, 0.75
_MEANING = 0.5  # its share of the fused score
# A long page has thousands of passages; so many, the best by words, are compared by meaning.
MAX_BY_MEANING = 200


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
    compared = [each.position for each in by_words[:MAX_BY_MEANING]]
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


def fused(by_words: Sequence[Ranked], by_meaning: Sequence[Ranked], meaning: float = _MEANING) -> list[Ranked]:
    """One order out of two, both best first: the weighted sum of their scores, stretched to 0 to 1 over what both have.

    ``meaning`` is the share of the second. What it leaves out stays behind, in the order of the first, with score 0.
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
    """Scores by position, 1 for the first and 0 for the last; all 0 where they are equal."""
    most, least = order[0].score, order[-1].score
    return {each.position: (each.score - least) / (most - least) if most > least else 0.0 for each in order}


def _ordered(scores: Sequence[float]) -> list[Ranked]:
    best = sorted(range(len(scores)), key=lambda position: (-scores[position], position))
    return [Ranked(position, scores[position]) for position in best]
