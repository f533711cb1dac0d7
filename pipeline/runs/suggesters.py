"""Suggesters of a benchmark: trained on its gold, kept as rows, and asked when a run's strategy has no label to give.

No document is judged by a version that learned from it or from the gold it is a copy of: which documents a version
learned from is stored with it. Its scores are cross-validated, so they too are of documents it had not seen.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from django.db import transaction
from django.db.models import Max

from annotator.core.actions.locking import lock_benchmark
from annotator.core.actions.recorder import Action
from annotator.core.models import (
    Benchmark,
    Claim,
    ClaimSuggestion,
    Document,
    Evidence,
    PipelineRun,
    Sentence,
    SentenceSuggestion,
    Stance,
    StanceSuggestion,
)
from annotator.core.queries.gold import GoldScope
from annotator.core.vocabulary import (
    AnnotationKind,
    AnnotationState,
    ClaimType,
    SentenceType,
    Stage,
    StanceLabel,
    SuggesterKind,
)
from annotator.suggestions.actions.suggesters import can_train
from annotator.suggestions.models import TrainedSuggester
from annotator.suggestions.queries.suggesters import has_grown, readiness_of, versions_of
from pipeline.learned.evaluation import THREE_LABELS, Quality, cross_validate
from pipeline.learned.examples import ExampleClaim, ExampleDocument, ExamplePassage, ExampleSentence
from pipeline.learned.suggester import FORMAT, Suggester, train

logger = logging.getLogger(__name__)


# --- training -------------------------------------------------------------------------------------


def benchmarks_to_train() -> list[int]:
    """Benchmarks (primary keys) whose gold has grown by enough since they were last trained; none where the library
    that training needs is not installed."""
    if not can_train():
        return []
    return [benchmark.pk for benchmark in Benchmark.objects.filter(learns=True).order_by("pk") if _due(benchmark)]


def _due(benchmark: Benchmark) -> bool:
    newest: dict[str, TrainedSuggester] = {}
    for version in versions_of(benchmark).filter(format=FORMAT):
        newest.setdefault(version.kind, version)
    return any(
        has_grown(readiness, newest.get(kind), getattr(newest.get(kind), "trained_on", 0))
        for kind, readiness in readiness_of(benchmark).items()
    )


def train_suggesters(benchmark_id: int) -> int:
    """Train each kind for which there is enough gold, as new versions. Returns how many.

    A kind whose newest version learned from exactly this gold is left as it is, so a message delivered twice does no
    harm. Raises MissingLibraryError without scikit-learn.
    """
    benchmark = Benchmark.objects.filter(pk=benchmark_id).first()
    if benchmark is None:
        return 0
    ids = list(GoldScope(benchmark).documents().order_by("pk").values_list("pk", flat=True))
    wanted = [
        (kind, readiness.learnable)
        for kind, readiness in readiness_of(benchmark).items()
        if readiness.is_ready and not _is_trained(benchmark, kind, ids)
    ]
    if not wanted:
        return 0
    documents = read_examples(ids, with_labels=True)
    return sum(_train(benchmark, kind, labels, documents, ids) for kind, labels in wanted)


def _is_trained(benchmark: Benchmark, kind: SuggesterKind, ids: Collection[int]) -> bool:
    newest = newest_version(benchmark, kind)
    return newest is not None and set(newest.documents.values_list("pk", flat=True)) == set(ids)


def _train(
    benchmark: Benchmark, kind: SuggesterKind, labels: Collection[str], documents: list[ExampleDocument], ids: list[int]
) -> bool:
    merges = ({}, THREE_LABELS) if kind == SuggesterKind.STANCE else ({},)
    qualities = cross_validate(kind, documents, merges=merges, labels=labels)
    suggester, _ = train(kind, documents, labels=labels)
    with transaction.atomic():
        lock_benchmark(benchmark.pk)
        if _is_trained(benchmark, kind, ids):
            return False
        last = TrainedSuggester.objects.filter(benchmark=benchmark, kind=kind).aggregate(last=Max("number"))["last"]
        row = TrainedSuggester.objects.create(
            benchmark=benchmark,
            kind=kind,
            number=(last or 0) + 1,
            examples=qualities[0].examples,
            format=FORMAT,
            arrays=suggester.to_bytes(),
            scores=dict(zip(("all", "three"), map(_as_json, qualities), strict=False)),
        )
        row.documents.set(ids)
        figures = f"version {row.number}, {len(ids)} documents, macro-F1 {qualities[0].f1.mean:.3f}"
        Action(name="train-suggester", by=None, benchmark=benchmark, reason=f"{kind.label}: {figures}").write()
    return True


def _as_json(quality: Quality) -> dict[str, object]:
    [report] = quality.reports
    scores, constant = quality.first_seed, quality.first_seed.constant
    assert constant is not None and scores.accuracy is not None and scores.f1 is not None
    assert constant.accuracy is not None and constant.f1 is not None
    return {
        "accuracy": report.accuracy,
        "precision": report.precision,
        "recall": report.recall,
        "f1": report.f1,
        "interval": scores.f1.interval,
        "accuracy_interval": scores.accuracy.interval,
        "calibration_error": quality.calibration_error.mean,
        # Always the most frequent label: what a suggester must beat to be asked.
        "constant_accuracy": constant.accuracy.value,
        "constant_accuracy_interval": constant.accuracy.interval,
        "constant_f1": constant.f1.value,
        "constant_f1_interval": constant.f1.interval,
        "labels": {name: score.f1 for name, score in report.labels.items()},
        "confusion": report.confusion,
    }


# --- suggesting -----------------------------------------------------------------------------------


def suggest_stances(run: PipelineRun, document: Document) -> int:
    """Give the run's evidence that has no stance from the strategy one from the benchmark's suggester. Returns how
    many.

    Call it in the transaction that stores the evidence. Nothing happens where the suggester is off, not yet trained,
    no better than a constant, or learned from this document.
    """
    suggester = suggester_for(run.benchmark, SuggesterKind.STANCE, document)
    if suggester is None:
        return 0
    silent = Evidence.objects.filter(run=run, claim__sentence__annotation__document=document, annotation__isnull=True)
    waiting = set(silent.exclude(stance_suggestions__run=run).values_list("pk", flat=True))
    if not waiting:
        return 0
    version, model = suggester
    examples, rows = _adjudicated_examples([document.pk])[document.pk]
    found = model.suggest(examples)
    made = StanceSuggestion.objects.bulk_create(
        StanceSuggestion(run=run, evidence_id=pk, label=each.label, by=named(version), probability=each.probability)
        for pk, each in zip(rows, found, strict=True)
        if pk in waiting
    )
    return len(made)


def suggest_types(run: PipelineRun, document: Document) -> int:
    """Give the run's sentences and claims that have no type from the strategy one from the benchmark's suggesters.
    Returns how many. Call it in the transaction that stores them; nothing happens where ``suggest_stances`` would not.
    """
    sentences = list(
        SentenceSuggestion.objects.filter(run=run, document=document).prefetch_related("claims").order_by("order")
    )
    example = ExampleDocument(
        key=document.public_id,
        prompt=document.prompt,
        sentences=tuple(
            ExampleSentence(row.text, row.decontext, tuple(ExampleClaim(claim.text) for claim in row.claims.all()))
            for row in sentences
        ),
    )
    claims = [claim for row in sentences for claim in row.claims.all()]
    return _give_types(run, document, SuggesterKind.SENTENCE_TYPE, example, sentences) + _give_types(
        run, document, SuggesterKind.CLAIM_TYPE, example, claims
    )


def _give_types(
    run: PipelineRun,
    document: Document,
    kind: SuggesterKind,
    example: ExampleDocument,
    rows: Sequence[SentenceSuggestion | ClaimSuggestion],
) -> int:
    if all(row.type for row in rows):
        return 0
    suggester = suggester_for(run.benchmark, kind, document)
    if suggester is None:
        return 0
    version, model = suggester
    given = 0
    for row, each in zip(rows, model.suggest(example), strict=True):
        if not row.type:
            row.type, row.type_by = each.label, named(version)
            row.save(update_fields=["type", "type_by"])
            given += 1
    return given


def named(version: TrainedSuggester) -> str:
    """The source of a suggestion, as people read it."""
    return f"Learned from this benchmark's gold, version {version.number}"


def newest_version(benchmark: Benchmark, kind: SuggesterKind) -> TrainedSuggester | None:
    """The newest version of a kind that today's features can read, without its arrays."""
    versions = TrainedSuggester.objects.filter(benchmark=benchmark, kind=kind, format=FORMAT)
    return versions.defer("arrays").order_by("-number").first()


