"""Labels derived from the factuality of claims. They are never stored.

There are two rules for a document because the release and the paper disagree. The released field
``response_factuality`` is based on sentences. The paper's own count (61 false, 31 true, 2 without a label;
Factcheck-Bench section 3.3) is based on claims.
"""

from __future__ import annotations

from collections.abc import Iterable

from annotator.core.vocabulary import ClaimType, Factuality, SentenceType


def claim_is_checked(claim_type: str, worth_checking: bool | None) -> bool:
    """Does a claim go to the verify stage? Yes, if it is factual and not marked as not check-worthy."""
    return claim_type == ClaimType.FACTUAL and worth_checking is not False


def claim_is_true(factuality: str) -> bool | None:
    """True or False; None if undecided or "not enough evidence"."""
    if factuality == Factuality.TRUE:
        return True
    return False if factuality == Factuality.FALSE else None


def sentence_is_true(sentence_type: str, claims: Iterable[bool | None]) -> bool | None:
    """None unless the sentence is check-worthy and has claims; then True only if every claim is true.

    ``claims`` holds one ``claim_is_true`` per claim, opinions included. An undecided claim makes the sentence false, as
    in the release.
    """
    labels = list(claims)
    if sentence_type != SentenceType.CHECKWORTHY or not labels:
        return None
    return all(label is True for label in labels)


def document_is_true(sentences: Iterable[bool | None]) -> bool | None:
    """The released rule: False if a sentence is false, else True if one is true, else None."""
    labels = list(sentences)
    if False in labels:
        return False
    return True if True in labels else None


def document_is_true_by_claims(factual_claims: Iterable[bool | None]) -> bool | None:
    """The paper's rule, over factual claims: False if one is false or undecided, True if all are true, else None."""
    labels = list(factual_claims)
    if any(label is not True for label in labels):
        return False
    return True if labels else None
