"""The plain rows that statistics are counted over: a gold document with its sentences, claims and verdicts.

Labels are words of ``annotator.core.vocabulary``, "" where none was given. No texts but the two that are compared, and
passages only counted: there are too many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotator.core import labels
from annotator.core.vocabulary import ClaimType, Factuality

PASSAGES = 5  # as many as the paper retrieved for each claim


@dataclass(frozen=True, slots=True)
class GoldClaimRow:
    """One adjudicated claim. ``sufficient``: is the automatically retrieved evidence sufficient? None: not answered.

    ``stances`` counts those on passages that were found automatically, by label; ``added`` the passages that people
    added, ``remarks`` what they wrote instead of one ("Not sure.").
    """

    type: str = ClaimType.FACTUAL
    worth_checking: bool | None = True
    importance: str = ""
    sufficient: bool | None = None
    factuality: str = ""
    stances: Mapping[str, int] = field(default_factory=dict)
    added: int = 0
    remarks: int = 0

    @property
    def is_checked(self) -> bool:
        """As ``annotator.core.models.Claim.is_checked``: a checkworthy claim in the words of the paper."""
        return labels.claim_is_checked(self.type, self.worth_checking)

    @property
    def is_true(self) -> bool | None:
        """Of a claim that is not checked, and of one that could not be decided: None."""
        return labels.claim_is_true(self.factuality) if self.is_checked else None

    @property
    def is_false(self) -> bool:
        return self.is_true is False

    @property
    def is_undetermined(self) -> bool:
        """Checked, and found to have not enough evidence."""
        return self.is_checked and self.factuality == Factuality.NOT_ENOUGH_EVIDENCE


@dataclass(frozen=True, slots=True)
class GoldSentenceRow:
    """One adjudicated sentence; ``deleted``: the revision omits it."""

    type: str
    importance: str = ""
    deleted: bool = False
    claims: Sequence[GoldClaimRow] = ()

    @property
    def is_true(self) -> bool | None:
        return labels.sentence_is_true(self.type, (claim.is_true for claim in self.claims))


@dataclass(frozen=True, slots=True)
class GoldDocumentRow:
    """One gold document with the response as it was and as it was revised; ``model`` wrote it."""

    source: str = ""
    model: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    response: str = ""
    revised: str = ""
    sentences: Sequence[GoldSentenceRow] = ()

    @property
    def claims(self) -> list[GoldClaimRow]:
        return [claim for sentence in self.sentences for claim in sentence.claims]

    @property
    def is_true(self) -> bool | None:
        """By the rule of the released field ``response_factuality``; see ``annotator.core.labels``."""
        return labels.document_is_true(sentence.is_true for sentence in self.sentences)

    @property
    def is_true_by_claims(self) -> bool | None:
        """By the rule behind the paper's own count."""
        return labels.document_is_true_by_claims(claim.is_true for claim in self.claims if claim.is_checked)
