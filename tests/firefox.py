"""The system's Firefox for a few tests, driven by the protocol that it speaks itself (Marionette: the commands of
WebDriver as JSON over a socket).

Playwright drives only a Firefox build of its own, which no package registry has, and Selenium needs geckodriver, which
Debian 12 does not package. https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Any free port, which Firefox writes into its profile. A proxy that isn't there: it reaches this machine only.
PREFERENCES = {
    "marionette.port": 0,
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.normandy.enabled": False,
}
SECONDS = 120  # to start, and for one command, on a busy machine


class Firefox:
    """One window. Raises RuntimeError with Firefox's own words when a command fails, a crashed tab among them."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._stream = connection.makefile("rb")
        self._sent = 0
        self._read()  # who it is
        self.command("WebDriver:NewSession", capabilities={})

    def command(self, name: str, **parameters: Any) -> Any:
        self._sent += 1
        message = json.dumps([0, self._sent, name, parameters]).encode()
        self._connection.sendall(str(len(message)).encode() + b":" + message)
        _, _, error, result = self._read()
        if error:
            raise RuntimeError(f"{name}: {error['error']}: {error['message']}")
        return result.get("value") if isinstance(result, dict) else result

    def _read(self) -> Any:
        size = b""
        while not size.endswith(b":"):
            one = self._stream.read(1)
            if not one:
                raise RuntimeError("Firefox has ended.")
            size += one
        return json.loads(self._stream.read(int(size[:-1])))

    def open(self, address: str) -> None:
        self.command("WebDriver:Navigate", url=address)

    def run(self, script: str, *arguments: Any) -> Any:
        """What a function body returns in the page."""
        return self.command("WebDriver:ExecuteScript", script=script, args=list(arguments))

    def wait_for(self, condition: str, *arguments: Any) -> None:
        """Return when an expression is true in the page. Raises AssertionError after 20 s."""
        last_moment = time.monotonic() + 20
        while not self.run(f"return Boolean({condition})", *arguments):
            assert time.monotonic() < last_moment, f"never true: {condition} {arguments}"
            time.sleep(0.05)

    def press(self, selector: str) -> None:
        """Press and release the mouse on the upper left corner of the first element shown."""
        x, y = self.run(
            "const shown = [...document.querySelectorAll(arguments[0])].find(each => each.checkVisibility());"
            "shown.scrollIntoView({block: 'nearest'});"
            "const box = shown.getBoundingClientRect(); return [box.x + 6, box.y + 6]",
            selector,
        )
        moves = [
            {"type": "pointerMove", "x": round(x), "y": round(y), "origin": "viewport", "duration": 0},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": moves}
        self.command("WebDriver:PerformActions", actions=[mouse])

    def key(self, key: str) -> None:
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.command("WebDriver:PerformActions", actions=[{"type": "key", "id": "keys", "actions": actions}])


@contextlib.contextmanager
def firefox(program: str) -> Iterator[Firefox]:
    """A Firefox with an empty profile, gone when the block ends."""
    with tempfile.TemporaryDirectory(prefix="touchstone-firefox-", ignore_cleanup_errors=True) as folder:
        lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items())
        Path(folder, "user.js").write_text("".join(lines))
        process = subprocess.Popen(
            [program, "--headless", "--marionette", "--no-remote", "--profile", folder],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            port = _port(Path(folder, "MarionetteActivePort"), process)
            with socket.create_connection(("127.0.0.1", port), SECONDS) as connection:
                browser = Firefox(connection)
                yield browser
                browser._stream.close()
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    last_moment = time.monotonic() + SECONDS
    while not (file.exists() and (found := file.read_text().strip())):
        if process.poll() is not None or time.monotonic() > last_moment:
            raise RuntimeError("Firefox did not start.")
        time.sleep(0.05)
    return int(found)
