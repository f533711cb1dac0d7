"""Processes runs in a command's own process, because a server next to it can't see the in-memory queue."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from celery import Celery, current_app, signals
from django.conf import settings
from django.db import connection

from annotator.core.models import PipelineRun
from annotator.core.vocabulary import OPEN_STATES
from annotator.suggestions.actions.plans import IN_BATCHES


@contextmanager
def _tasks_at_once() -> Iterator[Celery]:
    """Within this block, an enqueued task runs at once in the caller."""
    app = current_app._get_current_object()
    app.loader.import_default_modules()
    before = app.conf.task_always_eager
    app.conf.task_always_eager = True
    try:
        yield app
    finally:
        app.conf.task_always_eager = before


def work_off(runs: Sequence[PipelineRun], on_document: Callable[[], None] | None = None) -> None:
    """Process what is open in these runs, as many documents at once as a worker would. ``on_document`` is called after
    each, in any thread; in batches after each turn of one. Inside a transaction, documents are processed one at a time,
    because other threads can't see its rows. Runs that ask in batches are waited for, up to a day for each step.

    A worker with the same runs does no harm: each document is claimed once.
    """

    def after_task(task: Any = None, **_: Any) -> None:
        if on_document is not None and task is not None and task.name == "pipeline.prefill_item":
            on_document()

    at_once = 1 if connection.in_atomic_block else max(settings.CELERY_WORKER_CONCURRENCY, 1)
    # Weak references would lose the local function at once.
    signals.task_postrun.connect(after_task, weak=False)
    try:
        with _tasks_at_once() as app:
            for run in runs:
                app.tasks["pipeline.work_off_run"].apply((run.pk, at_once), throw=True)
            in_batches = PipelineRun.objects.filter(pk__in=[run.pk for run in runs], plan__has_key=IN_BATCHES)
            while in_batches.filter(state__in=OPEN_STATES).exists():
                app.tasks["pipeline.work_on_batches"].apply(throw=True)
                for run in in_batches.filter(state__in=OPEN_STATES):  # what a lost worker had in hand
                    app.tasks["pipeline.work_off_run"].apply((run.pk, at_once), throw=True)
                time.sleep(settings.BATCH_PAUSE)
    finally:
        signals.task_postrun.disconnect(after_task)
