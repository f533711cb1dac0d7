"""gunicorn's settings, and hooks that start and stop the in-process worker.

One process with threads as long as the queue is in its memory. With REDIS_URL, WEB_CONCURRENCY sets the number of
processes, and the worker is a separate program.
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
# Pages send several requests; an idle connection costs a socket, not a thread.
keepalive = 30
# Seconds for running requests and tasks to finish after a stop; then the process is killed.
graceful_timeout = 8
# Workers' heartbeat files are in memory if the system has such a folder.
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: PTH112, S108
# gunicorn's control socket would be a file in the home folder, which may not exist.
control_socket_disable = True
loglevel = "warning"
accesslog = None

_worker: InProcessWorker | None = None


def _remove_figures(owner: int, folder: str) -> None:
    """Only the process that made the folder removes it, not its forks."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


if workers > 1:
    # Must be set before the app is loaded: prometheus_client then counts in files that any process can add up.
    _figures = tempfile.mkdtemp(prefix="touchstone-metrics-")
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = _figures
    atexit.register(_remove_figures, os.getpid(), _figures)


def child_exit(server: Any, worker: Any) -> None:
    """Counters of a process that ended stay in the sums; its gauges are removed."""
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        from prometheus_client import multiprocess

        multiprocess.mark_process_dead(worker.pid)


def post_worker_init(worker: Any) -> None:
    """The app is loaded in the serving process: start its worker and print the address."""
    global _worker  # noqa: PLW0603 - gunicorn's hooks share nothing else
    from django.conf import settings
    from django.urls import get_resolver

    # Everything loaded now stays until the end (asking for the URLs loads the views, too), so the garbage collector
    # needn't scan it during someone's request.
    _ = get_resolver().url_patterns
    gc.collect()
    gc.freeze()
    if settings.IN_PROCESS_WORKER:
        from config.worker import InProcessWorker

        _worker = InProcessWorker()
        _worker.start()
    # script/server sets the address; only the first process prints it.
    address = os.environ.get("TOUCHSTONE_ADDRESS")
    if address and worker.age == 1:
        sys.stdout.write(f"\nTouchstone is ready: {address}\nCtrl-C stops it.\n")
        sys.stdout.flush()


def worker_exit(server: Any, worker: Any) -> None:
    """Stop the in-process worker. Tasks that don't finish in time are cut off; their run rows record that."""
    if _worker is None:
        return
    if not _worker.stop(timeout=5):
        logging.getLogger("config").warning("Stopped in the middle of background work; it goes on at the next start.")
        # The pool's threads would keep the interpreter alive until their tasks end.
        logging.shutdown()
        os._exit(0)
