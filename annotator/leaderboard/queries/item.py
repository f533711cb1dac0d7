"""One item of the gold with all that was said of it: the raters' own labels, the systems' answers, the evidence."""

from __future__ import annotations

import json
import mmap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import QuerySet

from annotator.core.models import Annotation, Benchmark, Claim, Document, Evidence, Sentence, Stance, User, Verdict
from annotator.core.queries.gold import GoldScope, adjudicated
from annotator.core.released_labels import is_remark
from annotator.core.vocabulary import AnnotationKind, AnnotationState, SentenceType, Stage
from annotator.leaderboard.models import Evaluation
from annotator.leaderboard.queries.evaluations import evaluations_for
from annotator.leaderboard.queries.scoring import gold_fingerprint
from annotator.leaderboard.scoring.label_sets import NO, YES, Undetermined, three
from annotator.leaderboard.scoring.tasks import Options, Task, factuality

# Tasks with one label an item, which people gave, too.
TASKS = (Task.SENTENCE_CHECKWORTHINESS, Task.CLAIM_CHECKWORTHINESS, Task.STANCE, Task.CLAIM_FACTUALITY)
MAX_SYSTEMS = 100


@dataclass(frozen=True, slots=True)
class Rating:
    """What one person said on their own; ``label`` "" where they have no such row, or left it open. ``independent``
    false: it was changed after seeing a partner's work."""

    person: User
    label: str
    independent: bool


@dataclass(frozen=True, slots=True)
class SystemAnswer:
    """What a system said. ``gold`` is the label that it is compared with under its options, "" where that excludes the
    item; ``answer`` is None where the system gave none."""

    evaluation: Evaluation
    gold: str
    answer: str | None

    @property
    def is_right(self) -> bool:
        return self.answer == self.gold


@dataclass(frozen=True, slots=True)
class ItemPassage:
    """A passage of the claim with the adjudicated stance, "" for none, and the stance of each rater who gave one."""

    passage: Evidence
    stance: str
    ratings: Sequence[Rating]


@dataclass(frozen=True, slots=True)
class GoldItem:
    """An item of a task. ``context`` is the sentence of a claim, or the claim of a passage."""

    task: Task
    key: str
    document: Document
    text: str
    context: str
    claim: Claim | None
    gold: str
    raters: Sequence[Rating]
    systems: Sequence[SystemAnswer]
    evidence: Sequence[ItemPassage]


def item_of(user: User, benchmark: Benchmark, task: Task, key: str) -> GoldItem | None:
    """The item of this id, None where the gold has none; at most fourteen queries, however many rows and systems."""
    row = _row(benchmark, task, key)
    if row is None:
        return None
    claim = row if isinstance(row, Claim) else row.claim if isinstance(row, Evidence) else None
    sentence = row if isinstance(row, Sentence) else claim.sentence if claim else None
    assert sentence is not None
    document = sentence.annotation.document
    work = _work(document)
    raw, sources = _said(row, task)
    passages: Sequence[ItemPassage] = ()
    if task == Task.CLAIM_FACTUALITY and claim is not None:
        passages = _passages(claim, work[Stage.VERIFY])
    text = row.passage if isinstance(row, Evidence) else row.text
    stage = Stage.DECOMPOSE if task in TASKS[:2] else Stage.VERIFY
    return GoldItem(
        task,
        key,
        document,
        text,
        "" if isinstance(row, Sentence) else sentence.text if isinstance(row, Claim) else row.claim.text,
        claim,
        label_in(task, raw),
        _ratings(work[stage], {person: label_in(task, label) for person, label in sources.items()}),
        _systems(user, benchmark, task, key, raw),
        passages,
    )


def label_in(task: Task, raw: str, options: Options | None = None) -> str:
    """A stored label as the task asks it; "" for none, and where the options leave it out."""
    options = options or Options(undetermined=Undetermined.OWN_LABEL)
    if not raw or task == Task.CLAIM_CHECKWORTHINESS:
        return raw
    if task == Task.SENTENCE_CHECKWORTHINESS:
        return YES if raw == SentenceType.CHECKWORTHY else NO
    if task == Task.STANCE:
        spelled = raw.replace("_", "-")
        return three(spelled) if options.stance_labels == 3 else spelled
    return factuality(raw, options.undetermined) or ""


# --- what people said -----------------------------------------------------------------------------


