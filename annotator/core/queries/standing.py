"""How many documents of a benchmark are at which stage and phase."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.db.models import Count, F

from annotator.core.models import Annotation, Benchmark
from annotator.core.vocabulary import AnnotationKind, Phase, Stage


@dataclass(slots=True)
class Standing:
    """Counts of documents. ``grouped``: by batch, stage and phase; ``begun``: by batch and stage, documents in the
    independent phase that someone has started."""

    grouped: dict[tuple[int | None, str, str], int] = field(default_factory=dict)
    begun: dict[tuple[int | None, str], int] = field(default_factory=dict)

    def of_batch(self, batch: int) -> Standing:
        """The counts of one batch."""
        return Standing(
            {key: number for key, number in self.grouped.items() if key[0] == batch},
            {key: number for key, number in self.begun.items() if key[0] == batch},
        )

    def at(self, stage: str = "", phase: str = "") -> int:
        """Documents at a stage and phase; blank means any."""
        return sum(n for (_, s, p), n in self.grouped.items() if stage in ("", s) and phase in ("", p))

    def begun_at(self, stage: str) -> int:
        return sum(number for (_, each), number in self.begun.items() if each == stage)

    @property
    def total(self) -> int:
        return self.at()

    @property
    def gold(self) -> int:
        return self.at(Stage.REVISE, Phase.AGREED)

    @property
    def discarded(self) -> int:
        return self.at(phase=Phase.DISCARDED)

    @property
    def to_agree(self) -> int:
        return self.at(phase=Phase.CONSOLIDATING)

    @property
    def in_work(self) -> int:
        return sum(self.begun.values())


def standing_of(benchmark: Benchmark) -> Standing:
    """Where the documents are (two queries)."""
    documents = benchmark.documents.filter(twin_of__isnull=True).order_by()
    counted = documents.values_list("batch", "stage", "phase").annotate(number=Count("*"))
    at_work = Annotation.objects.filter(
        kind=AnnotationKind.INDIVIDUAL,
        seat__isnull=False,
        document__benchmark=benchmark,
        document__twin_of__isnull=True,
        document__phase=Phase.INDEPENDENT,
        stage=F("document__stage"),
    ).order_by()
    begun = at_work.values_list("document__batch", "stage").annotate(number=Count("document", distinct=True))
    return Standing(
        {(batch, stage, phase): number for batch, stage, phase, number in counted},
        {(batch, stage): number for batch, stage, number in begun},
    )
