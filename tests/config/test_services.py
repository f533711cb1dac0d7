"""Servers that tests share start when one asks, once for all processes of a run, and end with its first process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests import services

ROOT = Path(__file__).resolve().parents[2]
# The first process of a run, and two others that both ask for Redis at the same moment.
RUN = """
import subprocess, sys, time
from tests import services
ASK = "from tests import services; print(services.shared('redis'))"
with services.session():
    asking = [subprocess.Popen([sys.executable, "-c", ASK], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    print(*(each.communicate()[0].strip() for each in asking), flush=True)
    sys.stdin.readline()
"""


def answers(url: str) -> bool:
    address = urlsplit(url)
    with socket.socket() as probe:
        return probe.connect_ex((str(address.hostname), int(address.port or 0))) == 0


def stops(url: str, seconds: float = 20.0) -> bool:
    last_moment = time.monotonic() + seconds
    while answers(url) and time.monotonic() < last_moment:
        time.sleep(0.05)
    return not answers(url)


@pytest.fixture
def run(redis_url: str) -> Iterator[subprocess.Popen[str]]:
    """Such a run; that Redis can be had here is what redis_url makes sure of."""
    if os.environ.get("TEST_REDIS_URL"):
        pytest.skip("The Redis that TEST_REDIS_URL names is used as it is.")
    with subprocess.Popen(
        [sys.executable, "-c", RUN], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("end", ["done", "killed"])
def test_one_server_for_all_that_ends_with_the_run(run: subprocess.Popen[str], redis_url: str, end: str) -> None:
    assert run.stdin and run.stdout
    first, second = run.stdout.readline().split()
    assert first == second != redis_url
    assert answers(first)
    if end == "done":
        run.stdin.close()
        assert run.wait(20) == 0
        assert not answers(first), "the run waits until its servers have stopped"
    else:
        run.kill()
        assert stops(first)
    assert answers(redis_url)


def test_what_is_missing_is_said_to_everybody_who_asks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(services.SESSION, str(tmp_path))
    (tmp_path / "redis.missing").write_text("There is no Redis here.")
    for _ in range(2):
        with pytest.raises(services.MissingService, match="There is no Redis here"):
            services.shared("redis")


def test_a_run_whose_tests_ask_for_nothing_starts_nothing(tmp_path: Path) -> None:
    """A pytest of its own, which lists at its end what lies in its session's folder."""
    plugin = tmp_path / "listing.py"
    plugin.write_text(
        "import os\nfrom pathlib import Path\n"
        "def pytest_sessionfinish():\n"
        f"    print('FOUND', *sorted(each.name for each in Path(os.environ['{services.SESSION}']).iterdir()))\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != services.SESSION}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-n0", "-p", "listing", "tests/core/test_labels.py"],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FOUND alive\n" in done.stdout
