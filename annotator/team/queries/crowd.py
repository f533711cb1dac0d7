"""The progress of crowd workers, for themselves and for those who pay them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Min, QuerySet, Sum

from annotator.core.models import Activity, Annotation, Benchmark, CrowdLink, CrowdWorker, User
from annotator.core.vocabulary import AnnotationKind, AnnotationState

COLUMNS = (
    "worker_id", "study_id", "session_id", "account", "entered_at", "documents", "completed", "completed_at",
    "active_minutes", "reward", "completion_code",
)  # fmt: skip


@dataclass(slots=True)
class WorkerRow:
    """A worker's progress. ``submitted``: when each document was submitted for the first time, in order."""

    worker: CrowdWorker
    submitted: list[dt.datetime] = field(default_factory=list)
    active_seconds: int = 0

    @property
    def completed_at(self) -> dt.datetime | None:
        """When the worker submitted the last document that the link requires; None before that."""
        needed = self.worker.link.documents
        return self.submitted[needed - 1] if len(self.submitted) >= needed else None

    @property
    def minutes(self) -> int:
        return round(self.active_seconds / 60)


def links_of(benchmark: Benchmark) -> QuerySet[CrowdLink]:
    """The links of a benchmark, newest first, each with its number of workers (``people``)."""
    return CrowdLink.objects.filter(benchmark=benchmark).annotate(people=Count("workers")).order_by("-id")


def worker_rows(link: CrowdLink) -> list[WorkerRow]:
    """Everyone who used the link, in order. Three queries."""
    rows = {each.user_id: WorkerRow(each) for each in link.workers.select_related("user", "link")}
    for person, first in _submitted(link, rows):
        rows[person].submitted.append(first)
    seconds = Activity.objects.filter(benchmark=link.benchmark_id, by__in=rows).order_by()
    for person, total in seconds.values_list("by").annotate(total=Sum("active_seconds")):
        rows[person].active_seconds = total
    return list(rows.values())


def own_row(link: CrowdLink, user: User) -> WorkerRow | None:
    """The person's own progress; None if they didn't use this link."""
    worker = link.workers.select_related("user", "link").filter(user=user).first()
    if worker is None:
        return None
    return WorkerRow(worker, [first for _, first in _submitted(link, [user.pk])])


def _submitted(link: CrowdLink, people: Iterable[int]) -> QuerySet[Annotation, tuple[int, dt.datetime]]:
    """Pairs of a person and when they first submitted a document, earliest first. Hidden gold items count, because
    nobody can tell them apart; practice doesn't."""
    own = Annotation.objects.filter(
        kind=AnnotationKind.INDIVIDUAL,
        state=AnnotationState.SUBMITTED,
        document__benchmark=link.benchmark_id,
        document__practice_for__isnull=True,
        person__in=list(people),
    ).order_by()
    first = own.values("person", "document").annotate(first=Min("submitted_at")).order_by("first")
    return first.values_list("person", "first")


def payment_report(link: CrowdLink) -> list[tuple[Any, ...]]:
    """The rows of the payment report, header first."""
    rows: list[tuple[Any, ...]] = [COLUMNS]
    for row in worker_rows(link):
        done, worker = row.completed_at, row.worker
        rows.append(
            (
                worker.worker_id, worker.study_id, worker.session_id, worker.user.username,
                worker.consented_at.isoformat(timespec="seconds"), len(row.submitted), "yes" if done else "no",
                done.isoformat(timespec="seconds") if done else "", row.minutes, link.reward, link.completion_code,
            )
        )  # fmt: skip
    return rows
