"""When the demo is not loaded: the database is somebody's own, a name is taken, or the load breaks off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotator.core.models import Benchmark, User
from annotator.home import demo
from annotator.management.commands.load_demo import logins_file
from tests.factories import BenchmarkFactory, UserFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def var(settings: Any, tmp_path: Path) -> Path:
    settings.VAR_DIR = tmp_path
    settings.DATABASE_URL = ""  # the suite itself may run on PostgreSQL
    return tmp_path


def test_a_database_of_ones_own_is_refused(settings: Any) -> None:
    settings.DATABASE_URL = "postgres://db/touchstone"
    with pytest.raises(CommandError, match="--force"):
        call_command("load_demo")
    assert not User.objects.exists()


def test_somebody_elses_log_in_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    own = UserFactory(username="admin")
    call_command("load_demo")
    assert "a log-in “admin” already exists" in capsys.readouterr().out
    assert User.objects.get().password == own.password and not Benchmark.objects.exists()


def test_somebody_elses_benchmark_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    BenchmarkFactory(slug="demo")
    call_command("load_demo")
    assert "a benchmark “demo” already exists" in capsys.readouterr().out
    assert not User.objects.exists()


def test_a_load_that_breaks_off_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("the power went")

    monkeypatch.setattr(demo, "_verify", fail)
    with pytest.raises(RuntimeError):
        call_command("load_demo")
    assert not User.objects.exists() and not Benchmark.objects.exists() and not logins_file().exists()
