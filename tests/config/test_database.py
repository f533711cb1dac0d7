"""The settings of both databases as a server has them, not as the suite bends them."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ASK = """
import json, sys, time
import django
django.setup()
from django.db import OperationalError, connection
began = time.monotonic()
answers = {}
try:
    with connection.cursor() as cursor:
        for question in json.loads(sys.argv[1]):
            cursor.execute(question)
            answers[question] = str(cursor.fetchone()[0])
except OperationalError as error:
    answers["error"] = str(error)
answers["seconds"] = time.monotonic() - began
print(json.dumps(answers))
"""


def asked(var: Path, *questions: str, **environment: str) -> dict[str, str]:
    """What a process with these settings is told by its database."""
    done = subprocess.run(
        [sys.executable, "-c", ASK, json.dumps(questions)],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "TOUCHSTONE_VAR": str(var),
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    answers: dict[str, str] = json.loads(done.stdout)
    return answers


def test_sqlite_syncs_every_commit_and_its_files_are_private(tmp_path: Path) -> None:
    var = tmp_path / "var"
    found = asked(var, "PRAGMA synchronous", "PRAGMA journal_mode")
    assert (found["PRAGMA synchronous"], found["PRAGMA journal_mode"]) == ("2", "wal")
    assert stat.S_IMODE(var.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in var.iterdir()} == {0o600}


def test_postgres_gives_up_by_itself(tmp_path: Path, postgres_url: str) -> None:
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    found = asked(tmp_path, *(f"SHOW {name}" for name in names), DATABASE_URL=postgres_url, DB_STATEMENT_TIMEOUT="7")
    assert [found[f"SHOW {name}"] for name in names] == ["7s", "10s", "5min"]


def test_a_postgres_that_never_answers_is_given_up_after_the_connect_timeout(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(1)
        url = f"postgresql://touchstone@127.0.0.1:{silent.getsockname()[1]}/touchstone"
        began = time.monotonic()
        found = asked(tmp_path, "SELECT 1", DATABASE_URL=url, DB_CONNECT_TIMEOUT="2")
    assert "timeout" in found["error"]
    assert time.monotonic() - began < 20
    assert float(found["seconds"]) == pytest.approx(2, abs=1.5)
