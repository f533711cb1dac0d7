"""Recording webhook deliveries in the transaction of the event."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from django.utils import timezone

from annotator.core.actions.enqueue import after_commit
from annotator.core.models import Benchmark, Webhook, WebhookDelivery
from annotator.core.vocabulary import WebhookEvent

SEND = "pipeline.send_webhook"


# A delivery held by a worker or the queue for longer than one attempt takes is enqueued again.
IN_HAND = dt.timedelta(seconds=60)


def announce(benchmark: Benchmark, event: WebhookEvent, data: Mapping[str, object]) -> None:
    """Record an event for the benchmark's webhooks, inside the caller's transaction.

    ``data`` is plain JSON with ids, states and counts, never anything a person wrote or decided. One query if no
    webhook wants the event.
    """
    for webhook in Webhook.objects.filter(benchmark=benchmark, active=True):
        if event in webhook.events:
            # While deliveries are failing, the sweep tries one event at a time.
            _write(webhook, benchmark, event, data, at_once=webhook.failing_since is None)


def _write(
    webhook: Webhook, benchmark: Benchmark, event: WebhookEvent, data: Mapping[str, object], *, at_once: bool = True
) -> WebhookDelivery:
    now = timezone.now()
    delivery = WebhookDelivery(webhook=webhook, event=event, next_attempt_at=now + IN_HAND if at_once else now)
    delivery.payload = {
        "id": delivery.public_id,
        "event": event.value,
        "at": now.isoformat(),
        "benchmark": benchmark.slug,
        "data": dict(data),
    }
    delivery.save()
    if at_once:
        after_commit(SEND, delivery.pk, 0)
    return delivery
