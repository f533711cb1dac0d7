"""script/server's program: what a person meets who starts it, twice, on a taken port, and stops it.

The shell around it, which makes .venv, is left out: it may have to install.
"""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running_server import ROOT, SERVER, Server


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    running: list[Server] = []
    yield running
    for server in running:
        server.kill()


@pytest.fixture
def var(tmp_path: Path) -> Path:
    return tmp_path / "var with spaces"


def test_starts_from_nothing_serves_and_starts_again_with_what_it_kept(var: Path, servers: list[Server]) -> None:
    first = Server(var, "--port", "0", "--no-demo")
    servers.append(first)
    assert first.address, first.printed
    assert first.get("healthz").read() == b"ok"
    assert first.get("static/django_htmx/htmx-2.min.js").headers["Content-Type"].startswith("text/javascript")
    key = (var / "secret_key").read_text()
    assert len(key) > 60
    assert stat.S_IMODE((var / "secret_key").stat().st_mode) == 0o600
    first.stop(signal.SIGINT)
    assert first.process.returncode == 0
    assert "Traceback" not in first.printed

    second = Server(var, "--port", "0", "--no-demo")
    servers.append(second)
    assert second.get("healthz").status == 200
    assert "database" not in second.printed.lower()  # nothing left to migrate, nothing said
    assert (var / "secret_key").read_text() == key
    second.stop(signal.SIGTERM)
    assert second.process.returncode == 0
    assert "Traceback" not in second.printed


def test_a_taken_port_is_said_in_one_line_before_anything_is_done(var: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ended = subprocess.run(
            [sys.executable, str(SERVER), "--port", str(port)],
            env={"PATH": os.environ["PATH"], "TOUCHSTONE_VAR": str(var)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert f"Port {port} on 127.0.0.1 is taken" in ended.stderr
    assert f"--port {port + 1}" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not var.exists()


def test_a_killed_server_leaves_the_port_and_its_data(var: Path, servers: list[Server]) -> None:
    first = Server(var, "--port", "0", "--no-demo")
    servers.append(first)
    port = first.address.rstrip("/").rsplit(":", 1)[1]
    first.process.kill()
    first.process.communicate(timeout=10)  # returns when the serving process has noticed too
    second = Server(var, "--port", port, "--no-demo")
    servers.append(second)
    assert second.get("healthz").status == 200


def test_another_name_for_this_machine_is_refused(var: Path, servers: list[Server]) -> None:
    server = Server(var, "--port", "0", "--no-demo")
    servers.append(server)
    request = urllib.request.Request(server.address + "healthz", headers={"Host": "attacker.example"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    assert refused.value.code == 400
    refused.value.close()


def test_an_address_that_others_reach_gets_no_demo(var: Path, servers: list[Server]) -> None:
    server = Server(var, "--host", "0.0.0.0", "--port", "0")
    servers.append(server)
    assert server.address, server.printed
    assert "No demo" in server.printed
    assert "ALLOWED_HOSTS" in server.printed


def test_with_postgresql_and_redis_a_separate_worker_runs_and_ends_with_the_server(
    var: Path, servers: list[Server], redis_url: str, postgres_url: str
) -> None:
    server = Server(
        var, "--port", "0", "--no-demo", DATABASE_URL=postgres_url, REDIS_URL=redis_url, WEB_CONCURRENCY="1"
    )
    servers.append(server)
    assert server.address, server.printed
    assert server.get("healthz").read() == b"ok"
    assert not (var / "touchstone.sqlite3").exists()
    ping = [sys.executable, "-m", "celery", "--app", "config", "inspect", "ping", "--timeout", "2"]
    environment = {"PATH": os.environ["PATH"], "TOUCHSTONE_VAR": str(var), "REDIS_URL": redis_url}

    def pong() -> bool:
        answer = subprocess.run(ping, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        return "pong" in answer.stdout

    last_moment = time.monotonic() + 30
    while not pong():
        assert time.monotonic() < last_moment, "no worker answered within 30 s"
    server.stop(signal.SIGINT)
    assert server.process.returncode == 0
    assert not pong(), "the worker outlived the server"


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells children of their parent's end on Linux alone")
def test_what_it_started_ends_with_it_even_when_it_is_killed() -> None:
    sleeper = "import time; print('up', flush=True); time.sleep(60)"
    parent = f"""
import sys; sys.path.insert(0, {str(SERVER.parent)!r})
import server
server.supervise([[sys.executable, "-c", {sleeper!r}], [sys.executable, "-c", {sleeper!r}]], ())
"""
    process = subprocess.Popen(
        [sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["up\n", "up\n"]
    process.kill()
    process.communicate(timeout=20)  # the pipe ends when the last process that holds it has ended
