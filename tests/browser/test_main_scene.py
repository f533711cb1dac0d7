"""The main job in a real browser: a released answer goes from import through three screens to exported gold."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotator.core.models import Document, User
from annotator.core.vocabulary import Role, Stage
from annotator.exchange.actions.imports import import_documents
from annotator.suggestions.actions.runs import start_run
from tests.browser.conftest import check_axe, wait_until_saved
from tests.factories import BenchmarkFactory, member, with_corpus

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def released(data_dir: Path) -> dict[str, Any]:
    """The first released document: four sentences' worth of a Supreme Court justice."""
    with (data_dir / "factcheck-bench.dev.jsonl").open(encoding="utf-8") as lines:
        line: dict[str, Any] = json.loads(next(lines))
    return line


@pytest.fixture
def person(released: dict[str, Any]) -> User:
    owner = member(BenchmarkFactory(slug="scene", name="Main scene"), Role.OWNER)
    benchmark = owner.memberships.get().benchmark
    passages = [
        passage.replace("\0", "")
        for sentence in released["sentences"].values()
        for claim in sentence["auto_evidence"]
        for passage in claim
    ]
    with_corpus(benchmark, *passages)
    row = {"prompt": released["prompt"], "response": released["response"], "id": "douglas"}
    ids: list[int] = []
    import_documents(
        benchmark=benchmark,
        source=BytesIO(json.dumps(row).encode()),
        format="jsonl",
        by=owner,
        on_imported=ids.extend,
    )
    start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=ids, by=owner)
    return owner


def test_a_released_answer_becomes_gold(
    person: User, page: Page, live_server: LiveServer, released: dict[str, Any]
) -> None:
    page.goto(f"{live_server.url}/sign-in/")
    page.get_by_label("Username or email address").fill(person.username)
    page.get_by_label("Password").fill("secret")
    page.get_by_label("Password").press("Enter")
    page.wait_for_url(f"{live_server.url}/")
    check_axe(page)
    page.locator("main .btn.main").first.click()
    decompose(page)
    verify(page, live_server)
    revise(page, live_server)
    document = Document.objects.get()
    assert document.is_gold
    export(page, live_server, released)


def decompose(page: Page) -> None:
    """Take over what is suggested, mend one claim by hand, submit by keyboard."""
    page.wait_for_url("**/decompose/**")
    check_axe(page)
    while page.locator("[data-key='a']:visible").count():
        page.keyboard.press("a")
        wait_until_saved(page)
    claim = page.locator("article.claim textarea").last
    text = claim.input_value()
    claim.fill(text.removesuffix(".") + ", as far as we know.")
    wait_until_saved(page)
    expect(page.locator("article.claim .origin.edited").last).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("z")
    wait_until_saved(page)
    expect(page.locator("article.claim textarea").last).to_have_value(text)
    expect(page.locator("#missing")).to_contain_text("Nothing missing")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/d/*/")
    check_axe(page)


def verify(page: Page, live_server: LiveServer) -> None:
    """Judge every passage by keys; the first claim is false and is mended by replacing words."""
    document = Document.objects.get()
    page.goto(f"{live_server.url}/d/{document.public_id}/verify/")
    page.get_by_role("button", name="Start").click()
    page.wait_for_selector("#claims")
    check_axe(page)
    claims = page.locator("#claims a").count()
    assert claims > 1
    for position in range(claims):
        page.locator("#claims a").nth(position).click()
        wait_until_saved(page)
        for card in range(page.locator("article.ev[data-row]").count()):
            page.locator("article.ev[data-row]").nth(card).click(position={"x": 5, "y": 5})
            page.keyboard.press("3" if position == 0 and card == 0 else "4" if card else "1")
            wait_until_saved(page)
        page.locator(".judgement").click(position={"x": 5, "y": 5})
        if position == 0:
            page.keyboard.press("f")
            wait_until_saved(page)
            replace_words(page, "William O. Douglas", "William J. Brennan Jr.")
        else:
            page.keyboard.press("t")
        wait_until_saved(page)
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/d/*/")


def replace_words(page: Page, words: str, by: str) -> None:
    """Drag the mouse over words of the claim and put others in their place."""
    first, last = page.evaluate(
        """(words) => {
            const node = document.querySelector('[data-claim-text]').firstChild;
            const start = node.textContent.indexOf(words);
            return [start, start + words.length - 1].map((at) => {
                const range = document.createRange();
                range.setStart(node, at);
                range.setEnd(node, at + 1);
                const box = range.getBoundingClientRect();
                return { left: box.left, right: box.right, y: box.top + box.height / 2 };
            });
        }""",
        words,
    )
    page.mouse.move(first["left"] + 1, first["y"])
    page.mouse.down()
    page.mouse.move(last["right"] - 1, last["y"], steps=8)
    page.mouse.up()
    page.get_by_role("button", name="Replace …").click()
    page.locator(".select-bar input").fill(by)
    page.locator(".select-bar input").press("Enter")
    expect(page.locator(".op")).to_contain_text(by)


def revise(page: Page, live_server: LiveServer) -> None:
    """The edit is carried into its sentence and into the answer; nothing else is to be done."""
    document = Document.objects.get()
    page.goto(f"{live_server.url}/d/{document.public_id}/revise/")
    page.get_by_role("button", name="Start").click()
    page.wait_for_selector("[data-record^='response-revision:']")
    check_axe(page)
    answer = page.locator("[data-record^='response-revision:'] textarea")
    expect(answer).to_have_value(
        document.response.replace("Justice William O. Douglas.", "Justice William J. Brennan Jr..", 1)
    )
    statement = page.locator("[data-record^='sentence-revision:'] textarea").first
    statement.fill(statement.input_value().replace("Jr..", "Jr."))
    wait_until_saved(page)
    expect(answer).to_have_value(
        document.response.replace("Justice William O. Douglas.", "Justice William J. Brennan Jr.", 1)
    )
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/d/*/")
    check_axe(page)


def export(page: Page, live_server: LiveServer, released: dict[str, Any]) -> None:
    """The export button gives a file that fits the published schema."""
    page.goto(f"{live_server.url}/b/scene/export/")
    check_axe(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").or_(page.get_by_role("link", name="Download")).first.click()
    line = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    schema = json.loads((ROOT / "docs/formats/factcheck-bench.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(line, schema)
    assert list(line) == list(released)
    assert line["prompt"] == released["prompt"]
    assert line["response_factuality"] is False
    first = line["sentences"]["sentence1"]
    assert first["claims_factuality_label"][0] is False
    assert "William J. Brennan Jr." in first["revised_claims"][0]
    assert "William J. Brennan Jr." in line["revised_response"]
