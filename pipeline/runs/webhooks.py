"""Sending what the outbox of webhooks holds; the rows are in ``annotator.integrations.actions.webhooks``."""

from __future__ import annotations

import time

from django.conf import settings

from annotator.integrations.actions.webhooks import note_delivered, note_failed, take
from pipeline.clients.addresses import Allowed
from pipeline.clients.webhooks import body_of, headers_of, send
from pipeline.runs.bridge import Bridge

SECONDS = 10.0  # that a receiver has to take an event


def send_delivery(delivery_id: int, attempts: int) -> None:
    """Make one attempt at a delivery, of which ``attempts`` had been begun when it was ordered, and note how it went.

    A worker that is killed between sending and noting leaves the row waiting: the event is sent again, with its id.
    """
    delivery = take(delivery_id, attempts)
    if delivery is None:
        return
    webhook = delivery.webhook
    body = body_of(delivery.payload)
    headers = headers_of(delivery.payload, webhook.secret, int(time.time()))
    allowed = Allowed.of(settings.WEBHOOKS_ALLOW)
    outcome = Bridge().run(lambda: send(webhook.url, body, headers, allowed=allowed, seconds=SECONDS))
    if outcome.problem or outcome.status is None:
        note_failed(delivery, outcome.problem, status=outcome.status, excerpt=outcome.excerpt)
    else:
        note_delivered(delivery, status=outcome.status, excerpt=outcome.excerpt)
