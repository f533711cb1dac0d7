"""A Celery worker in threads of this process, for the default without Redis.

Celery's own `app.Worker` takes over signals, logging and the terminal and needs the main thread; its base class
`WorkController` doesn't.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any

from celery import signals
from celery.beat import EmbeddedService
from celery.platforms import EX_OK
from celery.worker import WorkController, state

from config.celery import app

_numbers = itertools.count(1)


class _Controller(WorkController):
    """Celery's worker, with an event that is set once it takes tasks."""

    def __init__(self, **kwargs: Any) -> None:
        self.ready = threading.Event()
        super().__init__(**kwargs)

    def on_consumer_ready(self, consumer: Any) -> None:
        # `app.Worker` sends this signal, too, so receivers don't need to know which worker they are in.
        signals.worker_ready.send(sender=consumer)
        self.ready.set()


class InProcessWorker:
    """Starts and stops the worker next to the web server. One per process."""

    def __init__(self) -> None:
        # No other worker can use a queue in memory, so greeting, gossip and heartbeat aren't needed.
        self._controller = _Controller(
            app=app,
            # A unique name, so that messages for a worker that has ended (see stop) don't reach the next one.
            hostname=f"in-process-{next(_numbers)}@localhost",
            pool="threads",
            without_mingle=True,
            without_gossip=True,
            without_heartbeat=True,
        )
        self._thread = threading.Thread(target=self._controller.start, name="celery-worker", daemon=True)
        # Sends the tasks of CELERY_BEAT_SCHEDULE. The plain scheduler keeps no file.
        self._beat = EmbeddedService(app, max_interval=1, thread=True, scheduler_cls="celery.beat:Scheduler")

    def start(self, timeout: float = 10.0) -> None:
        """Returns once the worker takes tasks. RuntimeError after `timeout` seconds."""
        state.should_stop = None
        self._thread.start()
        if not self._controller.ready.wait(timeout):
            raise RuntimeError(f"The in-process worker did not start within {timeout:.0f} s; see the log above.")
        self._beat.start()

    def stop(self, timeout: float) -> bool:
        """Take no more tasks and wait up to `timeout` seconds for the running ones. True if all have ended."""
        self._beat.service.stop()  # it sleeps at most a second and needn't be waited for
        state.should_stop = EX_OK
        # The loop checks this only every two seconds; a message wakes it at once.
        app.control.shutdown()
        self._thread.join(timeout)
        return not self._thread.is_alive()
