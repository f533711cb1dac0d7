"""Handing the collected requests of runs to the model's service in batches, and reading what came of them.

The rows are the truth: a batch is written before the service is asked, and each request stays a pending call until its
result is settled. A killed worker's batch is gone on with by the next one, which looks for it at the service where its
name was not written down; nothing is handed over twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from annotator.core.models import ModelBatch, PendingCall, PipelineRun, RunItem
from annotator.core.vocabulary import OPEN_STATES, RunState
from annotator.suggestions.actions.plans import IN_BATCHES
from annotator.suggestions.actions.runs import halt
from pipeline.clients import answers
from pipeline.clients.assemble import open_chat
from pipeline.clients.base import ChatRequest, ServiceError
from pipeline.clients.collected import request_from_json
from pipeline.clients.cost_meter import CallKind, Hold, KeptAnswer
from pipeline.clients.models.batches import Batches, BatchResult, batches_of, max_requests
from pipeline.runs.bridge import Bridge
from pipeline.runs.run_budget import Ended, RunMeter
from pipeline.runs.services import settings_of

logger = logging.getLogger(__name__)

LEASE = timedelta(minutes=5)  # in which one worker hands a batch over, or reads it
T = TypeVar("T")


def work_on_batches() -> list[int]:
    """Hand over what was collected, look at what is due, and collect anew. Returns the runs that can go on."""
    _drop_unneeded()
    for batch in ModelBatch.objects.filter(over_at__isnull=True).select_related("run__benchmark"):
        if _take(batch):
            try:
                _go_on(batch)
            except ServiceError as error:
                logger.warning("A batch of run %s: %s", batch.run.public_id, error)
                if not batch.name:
                    halt(batch.run_id, f"{error} Then resume.", for_owners=True)
    runs = PipelineRun.objects.filter(plan__has_key=IN_BATCHES, state__in=OPEN_STATES)
    return [run.pk for run in runs if _collected(run)]


def _collected(run: PipelineRun) -> bool:
    """Make a batch of what the run's documents wait for, when all of them wait or are done. True where nothing is
    waited for any more, so that they can go on."""
    with transaction.atomic():
        PipelineRun.objects.select_for_update(no_key=True).defer("plan").get(pk=run.pk)
        waiting = run.items.filter(state=RunState.QUEUED, waits=True)
        if not waiting.exists() or run.items.filter(_at_work()).exists():
            return False
        calls = PendingCall.objects.filter(item__run=run, request__isnull=False, lost_at__isnull=True)
        keys = list(calls.filter(batch__isnull=True, item__state=RunState.QUEUED).values_list("pk", flat=True))
        if keys:
            size = max_requests(settings_of(run).llm_provider)
            for start in range(0, len(keys), size):
                part = keys[start : start + size]
                batch = ModelBatch.objects.create(run=run, requests=len(part))
                PendingCall.objects.filter(pk__in=part).update(batch=batch)
            return False
        if calls.exists():
            return False
        return bool(waiting.update(waits=False))


def _at_work() -> Q:
    return Q(state=RunState.RUNNING) | Q(state=RunState.QUEUED, waits=False)


def _drop_unneeded() -> None:
    """Give back what is held for requests that were never handed over, of documents that are over."""
    over = Q(item__state__in=(RunState.FINISHED, RunState.FAILED, RunState.CANCELLED))
    for call in PendingCall.objects.filter(over, request__isnull=False, batch__isnull=True, lost_at__isnull=True):
        with transaction.atomic():
            run = PipelineRun.objects.filter(items=call.item_id)
            run.update(spent_tokens=F("spent_tokens") - call.tokens, spent_money=F("spent_money") - call.money)
            call.delete()


def _take(batch: ModelBatch) -> bool:
    """Take a batch for this worker, if it is due."""
    now = timezone.now()
    due = Q(next_look_at__isnull=True) | Q(next_look_at__lte=now)
    return bool(ModelBatch.objects.filter(due, pk=batch.pk, over_at__isnull=True).update(next_look_at=now + LEASE))


def _go_on(batch: ModelBatch) -> None:
    """Hand a batch over, or look at it, and settle what came of it. Raises ServiceError."""
    calls = list(batch.calls.select_related("item").filter(request__isnull=False).order_by("pk"))
    requests = {call.key: request_from_json(_asked(call)["request"]) for call in calls}
    if not batch.name and not _handed_over(batch, requests):
        return
    cancelled = batch.run.state == RunState.CANCELLED and batch.cancelled_at is None
    if cancelled:
        _ask(batch, lambda batches: batches.cancel(batch.name))
        ModelBatch.objects.filter(pk=batch.pk).update(cancelled_at=timezone.now())
    result = _ask(batch, lambda batches: batches.look(batch.name, requests))
    later = timezone.now() + timedelta(seconds=settings.BATCH_PAUSE)
    if result is None:
        ModelBatch.objects.filter(pk=batch.pk).update(next_look_at=later)
        return
    _settle(batch, calls, result)


def _asked(call: PendingCall) -> dict[str, Any]:
    """What a call of a batch asks, and of whom."""
    asked: dict[str, Any] = call.request or {}
    return asked


def _handed_over(batch: ModelBatch, requests: dict[str, ChatRequest]) -> bool:
    """Whether the service has the batch, and its name is written down."""
    if batch.run.state not in OPEN_STATES and batch.handed_over_at is None:
        if batch.run.state == RunState.CANCELLED:
            PendingCall.objects.filter(batch=batch).update(batch=None)
            ModelBatch.objects.filter(pk=batch.pk).update(over_at=timezone.now())
        else:
            ModelBatch.objects.filter(pk=batch.pk).update(next_look_at=None)  # paused: when it goes on
        return False
    name = ""
    if batch.handed_over_at is not None:  # by a worker that was lost before it wrote the name down
        since = batch.handed_over_at
        name = _ask(batch, lambda batches: batches.find(batch.public_id, list(requests), since))
    else:
        batch.handed_over_at = timezone.now()
        batch.save(update_fields=["handed_over_at"])
    if not name:
        try:
            name = _ask(batch, lambda batches: batches.create(requests, batch.public_id))
        except ServiceError:
            ModelBatch.objects.filter(pk=batch.pk).update(next_look_at=None)  # looked for when the run goes on
            raise
    batch.name = name
    batch.save(update_fields=["name"])
    return True


def _ask(batch: ModelBatch, work: Callable[[Batches], Awaitable[T]]) -> T:
    """What the batches of the run's service say. Raises ServiceError."""
    found = settings_of(batch.run)

    async def main() -> T:
        async with open_chat(found) as chat:
            return await work(batches_of(chat))

    try:
        return asyncio.run(main())
    except ValueError as error:  # the service was removed, or its settings are wrong
        raise ServiceError(str(error)) from None


