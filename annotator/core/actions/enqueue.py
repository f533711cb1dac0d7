"""Asking a worker for something once the transaction has committed."""

from __future__ import annotations

from celery import current_app
from django.db import transaction


def after_commit(task: str, *arguments: int | str, countdown: int = 0) -> None:
    """Enqueue a task by its name after the commit, to begin in ``countdown`` seconds: annotator never imports the
    pipeline.

    A broker that is down does not undo what was committed: the rows wait, and a worker picks them up (``robust``).
    As a signature, not by ``send_task``, which knows no eager mode (tests, ``--wait``).
    """

    # Not a partial: Django names the function that failed in its log, and a partial has no name.
    def enqueue() -> None:
        current_app.signature(task, args=list(arguments)).apply_async(countdown=countdown or None)

    transaction.on_commit(enqueue, robust=True)