def _row(benchmark: Benchmark, task: Task, key: str) -> Any:
    """The adjudicated sentence, claim or passage of this id with its document, None where it is not in the gold."""
    scope = GoldScope(benchmark)
    rows: QuerySet[Any]
    if task == Task.SENTENCE_CHECKWORTHINESS:
        rows = scope.sentences().select_related("annotation__document")
    elif task == Task.STANCE:
        rows = scope.retrieved().select_related("claim__sentence__annotation__document")
    else:
        rows = scope.claims().select_related("sentence__annotation__document")
    return rows.filter(public_id=key).first()


def _said(row: Any, task: Task) -> tuple[str, dict[int, str]]:
    """The adjudicated label, and each person's by primary key, read off the rows that it was made from."""
    if isinstance(row, Sentence):
        return row.type, dict(row.sources.values_list("annotation__person", "type"))
    if task == Task.CLAIM_CHECKWORTHINESS:
        return row.type, dict(row.sources.values_list("sentence__annotation__person", "type"))
    if task == Task.STANCE:
        return _of_stage(Stance.objects.filter(evidence=row.pk), "label")
    return _of_stage(Verdict.objects.filter(claim=row.pk), "factuality")


def _of_stage(rows: QuerySet[Any], field: str) -> tuple[str, dict[int, str]]:
    """Of rows of the verify stage: all people labeled the same claim, or the same passage."""
    gold = rows.filter(adjudicated(Stage.VERIFY, "annotation__")).values_list(field, flat=True).first() or ""
    own = rows.filter(annotation__kind=AnnotationKind.INDIVIDUAL, annotation__state=AnnotationState.SUBMITTED)
    return gold, dict(own.values_list("annotation__person", field))


def _work(document: Document) -> Mapping[str, Sequence[Annotation]]:
    """Who labeled the document, by stage."""
    found: dict[str, list[Annotation]] = defaultdict(list)
    rows = document.annotations.filter(kind=AnnotationKind.INDIVIDUAL, state=AnnotationState.SUBMITTED)
    for row in rows.select_related("person").order_by("seat", "pk"):
        found[row.stage].append(row)
    return found


def _ratings(work: Sequence[Annotation], labels: Mapping[int, str]) -> list[Rating]:
    return [
        Rating(each.person, labels.get(each.person.pk, ""), each.independent)
        for each in work
        if each.person is not None
    ]


def _passages(claim: Claim, work: Sequence[Annotation]) -> list[ItemPassage]:
    rows = claim.evidence.filter(removed="").select_related("annotation").order_by("order", "pk")
    # Of what people added the adjudicated copy alone; notes in place of a passage are none.
    passages = [
        row
        for row in rows
        if row.annotation is None
        or (row.annotation.kind == AnnotationKind.CONSOLIDATED and not is_remark(row.passage, row.url))
    ]
    stances: dict[int, dict[int | None, str]] = defaultdict(dict)
    said = Stance.objects.filter(evidence__in=passages, annotation__state=AnnotationState.SUBMITTED).exclude(label="")
    for passage, person, label in said.values_list("evidence", "annotation__person", "label"):
        stances[passage][person] = label  # the adjudicated one is nobody's
    return [
        ItemPassage(
            row,
            stances[row.pk].get(None, ""),
            [
                each
                for each in _ratings(work, {p: s for p, s in stances[row.pk].items() if p is not None})
                if each.label
            ],
        )
        for row in passages
    ]


# --- what systems said ----------------------------------------------------------------------------


def _systems(user: User, benchmark: Benchmark, task: Task, key: str, raw: str) -> list[SystemAnswer]:
    """The newest systems that were scored on this task against today's gold, in the order of their names."""
    rows = evaluations_for(user, benchmark).filter(task=task, result__isnull=False, gold=gold_fingerprint(benchmark))
    found = []
    for each in rows.defer("result", "problems", "counts")[:MAX_SYSTEMS]:
        gold = label_in(task, raw, Options.of(each.options))
        kept = _kept(each, key) if gold else None
        found.append(SystemAnswer(each, gold, kept["predicted"] if kept else gold or None))
    return sorted(found, key=lambda each: each.evaluation.system.casefold())


def _kept(evaluation: Evaluation, key: str) -> Mapping[str, Any] | None:
    """The line about this item among those that a file did not get right; None where it got it right."""
    if not evaluation.errors or not Path(evaluation.errors.path).exists():
        return None
    with (
        Path(evaluation.errors.path).open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        start = content.find(f'{{"id": {json.dumps(key)},'.encode())
        if start < 0:
            return None
        content.seek(start)
        found: dict[str, Any] = json.loads(content.readline())
        return found
