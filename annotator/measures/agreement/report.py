"""From tallies to figures: agreement per stage and field, over time, per pair and batch, and with and without
suggestions. Pure; read by ``annotator.measures.queries.agreement``.

Labels of one document hang together, so intervals draw whole documents (see ``pipeline.metrics.agreement``). Tables
of many small parts (periods, pairs, batches) have figures without intervals.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from typing import Any

from annotator.core.vocabulary import STAGES, Stage
from annotator.measures.agreement.fields import LABEL_FIELDS, TEXT_FIELDS, AgreementField, label_of
from pipeline.metrics.agreement import Agreement, Estimate, RatedItem, agreement, ratio_estimate

# A point of a trend, a pair or a batch with fewer items than this says nothing yet.
FEWEST = 10


@dataclass(frozen=True, slots=True)
class TallyRow:
    """A tally as it is read. ``people``: primary keys in the order in which ``data`` has what they said."""

    document: int
    stage: str
    people: tuple[int, ...]
    data: Mapping[str, Any]
    period: dt.date
    batch: int | None = None
    blind_first: bool = False


@dataclass(frozen=True, slots=True)
class LabelFigures:
    """A field with a fixed set of labels. Raters in ``figures`` are people's primary keys."""

    field: AgreementField
    figures: Agreement

    @property
    def coefficients(self) -> dict[str, Estimate | None]:
        found = self.figures
        return {
            "percent": found.percent,
            "cohen": found.cohen,
            "fleiss": found.fleiss,
            "alpha": found.alpha,
            "ac1": found.ac1,
            "fleiss_gwet": found.fleiss_gwet,
            "ac1_gwet": found.ac1_gwet,
        }


@dataclass(frozen=True, slots=True)
class TextFigures:
    """A free text: how far the texts of two people are apart, 0 the same; and the share of words they have in common.

    ``pairs``: pairs of texts that were compared.
    """

    field: AgreementField
    pairs: int
    documents: int
    edit_distance: Estimate | None
    word_overlap: Estimate | None


@dataclass(frozen=True, slots=True)
class ClaimFigures:
    """Whether people find the same claims. ``f1`` is pooled: 2 x matched claims over the claims of both, all documents
    taken together. ``similarity``: the mean of the matched claims' texts."""

    matched: int
    claims: int
    documents: int
    f1: Estimate | None
    similarity: Estimate | None


