"""A document checked by a strategy from end to end, without people in between: to measure strategies, and to score
answers that nobody labeled."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from annotator.core.vocabulary import Factuality, Stage
from pipeline.strategies.base import Strategy
from pipeline.suggestions import (
    CheckedClaim,
    ClaimText,
    Decomposition,
    DocumentText,
    SuggestedClaim,
    SuggestedRevision,
    Verification,
)
from pipeline.together import together
from pipeline.tools import Tools


@dataclass(frozen=True, slots=True)
class Whole:
    """What a strategy says of a document. ``verified``: the check-worthy claims, in order, each with what was found.
    ``counts``: those of all three stages together, for the strategy's formula."""

    decomposition: Decomposition
    verified: tuple[tuple[SuggestedClaim, Verification], ...]
    revision: SuggestedRevision | None
    counts: dict[str, int]


async def check(strategy: Strategy, document: DocumentText, tools: Tools) -> Whole:
    """Decompose the document, verify every check-worthy claim, all at once, and revise the response where the
    strategy does. Raises what the strategy's stages raise."""
    decomposition = await strategy.decompose(document, tools)
    chosen = [
        (claim, ClaimText(claim.text, sentence.text, claim.prejudgement))
        for sentence in decomposition.sentences
        for claim in sentence.claims
        if claim.worth_checking is not False
    ]
    found = await together(strategy.verify(text, document, tools) for _, text in chosen)
    verified = tuple(zip((claim for claim, _ in chosen), found, strict=True))
    revision = None
    if Stage.REVISE in strategy.stages:
        revision = await strategy.revise(document, [_checked(*each) for each in verified], tools)
    counts = Counter(decomposition.counts)
    for each in found:
        counts.update(each.counts)
    if revision is not None:
        counts.update(revision.counts)
    return Whole(decomposition, verified, revision, dict(counts))


def _checked(claim: SuggestedClaim, verification: Verification) -> CheckedClaim:
    verdict = verification.verdict
    factuality = verdict.factuality if verdict else None
    if verdict is not None and verdict.correction is not None:
        return CheckedClaim(claim.text, factuality, verdict.correction)
    return CheckedClaim(claim.text, factuality, "" if factuality == Factuality.FALSE else claim.text)
