"""Webhooks of a benchmark and their deliveries, for owners and admins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark, User, Webhook, WebhookDelivery
from annotator.core.models.base import choices
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import is_htmx, managed_benchmark, person, render_domain_errors
from annotator.core.vocabulary import DeliveryState
from annotator.integrations.actions import webhooks as actions
from annotator.integrations.queries.webhooks import latest_deliveries, webhooks_of


class WebhookForm(forms.Form):
    """The URL and its events."""

    url = forms.CharField(
        max_length=actions.MAX_URL,
        label="Address",
        help_text="Where events are posted, for example https://hooks.example.org/touchstone.",
        widget=forms.URLInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    events = forms.MultipleChoiceField(
        choices=choices(actions.CHOOSABLE),
        label="Events",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one event."},
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, auto_id="webhook_%s")


@require_GET
@render_domain_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """The webhooks and the latest deliveries. While deliveries are pending, the page polls for this list alone."""
    benchmark = managed_benchmark(request, slug)
    if is_htmx(request):
        return render(request, "integrations/webhooks.html#latest", {"benchmark": benchmark} | _latest(benchmark))
    return _page(request, benchmark)


@require_POST
@never_cache
@render_domain_errors
def add(request: HttpRequest, slug: str) -> HttpResponse:
    """Add a webhook. Only this response shows its secret, so there is no redirect."""
    benchmark = managed_benchmark(request, slug)
    form = WebhookForm(request.POST)
    if not form.is_valid():
        return _page(request, benchmark, form=form, status=422)
    try:
        webhook = actions.add_webhook(benchmark, by=person(request), **form.cleaned_data)
    except BadValueError as refusal:
        form.add_error("url", str(refusal))
        return _page(request, benchmark, form=form, status=422)
    return _page(request, benchmark, fresh=webhook)


_CHANGES: dict[str, tuple[Callable[..., object], str]] = {
    "test": (actions.send_test, "A test event was sent. Check below whether it arrives."),
    "off": (actions.switch_off, "The webhook was disabled. No more events will be sent."),
    "on": (actions.switch_on, "The webhook was enabled. It receives events from now on."),
    "remove": (actions.remove_webhook, "The webhook was removed."),
}


@require_POST
@never_cache
@render_domain_errors
def change(request: HttpRequest, slug: str, webhook_id: str, what: str) -> HttpResponse:
    """Send a test, rotate the secret (shown once), enable or disable, remove."""
    benchmark = managed_benchmark(request, slug)
    user = person(request)
    webhook = get_object_or_404(Webhook.objects.select_related("benchmark"), benchmark=benchmark, public_id=webhook_id)
    if what == "rotate":
        return _page(request, benchmark, fresh=actions.rotate_secret(webhook, by=user))
    if what not in _CHANGES:
        raise Http404
    action, message = _CHANGES[what]
    return _done(request, benchmark, lambda: action(webhook, by=user), message)


@require_POST
@render_domain_errors
def redeliver(request: HttpRequest, slug: str, delivery_id: str) -> HttpResponse:
    """Send an event once more."""
    benchmark = managed_benchmark(request, slug)
    user: User = person(request)
    rows = WebhookDelivery.objects.select_related("webhook__benchmark")
    delivery = get_object_or_404(rows, webhook__benchmark=benchmark, public_id=delivery_id)
    return _done(
        request, benchmark, lambda: actions.redeliver(delivery, by=user), "The event was sent again with the same id."
    )


def _done(request: HttpRequest, benchmark: Benchmark, action: Callable[[], object], message: str) -> HttpResponse:
    """Perform the action and return to the page, which shows any error."""
    try:
        action()
    except BadValueError as refusal:
        return _page(request, benchmark, problem=str(refusal), status=422)
    messages.success(request, message)
    return redirect("webhooks", slug=benchmark.slug)


def _page(
    request: HttpRequest,
    benchmark: Benchmark,
    *,
    form: WebhookForm | None = None,
    fresh: Webhook | None = None,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    """The page. ``fresh``: the webhook whose new secret is shown."""
    context = page_of_benchmark(request, benchmark, "Webhooks")
    context |= {
        "webhooks": webhooks_of(benchmark),
        "form": form or WebhookForm(),
        "fresh": fresh,
        "problem": problem,
    }
    return render(request, "integrations/webhooks.html", context | _latest(benchmark), status=status)


def _latest(benchmark: Benchmark) -> dict[str, Any]:
    rows = latest_deliveries(benchmark)
    # Polls only while a first attempt is pending; retries are minutes or hours away.
    is_moving = any(
        row.state == DeliveryState.WAITING and row.response_status is None and not row.problem for row in rows
    )
    return {"deliveries": rows, "is_moving": is_moving}