def suggester_for(
    benchmark: Benchmark, kind: SuggesterKind, document: Document
) -> tuple[TrainedSuggester, Suggester] | None:
    """The suggester that may judge a document: the newest version, unless it is switched off, is no better than
    always the same label, or learned from this document (or the gold it is a copy of)."""
    version = newest_version(benchmark, kind) if benchmark.learns else None
    if version is None or version.scores["all"]["f1"] <= version.scores["all"]["constant_f1"]:
        return None
    if version.documents.filter(pk__in=[document.pk, document.twin_of_id or document.pk]).exists():
        return None
    return version, _loaded(version.pk)


@lru_cache(maxsize=6)
def _loaded(pk: int) -> Suggester:
    return Suggester.from_bytes(bytes(TrainedSuggester.objects.values_list("arrays", flat=True).get(pk=pk)))


# --- reading --------------------------------------------------------------------------------------


def read_examples(ids: Iterable[int], *, with_labels: bool) -> list[ExampleDocument]:
    """Documents (primary keys) with their adjudicated sentences and claims and the evidence found for them, in the
    order of the keys; with the adjudicated labels if asked for. A document without an adjudicated decomposition has no
    sentences."""
    wanted = list(ids)
    found = _adjudicated_examples(wanted, with_labels=with_labels)
    return [found[pk][0] for pk in wanted]


