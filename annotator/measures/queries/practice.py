"""Practice and hidden gold for managers: who practices, who was measured when, what can be added."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Exists, OuterRef

from annotator.core.charts import percent
from annotator.core.gold_copies import practice_gold
from annotator.core.models import Annotation, Benchmark, Document, Flag, User
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Phase, Role, Stage
from annotator.measures.queries.annotator_accuracy import Score, scores_of
from pipeline.metrics.agreement import Estimate, ratio_estimate
from pipeline.metrics.alignment import PrecisionRecall

SHOWN = 12  # newest scores of one person
LONG_TEXTS = ("prompt", "response", "metadata", "released")


@dataclass(slots=True)
class Scored:
    """A submitted stage of a copy, with its score."""

    annotation: Annotation
    score: Score


@dataclass(slots=True)
class PracticeRow:
    """A person's practice: its progress and accuracy. ``excused``: documents they don't need to do."""

    person: User
    total: int = 0
    done: int = 0
    excused: int = 0
    scored: list[Scored] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return self.total > self.done + self.excused or not self.total

    @property
    def right(self) -> int:
        return sum(each.score.right for each in self.scored)

    @property
    def labels(self) -> int:
        return sum(each.score.total for each in self.scored)

    @property
    def percent(self) -> int:
        return round(100 * self.right / self.labels) if self.labels else 0

    @property
    def accuracy(self) -> Estimate | None:
        """The share of labels that equal the gold's, with its 95% interval over documents. None without labels."""
        return ratio_estimate(
            [(each.annotation.document_id, each.score.right, each.score.total) for each in self.scored]
        )

    @property
    def constant(self) -> Estimate | None:
        """What always giving each question's most frequent gold label would have scored. None without labels."""
        gold: dict[str, Counter[Any]] = defaultdict(Counter)
        for each in self.scored:
            for name, counted in each.score.fields.items():
                gold[name] += counted.gold
        most = {name: labels.most_common(1)[0][0] for name, labels in gold.items() if labels}
        return ratio_estimate(
            [
                (each.annotation.document_id, counted.gold[most[name]], counted.gold.total())
                for each in self.scored
                for name, counted in each.score.fields.items()
                if name in most
            ]
        )

    @property
    def beside(self) -> str:
        """The interval and the constant baseline in words: "60% to 88%; trivial baseline 50%"."""
        accuracy, constant = self.accuracy, self.constant
        bounds = accuracy and accuracy.interval
        return "; ".join(
            [
                *([" to ".join(percent(each) for each in bounds)] if bounds else []),
                *([f"trivial baseline {percent(constant.value)}"] if constant else []),
            ]
        )

    @property
    def claims_percent(self) -> int | None:
        """F1 of their claims over all decompositions; None where there is none yet."""
        counted = [each.score.claims for each in self.scored if each.score.stage == Stage.DECOMPOSE]
        whole = sum((each for each in counted if each), PrecisionRecall(0, 0, 0))
        return round(100 * whole.f1) if counted else None

    @property
    def latest(self) -> list[Scored]:
        """The newest scores in the order of time."""
        return self.scored[-SHOWN:]


def practice_of(benchmark: Benchmark) -> list[PracticeRow]:
    """New annotators of a benchmark and people who have practiced in it, by name. Constant number of queries."""
    rows: dict[int, PracticeRow] = {}
    copies = Document.objects.filter(benchmark=benchmark, practice_for__isnull=False).select_related("practice_for")
    for copy in copies.only("benchmark", "stage", "phase", "practice_for").order_by("pk"):
        assert copy.practice_for is not None  # filtered
        row = rows.setdefault(copy.practice_for.pk, PracticeRow(copy.practice_for))
        row.total += 1
        row.done += copy.is_gold
        row.excused += copy.phase == Phase.DISCARDED
    if benchmark.practice_documents and practice_gold(benchmark).exists():
        for newcomer in _newcomers(benchmark):
            rows.setdefault(newcomer.pk, PracticeRow(newcomer))
    for person, scored in _scored(benchmark, is_practice=True).items():
        rows[person].scored = scored
    return sorted(rows.values(), key=lambda row: str(row.person).casefold())


def own_practice(benchmark: Benchmark, user: User) -> list[Document]:
    """One person's practice documents, in order (one query)."""
    rows = Document.objects.filter(benchmark=benchmark, practice_for=user).exclude(phase=Phase.DISCARDED)
    return list(rows.only("public_id", "external_id", "order", "prompt", "stage", "phase", "benchmark").order_by("pk"))


def _newcomers(benchmark: Benchmark) -> list[User]:
    """Annotators who have submitted nothing in the benchmark: the other side of ``gold_copies.due_to_practise``."""
    submitted = Annotation.objects.filter(
        document__benchmark=benchmark,
        person=OuterRef("user"),
        kind=AnnotationKind.INDIVIDUAL,
        state=AnnotationState.SUBMITTED,
    )
    members = benchmark.memberships.filter(role=Role.ANNOTATOR, active=True).exclude(Exists(submitted))
    return [row.user for row in members.select_related("user")]


def _scored(benchmark: Benchmark, *, is_practice: bool) -> dict[int, list[Scored]]:
    """The scores of each person (primary key) in order of time."""
    rows = Annotation.objects.filter(
        document__benchmark=benchmark,
        document__twin_of__isnull=False,
        document__practice_for__isnull=not is_practice,
        kind=AnnotationKind.INDIVIDUAL,
        state=AnnotationState.SUBMITTED,
    )
    rows = rows.select_related("document", "person").defer(*(f"document__{name}" for name in LONG_TEXTS))
    annotations = list(rows.order_by("submitted_at", "pk"))
    scores = scores_of(annotations)
    found: dict[int, list[Scored]] = defaultdict(list)
    for row in annotations:
        if row.pk in scores and row.person_id is not None:
            found[row.person_id].append(Scored(row, scores[row.pk]))
    return found


def measured_in(benchmark: Benchmark) -> list[PracticeRow]:
    """People who have labeled hidden copies, with their accuracy over time, by name. Constant number of queries."""
    found = _scored(benchmark, is_practice=False)
    people = {each.pk: each for each in User.objects.filter(pk__in=list(found))}
    rows = [PracticeRow(people[person], scored=scored) for person, scored in found.items()]
    return sorted(rows, key=lambda row: str(row.person).casefold())


def mixed_documents(benchmark: Benchmark) -> list[Document]:
    """The hidden copies, with ``is_flagged``, oldest first (one query)."""
    flags = Flag.objects.filter(document=OuterRef("pk"), cleared_at__isnull=True)
    rows = Document.objects.filter(benchmark=benchmark, twin_of__isnull=False, practice_for__isnull=True)
    rows = rows.annotate(is_flagged=Exists(flags)).select_related("batch", "twin_of")
    return list(rows.defer(*(f"{to}{name}" for to in ("", "twin_of__") for name in LONG_TEXTS)).order_by("pk"))
