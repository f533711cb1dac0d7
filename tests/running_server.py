"""script/server's program as a process of its own, for tests that start and stop it for real."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.request
from http.client import HTTPResponse
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SERVER = ROOT / "script" / "lib" / "server.py"


class Server:
    """A running server, and what it has printed until it was ready."""

    def __init__(self, var: Path, *options: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(SERVER), *options],
            cwd="/",
            # Almost nothing: no home, no settings of whoever runs the suite.
            env={"PATH": os.environ["PATH"], "TOUCHSTONE_VAR": str(var), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout
        self.printed = ""
        self.address = ""
        for line in self.process.stdout:
            self.printed += line
            if line.startswith("Touchstone is ready: "):
                self.address = line.split()[-1]
                break

    def get(self, path: str) -> HTTPResponse:
        answer: HTTPResponse = urllib.request.urlopen(self.address + path, timeout=10)
        return answer

    def stop(self, number: signal.Signals) -> float:
        """Send a signal and return after how many seconds the program ended."""
        began = time.monotonic()
        self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=30)
        self.printed += rest
        return time.monotonic() - began

    def kill(self) -> None:
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
