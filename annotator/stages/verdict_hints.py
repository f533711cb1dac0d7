"""The guidelines' criteria for the verdict, as a hint from the stances so far.

Factcheck-Bench appendix C.6 says when a claim needs an edit. The rules here only return a sentence to show next to the
stances, never a verdict. Irrelevant passages are ignored, as the appendix says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from annotator.core.vocabulary import Factuality, StanceLabel


class HintKind(StrEnum):
    """The rule of appendix C.6 that the stances match. The two marked * are ours, because the appendix doesn't cover
    them."""

    NOTHING_YET = "nothing_yet"  # * no stance given
    NO_RELEVANT = "no_relevant"
    SUPPORTED = "supported"
    PARTLY_SUPPORTED = "partly_supported"  # * partial support only
    REFUTED = "refuted"
    REFUTED_OR_PARTLY_SUPPORTED = "refuted_or_partly_supported"
    CONFLICT_REFUTE_STRONGER = "conflict_refute_stronger"
    CONFLICT_SUPPORT_STRONGER = "conflict_support_stronger"
    CONFLICT_TIED = "conflict_tied"


@dataclass(frozen=True, slots=True)
class Hint:
    """What the criteria say. ``text`` is for people; ``kind`` is for tests, styling and logs."""

    kind: HintKind
    text: str

    @property
    def verdict(self) -> Factuality | None:
        """The verdict that these stances imply, to be outlined and never chosen; None if they leave it open."""
        return _VERDICTS.get(self.kind)


_VERDICTS = {
    HintKind.SUPPORTED: Factuality.TRUE,
    HintKind.CONFLICT_SUPPORT_STRONGER: Factuality.TRUE,
    HintKind.REFUTED: Factuality.FALSE,
    HintKind.CONFLICT_REFUTE_STRONGER: Factuality.FALSE,
}

_TEXTS: dict[HintKind, str] = {
    HintKind.NOTHING_YET: "No stances yet: label the passages first.",
    HintKind.NO_RELEVANT: (
        "No passage is relevant to the claim: search again. If nothing turns up, there is not enough evidence."
    ),
    HintKind.SUPPORTED: "The evidence supports the whole claim: no edit needed.",
    HintKind.PARTLY_SUPPORTED: (
        "Only parts of the claim are supported: check whether the passages together cover all of it, "
        "otherwise search for the rest."
    ),
    HintKind.REFUTED: "The evidence refutes the claim: correct each refuted detail.",
    HintKind.REFUTED_OR_PARTLY_SUPPORTED: (
        "Some passages refute, some support a part. Different parts: edit only the refuted one. "
        "The same part: a conflict, weigh number and reliability of the sources."
    ),
}


def hint(stances: Iterable[tuple[StanceLabel, bool | None]]) -> Hint:
    """What appendix C.6 says about a claim with these stances.

    Each item is the stance of one passage and whether its source is reliable (None: not answered, counted as reliable).
    If support and refutation conflict, the criteria ask for number and reliability: passages marked unreliable aren't
    counted, and only stronger refutation calls for an edit.
    """
    judged = list(stances)
    relevant = [(label, reliable) for label, reliable in judged if label != StanceLabel.IRRELEVANT]
    if not judged:
        return _plain(HintKind.NOTHING_YET)
    if not relevant:
        return _plain(HintKind.NO_RELEVANT)

    labels = {label for label, _ in relevant}
    supports = StanceLabel.COMPLETELY_SUPPORT in labels
    refutes = StanceLabel.REFUTE in labels
    if supports and refutes:
        return _conflict(relevant)
    if refutes and StanceLabel.PARTIALLY_SUPPORT in labels:
        kind = HintKind.REFUTED_OR_PARTLY_SUPPORTED
    elif refutes:
        kind = HintKind.REFUTED
    elif supports:
        kind = HintKind.SUPPORTED
    else:
        kind = HintKind.PARTLY_SUPPORTED
    text = _TEXTS[kind]
    if all(reliable is False for _, reliable in relevant):
        text += " But every source that speaks about it is marked unreliable: look for a better one."
    return Hint(kind, text)


def _plain(kind: HintKind) -> Hint:
    return Hint(kind, _TEXTS[kind])


def _conflict(relevant: Sequence[tuple[StanceLabel, bool | None]]) -> Hint:
    """Complete support against refutation: the counts, and which side is stronger."""
    counted = [label for label, reliable in relevant if reliable is not False]
    support = counted.count(StanceLabel.COMPLETELY_SUPPORT)
    refute = counted.count(StanceLabel.REFUTE)
    numbers = f"The evidence conflicts: {support} for the claim, {refute} against it"
    if len(counted) < len(relevant):
        numbers += " (unreliable sources not counted)"
    if refute > support:
        return Hint(
            HintKind.CONFLICT_REFUTE_STRONGER,
            f"{numbers}. Refutation is stronger: edit needed.",
        )
    if support > refute:
        return Hint(
            HintKind.CONFLICT_SUPPORT_STRONGER,
            f"{numbers}. Support is stronger: no edit needed.",
        )
    return Hint(
        HintKind.CONFLICT_TIED,
        f"{numbers}. Neither side is stronger: no edit unless another search tips the balance.",
    )
