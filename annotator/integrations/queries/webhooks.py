"""The webhooks of a benchmark, and what was delivered to them."""

from __future__ import annotations

from django.db.models import QuerySet

from annotator.core.models import Benchmark, Webhook, WebhookDelivery

SHOWN = 30  # deliveries on the page


def webhooks_of(benchmark: Benchmark) -> list[Webhook]:
    """All webhooks, the oldest first. One query."""
    return list(benchmark.webhooks.select_related("created_by"))


def deliveries_of(benchmark: Benchmark) -> QuerySet[WebhookDelivery]:
    """The deliveries to all webhooks of a benchmark, the newest first."""
    return WebhookDelivery.objects.filter(webhook__benchmark=benchmark).select_related("webhook")


def latest_deliveries(benchmark: Benchmark) -> list[WebhookDelivery]:
    """Those that the page shows. One query."""
    return list(deliveries_of(benchmark)[:SHOWN])
