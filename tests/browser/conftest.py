"""What the browser tests share: signing in, axe, and waiting until all is saved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.test import Client
from playwright.sync_api import BrowserContext, Page
from pytest_django.live_server_helper import LiveServer

from annotator.core.models import User

WCAG = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}}

# What turns without end, as a sign that something is on its way, is not waited for; what is broken off is over.
# It is still when for 150 ms no colour has changed and nothing was swapped: a script that runs after a swap may begin a
# change a moment later. After 5 s axe sees what there is.
STILL = """async () => {
  const changes = each => each.playState === 'running' && each.effect.getComputedTiming().endTime < Infinity;
  const swaps = '.htmx-request, .htmx-swapping, .htmx-settling, .htmx-added';
  for (let tick = 0, quiet = 0; tick < 200 && quiet < 6; tick++) {
    await new Promise(done => setTimeout(done, 25));
    quiet = document.getAnimations().some(changes) || document.querySelector(swaps) ? 0 : quiet + 1;
  }
}"""


@pytest.fixture
def sign_in(page: Page, live_server: LiveServer) -> Callable[[User], Page]:
    """A blank page of somebody who is signed in."""

    def sign_in(person: User) -> Page:
        let_in(page.context, person, live_server.url)
        return page

    return sign_in


def let_in(context: BrowserContext, person: User, address: str) -> None:
    """Give the browser the person's session; the form is tried by test_main_scene.py and test_every_page.py."""
    client = Client()
    client.force_login(person)
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": address}])


def wait_until_saved(page: Page) -> None:
    """Nothing in the outbox, no request under way."""
    page.wait_for_function(
        "() => document.querySelector('#save-state').dataset.state === 'saved'"
        " && !document.querySelector('.htmx-request')"
    )


def check_axe(page: Page) -> None:
    """No violation of WCAG 2.2 AA on the page as it stands, by axe-core, once colours have stopped changing: half way
    from one to the other they are neither."""
    page.evaluate(STILL)
    results = Axe().run(page, options=WCAG)
    assert results.violations_count == 0, results.generate_report()
