"""The Celery app. Its settings, each with its reason, are the CELERY_* names in config/settings.py.

Tasks are in pipeline/tasks.py and annotator/tasks.py. The annotator enqueues by name after the commit
(`annotator.core.actions.enqueue`), so it needs no import from the pipeline.
"""

from __future__ import annotations

import os
import threading

from celery import Celery
from celery.signals import celeryd_init, task_postrun, task_prerun, task_revoked, worker_ready
from django.conf import settings
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from kombu import Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

WORKER_NICE = 10  # about a tenth of the processor time when the web processes need all of it

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


@celeryd_init.connect
def lower_priority(**_: object) -> None:
    """Run a separate worker at a low priority, so that saves and pages come first. The in-process worker doesn't get
    here: it would lower the web process's priority too."""
    if hasattr(os, "nice"):
        os.nice(WORKER_NICE)


@worker_ready.connect
def resume_runs(**_: object) -> None:
    """A starting worker picks up unfinished work, because the last one's queue may be lost."""
    app.send_task("pipeline.resume_runs", kwargs={"alone": settings.IN_PROCESS_WORKER})
    app.send_task("annotator.resume_imports", kwargs={"alone": settings.IN_PROCESS_WORKER})
    app.send_task("annotator.resume_releases", kwargs={"alone": settings.IN_PROCESS_WORKER})
    app.send_task("annotator.resume_scoring", kwargs={"alone": settings.IN_PROCESS_WORKER})


_working = threading.local()


@task_prerun.connect
def begin_task(task: object = None, **_: object) -> None:
    """Give the statements of a task their own timeout, in whatever process or thread it runs."""
    if getattr(getattr(task, "request", None), "is_eager", False):
        return
    _working.now = True
    if connection.connection is not None:
        _give_time(connection)


@task_postrun.connect
def end_task(**_: object) -> None:
    """Connections opened after the task get the timeout of requests again."""
    _working.now = False


@receiver(connection_created)
def give_time_to_new_connection(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Set the timeout on a connection that a task opens or reopens."""
    if getattr(_working, "now", False):
        _give_time(connection)


def _give_time(connection: BaseDatabaseWrapper) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('statement_timeout', %s, false)", [f"{settings.WORKER_STATEMENT_TIMEOUT}s"]
            )


@task_revoked.connect
def close_connections(**_: object) -> None:
    """Celery records a revoked task in the database from its main loop, but closes connections only after tasks."""
    from django.db import connections

    connections.close_all()
