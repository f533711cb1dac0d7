"""A benchmark's webhooks and their deliveries."""

from __future__ import annotations

import secrets
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotator.core.models.base import choice_constraint, choices, new_public_id
from annotator.core.vocabulary import DeliveryState, WebhookEvent


def new_secret() -> str:
    """A random secret (256 bits)."""
    return f"whsec_{secrets.token_urlsafe(32)}"


class Webhook(models.Model):
    """A URL that is told about events in a benchmark. ``secret`` signs each delivery, so it is stored in plain text.

    ``events`` holds values of ``vocabulary.WebhookEvent``. ``failing_since``: no delivery has succeeded since then;
    ``told_at``: when managers were notified. ``disabled_reason`` says why a webhook was disabled.
    """

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    secret = models.CharField(max_length=100, default=new_secret, editable=False)
    events = models.JSONField()
    active = models.BooleanField(default=True)
    disabled_reason = models.CharField(max_length=300, blank=True)
    failing_since = models.DateTimeField(null=True, blank=True)
    told_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="webhooks")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(active=False) | Q(disabled_reason=""), name="annotator_webhook_reason_only_if_off"
            ),
        ]

    def __str__(self) -> str:
        return self.url


class WebhookDelivery(models.Model):
    """One event for one webhook. This row decides what is still to be sent (ADR 0005).

    ``public_id`` is the event's id, the same at every attempt. ``attempts`` counts the attempts started. A waiting
    delivery is tried from ``next_attempt_at`` on. While a worker handles it, that time is one attempt's duration ahead,
    so deliveries of a killed worker are retried by themselves.
    """

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=32, choices=choices(WebhookEvent))
    payload = models.JSONField()
    state = models.CharField(max_length=16, choices=choices(DeliveryState), default=DeliveryState.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField()
    response_status = models.PositiveSmallIntegerField(null=True, blank=True)
    response_excerpt = models.TextField(blank=True)
    problem = models.CharField(max_length=300, blank=True, help_text="Why the last attempt failed.")
    created_at = models.DateTimeField(auto_now_add=True)
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "webhook deliveries"
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [
            models.Index(
                fields=["next_attempt_at"],
                condition=Q(state=DeliveryState.WAITING),
                name="annotator_delivery_due",
            ),
        ]
        constraints: ClassVar = [
            choice_constraint("event", WebhookEvent),
            choice_constraint("state", DeliveryState),
            models.CheckConstraint(
                condition=Q(state=DeliveryState.DELIVERED, delivered_at__isnull=False)
                | (~Q(state=DeliveryState.DELIVERED) & Q(delivered_at__isnull=True)),
                name="annotator_delivery_delivered_at_together",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.webhook}"
