"""gunicorn's settings, and the hooks that start and stop the in-process worker.

One process with threads while the queue lives in its memory; with REDIS_URL as many as WEB_CONCURRENCY
says, and the worker is a program of its own.
"""

from __future__ import annotations

import atexit
import gc
import logging
import os
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from config.worker import InProcessWorker

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

wsgi_app = "config.wsgi:application"
worker_class = "gthread"
threads = 8
workers = int(os.environ.get("WEB_CONCURRENCY") or 2) if os.environ.get("REDIS_URL", "").strip() else 1
# Pages keep several requests going; an idle connection costs a socket, no thread.
keepalive = 30
# Seconds for running requests and tasks to end after a stop; then the process is killed.
graceful_timeout = 8
# The file by which workers tell that they live is in memory where the system has such a folder.
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: PTH112, S108
# gunicorn's own control socket would be a file in the home folder, which may not exist.
control_socket_disable = True
loglevel = "warning"
accesslog = None

_worker: InProcessWorker | None = None


def _remove_figures(owner: int, folder: str) -> None:
    """Only the process that made the folder removes it, not those that it forked."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


if workers > 1:
    # Before the app is loaded: prometheus_client then counts in files, which any of the processes can add up.
    _figures = tempfile.mkdtemp(prefix="touchstone-metrics-")
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = _figures
    atexit.register(_remove_figures, os.getpid(), _figures)


def child_exit(server: Any, worker: Any) -> None:
    """What a process that has ended counted stays in the sums; its gauges go."""
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        from prometheus_client import multiprocess

        multiprocess.mark_process_dead(worker.pid)


def post_worker_init(worker: Any) -> None:
    """The app is loaded in the serving process: start its worker, and tell the person who waits."""
    global _worker  # noqa: PLW0603 - gunicorn's hooks share nothing else
    from django.conf import settings
    from django.urls import get_resolver

    # What is loaded now stays until the end (the views, too, are loaded by asking for the URLs): the garbage collector
    # need not look through it again in the middle of someone's request.
    _ = get_resolver().url_patterns
    gc.collect()
    gc.freeze()
    if settings.IN_PROCESS_WORKER:
        from config.worker import InProcessWorker

        _worker = InProcessWorker()
        _worker.start()
    # script/server sets the address; only the first process speaks.
    address = os.environ.get("TOUCHSTONE_ADDRESS")
    if address and worker.age == 1:
        sys.stdout.write(f"\nTouchstone is ready: {address}\nCtrl-C stops it.\n")
        sys.stdout.flush()


def worker_exit(server: Any, worker: Any) -> None:
    """Stop the in-process worker. Tasks that do not end in time are cut off; their run rows know."""
    if _worker is None:
        return
    if not _worker.stop(timeout=5):
        logging.getLogger("config").warning("Stopped in the middle of background work; it goes on at the next start.")
        # Threads of the pool would hold the interpreter until their tasks end.
        logging.shutdown()
        os._exit(0)
