"""Annotators' accuracy against gold: a person's work on a copy of a gold document compared with the gold.

Labels are counted as right or not. Texts have many right forms and are only shown. At decompose, claims are matched as
in adjudication; at verify and revise, where each person works on their own claims, by text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Prefetch

from annotator.core.definitions import Definition, topics
from annotator.core.models import (
    Annotation,
    Claim,
    EditOperation,
    Guidelines,
    ResponseRevision,
    Sentence,
    SentenceRevision,
    Stance,
    Verdict,
)
from annotator.core.vocabulary import STAGES, AnnotationKind, AnnotationState, Factuality, Stage, StanceLabel
from annotator.stages.comparison import decomposition
from annotator.stages.comparison.comparison import ABSENT, FieldRow, label_row, same_text
from annotator.stages.comparison.decomposition import aligned_sentences
from pipeline.metrics.alignment import PrecisionRecall, align
from pipeline.metrics.claim_matching import match_claims
from pipeline.metrics.text import word_overlap

# Passages are retrieved, not written, so the same passage differs only a little, at its ends.
SAME_PASSAGE = 0.9


@dataclass(slots=True)
class FieldScore:
    """How often a label equaled the gold's. ``gold``: how often the gold has each label; empty for texts."""

    label: str
    right: int = 0
    total: int = 0
    gold: Counter[Any] = field(default_factory=Counter)

    @property
    def percent(self) -> int:
        return round(100 * self.right / self.total) if self.total else 0


@dataclass(frozen=True, slots=True)
class LabelDifference:
    """Where a person and the gold differ. ``field`` is the question ("claim:type"), "" if none was asked;
    ``definition`` explains the gold's label."""

    about: str
    field: str
    label: str
    theirs: str
    gold: str
    definition: Definition | None = None


@dataclass(slots=True)
class Score:
    """One stage against gold. ``claims``: matched with the gold's; ``overlap``: of the revised responses, by words."""

    stage: Stage
    fields: dict[str, FieldScore] = field(default_factory=dict)
    differences: list[LabelDifference] = field(default_factory=list)
    texts: list[LabelDifference] = field(default_factory=list)
    claims: PrecisionRecall | None = None
    overlap: float | None = None

    @property
    def right(self) -> int:
        return sum(each.right for each in self.fields.values())

    @property
    def total(self) -> int:
        return sum(each.total for each in self.fields.values())

    @property
    def percent(self) -> int:
        """Labels that equal the gold's."""
        return round(100 * self.right / self.total) if self.total else 0

    @property
    def claims_percent(self) -> int:
        return round(100 * self.claims.f1) if self.claims else 0

    @property
    def overlap_percent(self) -> int:
        return round(100 * self.overlap) if self.overlap is not None else 0

    def count(self, kind: str, row: FieldRow, about: str) -> None:
        """Count one label, unless one side has none. The gold comes first in the row."""
        gold, theirs = row.values
        if gold in (ABSENT, "") or theirs in (ABSENT, ""):
            return
        name = f"{kind}:{row.name}"
        counted = self.fields.setdefault(name, FieldScore(row.label))
        counted.total += 1
        counted.gold[gold] += 1
        if gold == theirs:
            counted.right += 1
        else:
            self.differences.append(LabelDifference(about, name, row.label, row.words[1], row.words[0]))


def scores_of(annotations: Iterable[Annotation]) -> dict[int, Score]:
    """The scores of submitted annotations on copies (with their documents), by primary key, except those whose gold is
    no longer adjudicated at that stage. At most nine queries."""
    theirs = list(annotations)
    adjudicated = {
        (row.document_id, row.stage): row.pk
        for row in Annotation.objects.filter(
            document__in={row.document.twin_of_id for row in theirs},
            kind=AnnotationKind.CONSOLIDATED,
            state=AnnotationState.SUBMITTED,
        )
    }
    pairs = [(row, adjudicated.get((row.document.twin_of_id or 0, row.stage), 0)) for row in theirs]
    rows = _ScoredRows([(row.pk, gold, Stage(row.stage)) for row, gold in pairs if gold])
    compare = {Stage.DECOMPOSE: _decomposition, Stage.VERIFY: _verification, Stage.REVISE: _revision}
    return {row.pk: compare[Stage(row.stage)](rows, gold, row.pk) for row, gold in pairs if gold}


class _ScoredRows:
    """The contents of several annotations, read at once."""

    def __init__(self, pairs: Sequence[tuple[int, int, Stage]]) -> None:
        wanted = {stage: {pk for *both, each in pairs if each == stage for pk in both} for stage in STAGES}
        self.sentences: dict[int, list[Sentence]] = defaultdict(list)
        self.verdicts: dict[int, list[Verdict]] = defaultdict(list)
        self.stances: dict[tuple[int, int], list[Stance]] = defaultdict(list)
        self.revisions: dict[int, list[SentenceRevision]] = defaultdict(list)
        self.responses: dict[int, str] = {}
        if wanted[Stage.DECOMPOSE]:
            claims = Prefetch("claims", Claim.objects.order_by("order", "pk"))
            sentences = Sentence.objects.filter(annotation__in=wanted[Stage.DECOMPOSE], removed="")
            for sentence in sentences.prefetch_related(claims).order_by("order", "pk"):
                self.sentences[sentence.annotation_id].append(sentence)
        if wanted[Stage.VERIFY]:
            verdicts = Verdict.objects.filter(annotation__in=wanted[Stage.VERIFY], claim__removed="")
            edits = Prefetch("operations", EditOperation.objects.order_by("order"))
            verdicts = verdicts.select_related("claim").prefetch_related(edits)
            for verdict in verdicts.order_by("claim__sentence__order", "claim__order", "pk"):
                if verdict.claim.is_checked:
                    self.verdicts[verdict.annotation_id].append(verdict)
            stances = Stance.objects.filter(annotation__in=wanted[Stage.VERIFY], evidence__removed="")
            for stance in stances.select_related("evidence").order_by("evidence__order", "pk"):
                self.stances[stance.annotation_id, stance.evidence.claim_id].append(stance)
        if wanted[Stage.REVISE]:
            revisions = SentenceRevision.objects.filter(annotation__in=wanted[Stage.REVISE], sentence__removed="")
            for revision in revisions.select_related("sentence").order_by("sentence__order", "pk"):
                self.revisions[revision.annotation_id].append(revision)
            responses = ResponseRevision.objects.filter(annotation__in=wanted[Stage.REVISE])
            self.responses = dict(responses.values_list("annotation_id", "text"))


