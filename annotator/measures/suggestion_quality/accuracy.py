"""Suggestions compared with the gold, step by step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from annotator.core.labels import claim_is_checked
from annotator.core.vocabulary import Factuality, SentenceType, StanceLabel
from annotator.measures.suggestion_quality.measures import MEASURES
from annotator.measures.suggestion_quality.rows import (
    ComparedClaim,
    ComparedDocument,
    ComparedSentence,
    Maker,
    SuggestedLabels,
)
from pipeline.metrics.agreement import Estimate, ratio_estimate
from pipeline.metrics.alignment import align, match_score
from pipeline.metrics.decomposition import SAME, apart_in_order, pair_sentences, same_cuts
from pipeline.metrics.labelling import LabelledSpan, labelling
from pipeline.metrics.text import edit_distance, word_overlap

# Complete and partial support as one: the paper's three labels.
THREE = {StanceLabel.PARTIALLY_SUPPORT.value: StanceLabel.COMPLETELY_SUPPORT.value}


@dataclass(frozen=True, slots=True)
class AccuracyFigure:
    """A measure with its numbers of items and documents. ``baseline``: what a trivial suggester scores on the same
    items; None for measures that have none."""

    estimate: Estimate
    items: int
    documents: int
    baseline: Estimate | None = None


@dataclass(slots=True)
class Observed:
    """The counts of one maker. ``shares``: by measure (document, numerator, denominator, items); ``trivial``: those of
    its trivial baseline, without items; ``labels``: by field."""

    documents: set[int] = field(default_factory=set)
    shares: dict[str, list[tuple[int, float, float, int]]] = field(default_factory=lambda: defaultdict(list))
    trivial: dict[str, list[tuple[int, float, float]]] = field(default_factory=lambda: defaultdict(list))
    labels: dict[str, list[LabelledSpan]] = field(default_factory=lambda: defaultdict(list))

    def share(self, name: str, document: int, above: float, below: float, items: int | None = None) -> None:
        """``items``: the number of items that the denominator stands for, if different."""
        if below:
            self.shares[name].append((document, above, below, int(below) if items is None else items))
            self.documents.add(document)

    def label(self, name: str, document: int, gold: str, predicted: str) -> None:
        """Counted if both are given."""
        if gold and predicted:
            self.labels[name].append(LabelledSpan(document, gold, predicted))
            self.documents.add(document)

    def texts(self, name: str, document: int, found: str, gold: str, unchanged: str | None = None) -> None:
        """The distance of a text from the gold's, and as the baseline that of the text it was made from."""
        self.share(f"{name}_edit_distance", document, edit_distance(found.strip(), gold.strip()), 1)
        self.share(f"{name}_word_overlap", document, word_overlap(found, gold), 1)
        if unchanged is not None:
            distance, overlap = edit_distance(unchanged.strip(), gold.strip()), word_overlap(unchanged, gold)
            self.trivial[f"{name}_edit_distance"].append((document, distance, 1))
            self.trivial[f"{name}_word_overlap"].append((document, overlap, 1))

    def figures(self) -> dict[str, AccuracyFigure]:
        """Every measure with any data, in the order of the steps."""
        found: dict[str, AccuracyFigure] = {}
        for name, rows in self.shares.items():
            estimate = ratio_estimate([(document, above, below) for document, above, below, _ in rows])
            if estimate is not None:
                items, documents = sum(row[3] for row in rows), len({row[0] for row in rows})
                found[name] = AccuracyFigure(estimate, items, documents, ratio_estimate(self.trivial[name]))
        for name, items_with_labels in self.labels.items():
            scores = labelling(items_with_labels)
            documents = len({item.cluster for item in items_with_labels})
            for part in ("accuracy", "precision", "recall", "f1"):
                estimate, baseline = getattr(scores, part), getattr(scores.constant, part)
                if estimate is not None:
                    found[f"{name}_{part}"] = AccuracyFigure(estimate, len(items_with_labels), documents, baseline)
        return {name: found[name] for name in MEASURES if name in found}

    def confusions(self) -> dict[str, dict[str, dict[str, int]]]:
        """By field with labels: how often the gold has one label and the suggestion another."""
        return {name: labelling(items, resamples=0).confusion for name, items in self.labels.items()}


def observe(documents: Iterable[ComparedDocument], *, threshold: float) -> dict[Maker, Observed]:
    """Each maker's suggestions compared with the gold. Learned suggesters are separate makers, scored on documents they
    didn't learn from. ``threshold``: the word similarity, 0 to 1, above which two claims match."""
    found: dict[Maker, Observed] = defaultdict(Observed)
    for document in documents:
        for maker, suggested in document.suggested.items():
            seen = _Seen(found, maker, document)
            if suggested.decompositions:
                seen.decomposition(suggested.decompositions[max(suggested.decompositions)], threshold)
            seen.evidence(suggested)
            seen.stances(suggested)
            seen.verdicts(suggested)
            seen.revision(suggested)
    return dict(found)


