"""The server stops in mid-sentence: nothing typed is lost, over a closed tab too, and it is saved afterwards.

A server of its own, stopped and started for real, on the demo.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import wait_until_saved
from tests.running_server import ROOT, Server

TYPED = "Mount Erebus is a volcano that was typed while nobody listened."


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def var(tmp_path: Path) -> Path:
    """A data folder with the demo in it."""
    folder = tmp_path / "var"
    environment = {"PATH": os.environ["PATH"], "TOUCHSTONE_VAR": str(folder)}
    for command in ("migrate", "load_demo"):
        subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), command], env=environment, check=True, capture_output=True
        )
    return folder


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    running: list[Server] = []
    yield running
    for server in running:
        server.kill()


def password_of(name: str, var: Path) -> str:
    """The password that the demo printed and kept."""
    found = re.search(rf"^\W*{name}\s+(\S+)", (var / "demo-logins.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    return found[1]


def open_erebus(page: Page, address: str, var: Path) -> None:
    address = address.rstrip("/")
    page.goto(f"{address}/sign-in/")
    page.get_by_label("Username or email address").fill("anna")
    page.get_by_label("Password").fill(password_of("anna", var))
    page.get_by_label("Password").press("Enter")
    page.goto(f"{address}/b/demo/documents/?q=Erebus")
    page.locator("main a", has_text="Erebus").first.click()
    page.wait_for_url("**/d/*/")
    page.locator("#standing .btn.main").click()
    page.wait_for_url("**/decompose/**")


def test_typed_text_survives_a_stopped_server_and_a_closed_tab(
    context: BrowserContext, port: int, var: Path, servers: list[Server]
) -> None:
    servers.append(Server(var, "--port", str(port)))
    page = context.new_page()
    open_erebus(page, servers[-1].address, var)
    claim = page.locator("article.claim textarea").first
    claim.fill("Mount Erebus is a volcano")
    wait_until_saved(page)

    servers[-1].stop(signal.SIGTERM)
    claim.press("End")
    page.keyboard.type(" that was typed while nobody listened.")
    expect(page.locator("#offline-banner")).to_be_visible(timeout=15_000)
    expect(page.locator("#offline-banner")).to_contain_text("Your changes aren't being saved there.")
    expect(page.locator("#save-state")).to_contain_text("Not saved")
    expect(claim).to_have_value(TYPED)
    address = page.url
    page.close()

    servers.append(Server(var, "--port", str(port)))
    page = context.new_page()
    page.goto(address)
    claim = page.locator("article.claim textarea").first
    expect(claim).to_have_value(TYPED)
    wait_until_saved(page)
    page.evaluate("localStorage.clear()")
    page.reload()
    expect(page.locator("article.claim textarea").first).to_have_value(TYPED)


def test_an_open_page_saves_by_itself_when_the_server_is_back(
    context: BrowserContext, port: int, var: Path, servers: list[Server]
) -> None:
    servers.append(Server(var, "--port", str(port)))
    page = context.new_page()
    open_erebus(page, servers[-1].address, var)
    servers[-1].stop(signal.SIGTERM)
    claim = page.locator("article.claim textarea").first
    claim.fill(TYPED)
    expect(page.locator("#offline-banner")).to_be_visible(timeout=15_000)
    servers.append(Server(var, "--port", str(port)))
    expect(page.locator("#offline-banner")).to_be_hidden(timeout=30_000)
    wait_until_saved(page)
    page.evaluate("localStorage.clear()")
    page.reload()
    expect(page.locator("article.claim textarea").first).to_have_value(TYPED)