@dataclass(frozen=True, slots=True)
class StageFigures:
    stage: Stage
    documents: int
    labels: tuple[LabelFigures, ...]
    claims: ClaimFigures | None
    texts: tuple[TextFigures, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A field in one period, pair or batch, without intervals."""

    field: AgreementField
    items: int
    percent: float
    alpha: float | None
    ac1: float | None


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """All figures of a benchmark under a filter. ``pairs`` and ``batches`` by primary keys; ``unaided`` and ``aided``:
    the fields of blind-first documents, and of those in which suggestions were shown from the start."""

    documents: int = 0
    stages: tuple[StageFigures, ...] = ()
    periods: Mapping[dt.date, tuple[Part, ...]] = field(default_factory=dict)
    pairs: Mapping[tuple[int, int], tuple[Part, ...]] = field(default_factory=dict)
    batches: Mapping[int | None, tuple[Part, ...]] = field(default_factory=dict)
    unaided: tuple[LabelFigures, ...] = ()
    aided: tuple[LabelFigures, ...] = ()
    counted_at: dt.datetime | None = None

    @property
    def people(self) -> set[int]:
        """Everyone who is named by a figure."""
        raters = {rater for stage in self.stages for each in stage.labels for rater in each.figures.raters}
        return {int(rater) for rater in raters} | {person for pair in self.pairs for person in pair}


# Where labels were given: field, period, batch, people.
_Place = tuple[str, dt.date, int | None, tuple[int, ...]]


@dataclass(slots=True)
class _CollectedTallies:
    """What one pass over the tallies gathers, by field. ``counted``: how often each combination of labels occurs."""

    stage_documents: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    unaided: dict[str, list[RatedItem]] = field(default_factory=lambda: defaultdict(list))
    aided: dict[str, list[RatedItem]] = field(default_factory=lambda: defaultdict(list))
    counted: dict[_Place, Counter[tuple[str, ...]]] = field(default_factory=lambda: defaultdict(Counter))
    distances: dict[str, list[tuple[int, float, float]]] = field(default_factory=lambda: defaultdict(list))
    overlaps: dict[str, list[tuple[int, float, float]]] = field(default_factory=lambda: defaultdict(list))
    f1: list[tuple[int, float, float]] = field(default_factory=list)
    similarities: list[tuple[int, float, float]] = field(default_factory=list)

    def add(self, row: TallyRow, seats: tuple[int, ...]) -> None:
        """Take in what the people in these seats said."""
        self.stage_documents[row.stage].add(row.document)
        people = tuple(row.people[seat] for seat in seats)
        items = self.unaided if row.blind_first else self.aided
        said_of = {
            name: Counter([tuple(each) for each in things]) for name, things in row.data.get("labels", {}).items()
        } | {
            name: Counter({tuple(each): times for each, times in things})
            for name, things in row.data.get("counted", {}).items()
        }
        for name, things in said_of.items():
            counted = self.counted[name, row.period, row.batch, people]
            for values, times in things.items():
                labels, said = _said(people, seats, values)
                if not said:
                    continue  # asked of others alone
                counted[labels] += times
                items[name].append(RatedItem(row.document, said, times))
        for name, things in row.data.get("texts", {}).items():
            pairs = [each for thing in things for each in thing if each[0] in seats and each[1] in seats]
            if pairs:
                self.distances[name].append((row.document, sum(each[2] for each in pairs), len(pairs)))
                self.overlaps[name].append((row.document, sum(each[3] for each in pairs), len(pairs)))
        for one, other, matched, of_one, of_other, similarities in row.data.get("claims", ()):
            if one in seats and other in seats:
                self.f1.append((row.document, 2 * matched, of_one + of_other))
                self.similarities.append((row.document, sum(similarities), len(similarities)))

    @property
    def items(self) -> dict[str, list[RatedItem]]:
        """All items of each field."""
        return {name: self.unaided.get(name, []) + self.aided.get(name, []) for name in {*self.unaided, *self.aided}}


@cache
def _said(
    people: tuple[int, ...], seats: tuple[int, ...], values: tuple[Any, ...]
) -> tuple[tuple[str, ...], dict[int, str]]:
    """The labels of these seats, and who said what as ``RatedItem`` wants it: one mapping for all items that are
    labeled
    alike, which saves memory."""
    labels = tuple(label_of(values[seat]) for seat in seats)
    return labels, {person: label for person, label in zip(people, labels, strict=True) if label}


def report_of(
    rows: Iterable[TallyRow],
    *,
    among: tuple[int, ...] = (),
    resamples: int,
    fewest: int = FEWEST,
    added: Sequence[AgreementField] = (),
) -> AgreementReport:
    """All figures of some tallies. ``added``: the fields that the benchmark's protocol adds. ``among``: one person,
    compared with each partner; or two, compared with each other; without it, all that labeled. Rows in the same order
    give the same intervals. ``resamples=0``: no intervals."""
    found = _CollectedTallies()
    for row in rows:
        for seats in _seats(row.people, among):
            found.add(row, seats)
    _said.cache_clear()
    items = found.items
    fields = (*LABEL_FIELDS, *added)
    both = found.unaided and found.aided
    return AgreementReport(
        documents=len(set().union(*found.stage_documents.values())),
        stages=tuple(
            _stage(found, items, stage, resamples, fields) for stage in STAGES if found.stage_documents.get(stage)
        ),
        periods=_parts(found.counted, lambda place: place[1], fewest, fields),
        pairs=_parts(_pairs(found.counted), lambda place: place[3], fewest, fields),
        batches=_parts(found.counted, lambda place: place[2], fewest, fields),
        unaided=_label_figures(found.unaided, fields, resamples) if both else (),
        aided=_label_figures(found.aided, fields, resamples) if both else (),
    )


def _seats(people: tuple[int, ...], among: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Which seats of a tally are compared with each other."""
    if not among:
        return [tuple(range(len(people)))]
    if any(person not in people for person in among):
        return []
    first = people.index(among[0])
    others = [people.index(among[1])] if len(among) > 1 else [seat for seat in range(len(people)) if seat != first]
    return [tuple(sorted((first, other))) for other in others]


def _stage(
    found: _CollectedTallies,
    items: Mapping[str, list[RatedItem]],
    stage: Stage,
    resamples: int,
    fields: Sequence[AgreementField],
) -> StageFigures:
    claims = None
    if stage == Stage.DECOMPOSE and found.f1:
        claims = ClaimFigures(
            matched=round(sum(above for _, above, _ in found.f1) / 2),
            claims=round(sum(below for _, _, below in found.f1)),
            documents=len({document for document, _, _ in found.f1}),
            f1=ratio_estimate(found.f1, resamples=resamples),
            similarity=ratio_estimate(found.similarities, resamples=resamples),
        )
    return StageFigures(
        stage=stage,
        documents=len(found.stage_documents[stage]),
        labels=_label_figures(items, [each for each in fields if each.stage == stage], resamples),
        claims=claims,
        texts=tuple(
            TextFigures(
                field=each,
                pairs=round(sum(below for _, _, below in found.distances[each.name])),
                documents=len({document for document, _, _ in found.distances[each.name]}),
                edit_distance=ratio_estimate(found.distances[each.name], resamples=resamples),
                word_overlap=ratio_estimate(found.overlaps[each.name], resamples=resamples),
            )
            for each in TEXT_FIELDS
            if each.stage == stage and found.distances.get(each.name)
        ),
    )


def _label_figures(
    items: Mapping[str, list[RatedItem]], fields: Iterable[AgreementField], resamples: int
) -> tuple[LabelFigures, ...]:
    figures = (
        LabelFigures(each, agreement(items[each.name], scale=each.scale, resamples=resamples))
        for each in fields
        if items.get(each.name)
    )
    return tuple(each for each in figures if each.figures.items)


Counts = Mapping[_Place, Mapping[tuple[str, ...], int]]


def _pairs(counted: Counts) -> Counts:
    """The same, two people at a time. Two people are one pair, whoever sat first."""
    found: dict[_Place, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for (name, period, batch, people), combinations_of in counted.items():
        for one, other in combinations(range(len(people)), 2):
            if people[one] > people[other]:
                one, other = other, one
            pair = found[name, period, batch, (people[one], people[other])]
            for labels, times in combinations_of.items():
                pair[labels[one], labels[other]] += times
    return found


def _parts(
    counted: Counts, part_of: Callable[[_Place], Any], fewest: int, fields: Sequence[AgreementField]
) -> dict[Any, tuple[Part, ...]]:
    """Figures per part, each part's fields in the order of the catalogue. What has too few items is left out."""
    sums: dict[tuple[Any, str], Counter[tuple[str, ...]]] = defaultdict(Counter)
    for place, combinations_of in counted.items():
        sums[part_of(place), place[0]].update(combinations_of)
    found: dict[Any, list[Part]] = defaultdict(list)
    for part in sorted({part for part, _ in sums}, key=_rank):
        for each in fields:
            # Without intervals nobody asks for the document, nor for who said it.
            items = [
                RatedItem(0, {rater: label for rater, label in enumerate(labels) if label}, times)
                for labels, times in sums.get((part, each.name), {}).items()
            ]
            figures = agreement(items, scale=each.scale, resamples=0)
            if figures.items >= fewest and figures.percent is not None:
                found[part].append(
                    Part(each, figures.items, figures.percent.value, _value(figures.alpha), _value(figures.ac1))
                )
    return {part: tuple(rows) for part, rows in found.items()}


def _value(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value


def _rank(part: Any) -> tuple[bool, Any]:
    """Parts in their own order; documents that are in no batch come last."""
    return (part is None, part or 0)
