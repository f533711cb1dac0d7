"""Taking an export away in a real browser: the file comes, and the page follows it without being loaded anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotator.core.vocabulary import Role, RunState
from annotator.exchange.actions.imports import import_gold
from annotator.exchange.models import Download
from tests.browser.conftest import check_axe
from tests.factories import BenchmarkFactory, member


def test_the_page_follows_a_download(
    transactional_db: None, sign_in: Callable[..., Page], live_server: LiveServer
) -> None:
    benchmark = BenchmarkFactory()
    owner = member(benchmark, Role.OWNER)
    import_gold(benchmark=benchmark, source=Path(settings.BASE_DIR) / "fixtures" / "demo" / "gold.jsonl")
    # One that is on its way already: its bar moves, and ends, without anybody touching the page.
    running = Download.objects.create(
        benchmark=benchmark, by=owner, format="csv", include="gold", documents=4, total=4, done=1
    )
    page = sign_in(owner)
    page.goto(f"{live_server.url}/b/{benchmark.slug}/export/")
    rows = page.locator("#downloads tbody tr")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("1 of 4 documents")
    check_axe(page)
    Download.objects.filter(pk=running.pk).update(state=RunState.FINISHED, done=4)
    expect(page.locator("#downloads progress")).to_have_count(0)
    # Nothing is on its way: the list is asked for again only when something is taken away.
    page.locator("[name=format]:checked").uncheck()
    page.get_by_label("Touchstone").check()
    with page.expect_download() as taken:
        page.get_by_role("button", name="Download").click()
    header, document = Path(taken.value.path()).read_text("utf-8").splitlines()
    assert json.loads(header)["format"] == "touchstone"
    assert json.loads(document)["phase"] == "agreed"
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("Touchstone, gold")
    expect(rows.first).to_contain_text("1 document")
