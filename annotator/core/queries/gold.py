"""The adjudicated rows of gold documents as query sets, for statistics. Nothing in progress is included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from annotator.core.models import (
    Benchmark,
    Claim,
    Document,
    Evidence,
    ResponseRevision,
    Sentence,
    SentenceRevision,
    Stance,
    Verdict,
)
from annotator.core.vocabulary import AnnotationKind, AnnotationState, ClaimType, Phase, Stage


def adjudicated(stage: Stage, path: str = "") -> Q:
    """Is the annotation at the end of the path ("annotation__") the adjudicated version of this stage?"""
    return _all(path, stage=stage, kind=AnnotationKind.CONSOLIDATED, state=AnnotationState.SUBMITTED)


def _all(path: str, **conditions: Any) -> Q:
    return Q(**{f"{path}{name}": value for name, value in conditions.items()})


@dataclass(frozen=True, slots=True)
class GoldScope:
    """The gold of a benchmark, or of one source."""

    benchmark: Benchmark
    source: str = ""

    def gold(self, path: str = "") -> Q:
        """Is the document at the end of the path ("annotation__document__") one of them?"""
        found = _all(path, benchmark=self.benchmark, twin_of__isnull=True, stage=Stage.REVISE, phase=Phase.AGREED)
        return found & _all(path, source=self.source) if self.source else found

    def _of(self, stage: Stage, path: str = "annotation__") -> Q:
        return adjudicated(stage, path) & self.gold(f"{path}document__")

    def documents(self) -> QuerySet[Document]:
        return Document.objects.filter(self.gold()).order_by()

    def sentences(self) -> QuerySet[Sentence]:
        return Sentence.objects.filter(self._of(Stage.DECOMPOSE), removed="").order_by()

    def claims(self) -> QuerySet[Claim]:
        there = self._of(Stage.DECOMPOSE, "sentence__annotation__")
        return Claim.objects.filter(there, sentence__removed="", removed="").order_by()

    def verdicts(self) -> QuerySet[Verdict]:
        return Verdict.objects.filter(self._of(Stage.VERIFY)).order_by()

    def checked_verdicts(self) -> QuerySet[Verdict]:
        """Verdicts on checked claims."""
        there = adjudicated(Stage.DECOMPOSE, "claim__sentence__annotation__")
        return self.verdicts().filter(there, checked("claim__"), claim__removed="", claim__sentence__removed="")

    def retrieved(self) -> QuerySet[Evidence]:
        """Retrieved passages of all claims."""
        there = self._of(Stage.DECOMPOSE, "claim__sentence__annotation__")
        return Evidence.objects.filter(
            there, annotation__isnull=True, removed="", claim__removed="", claim__sentence__removed=""
        ).order_by()

    def added(self) -> QuerySet[Evidence]:
        """Passages that people added and adjudicated."""
        return Evidence.objects.filter(self._of(Stage.VERIFY), removed="").order_by()

    def stances(self) -> QuerySet[Stance]:
        """The adjudicated stances on retrieved passages."""
        there = self._of(Stage.VERIFY)
        return (
            Stance.objects.filter(there, evidence__annotation__isnull=True, evidence__removed="")
            .exclude(label="")
            .order_by()
        )

    def revised_responses(self) -> QuerySet[ResponseRevision]:
        return ResponseRevision.objects.filter(self._of(Stage.REVISE)).order_by()

    def deleted_sentences(self) -> QuerySet[SentenceRevision]:
        return SentenceRevision.objects.filter(self._of(Stage.REVISE), deleted=True).order_by()


def checked(path: str = "") -> Q:
    """Is the claim at the end of the path checked, as ``Claim.is_checked``?"""
    return _all(path, type=ClaimType.FACTUAL) & ~_all(path, worth_checking=False)
