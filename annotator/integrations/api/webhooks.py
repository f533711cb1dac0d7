"""Webhooks of a benchmark: add, enable, test, remove; view deliveries and send them again."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core.models import Webhook, WebhookDelivery
from annotator.core.vocabulary import DeliveryState, Scope, WebhookEvent
from annotator.integrations.actions import webhooks as actions
from annotator.integrations.api.base import ApiView
from annotator.integrations.api.fields import Input, word
from annotator.integrations.api.paging import CursorPages, PageInput, paged
from annotator.integrations.api.schema import operation
from annotator.integrations.queries.webhooks import deliveries_of, webhooks_of

TAG = "webhooks"
MAX_EVENTS = len(WebhookEvent)


class WebhookSerializer(serializers.Serializer):
    """A URL that is told about events."""

    id = serializers.CharField(source="public_id")
    url = serializers.CharField()
    events = serializers.ListField(child=word(WebhookEvent))
    active = serializers.BooleanField()
    disabled_reason = serializers.CharField()
    failing_since = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class NewWebhookSerializer(WebhookSerializer):
    """With the secret that signs each delivery, which is shown only this once."""

    secret = serializers.CharField()


class DeliverySerializer(serializers.Serializer):
    """An event for one webhook, and whether it was delivered."""

    id = serializers.CharField(source="public_id")
    webhook = serializers.CharField(source="webhook.public_id")
    event = word(WebhookEvent)
    state = word(DeliveryState)
    attempts = serializers.IntegerField()
    response_status = serializers.IntegerField(allow_null=True)
    problem = serializers.CharField()
    created_at = serializers.DateTimeField()
    delivered_at = serializers.DateTimeField(allow_null=True)


class WebhookInput(Input):
    """The URL and its events."""

    url = serializers.CharField(max_length=actions.MAX_URL)
    events = serializers.ListField(
        child=word(WebhookEvent), min_length=1, max_length=MAX_EVENTS, help_text="At least one; test can’t be chosen."
    )


class ActiveStateInput(Input):
    """Whether it is told about future events."""

    active = serializers.BooleanField()


class WebhookAnswer(ApiView):
    """A view that finds webhooks, for owners and admins."""

    scope = Scope.MANAGE

    def webhook(self, slug: str, webhook_id: str) -> Webhook:
        rows = Webhook.objects.select_related("benchmark")
        return get_object_or_404(rows, benchmark=self.managed(slug), public_id=webhook_id)


class WebhooksView(WebhookAnswer):
    @operation("webhooks_list", "Webhooks", TAG, answer=WebhookSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Oldest first, without their secrets."""
        return Response(WebhookSerializer(webhooks_of(self.managed(slug)), many=True).data)

    @operation("webhook_add", "Add a webhook", TAG, body=WebhookInput, answer=NewWebhookSerializer, status=201)
    def post(self, request: Request, slug: str) -> Response:
        """The response contains the secret."""
        webhook = actions.add_webhook(self.managed(slug), by=self.person, **self.body(WebhookInput))
        return Response(NewWebhookSerializer(webhook).data, status=201)


class WebhookView(WebhookAnswer):
    @operation("webhook_switch", "Enable or disable", TAG, body=ActiveStateInput, answer=WebhookSerializer)
    def patch(self, request: Request, slug: str, webhook_id: str) -> Response:
        """Disabling gives up waiting deliveries."""
        webhook = self.webhook(slug, webhook_id)
        switch = actions.switch_on if self.body(ActiveStateInput)["active"] else actions.switch_off
        switch(webhook, by=self.person)
        return Response(WebhookSerializer(self.webhook(slug, webhook_id)).data)

    @operation("webhook_remove", "Remove a webhook", TAG)
    def delete(self, request: Request, slug: str, webhook_id: str) -> Response:
        """Also removes its delivery history."""
        actions.remove_webhook(self.webhook(slug, webhook_id), by=self.person)
        return Response(status=204)


class SecretView(WebhookAnswer):
    @operation("webhook_rotate", "Rotate the secret", TAG, answer=NewWebhookSerializer)
    def post(self, request: Request, slug: str, webhook_id: str) -> Response:
        """The new secret signs everything from now on. The response contains it."""
        webhook = actions.rotate_secret(self.webhook(slug, webhook_id), by=self.person)
        return Response(NewWebhookSerializer(webhook).data)


class TestView(WebhookAnswer):
    @operation("webhook_test", "Send a test", TAG, answer=DeliverySerializer, status=202)
    def post(self, request: Request, slug: str, webhook_id: str) -> Response:
        """A test event without content."""
        return Response(
            DeliverySerializer(actions.send_test(self.webhook(slug, webhook_id), by=self.person)).data, status=202
        )


class DeliveriesView(WebhookAnswer):
    @operation("deliveries_list", "Deliveries", TAG, query=PageInput, answer=paged(DeliverySerializer))
    def get(self, request: Request, slug: str) -> Response:
        """Of all webhooks, newest first."""
        benchmark = self.managed(slug)
        self.asked(PageInput)
        pages = CursorPages()
        rows = deliveries_of(benchmark).select_related("webhook")
        return pages.answer(DeliverySerializer(pages.cut(rows, request, self), many=True).data)


class RedeliverView(WebhookAnswer):
    @operation("delivery_repeat", "Redeliver", TAG, answer=DeliverySerializer, status=202)
    def post(self, request: Request, slug: str, delivery_id: str) -> Response:
        """Under the same id."""
        rows = WebhookDelivery.objects.select_related("webhook__benchmark")
        delivery = get_object_or_404(rows, webhook__benchmark=self.managed(slug), public_id=delivery_id)
        actions.redeliver(delivery, by=self.person)
        delivery.refresh_from_db()
        return Response(DeliverySerializer(delivery).data, status=202)
