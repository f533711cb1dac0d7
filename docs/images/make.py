"""Take the documentation's screenshots from the demo: python docs/images/make.py (needs Chromium)."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
sys.path.insert(0, str(ROOT))

from tests.running_server import Server  # noqa: E402

SHOTS = {"decompose": "Erebus", "verify": "Apollo", "revise": "penicillin"}


def main() -> None:
    """One picture of each annotation screen, of the overview, and of two people agreeing, 1280 by 900."""
    var = Path(tempfile.mkdtemp(prefix="touchstone-shots-"))
    environment = {"PATH": os.environ["PATH"], "TOUCHSTONE_VAR": str(var)}
    for command in ("migrate", "load_demo"):
        subprocess.run([sys.executable, str(ROOT / "manage.py"), command], env=environment, check=True)
    server = Server(var, "--port", "0")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            address = server.address.rstrip("/")
            logins = (var / "demo-logins.txt").read_text(encoding="utf-8")
            sign_in(page, address, logins, "admin")
            page.goto(f"{address}/b/demo-pair/")
            page.screenshot(path=FOLDER / "overview.png")
            for stage, words in SHOTS.items():
                shot(page, address, stage, words)
            agree(browser.new_page(viewport={"width": 1280, "height": 900}), address, logins)
            browser.close()
    finally:
        server.stop(signal.SIGTERM)
        shutil.rmtree(var, ignore_errors=True)


def sign_in(page: Page, address: str, logins: str, name: str) -> None:
    """As one of the demo's people."""
    found = re.search(rf"^{name}\s+(\S+)", logins, re.MULTILINE)
    assert found
    page.goto(f"{address}/sign-in/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(found[1])
    page.get_by_label("Password").press("Enter")
    page.wait_for_url(lambda url: "/sign-in/" not in url)


def shot(page: Page, address: str, stage: str, words: str) -> None:
    """One annotation screen, with a little work done on it so that it shows what it can."""
    page.goto(f"{address}/b/demo/documents/?q={words}")
    page.locator("main a", has_text=re.compile(words, re.IGNORECASE)).first.click()
    page.wait_for_url("**/d/*/")
    page.goto(f"{page.url}{stage}/")
    start = page.get_by_role("button", name="Start")
    if start.count():
        start.first.click()
        page.wait_for_url(f"**/{stage}/**")
    page.wait_for_load_state("networkidle")
    notes = page.get_by_role("button", name="Dismiss")
    while notes.count():
        notes.first.click()
    if stage == "decompose":
        page.keyboard.press("a")
        page.wait_for_timeout(800)
    elif stage == "verify":
        for key in "11":
            page.keyboard.press(key)
            page.wait_for_timeout(400)
        page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(500)
    page.screenshot(path=FOLDER / f"{stage}.png")


def agree(page: Page, address: str, logins: str) -> None:
    """Two people's decompositions side by side, one difference settled."""
    sign_in(page, address, logins, "dana")
    page.locator("main .btn.main").first.click()
    page.wait_for_url("**/agree/**")
    page.locator(".agree-row.open .seg label").nth(2).click()
    page.wait_for_timeout(800)
    page.mouse.move(0, 0)
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=FOLDER / "agree.png")


if __name__ == "__main__":
    main()
