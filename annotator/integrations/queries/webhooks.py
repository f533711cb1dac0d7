"""The webhooks of a benchmark and their deliveries."""

from __future__ import annotations

from django.db.models import QuerySet

from annotator.core.models import Benchmark, Webhook, WebhookDelivery

SHOWN = 30  # deliveries shown on the page


def webhooks_of(benchmark: Benchmark) -> list[Webhook]:
    """All webhooks, oldest first. One query."""
    return list(benchmark.webhooks.select_related("created_by"))


def deliveries_of(benchmark: Benchmark) -> QuerySet[WebhookDelivery]:
    """The deliveries of all webhooks of a benchmark, newest first."""
    return WebhookDelivery.objects.filter(webhook__benchmark=benchmark).select_related("webhook")


def latest_deliveries(benchmark: Benchmark) -> list[WebhookDelivery]:
    """The deliveries that the page shows. One query."""
    return list(deliveries_of(benchmark)[:SHOWN])
