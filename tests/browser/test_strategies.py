"""Each paper's strategy in a real browser, against services that speak the real protocols: all released answers get
their suggestions while somebody watches, and one document goes on to its evidence and what the machine holds of it."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from annotator.core.models import Document, User
from annotator.core.vocabulary import Role
from annotator.exchange.actions.imports import import_documents
from tests.browser.conftest import check_axe, wait_until_saved
from tests.factories import BenchmarkFactory, member
from tests.fakes.chat import FakeChat
from tests.fakes.model import article_of, hits_for, plausible
from tests.fakes.search import FakeSerper
from tests.fakes.site import FakeSite, article, html

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.real_worker]

DOCUMENTS = 47
# So many answers the model gives before it waits for `goes_on`: too few for all documents, enough for some, with
# every strategy.
AT_FIRST = 40
PATIENCE_MS = 30_000


@pytest.fixture(autouse=True)
def services(settings: Any) -> Iterator[threading.Event]:
    """A model, a search and a web site on sockets, named in the settings as an administrator names real ones."""
    event = threading.Event()
    asked = count(1)

    def says(request: Mapping[str, Any]) -> object:
        if next(asked) > AT_FIRST:
            event.wait(PATIENCE_MS / 1000)
        return plausible(request)

    with (
        FakeSite(lambda path: html(article("A page", article_of(path))), robots="") as site,
        FakeSerper(hits_for(site.url), key="a-key") as search,
        FakeChat(says) as chat,
    ):
        settings.LLM_URL, settings.LLM_MODEL = f"{chat.url}/v1", "tiny"
        settings.SEARCH_PROVIDER, settings.SEARCH_URL, settings.SEARCH_KEY = "serper", f"{search.url}/search", "a-key"
        settings.PAGES, settings.PAGES_ALLOW, settings.PAGES_ROBOTS = True, ["127.0.0.1"], False
        yield event


@pytest.fixture
def goes_on(services: threading.Event, real_worker: None) -> Iterator[threading.Event]:
    """Until it is set, the model keeps silent after its first answers: there is time to look at a run under way."""
    yield services
    services.set()  # a test that failed leaves no worker waiting


def owner_of(strategy: str, data_dir: Path) -> User:
    """Who owns a benchmark with that strategy and the questions and answers of all released documents."""
    owner = member(BenchmarkFactory(slug="scene", name="Scene", strategy=strategy, overlap=1), Role.OWNER)
    with (data_dir / "factcheck-bench.dev.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    answers = [
        {"prompt": row["prompt"], "response": row["response"], "id": str(place)} for place, row in enumerate(rows)
    ]
    import_documents(
        benchmark=owner.memberships.get().benchmark,
        source=BytesIO("\n".join(map(json.dumps, answers)).encode()),
        format="jsonl",
        by=owner,
    )
    return owner


@pytest.mark.parametrize(
    ("strategy", "label", "asks_a_model"),
    [
        ("factcheck_gpt", "Factcheck-GPT", True),
        ("veriscore", "VeriScore", True),
        ("fastfact", "FastFact", True),
        ("papelo", "Papelo", False),  # at decompose: its paper begins with a claim
        ("fire", "FIRE", False),
        ("safe", "SAFE", True),
        ("claimify", "Claimify", True),  # claims alone
    ],
)
def test_a_strategy_prefills_all_documents_and_finds_evidence(
    sign_in: Callable[[User], Page],
    live_server: LiveServer,
    goes_on: threading.Event,
    data_dir: Path,
    strategy: str,
    label: str,
    asks_a_model: bool,
) -> None:
    page = sign_in(owner_of(strategy, data_dir))
    page.set_default_timeout(PATIENCE_MS)
    start_a_run(page, live_server, strategy)
    if asks_a_model:
        expect(page.locator("#numbers")).to_contain_text(re.compile(r"\b[1-9]\d? of 47 documents"))
        expect(page.locator("#numbers .state")).to_have_text("Running")
        expect(page.locator("#numbers table.costs")).to_be_visible()
    goes_on.set()
    expect(page.get_by_text(f"All {DOCUMENTS} documents done.")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator("#numbers")).to_contain_text(f"{DOCUMENTS} of {DOCUMENTS} documents")

    document = decompose(page, live_server)
    finds_evidence = strategy != "claimify"
    if finds_evidence:
        look_at_evidence(page, live_server, document, label, has_chain=strategy in {"papelo", "fire", "safe"})

    page.goto(f"{live_server.url}/b/scene/runs/costs/")
    check_axe(page)
    stages = [f"{label}, decompose"] * asks_a_model + [f"{label}, verify"] * finds_evidence
    for stage in stages:
        calls_are_as_many_as_the_formula_says(page, stage)


def start_a_run(page: Page, live_server: LiveServer, strategy: str) -> None:
    """By the form, for whatever has no suggestions yet."""
    page.goto(f"{live_server.url}/b/scene/runs/new/")
    expect(page.locator(f"#strategy-{strategy}")).to_be_checked()
    expect(page.locator("#forecast")).to_contain_text(f"Documents {DOCUMENTS}", use_inner_text=True)
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_url(re.compile(r"/b/scene/runs/(?!new|start)\w+/$"))


def decompose(page: Page, live_server: LiveServer) -> Document:
    """The first document: take over what is suggested, and submit."""
    document = Document.objects.order_by("order").first()
    assert document is not None
    page.goto(f"{live_server.url}/d/{document.public_id}/decompose/")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("article.claim").first).to_be_visible()
    while page.locator("[data-key='a']:visible").count():
        page.keyboard.press("a")
        wait_until_saved(page)
    expect(page.locator("#missing")).to_contain_text("Nothing missing")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(f"**/d/{document.public_id}/")
    return document


def look_at_evidence(page: Page, live_server: LiveServer, document: Document, label: str, *, has_chain: bool) -> None:
    """The verify stage opens by itself when the worker is done; a claim with passages has a hint one key away."""
    expect(page.get_by_role("button", name="Start")).to_be_visible(timeout=PATIENCE_MS)
    page.goto(f"{live_server.url}/d/{document.public_id}/verify/")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#claims a").first).to_be_visible()
    for place in range(page.locator("#claims a").count()):
        page.locator("#claims a").nth(place).click()
        wait_until_saved(page)
        # FastFact searches only for what its model is not sure of.
        if page.locator("article.ev[data-row]").count():
            break
    expect(page.locator("article.ev[data-row]").first).to_be_visible()
    hint = page.locator("details.held")
    expect(hint.get_by_text(label, exact=True)).to_be_hidden()
    page.keyboard.press("m")
    expect(hint.get_by_text(label, exact=True)).to_be_visible()
    expect(hint.locator("ol.chain > li").first).to_be_visible(visible=has_chain)


def calls_are_as_many_as_the_formula_says(page: Page, stage: str) -> None:
    """Step by step, as the page gives both: nothing but digits to compare, and at least one call."""
    steps = page.locator("details").filter(has_text=re.compile(rf"^\s*{re.escape(stage)}: "))
    steps.locator("summary").click()
    rows = steps.locator("tbody tr, tfoot tr")
    expect(rows.first).to_be_visible()
    made = {
        _cell(row, "th"): (_cell(row, "[data-label='Requests']"), _cell(row, "[data-label='Predicted']"))
        for row in rows.all()
    }
    assert {step: calls for step, (calls, _) in made.items()} == {step: formula for step, (_, formula) in made.items()}
    assert int(made["Total"][0].replace(",", "")) > 0


def _cell(row: Locator, selector: str) -> str:
    return row.locator(selector).inner_text().strip()
