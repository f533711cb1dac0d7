"""What a worker does when it loses Redis: it starts anew, as a whole.

Celery would reconnect and go on. Tasks in progress then acknowledge on the lost connection, which raises inside kombu
(celery 5.7, kombu 5.7), and the worker stays up without doing anything. `tests/faults` showed it after about one loss
in four. Tasks are idempotent and the rows in the database say what is unfinished, so a new start loses nothing. First
the pool may finish what it is doing: a call that is on the wire is paid.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading

from celery.worker.consumer import Consumer

logger = logging.getLogger(__name__)

FINISH_WITHIN = 60  # seconds


class RestartingConsumer(Consumer):
    """Replaces the program by itself when an established connection is lost. Its process id stays the same, so no
    supervisor notices. Starting then waits for Redis."""

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        logger.warning("Redis is away (%s). The worker starts anew.", exc)
        finishing = threading.Thread(target=self._finish, daemon=True)
        finishing.start()
        finishing.join(FINISH_WITHIN)
        for child in _children():
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606  # its own arguments

    def _finish(self) -> None:
        with contextlib.suppress(Exception):  # the results cannot be acknowledged: their broker is away
            self.pool.stop()


def _children() -> list[int]:
    """The process ids of the pool."""
    from billiard import active_children

    return [each.pid for each in active_children() if each.pid is not None]
