"""How much of the gold is false, lacks evidence, or needed further search, by source, domain, model and the like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotator.measures.statistics.breakdowns import (
    DocumentTraits,
    Rows,
    broken_down,
    described,
    groups_of,
    share,
)
from annotator.measures.statistics.rows import GoldClaimRow, GoldDocumentRow

# Of groups of documents.
FIGURES = {
    "false_responses": "False responses",
    "false_responses_released": "False responses, by the released field",
    "false_claims": "False claims",
    "undetermined_claims": "Not enough evidence",
    "sufficient": "Evidence sufficient",
}
# Claims with one verdict are told apart by what was found of them alone.
LABEL_FIGURES = ("sufficient",)
_Floats = NDArray[np.float64]


@dataclass(slots=True)
class GoldBreakdowns:
    """What breakdowns need of each document, gathered while documents go by: a few numbers, and no texts."""

    traits: dict[str, DocumentTraits] = field(default_factory=dict)
    # By document: false and labeled responses by either rule; false, undetermined, and all checked claims; sufficient
    # evidence and answers to that question.
    sums: dict[str, tuple[float, ...]] = field(default_factory=dict)
    # By document and label: the label, the document, checked claims with it, and of these the same two numbers.
    labels: list[tuple[str, str, int, tuple[float, float]]] = field(default_factory=list)

    def watch(self, documents: Iterable[GoldDocumentRow]) -> Iterator[GoldDocumentRow]:
        """The same documents; what breakdowns need is known when all are taken."""
        for number, document in enumerate(documents):
            self._add(str(number), document)
            yield document

    def _add(self, key: str, document: GoldDocumentRow) -> None:
        claims = [claim for claim in document.claims if claim.is_checked]
        self.traits[key] = DocumentTraits(
            document.source,
            document.model,
            described(document.metadata),
            len(document.response.split()),
            len(document.claims),
        )
        truths = (document.is_true_by_claims, document.is_true)
        self.sums[key] = (
            *(float(number) for each in truths for number in (each is False, each is not None)),
            float(sum(claim.is_false for claim in claims)),
            float(sum(claim.is_undetermined for claim in claims)),
            float(sum(bool(claim.factuality) for claim in claims)),
            *_sufficient(claims),
        )
        for label in sorted({claim.factuality for claim in claims if claim.factuality}):
            of_label = [claim for claim in claims if claim.factuality == label]
            self.labels.append((label, key, len(of_label), _sufficient(of_label)))

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """The groups of each breakdown with their figures. ``items`` are checked claims with a verdict. What all
        documents share is left out."""
        if not self.sums:
            return {}
        sums = np.array(list(self.sums.values()))
        number = {key: place for place, key in enumerate(self.sums)}
        rows = {
            name: Rows(
                [groups[key] for key in self.sums],
                np.arange(len(sums)),
                sums[:, 6].astype(np.int64),
                sums,
                list(FIGURES),
                lambda _: _figures,
            )
            for name, groups in groups_of(self.traits).items()
        }
        if len({label for label, *_ in self.labels}) > 1:
            labels, keys, items, enough = zip(*self.labels, strict=True)
            rows["label"] = Rows(
                labels,
                np.array([number[key] for key in keys]),
                np.array(items),
                np.array(enough),
                LABEL_FIGURES,
                lambda _: lambda drawn: [share(drawn[:, 0], drawn[:, 1])],
            )
        return broken_down(rows, len(sums))


def _sufficient(claims: Iterable[GoldClaimRow]) -> tuple[float, float]:
    """How often automatic evidence sufficed, and how often that was answered."""
    said = [claim.sufficient for claim in claims if claim.sufficient is not None]
    return float(sum(said)), float(len(said))


def _figures(sums: _Floats) -> list[_Floats]:
    false_responses, responses, false_released, released, false, undetermined, claims, enough, asked = sums.T
    return [
        share(false_responses, responses),
        share(false_released, released),
        share(false, claims),
        share(undetermined, claims),
        share(enough, asked),
    ]
