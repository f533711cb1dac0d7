"""A worker that loses Redis: its pool ends, and the program replaces itself."""

from __future__ import annotations

import os
import sys
import time

import billiard
import pytest

from config.redis_loss import RestartingConsumer


def test_the_worker_starts_anew_without_its_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda path, arguments: started.append(arguments))
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "celery", "--app", "config", "worker"])
    child = billiard.Process(target=time.sleep, args=(60,))
    child.start()
    RestartingConsumer.on_connection_error_after_connected(object.__new__(RestartingConsumer), OSError("gone"))
    assert started == [[sys.executable, "-m", "celery", "--app", "config", "worker"]]
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)
