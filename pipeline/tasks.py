"""The pipeline's Celery tasks: thin and named, with ids as arguments. ``pipeline.runs.coordinator`` does the work."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from celery import current_app, shared_task
from django.db import connection

from annotator.core.actions.announce import SEND
from annotator.core.models import PipelineRun
from annotator.exchange.actions.corpora import SEARCH_CORPUS
from annotator.integrations.actions.webhooks import forget_old, order_due
from annotator.stages.actions.pages import FETCH_PAGE, forgotten_pages
from annotator.stages.actions.rechecks import RECHECK
from annotator.stages.actions.rechecks import unfinished as unfinished_rechecks
from annotator.suggestions.actions.runs import OPEN_DOCUMENTS, cancelled_with_documents, open_documents_of
from annotator.suggestions.actions.services import PROBE_SERVICE
from pipeline.runs import (
    added_pages,
    batching,
    coordinator,
    rechecks,
    service_probe,
    suggesters,
    trial_search,
    webhooks,
)

AT_ONCE = 20


@shared_task(name="pipeline.advance_run")
def advance_run(run_id: int) -> int:
    """Enqueue the documents of a run that have no result yet. Returns how many."""
    run = PipelineRun.objects.filter(pk=run_id).first()
    if run is None:
        return 0
    items = coordinator.begin(run)
    # With few documents, someone is waiting at a screen, so they skip the queue of whole benchmarks.
    queue = "touchstone" if len(items) <= AT_ONCE else "touchstone-bulk"
    for item_id in items:
        prefill_item.apply_async((item_id,), queue=queue)
    if not items:
        coordinator.finish_run_if_done(run_id)
    return len(items)


@shared_task(name=OPEN_DOCUMENTS)
def open_documents(run_id: int) -> None:
    """Open the documents that waited for a cancelled run."""
    open_documents_of(run_id)


@shared_task(name="pipeline.prefill_item")
def prefill_item(item_id: int) -> None:
    """Make the suggestions of one document."""
    coordinator.prefill_item(item_id)


@shared_task(name="pipeline.work_off_run")
def work_off_run(run_id: int, at_once: int) -> None:
    """Process the documents of a run in this process, ``at_once`` at a time, in threads. For a command that waits."""
    run = PipelineRun.objects.filter(pk=run_id).first()
    if run is None:
        return
    items = coordinator.begin(run)

    def one(item_id: int) -> None:
        try:
            prefill_item.apply((item_id,), throw=True)
        finally:
            if at_once > 1:
                connection.close()

    if at_once == 1:
        for item_id in items:
            one(item_id)
    else:
        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(one, items))
    coordinator.finish_run_if_done(run_id)


@shared_task(name="pipeline.pick_up_runs")
def pick_up_runs() -> int:
    """Start runs that wait for a worker, every few seconds. Returns how many."""
    ids = list(coordinator.waiting_runs())
    for run_id in ids:
        advance_run.delay(run_id)
    return len(ids)


@shared_task(name="pipeline.work_on_batches")
def work_on_batches() -> int:
    """Hand over collected requests and read finished batches, every few seconds. Returns how many runs go on."""
    ids = batching.work_on_batches()
    for run_id in ids:
        advance_run.delay(run_id)
    return len(ids)


@shared_task(name="pipeline.train_suggesters")
def train_suggesters(benchmark_id: int) -> int:
    """Train what can be learned from a benchmark's gold. Returns how many suggesters were made."""
    return suggesters.train_suggesters(benchmark_id)


@shared_task(name="pipeline.learn_where_gold_has_grown")
def learn_where_gold_has_grown() -> int:
    """Retrain where the gold has grown enough, every few minutes. Returns for how many benchmarks."""
    ids = suggesters.benchmarks_to_train()
    for benchmark_id in ids:
        train_suggesters.apply_async((benchmark_id,), queue="touchstone-bulk")
    return len(ids)


@shared_task(name=PROBE_SERVICE)
def probe_service(service_id: int) -> None:
    """Find out what a service can do that an owner added."""
    service_probe.probe_service(service_id)


@shared_task(name=SEARCH_CORPUS)
def search_corpus(corpus_id: int, query: str, key: str) -> None:
    """A trial search on a corpus's page; the answer goes into the cache, where the page looks for it."""
    trial_search.search_corpus(corpus_id, query, key)


@shared_task(name="pipeline.resume_runs")
def resume_runs(alone: bool = False) -> int:
    """Pick up lost work: called when a worker starts, and every few seconds. Returns how much.

    Documents of a killed worker are enqueued again. All other waiting documents are in the queue, unless the broker has
    lost them: then the queue is empty. ``alone``: there is no other worker, so documents marked as running were lost
    with the last worker, and so was the queue.
    """
    coordinator.close_cancelled(alone=alone)
    for run_id in cancelled_with_documents():
        open_documents.delay(run_id)
    lost = coordinator.release_lost(alone=alone)
    if alone or _queues_are_empty():
        ids = list(coordinator.unfinished_runs())
        for run_id in ids:
            advance_run.delay(run_id)
        return len(ids)
    for item_id in lost:
        prefill_item.apply_async((item_id,), queue="touchstone")
    return len(lost)


def _queues_are_empty() -> bool:
    """Is no message waiting? Messages that a worker has already fetched don't count: doing them twice is harmless."""
    with current_app.connection_for_write() as broker:
        return not any(_waiting(broker, queue.name) for queue in current_app.amqp.queues.values())


def _waiting(broker: Any, queue: str) -> int:
    try:
        return int(broker.default_channel.queue_declare(queue, passive=True).message_count)
    except broker.channel_errors:  # nobody has put anything into it yet
        return 0


@shared_task(name=FETCH_PAGE)
def fetch_page(evidence_id: int) -> None:
    """Fetch and keep the page of evidence that a person added."""
    added_pages.fetch_page_of(evidence_id)


@shared_task(name="pipeline.fetch_forgotten")
def fetch_forgotten() -> int:
    """Order pages again whose order got lost: called now and then. Returns how many."""
    ids = forgotten_pages()
    for evidence_id in ids:
        fetch_page.delay(evidence_id)
    return len(ids)


@shared_task(name=RECHECK)
def recheck_pages(recheck_id: int) -> None:
    """Check saved pages for a while; the next task goes on."""
    if rechecks.check_slice(recheck_id):
        recheck_pages.apply_async((recheck_id,), queue="touchstone-bulk")


@shared_task(name="pipeline.resume_rechecks")
def resume_rechecks() -> int:
    """Go on with checks of saved pages that no worker is at: called now and then. Returns how many."""
    ids = unfinished_rechecks()
    for recheck_id in ids:
        recheck_pages.apply_async((recheck_id,), queue="touchstone-bulk")
    return len(ids)


@shared_task(name=SEND)
def send_webhook(delivery_id: int, attempts: int) -> None:
    """Make one attempt at telling a webhook of an event."""
    webhooks.send_delivery(delivery_id, attempts)


@shared_task(name="pipeline.send_due_webhooks")
def send_due_webhooks() -> int:
    """Order what failed before or was left behind, every few seconds. Returns how many."""
    orders = order_due()
    for delivery_id, attempts in orders:
        send_webhook.delay(delivery_id, attempts)
    return len(orders)


@shared_task(name="pipeline.forget_old_deliveries")
def forget_old_deliveries() -> int:
    """Delete the deliveries of webhooks that were over long ago. Returns how many."""
    return forget_old()
