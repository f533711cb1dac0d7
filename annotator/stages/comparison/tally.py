"""What several independent annotations of a stage had in common, as plain JSON: the input of all agreement figures.

``labels``: for each field ("claim.type") a list of items, each a list of every person's value (null: not asked). Items
that only one person was asked about are included: no figure uses them, but they are counted. ``counted``: the same with
the number of occurrences, ``[[label of each person], times]``, for what has very many items: each place between two
words where a sentence could end ("sentence.cut": yes, no), and the number of claims of each sentence ("claim.count");
decompose only. ``texts``: for each free text ("claim.text") a list of items, each a list of pairs ``[one, other, edit
distance, word overlap]`` of people. ``claims``: for each pair of people ``[one, other, matched, count of one, count of
other, similarities of the matches]``; decompose only.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from annotator.stages.comparison.comparison import ABSENT, Comparison
from annotator.stages.comparison.decomposition import Decompositions
from annotator.stages.comparison.revision import Revisions
from pipeline.metrics.text import edit_distance, word_overlap


def tally_of(comparison: Comparison) -> dict[str, Any]:
    """Counts people's labels, whether or not adjudication asks about them. Must be called before any decision."""
    labels: dict[str, list[list[Any]]] = {}
    texts: dict[str, list[list[list[float]]]] = {}
    for item in comparison.items:
        for row in item.fields:
            if row.kind in ("take", "whole") or not (row.is_shared or (row.kind == "label" and row.is_answered)):
                continue
            said = [None if value is ABSENT else value for value in row.values]
            name = f"{item.kind}.{row.name}"
            if row.kind == "label":
                labels.setdefault(name, []).append(said)
            else:
                texts.setdefault(name, []).append(_distances(said))
    data: dict[str, Any] = {"labels": labels, "texts": texts}
    if isinstance(comparison, Decompositions):
        data["counted"] = {
            name: [[list(said), times] for said, times in sorted(units.items(), key=str)]
            for name, units in comparison.units.items()
        }
        data["claims"] = [
            [one, other, len(found), comparison.claim_counts[one], comparison.claim_counts[other], found]
            for (one, other), found in sorted(comparison.similarities.items())
        ]
    if isinstance(comparison, Revisions):
        # The row says "merged from the sentences" if nobody wrote a response; here, the responses themselves are
        # compared.
        texts["answer.text"] = [_distances(comparison.answers)]
    return data


def _distances(said: list[Any]) -> list[list[float]]:
    """The distances between the texts of each pair of people."""
    return [
        [one, other, edit_distance(said[one], said[other]), word_overlap(said[one], said[other])]
        for one, other in combinations(range(len(said)), 2)
        if said[one] is not None and said[other] is not None
    ]