@dataclass(frozen=True, slots=True)
class _Seen:
    """One maker on one document."""

    found: dict[Maker, Observed]
    maker: Maker
    document: ComparedDocument

    @property
    def own(self) -> Observed:
        return self.found[self.maker]

    def label(self, name: str, gold: str, predicted: str, by: str, trained: str) -> None:
        """A label by the strategy, or by a learned suggester that knows ``trained`` and hasn't seen this document."""
        if not by:
            self.own.label(name, self.document.key, gold, predicted)
        elif (trained, by) not in self.document.barred:
            self.found[Maker(by=by)].label(name, self.document.key, gold, predicted)

    def decomposition(self, found: Sequence[ComparedSentence], threshold: float) -> None:
        gold, key = self.document.gold.sentences, self.document.key
        cuts = same_cuts(found, gold)
        self.own.share("cut_precision", key, cuts.matched, cuts.found)
        self.own.share("cut_recall", key, cuts.matched, cuts.gold)
        self.own.share("cut_f1", key, 2 * cuts.matched, cuts.found + cuts.gold, cuts.gold)
        found_claims = [claim for sentence in found for claim in sentence.claims]
        gold_claims = [claim for sentence in gold for claim in sentence.claims]
        gold_texts = [each.text for each in gold_claims]
        score = match_score([each.text for each in found_claims], gold_texts, threshold=threshold)
        self.own.share("claim_precision", key, score.matched, score.found)
        self.own.share("claim_recall", key, score.matched, score.gold)
        self.own.share("claim_f1", key, 2 * score.matched, score.found + score.gold, score.gold)
        whole = match_score([each.text for each in found if each.claims], gold_texts, threshold=threshold)
        self.own.trivial["claim_precision"].append((key, whole.matched, whole.found))
        self.own.trivial["claim_recall"].append((key, whole.matched, whole.gold))
        self.own.trivial["claim_f1"].append((key, 2 * whole.matched, whole.found + whole.gold))
        for sentence, at in zip(gold, pair_sentences(gold, found), strict=True):
            if at is not None:
                self.sentence(sentence, found[at])

    def sentence(self, gold: ComparedSentence, found: ComparedSentence) -> None:
        key = self.document.key
        if gold.decontext.strip() and found.decontext.strip():
            self.own.texts("decontext", key, found.decontext, gold.decontext, unchanged=gold.text)
        self.label("sentence_checkworthy", _yes(gold.type), _yes(found.type), found.by, "sentence_type")
        self.label("sentence_type", gold.type, found.type, found.by, "sentence_type")
        self.own.label("sentence_importance", key, gold.importance, found.importance)
        for match in align([each.text for each in found.claims], [each.text for each in gold.claims], threshold=SAME):
            self.claim(gold.claims[match.second], found.claims[match.first])
        if gold.type != SentenceType.CHECKWORTHY:
            return
        apart = apart_in_order([each.text for each in found.claims], [each.text for each in gold.claims])
        self.own.share("same_number", key, apart is not None, 1)
        self.own.trivial["same_number"].append((key, len(gold.claims) == 1, 1))
        self.own.share("more_claims", key, len(found.claims) > len(gold.claims), 1)
        for distance, overlap in apart or ():
            self.own.share("claim_edit_distance", key, distance, 1)
            self.own.share("claim_word_overlap", key, overlap, 1)

    def claim(self, gold: ComparedClaim, found: ComparedClaim) -> None:
        self.label("claim_type", gold.type, found.type, found.by, "claim_type")
        self.label("claim_checked", _checked(gold), _checked(found), found.by, "claim_type")
        self.own.label("claim_importance", self.document.key, gold.importance, found.importance)

    def evidence(self, suggested: SuggestedLabels) -> None:
        gold, key = self.document.gold, self.document.key
        helps: dict[int, bool] = {}
        for passage, claim in suggested.passages.items():
            stance = gold.stances.get(passage)
            if stance is not None and stance.label:
                kept = stance.label != StanceLabel.IRRELEVANT
                self.own.share("evidence_kept", key, kept, 1)
                helps[claim] = helps.get(claim, False) or kept
        alone = claims_alone(self.document, self.maker)
        for claim, does in helps.items():
            self.own.share("evidence_helps", key, does, 1)
            verdict = gold.verdicts.get(claim)
            if claim in alone and verdict is not None and verdict.sufficient is not None:
                self.own.share("evidence_sufficed", key, verdict.sufficient, 1)

    def stances(self, suggested: SuggestedLabels) -> None:
        for passage, found in suggested.stances.items():
            given = self.document.gold.stances.get(passage)
            gold = given.label if given is not None else ""
            self.label("stance_4", gold, found.label, found.by, "stance")
            self.label("stance_3", THREE.get(gold, gold), THREE.get(found.label, found.label), found.by, "stance")

    def verdicts(self, suggested: SuggestedLabels) -> None:
        key = self.document.key
        for claim, found in suggested.verdicts.items():
            gold = self.document.gold.verdicts.get(claim)
            if gold is None:
                continue
            self.own.label("factuality", key, gold.factuality, found.factuality)
            if gold.factuality == Factuality.FALSE and gold.revised is not None:
                self.own.share("correction_offered", key, found.correction is not None, 1)
                if found.correction is not None:
                    self.own.texts("correction", key, found.correction, gold.revised, unchanged=gold.text)

    def revision(self, suggested: SuggestedLabels) -> None:
        gold, key = self.document.gold.response, self.document.key
        if suggested.answer is None or gold is None:
            return
        for name, text in (
            ("revision", suggested.answer.with_prompt),
            ("blind_revision", suggested.answer.without_prompt),
        ):
            if text:
                self.own.texts(name, key, text, gold, unchanged=self.document.response)
        self.own.texts("untouched", key, self.document.response, gold)


def claims_alone(document: ComparedDocument, maker: Maker) -> set[int]:
    """The claims for which only this maker found passages. Only for these do people's judgments of the retrieved
    evidence apply to this maker."""
    others = {
        claim
        for each, suggested in document.suggested.items()
        if each != maker
        for claim in suggested.passages.values()
    }
    return set(document.suggested[maker].passages.values()) - others


def _yes(sentence_type: str) -> str:
    return sentence_type and ("yes" if sentence_type == SentenceType.CHECKWORTHY else "no")


def _checked(claim: ComparedClaim) -> str:
    """Does the claim go on to be checked, like ``Claim.is_checked``?"""
    if not claim.type:
        return ""
    return "yes" if claim_is_checked(claim.type, claim.worth_checking) else "no"
