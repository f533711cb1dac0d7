"""One row per benchmark: its progress, what is waiting, what is running, and what went wrong."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass, field

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from annotator.core import charts
from annotator.core.models import Benchmark, Document, Flag, PipelineRun
from annotator.core.vocabulary import OPEN_STATES, Phase, RunState, Stage
from annotator.exchange.models import ImportJob, Release

RECENT = dt.timedelta(days=7)  # older failures are no longer shown


@dataclass(slots=True)
class BenchmarkRow:
    """Counts are of documents, except ``running`` (runs and imports) and ``releases``. ``problems`` are sentences for
    those who manage the benchmark."""

    benchmark: Benchmark
    total: int = 0
    gold: int = 0
    waiting: int = 0
    discarded: int = 0
    running: int = 0
    releases: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def parts(self) -> list[dict[str, str | float]]:
        """The bar in percent: gold, awaiting adjudication, the rest."""
        return charts.parts({"agreed": self.gold, "agree": self.waiting}.items(), max(self.total - self.discarded, 1))

    @property
    def words(self) -> str:
        return f"{self.gold:,} of {self.total:,} gold, {self.waiting:,} awaiting adjudication"


def benchmark_rows(benchmarks: QuerySet[Benchmark]) -> list[BenchmarkRow]:
    """The benchmarks by name, archived ones last. Always eight queries."""
    rows = {each.pk: BenchmarkRow(each) for each in benchmarks.order_by("name", "pk")}
    counted = Document.objects.filter(benchmark__in=rows, twin_of__isnull=True).order_by()
    for pk, stage, phase, number in counted.values_list("benchmark", "stage", "phase").annotate(number=Count("pk")):
        row = rows[pk]
        row.total += number
        row.gold += number if (stage, phase) == (Stage.REVISE, Phase.AGREED) else 0
        row.waiting += number if phase == Phase.CONSOLIDATING else 0
        row.discarded += number if phase == Phase.DISCARDED else 0
    since = timezone.now() - RECENT
    halted = Q(state=RunState.PAUSED) & ~Q(halted="")
    runs = PipelineRun.objects.filter(benchmark__in=rows).exclude(plan__has_key="again")
    imports = ImportJob.objects.filter(benchmark__in=rows)
    for found in (runs.filter(state__in=OPEN_STATES), imports.filter(state__in=OPEN_STATES)):
        for pk, number in _by_benchmark(found).items():
            rows[pk].running += number
    flagged = Flag.objects.filter(
        document__benchmark__in=rows, document__twin_of__isnull=True, cleared_at__isnull=True
    ).order_by()
    flags = Counter(dict(flagged.values_list("document__benchmark").annotate(number=Count("document", distinct=True))))
    failed_runs = _by_benchmark(runs.filter(halted | Q(state=RunState.FAILED, created_at__gte=since)))
    failed_imports = _by_benchmark(imports.filter(state=RunState.FAILED, created_at__gte=since))
    for pk, row in rows.items():
        row.problems = [
            *_problem(flags[pk], "document flagged", "documents flagged"),
            *_problem(failed_runs[pk], "run stopped or failed", "runs stopped or failed"),
            *_problem(failed_imports[pk], "import failed", "imports failed"),
        ]
    for pk, number in _by_benchmark(Release.objects.filter(benchmark__in=rows)).items():
        rows[pk].releases = number
    return sorted(rows.values(), key=lambda row: row.benchmark.archived_at is not None)


def _by_benchmark(rows: QuerySet[PipelineRun] | QuerySet[ImportJob] | QuerySet[Release]) -> Counter[int]:
    return Counter(dict(rows.order_by().values_list("benchmark").annotate(number=Count("pk"))))


def _problem(number: int, one: str, many: str) -> list[str]:
    return [f"{number:,} {one if number == 1 else many}"] if number else []
