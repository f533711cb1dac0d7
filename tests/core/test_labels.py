import pytest

from annotator.core import labels
from annotator.core.vocabulary import Factuality, SentenceType


@pytest.mark.parametrize(
    ("factuality", "truth"),
    [(Factuality.TRUE, True), (Factuality.FALSE, False), (Factuality.NOT_ENOUGH_EVIDENCE, None), ("", None)],
)
def test_claim(factuality, truth):
    assert labels.claim_is_true(factuality) is truth


@pytest.mark.parametrize(
    ("kind", "claims", "truth"),
    [
        (SentenceType.CHECKWORTHY, [True, True], True),
        (SentenceType.CHECKWORTHY, [True, False], False),
        (SentenceType.CHECKWORTHY, [True, None], False),
        (SentenceType.CHECKWORTHY, [], None),
        (SentenceType.OPINION, [True], None),
    ],
)
def test_sentence(kind, claims, truth):
    assert labels.sentence_is_true(kind, claims) is truth


@pytest.mark.parametrize(
    ("sentences", "truth"), [([True, False], False), ([None, True], True), ([None], None), ([], None)]
)
def test_document_as_released(sentences, truth):
    assert labels.document_is_true(sentences) is truth


@pytest.mark.parametrize(
    ("claims", "truth"), [([True, True], True), ([True, False], False), ([True, None], False), ([], None)]
)
def test_document_as_the_paper_counts(claims, truth):
    assert labels.document_is_true_by_claims(claims) is truth
