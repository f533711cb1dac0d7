"""What a benchmark's suggesters could learn from, what they were trained on, and their quality."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from annotator.core.models import Benchmark
from annotator.core.queries.gold import GoldScope
from annotator.core.vocabulary import ClaimType, Labelled, SentenceType, StanceLabel, SuggesterKind
from annotator.suggestions.models import TrainedSuggester

# Measured on Factcheck-Bench (benchmarks/learned_quality.py has the protocol): macro-F1 of the four stances learned
# from 10, 20, 30 and 40 documents is 0.31, 0.33, 0.37 and 0.38. With 20, it reaches an untrained language model
# (0.332); with fewer, it would be worse than a suggestion available for free.
MIN_DOCUMENTS = 20
# Training holds out a fifth of the documents at a time; a label with fewer examples is missing from some of them.
MIN_PER_LABEL = 10
# Retrained when there is a fifth more gold: on the same curve, that gains about 0.01, and less gold gains nothing
# visible.
GROWTH = 0.2

LABELS: dict[SuggesterKind, type[Labelled]] = {
    SuggesterKind.STANCE: StanceLabel,
    SuggesterKind.SENTENCE_TYPE: SentenceType,
    SuggesterKind.CLAIM_TYPE: ClaimType,
}


@dataclass(frozen=True, slots=True)
class Readiness:
    """The gold available for one kind. ``counts``: examples by label, in vocabulary order."""

    kind: SuggesterKind
    documents: int
    counts: dict[str, int]

    @property
    def learnable(self) -> tuple[str, ...]:
        """The labels with enough examples."""
        return tuple(label for label, count in self.counts.items() if count >= MIN_PER_LABEL)

    @property
    def is_ready(self) -> bool:
        return self.documents >= MIN_DOCUMENTS and len(self.learnable) > 1

    @property
    def lacking(self) -> str:
        """What is still needed, as a sentence; "" if nothing."""
        if self.documents < MIN_DOCUMENTS:
            return f"Needs {MIN_DOCUMENTS} gold documents; there are {self.documents}."
        if len(self.learnable) < 2:
            known = ", ".join(
                f"{label.label.lower()} {self.counts[label]}" for label in LABELS[self.kind] if self.counts[label]
            )
            return f"Needs two labels with {MIN_PER_LABEL} examples each; gold has: {known or 'none'}."
        return ""

    @property
    def left_out(self) -> list[str]:
        """Labels too rare to be learned."""
        return [each.label for each in LABELS[self.kind] if 0 < self.counts[each] < MIN_PER_LABEL]


def readiness_of(benchmark: Benchmark) -> dict[SuggesterKind, Readiness]:
    """What each kind can learn from. Four queries, however much gold there is."""
    scope = GoldScope(benchmark)
    documents = scope.documents().count()
    of_claims = {"evidence__claim__removed": "", "evidence__claim__sentence__removed": ""}
    counted = {
        SuggesterKind.STANCE: scope.stances().filter(**of_claims).values_list("label"),
        SuggesterKind.SENTENCE_TYPE: scope.sentences().values_list("type"),
        SuggesterKind.CLAIM_TYPE: scope.claims().values_list("type"),
    }
    return {
        kind: Readiness(kind, documents, _counts(LABELS[kind], rows.annotate(times=Count("pk"))))
        for kind, rows in counted.items()
    }


def _counts(labels: type[Labelled], rows: Iterable[tuple[str, int]]) -> dict[str, int]:
    found = dict(rows)
    return {str(label): found.get(label.value, 0) for label in labels}


def has_grown(readiness: Readiness, trained: TrainedSuggester | None, trained_on: int) -> bool:
    """Is it time to train (again)? ``trained_on``: how many documents the newest version learned from."""
    return readiness.is_ready and (trained is None or readiness.documents >= (1 + GROWTH) * trained_on)


def versions_of(benchmark: Benchmark) -> QuerySet[TrainedSuggester]:
    """All versions with the number of their documents, newest first, without their arrays."""
    return (
        TrainedSuggester.objects.filter(benchmark=benchmark)
        .defer("arrays")
        .annotate(trained_on=Count("documents"))
        .order_by("kind", "-number")
    )
