"""Webhooks tell programs about events in a benchmark. Deliveries wait in an outbox.

``announce`` writes one delivery per webhook inside the transaction of the event: nothing that was rolled back is sent,
and nothing that was committed is lost (ADR 0005). ``pipeline.runs.webhooks`` sends deliveries: it claims each with one
conditional update and records the outcome. What a killed worker had claimed is sent again, so a receiver may get an
event twice with the same id. Events never carry anyone's annotations.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Collection
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.announce import IN_HAND, SEND, _write
from annotator.core.actions.enqueue import after_commit
from annotator.core.actions.fields import BadValueError, clean_text
from annotator.core.actions.notices import tell
from annotator.core.actions.recorder import Action
from annotator.core.models import Benchmark, User, Webhook, WebhookDelivery
from annotator.core.models.webhook import new_secret
from annotator.core.queries.membership import managers_of
from annotator.core.vocabulary import DeliveryState, NoticeKind, WebhookEvent

CHOOSABLE = tuple(event for event in WebhookEvent if event is not WebhookEvent.TEST)
MAX_WEBHOOKS = 20  # per benchmark
MAX_URL = 500

MAX_ATTEMPTS = 8
FIRST_PAUSE = 10.0  # seconds; each pause is four times as long as the last: attempt 8 comes after 15 hours
PAUSE_GROWS = 4.0
OFF_AFTER = dt.timedelta(days=3)  # of failures without a success
KEPT_FOR = dt.timedelta(days=30)  # finished deliveries
MAX_AT_ONCE = 200  # deliveries enqueued in one sweep


# --- webhooks -------------------------------------------------------------------------------------


def add_webhook(benchmark: Benchmark, *, by: User, url: str, events: Collection[str]) -> Webhook:
    """Add a webhook for these events. Raises NotAllowedError, BadValueError."""
    url = checked_url(url)
    unknown = sorted(set(events) - set(CHOOSABLE))
    if unknown:
        raise BadValueError(f"“{unknown[0]}” isn’t a valid event; choose from {', '.join(CHOOSABLE)}.")
    if not events:
        raise BadValueError("Choose at least one event.")
    with transaction.atomic():
        rules.check_manage(by, benchmark)
        if benchmark.webhooks.count() >= MAX_WEBHOOKS:
            raise BadValueError(f"A benchmark can have at most {MAX_WEBHOOKS} webhooks. Remove one you no longer need.")
        webhook = Webhook.objects.create(
            benchmark=benchmark,
            url=url,
            events=[event.value for event in CHOOSABLE if event in events],
            created_by=by,
        )
        _note("add-webhook", webhook, by, f"{_place(url)}: {', '.join(webhook.events)}")
    return webhook


def checked_url(url: str) -> str:
    """Check a URL. Whether it is public is checked when connecting. Raises BadValueError."""
    url = clean_text(url, MAX_URL).strip()
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise BadValueError("That isn’t a web address. Enter one that starts with https://.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or any(sign.isspace() for sign in url):
        raise BadValueError("That isn’t a web address. Enter one that starts with https://.")
    if parts.username is not None or parts.password is not None:
        raise BadValueError(
            "Remove the username and password from the address. The signature already identifies Touchstone."
        )
    if parts.fragment:
        raise BadValueError("Remove everything from the “#” on. It is never sent.")
    return url


def rotate_secret(webhook: Webhook, *, by: User) -> Webhook:
    """Generate a new secret, which signs everything from now on. Returns the webhook with it."""
    with transaction.atomic():
        rules.check_manage(by, webhook.benchmark)
        webhook = _locked(webhook)
        webhook.secret = new_secret()
        webhook.save(update_fields=["secret"])
        _note("rotate-webhook-secret", webhook, by, _place(webhook.url))
    return webhook


def switch_off(webhook: Webhook, *, by: User) -> None:
    """Disable the webhook. Waiting deliveries are given up."""
    with transaction.atomic():
        rules.check_manage(by, webhook.benchmark)
        webhook = _locked(webhook)
        if webhook.active:
            _switch_off(webhook, "")
            _note("switch-webhook-off", webhook, by, _place(webhook.url))


def switch_on(webhook: Webhook, *, by: User) -> None:
    """Enable the webhook for future events."""
    with transaction.atomic():
        rules.check_manage(by, webhook.benchmark)
        webhook = _locked(webhook)
        if not webhook.active:
            webhook.active, webhook.disabled_reason = True, ""
            webhook.failing_since = webhook.told_at = None
            webhook.save(update_fields=["active", "disabled_reason", "failing_since", "told_at"])
            _note("switch-webhook-on", webhook, by, _place(webhook.url))


def remove_webhook(webhook: Webhook, *, by: User) -> None:
    """Delete a webhook with its delivery history."""
    with transaction.atomic():
        rules.check_manage(by, webhook.benchmark)
        _note("remove-webhook", webhook, by, _place(webhook.url))
        webhook.delete()


def _switch_off(webhook: Webhook, reason: str) -> None:
    webhook.active, webhook.disabled_reason = False, reason[:300]
    webhook.save(update_fields=["active", "disabled_reason"])
    waiting = webhook.deliveries.filter(state=DeliveryState.WAITING)
    waiting.filter(problem="").update(problem="The webhook was disabled.")
    waiting.update(state=DeliveryState.GIVEN_UP)


def _locked(webhook: Webhook) -> Webhook:
    return Webhook.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=webhook.pk)


def _note(action: str, webhook: Webhook, by: User | None, reason: str) -> None:
    Action(name=action, by=by, benchmark=webhook.benchmark, reason=reason).write()


def _place(url: str) -> str:
    """The URL for the record, without its query, where some receivers keep a key."""
    return url.partition("?")[0]


# --- the outbox -----------------------------------------------------------------------------------


def send_test(webhook: Webhook, *, by: User) -> WebhookDelivery:
    """Send a test event without content. Raises BadValueError while the webhook is disabled."""
    with transaction.atomic():
        rules.check_manage(by, webhook.benchmark)
        webhook = _locked(webhook)
        _check_on(webhook)
        return _write(webhook, webhook.benchmark, WebhookEvent.TEST, {})


def redeliver(delivery: WebhookDelivery, *, by: User) -> None:
    """Send an event once more under the same id, with a fresh set of attempts. Raises BadValueError while its webhook
    is disabled."""
    with transaction.atomic():
        rules.check_manage(by, delivery.webhook.benchmark)
        _check_on(_locked(delivery.webhook))
        WebhookDelivery.objects.filter(pk=delivery.pk).update(
            state=DeliveryState.WAITING, attempts=0, delivered_at=None, next_attempt_at=timezone.now() + IN_HAND
        )
        after_commit(SEND, delivery.pk, 0)


def _check_on(webhook: Webhook) -> None:
    if not webhook.active:
        raise BadValueError("This webhook is disabled. Enable it first.")


# --- sending, as pipeline.runs.webhooks does it --------------------------------------------------------


def take(delivery_id: int, attempts: int) -> WebhookDelivery | None:
    """Claim a delivery for its next attempt; None if it is finished or another worker has claimed this attempt.

    ``attempts``: how many had been started when this one was enqueued. If the same attempt is enqueued twice, one wins.
    """
    # The webhook is a subquery, not a join. With a join, Django would look the row up in a subquery of its own, and a
    # worker that waited for another's update would still see the old row there and claim it, too.
    taken = WebhookDelivery.objects.filter(
        pk=delivery_id,
        state=DeliveryState.WAITING,
        attempts=attempts,
        webhook__in=Webhook.objects.filter(active=True).values("pk"),
    ).update(attempts=F("attempts") + 1, next_attempt_at=timezone.now() + IN_HAND)
    if not taken:
        return None
    return WebhookDelivery.objects.select_related("webhook__benchmark").get(pk=delivery_id)


def note_delivered(delivery: WebhookDelivery, *, status: int, excerpt: str) -> None:
    """The receiver accepted it."""
    with transaction.atomic():
        mine = _mine(delivery).update(
            state=DeliveryState.DELIVERED,
            delivered_at=timezone.now(),
            response_status=status,
            response_excerpt=excerpt,
            problem="",
        )
        if mine:
            works_again = Webhook.objects.filter(pk=delivery.webhook_id, failing_since__isnull=False)
            works_again.update(failing_since=None, told_at=None)


def note_failed(delivery: WebhookDelivery, problem: str, *, status: int | None = None, excerpt: str = "") -> None:
    """An attempt failed: schedule another, or give up after the last. Managers are notified of the first event given
    up, and the webhook is disabled after days without a success."""
    now = timezone.now()
    is_last = delivery.attempts >= MAX_ATTEMPTS
    with transaction.atomic():
        # Locks the webhook first, like disabling does.
        webhook = Webhook.objects.select_for_update(of=("self",)).filter(pk=delivery.webhook_id).first()
        if webhook is None:  # deleted in the meantime, and its deliveries with it
            return
        mine = _mine(delivery).update(
            state=DeliveryState.GIVEN_UP if is_last else DeliveryState.WAITING,
            next_attempt_at=now + pause_after(delivery.attempts),
            response_status=status,
            response_excerpt=excerpt,
            problem=problem[:300],
        )
        if not mine:
            return
        webhook.failing_since = webhook.failing_since or now
        if webhook.active and webhook.failing_since <= now - OFF_AFTER:
            reason = f"No successful delivery since {webhook.failing_since:%Y-%m-%d}: {problem}"
            _switch_off(webhook, reason)
            _note("switch-webhook-off", webhook, None, f"{_place(webhook.url)}: {reason}")
            _tell(webhook, f"The webhook {_place(webhook.url)} was disabled. {reason}")
        elif is_last and webhook.told_at is None:
            webhook.told_at = now
            _tell(webhook, f"The webhook {_place(webhook.url)} can’t be reached: {problem}")
        webhook.save(update_fields=["failing_since", "told_at"])


def _mine(delivery: WebhookDelivery) -> QuerySet[WebhookDelivery]:
    """The delivery, unless it is finished or another worker has started a later attempt."""
    return WebhookDelivery.objects.filter(pk=delivery.pk, state=DeliveryState.WAITING, attempts=delivery.attempts)


def _tell(webhook: Webhook, text: str) -> None:
    tell(managers_of(webhook.benchmark), NoticeKind.WEBHOOK, text, benchmark=webhook.benchmark)


def pause_after(attempts: int) -> dt.timedelta:
    """The pause after this many attempts: exponential with 25% jitter, so that deliveries that failed together don't
    retry together."""
    seconds = FIRST_PAUSE * PAUSE_GROWS ** (attempts - 1)
    return dt.timedelta(seconds=seconds * random.uniform(0.75, 1.25))


def order_due() -> list[tuple[int, int]]:
    """Due deliveries, in the form ``take`` expects: retries, and those that the queue or a killed worker lost.

    Each becomes due again only after ``IN_HAND``, so a slow queue doesn't fill with duplicates. A failing receiver gets
    one event at a time, so thousands of waiting events don't occupy the workers.
    """
    now = timezone.now()
    due = WebhookDelivery.objects.filter(state=DeliveryState.WAITING, next_attempt_at__lte=now).order_by(
        "next_attempt_at", "pk"
    )
    orders = due.values_list("pk", "attempts")
    rows = list(orders.filter(webhook__failing_since__isnull=True)[:MAX_AT_ONCE])
    for webhook in Webhook.objects.filter(active=True, failing_since__isnull=False):
        rows += orders.filter(webhook=webhook)[:1]
    WebhookDelivery.objects.filter(pk__in=[pk for pk, _ in rows], state=DeliveryState.WAITING).update(
        next_attempt_at=now + IN_HAND
    )
    return rows


def forget_old() -> int:
    """Delete deliveries that finished over a month ago. Returns how many."""
    over = WebhookDelivery.objects.exclude(state=DeliveryState.WAITING)
    return over.filter(created_at__lt=timezone.now() - KEPT_FOR).delete()[0]
