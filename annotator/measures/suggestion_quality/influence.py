"""Do suggestions change labels? Two comparisons, over gold documents and each person's submitted work.

Between documents: how often people's labels equal the suggestions if they saw them first, compared with blind first,
where they labeled before seeing them. Within blind-first documents: what happened to first labels once the suggestion
was shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotator.core.vocabulary import Labelled
from annotator.measures.suggestion_quality.handling import HandledSuggestions, individuals
from annotator.measures.suggestion_quality.rows import ComparedDocument, Maker, PersonsWork
from pipeline.metrics.agreement import RESAMPLES, Estimate, sums_estimates

# The things that are labels. The others are texts, which agree by degrees.
LABELS = ("sentence_type", "sentence_importance", "claim_type", "claim_importance", "stance")


@dataclass(frozen=True, slots=True)
class Share:
    """The share of labels that equal the suggestions, with the numbers of labels and documents."""

    estimate: Estimate | None
    labels: int
    documents: int


@dataclass(frozen=True, slots=True)
class Influence:
    """One field and one maker: the shares that agree with the suggestion, after seeing it and blind first, and their
    difference in the same resamples of whole documents. Above zero, people who see the suggestion agree with it
    more."""

    maker: Maker
    thing: str
    shown: Share
    blind_first: Share
    difference: Estimate | None


class FirstLabel(NamedTuple):
    """A label given before its suggestion was seen, and the submitted one. ``person`` gave it (primary key); ``row`` is
    the primary key of the labeled row: the sentence, or for a stance the passage."""

    thing: str
    first: str
    suggested: str
    final: str
    person: int | None = None
    row: int = 0


def influences(
    documents: Iterable[ComparedDocument], first_labels: Iterable[FirstLabel] = (), *, resamples: int = RESAMPLES
) -> list[Influence]:
    """By maker and field, if there are labels of both kinds. Blind first uses the labels given before seeing the
    suggestion; ``fates`` covers later changes."""
    first = {(each.thing, each.person, each.row): each.first for each in first_labels}
    rows: dict[tuple[Maker, str], list[tuple[int, tuple[float, ...]]]] = defaultdict(list)
    for document in documents:
        people = tuple(_unaided(work, first) for work in document.people) if document.blind_first else document.people
        for maker, handled in individuals(replace(document, people=people)).items():
            for thing in LABELS:
                counts = handled.counts[thing]
                same, labelled = (
                    counts[HandledSuggestions.UNCHANGED],
                    counts[HandledSuggestions.UNCHANGED] + counts[HandledSuggestions.REVISED],
                )
                if labelled:
                    here = (0, 0, same, labelled) if document.blind_first else (same, labelled, 0, 0)
                    rows[maker, thing].append((document.key, here))
    found = []
    for maker, thing in sorted(rows, key=lambda each: (each[0], LABELS.index(each[1]))):
        these = rows[maker, thing]
        if not (sum(row[1] for _, row in these) and sum(row[3] for _, row in these)):
            continue
        shown, blind, difference = sums_estimates(these, 4, _shares, resamples=resamples, others=(2,))
        found.append(Influence(maker, thing, _share(shown, these, 1), _share(blind, these, 3), difference))
    return found


def _unaided(work: PersonsWork, first: Mapping[tuple[str, int | None, int], str]) -> PersonsWork:
    """A person's work with their first labels restored."""

    def label(thing: str, row: int, final: str) -> str:
        return first.get((thing, work.person, row), final)

    sentences = tuple(
        replace(
            each,
            type=label("sentence_type", each.key, each.type),
            importance=label("sentence_importance", each.key, each.importance),
        )
        for each in work.sentences
    )
    stances = {
        passage: replace(each, label=label("stance", passage, each.label)) for passage, each in work.stances.items()
    }
    return replace(work, sentences=sentences, stances=stances)


def _shares(sums: NDArray[np.float64]) -> Sequence[NDArray[np.float64]]:
    with np.errstate(divide="ignore", invalid="ignore"):
        shown, blind = sums[:, 0] / sums[:, 1], sums[:, 2] / sums[:, 3]
    return [shown, blind, shown - blind]


def _share(estimate: Estimate | None, rows: Sequence[tuple[int, tuple[float, ...]]], at: int) -> Share:
    return Share(estimate, int(sum(row[at] for _, row in rows)), sum(1 for _, row in rows if row[at]))


# --- first labels ---------------------------------------------------------------------------------


class Fate(Labelled):
    """What happened to a first label when the suggestion was shown."""

    SAME = "same", "Matched the suggestion"
    KEPT = "kept", "Differed, kept"
    ADOPTED = "adopted", "Differed, changed to the suggestion"
    OTHER = "other", "Changed to another label"


def fates(labels: Iterable[FirstLabel]) -> dict[str, dict[Fate, int]]:
    """By field, how often each fate occurred. A label that equaled the suggestion and was changed counts as changed
    otherwise."""
    found: dict[str, dict[Fate, int]] = {}
    for label in labels:
        counts = found.setdefault(label.thing, dict.fromkeys(Fate, 0))
        counts[_fate(label)] += 1
    return {thing: found[thing] for thing in LABELS if thing in found}


def _fate(label: FirstLabel) -> Fate:
    if label.final == label.first:
        return Fate.SAME if label.first == label.suggested else Fate.KEPT
    return Fate.ADOPTED if label.final == label.suggested else Fate.OTHER
