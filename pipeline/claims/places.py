"""Which sentence of a chunk a claim comes from: our claims belong to sentences, FastFact's to chunks."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.retrieval.ranking import lexical_scores


def places_of(claims: Sequence[str], sentences: Sequence[str]) -> list[int]:
    """For each claim the position of the sentence that shares most with it, rare words weighing more; the earlier one
    of equals. A claim that shares no word with any stays with the claim before it. ``sentences``: at least one, best
    with their pronouns resolved, as the claims have them."""
    places: list[int] = []
    for claim in claims:
        scores = lexical_scores(claim, sentences)
        best = max(range(len(sentences)), key=lambda position: (scores[position], -position))
        before = places[-1] if places else 0
        places.append(best if scores[best] > 0 else before)
    return places
