"""Claims that a model extracted, hung on the sentences that the rules cut.

VeriScore and FastFact know verifiable claims and nothing else: what a sentence without any is (an opinion, talk,
advice) they do not say, nor what matters more. There the rules speak, except that they may not call a sentence
checkworthy in which the model found nothing to check.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from annotator.core.vocabulary import ClaimType, Importance, SentenceType
from pipeline.checkworthiness.heuristics import Weights, claim_labels, sentence_importance
from pipeline.suggestions import Prejudgement, SuggestedClaim, SuggestedSentence


@dataclass(frozen=True, slots=True)
class Extracted:
    """A claim as a model gave it. ``irrelevant``: it has nothing to do with the question."""

    text: str
    prejudgement: Prejudgement | None = None
    irrelevant: bool = False


def with_claims(
    by_rules: Sequence[SuggestedSentence], claims: Sequence[Sequence[Extracted] | None], prompt: str
) -> tuple[SuggestedSentence, ...]:
    """The sentences with the claims of each; None: the model's answer for it could not be used, it stays as the rules
    have it. A claim that an earlier sentence has already is left out, unless nothing else would be left there."""
    weights = Weights.of(prompt, [sentence.text for sentence in by_rules])
    known: set[str] = set()
    found = []
    for position, (sentence, extracted) in enumerate(zip(by_rules, claims, strict=True)):
        if extracted is None:
            known.update(claim.text for claim in sentence.claims)
            found.append(sentence)
            continue
        alone = {text: replace(each, text=text) for each in extracted if (text := " ".join(each.text.split()))}
        new = [each for text, each in alone.items() if text not in known] or list(alone.values())[:1]
        known.update(alone)
        kind = SentenceType.CHECKWORTHY if new else _without_claims(sentence.type)
        found.append(
            replace(
                sentence,
                type=kind,
                importance=sentence_importance(sentence.decontext, kind, position, weights),
                claims=tuple(_claim(each, position, weights) for each in new),
            )
        )
    return tuple(found)


def _without_claims(by_rules: SentenceType | None) -> SentenceType:
    return SentenceType.OTHER if by_rules is None or by_rules == SentenceType.CHECKWORTHY else by_rules


def _claim(extracted: Extracted, position: int, weights: Weights) -> SuggestedClaim:
    """Verifiable claims are factual and check-worthy; those unrelated to the question are less important."""
    by_rules = claim_labels(extracted.text, position, weights)
    return SuggestedClaim(
        text=extracted.text,
        type=ClaimType.FACTUAL,
        worth_checking=True,
        importance=Importance.LESS if extracted.irrelevant else by_rules.importance,
        prejudgement=extracted.prejudgement,
    )
