"""Background work in the caller, for fixtures that live longer than a test and for tests/conftest.py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock


@contextmanager
def tasks_run_at_once() -> Iterator[None]:
    """A task sent by name runs at once, in the caller; Celery's own eager mode leaves those out."""
    from config.celery import app

    def send_task(name: str, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, **options: Any) -> Any:
        app.loader.import_default_modules()
        return app.tasks[name].apply(args, kwargs, **{k: v for k, v in options.items() if k == "task_id"})

    with mock.patch.object(app, "send_task", send_task):
        yield
