"""Figures for operators, counted in the database: queues and their age, runs, failures."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from django.db.models import Count, Min
from django.utils import timezone
from django_celery_results.models import TaskResult
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from annotator.core.models import PipelineRun, RunItem, WebhookDelivery
from annotator.core.vocabulary import OPEN_STATES, DeliveryState, RunState
from annotator.exchange.models import ImportJob


class Watched(Collector):
    """The database's figures at scrape time (six queries)."""

    def collect(self) -> Iterable[GaugeMetricFamily]:
        runs = GaugeMetricFamily("touchstone_runs", "Runs of the pipeline by state.", labels=["state"])
        counted = dict(PipelineRun.objects.order_by().values_list("state").annotate(number=Count("pk")))
        for state in RunState:
            runs.add_metric([state.value], counted.get(state.value, 0))
        yield runs

        waiting = GaugeMetricFamily("touchstone_queue_waiting", "What waits for a worker.", labels=["queue"])
        age = GaugeMetricFamily("touchstone_queue_age_seconds", "For how long the oldest has waited.", labels=["queue"])
        for queue, number, since in queues():
            waiting.add_metric([queue], number)
            age.add_metric([queue], max(0.0, (timezone.now() - since).total_seconds()) if since else 0.0)
        yield waiting
        yield age

        hour = timezone.now() - dt.timedelta(hours=1)
        failed = TaskResult.objects.filter(status="FAILURE", date_done__gte=hour).count()
        yield GaugeMetricFamily("touchstone_failed_tasks", "Background tasks that failed in the last hour.", failed)
        items = RunItem.objects.filter(state=RunState.FAILED, finished_at__gte=hour).count()
        yield GaugeMetricFamily("touchstone_failed_documents", "Documents of runs that failed in the last hour.", items)


def queues() -> Iterable[tuple[str, int, dt.datetime | None]]:
    """Each queue's name, its length, and since when its oldest entry has been waiting."""
    items = RunItem.objects.filter(state=RunState.QUEUED, run__state__in=OPEN_STATES)
    imports = ImportJob.objects.filter(state=RunState.QUEUED)
    webhooks = WebhookDelivery.objects.filter(state=DeliveryState.WAITING)
    for name, found in (
        ("suggestions", items.aggregate(number=Count("pk"), since=Min("run__created_at"))),
        ("imports", imports.aggregate(number=Count("pk"), since=Min("created_at"))),
        ("webhooks", webhooks.aggregate(number=Count("pk"), since=Min("created_at"))),
    ):
        yield name, found["number"], found["since"]