def _decomposition(rows: _ScoredRows, gold: int, theirs: int) -> Score:
    score = Score(Stage.DECOMPOSE)
    comparison = decomposition.compare([rows.sentences[gold], rows.sentences[theirs]], {})
    for item in comparison.items:
        in_gold, in_theirs = (" / ".join(texts) for texts in item.texts)
        for row in item.fields:
            if row.kind == "label":
                score.count(item.kind, row, in_gold)
            elif row.kind == "take" and ABSENT not in row.values:
                score.differences.append(LabelDifference("", "claim:text", "Claim", in_theirs, in_gold))
            elif row.kind == "whole":
                asked = "claim:text" if row.name == "split" else ""
                score.differences.append(LabelDifference("", asked, row.label, in_theirs, in_gold))
            elif row.kind == "text" and row.is_shared and not row.is_unanimous:
                score.texts.append(
                    LabelDifference("", f"{item.kind}:{row.name}", row.label, row.words[1], row.words[0])
                )
    matched = comparison.similarities[0, 1]
    score.claims = PrecisionRecall(len(matched), comparison.claim_counts[1], comparison.claim_counts[0])
    return score


def _verification(rows: _ScoredRows, gold: int, theirs: int) -> Score:
    score = Score(Stage.VERIFY)
    first, second = rows.verdicts[gold], rows.verdicts[theirs]
    matches = match_claims([row.claim.text for row in first], [row.claim.text for row in second])
    score.claims = PrecisionRecall(len(matches), len(second), len(first))
    for match in matches:
        one, other = first[match.first], second[match.second]
        said: list[Any] = [one.factuality, other.factuality]
        score.count("verdict", label_row("", "factuality", "Factuality", said, Factuality, {}), other.claim.text)
        if one.factuality == other.factuality == Factuality.FALSE:
            mended = [same_text(each.revised_claim()) or "Delete the claim" for each in (one, other)]
            if mended[0] != mended[1]:
                score.texts.append(LabelDifference("", "verdict:operations", "Edit", mended[1], mended[0]))
        passages = rows.stances[gold, one.claim_id], rows.stances[theirs, other.claim_id]
        texts = [[each.evidence.passage for each in stances] for stances in passages]
        for same in align(*texts, threshold=SAME_PASSAGE):
            said = [passages[0][same.first].label, passages[1][same.second].label]
            score.count("stance", label_row("", "label", "Stance", said, StanceLabel, {}), texts[1][same.second])
    return score


def _revision(rows: _ScoredRows, gold: int, theirs: int) -> Score:
    score = Score(Stage.REVISE)
    revisions = {row.sentence_id: row for row in (*rows.revisions[gold], *rows.revisions[theirs])}
    versions = [[row.sentence for row in rows.revisions[each]] for each in (gold, theirs)]
    counted = FieldScore("Revised sentence (exact match)")
    for first, second in aligned_sentences(versions):
        if len(first) != 1 or len(second) != 1:
            continue
        one, other = revisions[first[0].pk], revisions[second[0].pk]
        wanted, said = ("" if row.deleted else same_text(row.text) for row in (one, other))
        counted.total += 1
        counted.right += wanted == said
        if wanted != said:
            shown = [each or "Delete the sentence" for each in (said, wanted)]
            score.texts.append(
                LabelDifference(other.sentence.text, "sentence-revision:text", "Sentence", shown[0], shown[1])
            )
    if counted.total:
        score.fields["sentence-revision:text"] = counted
    score.overlap = word_overlap(rows.responses.get(gold, ""), rows.responses.get(theirs, ""))
    return score


# --- what a newcomer reads ------------------------------------------------------------------------


def explained(
    differences: Sequence[LabelDifference], stage: Stage, guidelines: Guidelines | None
) -> list[LabelDifference]:
    """The differences with the definition of the gold's label from the guidelines (no query)."""
    found = {name: topic for topic in topics(stage, guidelines.text if guidelines else "") for name in topic.fields}
    explained: list[LabelDifference] = []
    for each in differences:
        topic = found.get(each.field)
        definition = topic.definition if topic else None
        if topic is not None:
            answer = each.gold.rpartition(": ")[2].casefold()  # "No: commonsense" is defined as "Commonsense"
            definition = next((label for label in topic.labels if label.title.casefold() == answer), definition)
        explained.append(LabelDifference(each.about, each.field, each.label, each.theirs, each.gold, definition))
    return explained
