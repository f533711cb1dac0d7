"""Agreement figures from papers, to show next to a benchmark's own.

Factcheck-Bench reports none. Note what was labeled in each case: the tasks are never exactly the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from annotator.core.vocabulary import Stage


@dataclass(frozen=True, slots=True)
class Reference:
    """A paper's figure. ``coefficient``: "fleiss" or "percent". ``field``: our field with the most similar question; ""
    if there is none."""

    stage: Stage
    field: str
    coefficient: str
    value: float
    paper: str
    section: str
    measures: str

    @property
    def shown(self) -> str:
        return f"{100 * self.value:.1f}%" if self.coefficient == "percent" else f"Fleiss’ kappa {self.value:.2f}"


REFERENCES: tuple[Reference, ...] = (
    Reference(
        Stage.DECOMPOSE, "", "fleiss", 0.7662, "VeriScore", "section 3.1",
        "three annotators chose which of two claim lists had less unverifiable content, 120 times; all three "
        "made the same choice 99 times. A preference, not a claim label.",
    ),
    Reference(
        Stage.DECOMPOSE, "", "percent", 0.936, "FastFact", "appendix F.2",
        "what was done to each claim that the machine had found (the kind of operation), on the tenth of the benchmark "
        "that was annotated by several people. Observed agreement, not corrected for chance.",
    ),
    Reference(
        Stage.VERIFY, "verdict.factuality", "fleiss", 0.7316, "VeriScore", "section 3.3",
        "three annotators labeled 50 claims as supported, contradicted, or inconclusive based on given search "
        "results; all three agreed on 82%.",
    ),
    Reference(
        Stage.VERIFY, "verdict.factuality", "percent", 0.950, "FastFact", "appendix F.2",
        "the verification label of each claim, on the tenth of the benchmark that was annotated by several people. "
        "Observed agreement, not corrected for chance.",
    ),
)  # fmt: skip
