"""Liveness and readiness: for containers, load balancers, monitors and script/server.

``/healthz``: this process responds and reaches the database. ``/readyz``: everything Touchstone needs is available, by
part.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable

from celery import current_app
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache

logger = logging.getLogger(__name__)

FRESH_FOR = 5.0  # seconds for which results are cached, so that frequent checks cost nothing
PING_TIMEOUT = 1.0  # seconds a worker has to answer
LEAST_FREE = 200 * 1024 * 1024  # bytes on TOUCHSTONE_VAR's disk

_lock = threading.Lock()
_kept: tuple[float, dict[str, str]] | None = None


@login_not_required
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """200 and "ok" if the database answers; otherwise 503."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse("ok", content_type="text/plain")


@login_not_required
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """200 if every part is "ok", otherwise 503 with each part's status. Details are only in the log."""
    global _kept  # noqa: PLW0603 - one answer for all threads of the process
    with _lock:
        if _kept is None or time.monotonic() - _kept[0] > FRESH_FOR:
            _kept = (time.monotonic(), {name: _said(name, check) for name, check in CHECKS.items()})
        checks = _kept[1]
    is_ready = all(said == "ok" for said in checks.values())
    words = {"status": "ready" if is_ready else "not ready", "checks": checks}
    return JsonResponse(words, status=200 if is_ready else 503)


def _said(name: str, check: Callable[[], str]) -> str:
    try:
        return check()
    except Exception as error:  # any exception means that the part isn't ready
        logger.warning("Not ready: %s (%s: %s)", name, type(error).__name__, str(error).strip().split("\n")[0])
        return "away"


def check_database() -> str:
    """Does the database answer, with this version's tables?"""
    executor = MigrationExecutor(connection)
    return "migrations missing" if executor.migration_plan(executor.loader.graph.leaf_nodes()) else "ok"


def check_queue() -> str:
    """Does the broker accept connections?"""
    with current_app.connection_for_write() as broker:
        broker.ensure_connection(max_retries=1, timeout=PING_TIMEOUT)
    return "ok"


def check_worker() -> str:
    """Does any worker take tasks?"""
    if settings.IN_PROCESS_WORKER:
        alive = any(thread.name == "celery-worker" and thread.is_alive() for thread in threading.enumerate())
        return "ok" if alive else "no worker"
    answers = current_app.control.ping(timeout=PING_TIMEOUT, limit=1)
    return "ok" if answers else "no worker"


def check_disk() -> str:
    """Is there space for uploads, and for SQLite's database?"""
    return "ok" if shutil.disk_usage(settings.VAR_DIR).free > LEAST_FREE else "almost full"


CHECKS: dict[str, Callable[[], str]] = {
    "database": check_database,
    "queue": check_queue,
    "worker": check_worker,
    "disk": check_disk,
}
