"""The pipeline's Celery tasks: thin, named, ids in. What they do is in ``pipeline.runs``."""

from __future__ import annotations

from celery import shared_task

from annotator.models import PipelineRun
from pipeline import runs

AT_ONCE = 20


@shared_task(name="pipeline.advance_run")
def advance_run(run_id: int) -> int:
    """Hand out the documents of a run that have no result yet. Returns how many."""
    run = PipelineRun.objects.filter(pk=run_id).first()
    if run is None:
        return 0
    items = runs.begin(run)
    # A few documents are somebody waiting at a screen: they do not queue up behind a whole benchmark.
    queue = "touchstone" if len(items) <= AT_ONCE else "touchstone-bulk"
    for item_id in items:
        prefill_item.apply_async((item_id,), queue=queue)
    if not items:
        runs.finish_run_if_done(run_id)
    return len(items)


@shared_task(name="pipeline.prefill_item")
def prefill_item(item_id: int) -> None:
    """Make the suggestions of one document."""
    runs.prefill_item(item_id)


@shared_task(name="pipeline.pick_up_runs")
def pick_up_runs() -> int:
    """Begin runs that wait for any worker, every few seconds. Returns how many."""
    ids = list(runs.waiting_runs())
    for run_id in ids:
        advance_run.delay(run_id)
    return len(ids)


@shared_task(name="pipeline.resume_runs")
def resume_runs(alone: bool = False) -> int:
    """Pick up every unfinished run: called when a worker starts, and now and then. Returns how many.

    ``alone``: there is no other worker, so what is marked as running was lost with the last one.
    """
    runs.close_cancelled(alone=alone)
    if alone:
        runs.release_items()
    ids = list(runs.unfinished_runs())
    for run_id in ids:
        advance_run.delay(run_id)
    return len(ids)