def _adjudicated_examples(ids: list[int], *, with_labels: bool = False) -> dict[int, tuple[ExampleDocument, list[int]]]:
    """By document: the example, and the primary keys of its passages in the example's order. Five queries at most."""
    adjudicated = {"kind": AnnotationKind.CONSOLIDATED, "state": AnnotationState.SUBMITTED}
    of_adjudicated = {f"annotation__{name}": value for name, value in adjudicated.items()}
    sentences: dict[int, list[Sentence]] = defaultdict(list)
    claims: dict[int, list[Claim]] = defaultdict(list)
    evidence: dict[int, list[Evidence]] = defaultdict(list)
    stances: dict[int, str] = {}
    rows = Sentence.objects.filter(
        annotation__document__in=ids, annotation__stage=Stage.DECOMPOSE, removed="", **of_adjudicated
    ).select_related("annotation")
    for sentence in rows.order_by("order", "pk"):
        sentences[sentence.annotation.document_id].append(sentence)
    here = {f"sentence__{name}": value for name, value in of_adjudicated.items()}
    for claim in Claim.objects.filter(
        sentence__annotation__document__in=ids, sentence__removed="", removed="", **here
    ).order_by("order", "pk"):
        claims[claim.sentence_id].append(claim)
    passages = Evidence.objects.filter(
        claim__sentence__annotation__document__in=ids, annotation__isnull=True, removed=""
    )
    for passage in passages.order_by("order", "pk"):
        evidence[passage.claim_id].append(passage)
    if with_labels:
        labelled = Stance.objects.filter(annotation__document__in=ids, annotation__stage=Stage.VERIFY, **of_adjudicated)
        stances = dict(labelled.exclude(label="").values_list("evidence_id", "label"))
    result = {}
    for pk, public_id, prompt in Document.objects.filter(pk__in=ids).values_list("pk", "public_id", "prompt"):
        order: list[int] = []
        taken = []
        for sentence in sentences[pk]:
            of_sentence = []
            for claim in claims[sentence.pk]:
                order += [passage.pk for passage in evidence[claim.pk]]
                of_sentence.append(
                    ExampleClaim(
                        text=claim.text,
                        passages=tuple(_passage(each, stances.get(each.pk, "")) for each in evidence[claim.pk]),
                        type=ClaimType(claim.type) if with_labels and claim.type else None,
                    )
                )
            kind = SentenceType(sentence.type) if with_labels and sentence.type else None
            taken.append(ExampleSentence(sentence.text, sentence.decontext, tuple(of_sentence), kind))
        result[pk] = ExampleDocument(public_id, prompt, tuple(taken)), order
    return result


def _passage(row: Evidence, stance: str) -> ExamplePassage:
    return ExamplePassage(
        text=row.passage,
        url=row.url,
        title=row.title,
        score=row.score,
        stance=StanceLabel(stance) if stance else None,
    )
