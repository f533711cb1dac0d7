"""The in-process worker does what the tasks count on: retry, delay, revoke, a clean stop, kept failures."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from celery.app.task import Task
from celery.signals import celeryd_init
from django.db import connection
from django_celery_results.models import TaskResult

from config.celery import WORKER_NICE, app
from config.worker import InProcessWorker

pytestmark = pytest.mark.real_worker


def wait_until(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    last_moment = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < last_moment, f"not within {seconds} s"
        time.sleep(0.02)


@pytest.fixture
def calls() -> Iterator[list[tuple[str, float]]]:
    """What the test tasks did, and when (seconds of the monotonic clock)."""
    seen: list[tuple[str, float]] = []

    @app.task(name="tests.note")
    def note(word: str) -> None:
        seen.append((word, time.monotonic()))

    @app.task(name="tests.flaky", bind=True, max_retries=3, default_retry_delay=0.2)
    def flaky(self: Task, word: str) -> None:
        seen.append((word, time.monotonic()))
        if len(seen) < 3:
            raise self.retry()

    @app.task(name="tests.broken")
    def broken(word: str) -> None:
        seen.append((word, time.monotonic()))
        raise ValueError("this passage has no text")

    @app.task(name="tests.write")
    def write(word: str) -> None:
        TaskResult.objects.create(task_id=word, task_name=threading.current_thread().name)
        seen.append((word, time.monotonic()))

    app.finalize()
    yield seen
    for name in ("tests.note", "tests.flaky", "tests.broken", "tests.write"):
        app.tasks.pop(name)


def test_a_task_sent_by_name_starts_at_once(calls: list[tuple[str, float]], real_worker: None) -> None:
    waits: list[float] = []
    for number in range(5):
        sent = time.monotonic()
        app.send_task("tests.note", (str(number),))
        wait_until(lambda: len(calls) > len(waits))
        waits.append(calls[-1][1] - sent)
    # Celery's default look into an in-memory queue is once a second; the best of five says it on a busy machine too.
    assert min(waits) < 0.5


def test_a_task_may_retry(calls: list[tuple[str, float]], real_worker: None) -> None:
    app.send_task("tests.flaky", ("again",))
    wait_until(lambda: len(calls) == 3)
    assert calls[2][1] - calls[1][1] >= 0.15


def test_a_delayed_task_waits_and_a_revoked_one_never_runs(calls: list[tuple[str, float]], real_worker: None) -> None:
    sent = time.monotonic()
    revoked = app.send_task("tests.note", ("revoked",), countdown=0.6)
    app.send_task("tests.note", ("delayed",), countdown=1.0)
    app.control.revoke(revoked.id)
    wait_until(lambda: bool(calls))
    time.sleep(0.3)
    assert [word for word, _ in calls] == ["delayed"]
    assert calls[0][1] - sent >= 0.9


def test_only_failures_are_kept_with_their_traceback(calls: list[tuple[str, float]], real_worker: None) -> None:
    app.send_task("tests.note", ("fine",))
    app.send_task("tests.broken", ("bad",))
    wait_until(lambda: len(calls) == 2 and TaskResult.objects.exists())
    row = TaskResult.objects.get()
    assert row.task_name == "tests.broken"
    assert row.status == "FAILURE"
    assert "this passage has no text" in row.traceback


def test_many_tasks_write_beside_the_web_thread(calls: list[tuple[str, float]], real_worker: None) -> None:
    """SQLite under threads: with Django's default settings this fails with "database is locked"."""
    for number in range(40):
        app.send_task("tests.write", (f"task {number}",))
        TaskResult.objects.create(task_id=f"web {number}")
    wait_until(lambda: len(calls) == 40, seconds=30)
    assert TaskResult.objects.count() == 80


def test_a_stop_waits_for_the_running_task_and_starts_no_other(
    calls: list[tuple[str, float]], transactional_db: None, queued_tasks: None
) -> None:
    began, finish = threading.Event(), threading.Event()

    @app.task(name="tests.slow")
    def slow() -> None:
        began.set()
        finish.wait(10)
        calls.append(("slow", time.monotonic()))

    worker = InProcessWorker()
    worker.start()
    app.send_task("tests.slow")
    assert began.wait(5)
    assert worker.stop(timeout=0.3) is False, "the running task was cut off"
    app.send_task("tests.note", ("too late",))
    finish.set()
    assert worker.stop(timeout=5) is True
    assert [word for word, _ in calls] == ["slow"]
    with app.connection_for_write() as broker:
        broker.default_channel.queue_purge(app.conf.task_default_queue)
    app.tasks.pop("tests.slow")


def test_the_embedded_database_takes_its_lock_at_the_start_of_a_transaction(db: None) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("These settings are SQLite's.")
    with connection.cursor() as cursor:
        mode: Any = cursor.execute("PRAGMA journal_mode").fetchone()
    assert mode[0] == "wal"
    assert connection.settings_dict["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert os.path.exists(connection.settings_dict["NAME"])  # noqa: PTH110


def test_a_worker_of_its_own_comes_after_people_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered: list[int] = []
    monkeypatch.setattr(os, "nice", lowered.append)
    celeryd_init.send(sender="celery@here")  # as `celery worker` does before it starts its processes
    assert lowered == [WORKER_NICE]
