"""FastFact's figures (Table 1 and Table 7): operations on claims, and how far people agree with the machine's labels.

A study is first counted into the form of FastFact-Bench's published statistics, so that the same code computes the rows
of both. The published file contains labels that the protocol doesn't have ("unverifiable", "unsupported", "n/a",
"invalid_label"); they are counted unchanged and reported separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

UNCHANGED, REVISED, REMOVED, ADDED = "unchanged", "revised", "removed", "added"
OPERATIONS = (UNCHANGED, REVISED, REMOVED, ADDED)
AGREED, CORRECTED, PENDING = "agreed", "disagreed_corrected", "verification_pending"
SUPPORTED, IRRELEVANT = "supported", "irrelevant"
NOT_SUPPORTED = ("refuted", "not enough evidence", "conflicting evidence", "unsupported")
PROTOCOL_LABELS = (SUPPORTED, IRRELEVANT, *NOT_SUPPORTED[:3])
# The published file has the reason for removing a claim in place of its label.
REMOVAL_LABELS = ("redundant", "not a claim")


@dataclass(frozen=True, slots=True)
class LabeledClaim:
    """A claim after a person's work. ``machine`` is the machine's label, "" if there was none; ``label`` the final
    label, "" for a removed claim; ``agrees`` is None if there was no label to agree with."""

    operation: str
    reason: str = ""
    machine: str = ""
    label: str = ""
    agrees: bool | None = None
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LabeledResponse:
    """A response with its claims."""

    benchmark: str
    model: str
    claims: Sequence[LabeledClaim] = field(default_factory=tuple)


def scoring_class(label: str) -> str:
    """The class that counts in scores: supported, unsupported or irrelevant (Table 1, "scoring")."""
    return "unsupported" if label in NOT_SUPPORTED else label


@dataclass(frozen=True, slots=True)
class AlignmentRow:
    """One column of the paper's Table 1 and Table 7, for a sub-benchmark ("" for all). ``operations`` counts claims by
    operation. ``exact`` and ``scoring`` are shares of the claims whose machine label a person checked; ``scoring`` is
    None where only totals are known, as in the published file. ``others`` counts labels that aren't the protocol's."""

    benchmark: str
    responses: int
    operations: Mapping[str, int]
    checked: int
    exact: float | None
    scoring: float | None
    supported: int
    not_supported: int
    irrelevant: int
    labels: Mapping[str, int]
    others: Mapping[str, int]

    @property
    def k_prime(self) -> int:
        """K' = S' + N' (the claims that people found valid)."""
        return self.supported + self.not_supported

    @property
    def given(self) -> int:
        """The claims that the machine had extracted."""
        return sum(self.operations.get(each, 0) for each in (UNCHANGED, REVISED, REMOVED))

    def per_response(self, operation: str) -> float | None:
        """The mean number per response (Table 1)."""
        return self.operations.get(operation, 0) / self.responses if self.responses else None

    def per_claim(self, operation: str) -> float | None:
        """The share of the claims that the machine had extracted."""
        return self.operations.get(operation, 0) / self.given if self.given else None


def statistics_of(responses: Iterable[LabeledResponse]) -> dict[str, Any]:
    """Counts in the form of the published statistics: ``overall``, and ``grouped`` by model and by sub-benchmark."""
    every = list(responses)
    return {
        "metadata": {"total_samples": len(every)},
        "overall": _counted(every),
        "grouped": {
            "by_model": _grouped(every, lambda each: each.model),
            "by_prompt_source": _grouped(every, lambda each: each.benchmark),
        },
    }


def _grouped(responses: Sequence[LabeledResponse], key: Any) -> dict[str, Any]:
    names = sorted({key(each) for each in responses})
    return {name: _counted([each for each in responses if key(each) == name]) for name in names}


def _counted(responses: Sequence[LabeledResponse]) -> dict[str, Any]:
    claims = [claim for each in responses for claim in each.claims]
    checked = [each for each in claims if each.agrees is not None]
    return {
        "count": len(responses),
        "annotator_labels": dict(Counter(each.label or each.reason for each in claims if each.label or each.reason)),
        "agreements": {
            AGREED: sum(each.agrees is True for each in checked),
            CORRECTED: sum(each.agrees is False for each in checked),
        },
        "operations": {name: sum(each.operation == name for each in claims) for name in OPERATIONS},
        "reasons": dict(Counter(reason for each in claims for reason in each.failures)),
        "scoring_agreements": sum(scoring_class(each.machine) == scoring_class(each.label) for each in checked),
    }


def alignment_rows(statistics: Mapping[str, Any]) -> list[AlignmentRow]:
    """The rows for statistics in the published form: first all responses, then each sub-benchmark. Raises ValueError
    with the place if the file has another form."""
    if not isinstance(statistics, Mapping) or not isinstance(statistics.get("overall"), Mapping):
        raise ValueError("overall: this isn’t a file of FastFact-Bench’s annotation statistics.")
    rows = [_row("", statistics["overall"], "overall")]
    grouped = statistics.get("grouped", {}).get("by_prompt_source", {})
    return rows + [_row(name, each, f"grouped.by_prompt_source.{name}") for name, each in sorted(grouped.items())]


def _row(benchmark: str, counted: Mapping[str, Any], place: str) -> AlignmentRow:
    labels = _counts(counted, "annotator_labels", place)
    agreements = _counts(counted, "agreements", place)
    checked = agreements.get(AGREED, 0) + agreements.get(CORRECTED, 0)
    scoring = counted.get("scoring_agreements")
    known = (*PROTOCOL_LABELS, *REMOVAL_LABELS)
    return AlignmentRow(
        benchmark=benchmark,
        responses=int(counted.get("count", 0)),
        operations=_counts(counted, "operations", place),
        checked=checked,
        exact=agreements.get(AGREED, 0) / checked if checked else None,
        scoring=scoring / checked if checked and isinstance(scoring, int) else None,
        supported=labels.get(SUPPORTED, 0),
        not_supported=sum(labels.get(each, 0) for each in NOT_SUPPORTED),
        irrelevant=labels.get(IRRELEVANT, 0),
        labels=labels,
        others={label: count for label, count in labels.items() if label not in known},
    )


def _counts(counted: Mapping[str, Any], name: str, place: str) -> dict[str, int]:
    found = counted.get(name)
    if not isinstance(found, Mapping) or not all(isinstance(each, int) for each in found.values()):
        raise ValueError(f"{place}.{name}: expected an object of counts.")
    return dict(found)