def _settle(batch: ModelBatch, calls: list[PendingCall], result: BatchResult) -> None:
    """Keep the answers and write what they cost, one transaction a document; then let the documents go on."""
    by_item: dict[int, list[PendingCall]] = defaultdict(list)
    for call in calls:
        by_item[call.item_id].append(call)
    seconds = 0.0
    # First, so that a worker that is lost from here on leaves no request to be made a second time.
    ModelBatch.objects.filter(pk=batch.pk).update(unanswered=sorted({*batch.unanswered, *result.unanswered}))
    for item_id, own in by_item.items():
        item = RunItem.objects.select_related("run__benchmark").get(pk=item_id)
        meter = RunMeter(item, Bridge())
        ended = []
        for call in own:
            hold = Hold(call.step, CallKind.CHAT, call.tokens, call.money, call.key, _asked(call)["service"])
            answer = result.answers.get(call.key)
            if answer is None:
                ended.append(Ended(hold, call.pk, None, seconds, None))
            else:
                kept = KeptAnswer(call.key, CallKind.CHAT, answers.chat_to_json(answer), instead=True)
                ended.append(Ended(hold, call.pk, answer.usage, seconds, kept))
        meter.settle_batch(ended)
    ModelBatch.objects.filter(pk=batch.pk).update(over_at=timezone.now())
