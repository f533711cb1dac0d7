"""Enqueues a worker's task once the transaction has committed."""

from __future__ import annotations

from celery import current_app
from django.db import transaction


def after_commit(task: str, *arguments: int | str, countdown: int = 0) -> None:
    """Enqueue a task by name after the commit, to start in ``countdown`` seconds. By name, because annotator never
    imports the pipeline.

    If the broker is down, the commit still stands: the rows wait, and a worker picks them up later (``robust``). Uses a
    signature because ``send_task`` has no eager mode (tests, ``--wait``).
    """

    # Not a partial: Django logs the name of a failed function, and a partial has none.
    def enqueue() -> None:
        current_app.signature(task, args=list(arguments)).apply_async(countdown=countdown or None)

    transaction.on_commit(enqueue, robust=True)
