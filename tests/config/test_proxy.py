"""Caddy as the compose file sets it up, in front of a real web process."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from config import gunicorn
from tests.conftest import ROOT

CADDYFILE = ROOT / "deploy" / "Caddyfile"
CADDY = Path(sys.executable).parent / "caddy"  # from requirements-dev.txt
SECONDS = 60  # for a program to answer
KEY = "for-a-test-only-0123456789-abcdefghijklmnopqrstuvwxyz"

needs_caddy = pytest.mark.skipif(not CADDY.exists(), reason="there is no wheel of Caddy for this system")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def status_of(port: int, path: str) -> int:
    """The status that a new connection gets. Raises OSError if nothing listens or nothing comes."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", path)
        return connection.getresponse().status


@contextlib.contextmanager
def running(command: list[str], port: int, environment: dict[str, str]) -> Iterator[None]:
    """Runs a program; ready when it accepts connections."""
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL) as program:
        try:
            until = time.monotonic() + SECONDS
            while time.monotonic() < until:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.1)
            yield
        finally:
            program.terminate()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[int]:
    """A web process with Caddy in front; the port of Caddy."""
    inside, outside = free_port(), free_port()
    settings = {"TOUCHSTONE_VAR": str(tmp_path / "var"), "SECRET_KEY": KEY, "ALLOWED_HOSTS": "127.0.0.1"}
    place = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "SITE": f"http://127.0.0.1:{outside}"}
    rules = tmp_path / "Caddyfile"
    rules.write_text(CADDYFILE.read_text().replace("web:8000", f"127.0.0.1:{inside}"))
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=place | settings, check=True)
    web = [sys.executable, "-m", "gunicorn", "--config", "config/gunicorn.py", "--bind", f"127.0.0.1:{inside}"]
    proxy = [str(CADDY), "run", "--adapter", "caddyfile", "--config", str(rules)]
    with running(web, inside, place | settings), running(proxy, outside, place):
        yield outside


@needs_caddy
def test_the_rules_are_valid() -> None:
    command = [str(CADDY), "validate", "--adapter", "caddyfile", "--config", str(CADDYFILE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@needs_caddy
def test_slow_connections_keep_nobody_waiting_and_the_inside_is_closed(site: int) -> None:
    assert status_of(site, "/healthz") == 200
    assert status_of(site, "/metrics") == status_of(site, "/readyz") == 404
    # Half of a form that has to be read for its CSRF token.
    form = "POST /account/password/reset/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    form += f"Cookie: touchstone_csrf={'a' * 32}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    form += "Content-Length: 1000\r\n\r\nemail="
    slow = 5 * gunicorn.threads  # enough to take all threads of the web process if the proxy passed them on
    with contextlib.ExitStack() as opened:
        for _ in range(slow):
            half = opened.enter_context(socket.create_connection(("127.0.0.1", site)))
            half.sendall(form.encode())
        time.sleep(0.5)  # so that whatever the proxy passes on has arrived
        assert status_of(site, "/healthz") == 200


def test_idle_connections_are_closed_by_the_proxy_before_the_web_process_does() -> None:
    """Otherwise a save could go out on a connection that is just being closed, and be answered with 502."""
    kept = re.search(r"^\s*keepalive (\d+)s$", CADDYFILE.read_text(), re.MULTILINE)
    assert kept is not None and int(kept[1]) < gunicorn.keepalive
