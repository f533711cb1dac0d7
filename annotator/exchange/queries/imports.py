"""Reads imports of files: a benchmark's latest, and the progress of one."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils import timezone

from annotator.core.models import Benchmark
from annotator.core.queries.progress import Pace
from annotator.core.vocabulary import RunState
from annotator.exchange.models import ImportJob


def latest_imports(benchmark: Benchmark, count: int = 10) -> QuerySet[ImportJob]:
    """The newest imports of a benchmark with the people who started them (one query)."""
    return benchmark.imports.select_related("by").defer("problems").order_by("-id")[:count]


def pace_of(job: ImportJob) -> Pace:
    """An import's progress and speed, by the part of the file that has been read."""
    per_second, left = 0.0, None
    if job.state == RunState.RUNNING and job.started_at is not None and job.seen_at is not None:
        seconds = (job.seen_at - job.started_at).total_seconds()
        if seconds > 0 and job.share > 0:
            per_second = job.read / seconds
            since_then = (timezone.now() - job.seen_at).total_seconds()
            left = max(seconds * (1 - job.share) / job.share - since_then, 0.0)
    return Pace(job.share, per_second, left, "row")
