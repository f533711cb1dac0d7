"""The Celery app. Its settings, each with its reason, are the CELERY_* names in config/settings.py.

Tasks are in pipeline/tasks.py and annotator/tasks.py. The annotator enqueues by name after the commit
(`annotator.core.actions.enqueue`), so it needs no import from the pipeline.
"""

from __future__ import annotations

import os

from celery import Celery
from celery.signals import task_revoked, worker_ready
from django.conf import settings
from kombu import Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("touchstone")
app.config_from_object("django.conf:settings", namespace="CELERY")
# Workers alternate between both queues, so thousands of documents waiting for suggestions don't block imports.
app.add_defaults(
    {
        "task_queues": (Queue("touchstone"), Queue("touchstone-bulk")),
        "task_routes": {
            "pipeline.prefill_item": {"queue": "touchstone-bulk"},
            "pipeline.send_webhook": {"queue": "touchstone-bulk"},  # a slow receiver blocks nobody's import
        },
    }
)
app.autodiscover_tasks(["annotator", "pipeline"])


@worker_ready.connect
def resume_runs(**_: object) -> None:
    """A starting worker picks up unfinished work, because the last one's queue may be lost."""
    app.send_task("pipeline.resume_runs", kwargs={"alone": settings.IN_PROCESS_WORKER})
    app.send_task("annotator.resume_imports", kwargs={"alone": settings.IN_PROCESS_WORKER})
    app.send_task("annotator.resume_releases", kwargs={"alone": settings.IN_PROCESS_WORKER})


@task_revoked.connect
def close_connections(**_: object) -> None:
    """Celery records a revoked task in the database from its main loop, but closes connections only after tasks."""
    from django.db import connections

    connections.close_all()
