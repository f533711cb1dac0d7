"""Counts gold documents for the figures of Factcheck-Bench section 3.3, one document at a time, so that memory doesn't
grow with the benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from annotator.core.labels import claim_is_true
from annotator.core.vocabulary import Labelled, SentenceType
from annotator.measures.statistics.rows import PASSAGES, GoldClaimRow, GoldDocumentRow, GoldSentenceRow
from pipeline.metrics.text import edit_distance, word_overlap

MANY_FALSE = 5  # the paper reports "more than five false claims" (section 3.3)


class Rule(Labelled):
    """When a response counts as false; see ``annotator.core.labels``."""

    PAPER = "paper", "The paper’s count"
    RELEASED = "released", "The released field"


@dataclass(slots=True)
class SourceFigures:
    """Documents of one source: gold ones, and those that are false by each rule (Table 2)."""

    annotated: int = 0
    false: Counter[Rule] = field(default_factory=Counter)


@dataclass(slots=True)
class RevisionFigures:
    """Sums over false documents of the distance between the revised and the original response."""

    documents: int = 0
    edit_distance: float = 0.0
    word_overlap: float = 0.0

    @property
    def mean_edit_distance(self) -> float | None:
        return self.edit_distance / self.documents if self.documents else None

    @property
    def mean_word_overlap(self) -> float | None:
        return self.word_overlap / self.documents if self.documents else None


@dataclass(slots=True)
class GoldFigures:
    """All counts. Labels that don't occur aren't in the counters; "" counts unanswered questions."""

    documents: int = 0
    words: int = 0
    truth: dict[Rule, Counter[bool | None]] = field(default_factory=lambda: {rule: Counter() for rule in Rule})
    with_false_claim: int = 0
    with_undetermined_claim: int = 0
    false_claims: Counter[int] = field(default_factory=Counter)
    sources: dict[str, SourceFigures] = field(default_factory=dict)
    revision: dict[Rule, RevisionFigures] = field(default_factory=lambda: {rule: RevisionFigures() for rule in Rule})

    sentences: Counter[int] = field(default_factory=Counter)
    sentence_type: Counter[str] = field(default_factory=Counter)
    sentence_importance: Counter[str] = field(default_factory=Counter)
    sentence_truth: Counter[bool | None] = field(default_factory=Counter)
    claims: Counter[int] = field(default_factory=Counter)
    claims_of_checkworthy: Counter[int] = field(default_factory=Counter)
    deleted: int = 0
    deleted_undetermined: int = 0

    claim_type: Counter[str] = field(default_factory=Counter)
    claim_importance: Counter[str] = field(default_factory=Counter)
    checked: int = 0
    sufficient: Counter[bool | None] = field(default_factory=Counter)
    # The verdicts on checked claims, and on those that retrieved evidence couldn't decide.
    factuality: Counter[str] = field(default_factory=Counter)
    factuality_unsettled: Counter[str] = field(default_factory=Counter)

    # For passages of checked claims: stances by (was retrieved evidence sufficient, label).
    stances: Counter[tuple[bool | None, str]] = field(default_factory=Counter)
    claims_with_five_stances: int = 0
    added: int = 0
    insufficient_without_added: int = 0
    sufficient_with_added: int = 0

    @property
    def number_of_sentences(self) -> int:
        return self.sentence_type.total()

    @property
    def number_of_claims(self) -> int:
        return self.claim_type.total()

    @property
    def checkworthy_sentences(self) -> int:
        return self.sentence_type[SentenceType.CHECKWORTHY]

    @property
    def over_many_false(self) -> int:
        """Documents with more than five false claims."""
        return sum(number for claims, number in self.false_claims.items() if claims > MANY_FALSE)

    @property
    def mean_words(self) -> float | None:
        """Mean number of whitespace tokens per response (Table 8)."""
        return self.words / self.documents if self.documents else None

    def add(self, document: GoldDocumentRow) -> None:
        """Counts one more document."""
        claims = document.claims
        false = sum(claim.is_false for claim in claims)
        truth = {Rule.PAPER: document.is_true_by_claims, Rule.RELEASED: document.is_true}
        self.documents += 1
        self.words += len(document.response.split())
        self.with_false_claim += false > 0
        self.with_undetermined_claim += any(claim.is_undetermined for claim in claims)
        self.false_claims[false] += 1
        self.sentences[len(document.sentences)] += 1
        source = self.sources.setdefault(document.source, SourceFigures())
        source.annotated += 1
        false_by = [rule for rule, is_true in truth.items() if is_true is False]
        source.false.update(false_by)
        for rule, is_true in truth.items():
            self.truth[rule][is_true] += 1
        self._compare(document, false_by)
        for sentence in document.sentences:
            self._add_sentence(sentence)
        for claim in claims:
            self._add_claim(claim)

    def _compare(self, document: GoldDocumentRow, rules: list[Rule]) -> None:
        if not rules:
            return
        distance = edit_distance(document.response, document.revised)
        overlap = word_overlap(document.response, document.revised)
        for rule in rules:
            self.revision[rule].documents += 1
            self.revision[rule].edit_distance += distance
            self.revision[rule].word_overlap += overlap

    def _add_sentence(self, sentence: GoldSentenceRow) -> None:
        self.sentence_type[sentence.type] += 1
        self.sentence_importance[sentence.importance] += 1
        self.sentence_truth[sentence.is_true] += 1
        self.claims[len(sentence.claims)] += 1
        if sentence.type == SentenceType.CHECKWORTHY:
            self.claims_of_checkworthy[len(sentence.claims)] += 1
        if sentence.deleted:
            self.deleted += 1
            has_false = any(claim.is_false for claim in sentence.claims)
            self.deleted_undetermined += not has_false and any(claim.is_undetermined for claim in sentence.claims)

    def _add_claim(self, claim: GoldClaimRow) -> None:
        self.claim_type[claim.type] += 1
        self.claim_importance[claim.importance] += 1
        if not claim.is_checked:
            return
        self.checked += 1
        self.sufficient[claim.sufficient] += 1
        self.factuality[claim.factuality] += 1
        if claim.sufficient is False:
            self.factuality_unsettled[claim.factuality] += 1
        self._add_passages(claim)

    def _add_passages(self, claim: GoldClaimRow) -> None:
        for label, number in claim.stances.items():
            self.stances[claim.sufficient, label] += number
        self.claims_with_five_stances += sum(claim.stances.values()) == PASSAGES
        self.added += claim.added
        self.insufficient_without_added += claim.sufficient is False and not claim.added + claim.remarks
        self.sufficient_with_added += claim.sufficient is True and claim.added + claim.remarks > 0


def count(documents: Iterable[GoldDocumentRow]) -> GoldFigures:
    """The figures of these documents."""
    figures = GoldFigures()
    for document in documents:
        figures.add(document)
    return figures


def truths(factuality: Counter[str]) -> Counter[bool | None]:
    """Verdicts as true, false, or None for neither."""
    found: Counter[bool | None] = Counter()
    for word, number in factuality.items():
        found[claim_is_true(word)] += number
    return found
