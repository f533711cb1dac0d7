"""Two annotators and a third rater, each in a browser of their own, over released answers: blind, then together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from pytest_django.live_server_helper import LiveServer

from annotator.core.models import Benchmark, Document, User
from annotator.core.vocabulary import Phase, Role, Stage
from annotator.exchange.actions.imports import import_documents
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_sentence
from annotator.stages.actions.submit import submit
from annotator.stages.queries.decomposition import sentences_of
from annotator.suggestions.actions.runs import start_run
from tests.browser.conftest import check_axe, wait_until_saved
from tests.factories import BenchmarkFactory, member, save, with_corpus

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "Nobody but Ada has written this claim so far."


@pytest.fixture
def released(data_dir: Path) -> list[dict[str, Any]]:
    """Two released answers of few sentences."""
    with (data_dir / "factcheck-bench.dev.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return sorted(rows, key=lambda row: len(row["response"]))[4:6]


@pytest.fixture
def benchmark(released: list[dict[str, Any]]) -> Benchmark:
    benchmark = BenchmarkFactory(slug="pair", name="Two people", overlap=2)
    with_corpus(benchmark)
    owner = member(benchmark, Role.OWNER, display_name="Olga")
    rows = [
        {"id": f"answer-{n}", "prompt": row["prompt"], "response": row["response"]} for n, row in enumerate(released)
    ]
    ids: list[int] = []
    source = BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode())
    import_documents(benchmark=benchmark, source=source, format="jsonl", by=owner, on_imported=ids.extend)
    start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=ids, by=owner)
    return benchmark


@pytest.fixture
def door(browser: Browser, live_server: LiveServer) -> Iterator[Callable[[User], Page]]:
    """Opens a browser of their own for each person and signs them in."""
    contexts: list[BrowserContext] = []

    def sign_in(person: User) -> Page:
        contexts.append(browser.new_context(base_url=live_server.url))
        page = contexts[-1].new_page()
        page.goto("/sign-in/")
        page.get_by_label("Username or email address").fill(person.username)
        page.get_by_label("Password").fill("secret")
        page.get_by_label("Password").press("Enter")
        page.wait_for_url(lambda url: "/sign-in/" not in url)
        return page

    yield sign_in
    for context in contexts:
        context.close()


def take_all_over(page: Page) -> None:
    while page.locator("[data-key='a']:visible").count():
        page.keyboard.press("a")
        wait_until_saved(page)


def test_blind_work_gate_consolidation_discard_and_agreement(
    benchmark: Benchmark, door: Callable[[User], Page]
) -> None:
    ada, ben = member(benchmark, display_name="Ada"), member(benchmark, display_name="Ben")
    cleo = member(benchmark, Role.THIRD_RATER, display_name="Cleo")
    first, second = benchmark.documents.order_by("order")
    of_ada, of_ben = door(ada), door(ben)

    blind_work(of_ada, of_ben, first)
    consolidation(of_ada, of_ben, first)
    discard(of_ada, door(cleo), second, ada, ben)
    agreement(door(User.objects.get(display_name="Olga")))


def blind_work(of_ada: Page, of_ben: Page, document: Document) -> None:
    """Ada decomposes, and nothing that she does shows anywhere for Ben; the next stage stays closed."""
    of_ada.locator("main .btn.main").first.click()
    of_ada.wait_for_url("**/decompose/**")
    take_all_over(of_ada)
    claim = of_ada.locator("article.claim textarea").last
    claim.fill(SECRET)
    wait_until_saved(of_ada)
    of_ada.keyboard.press("Escape")
    for path in (
        "/",
        f"/d/{document.public_id}/",
        f"/b/{document.benchmark.slug}/",
        f"/b/{document.benchmark.slug}/documents/?q=Nobody",
    ):
        of_ben.goto(path)
        assert SECRET not in of_ben.content(), path
    of_ada.keyboard.press("Control+Enter")
    of_ada.wait_for_url("**/d/*/")
    document.refresh_from_db()
    assert document.phase == Phase.INDEPENDENT

    of_ben.goto("/")
    of_ben.locator("main .btn.main").first.click()
    of_ben.wait_for_url("**/decompose/**")
    assert SECRET not in of_ben.content()
    take_all_over(of_ben)
    of_ben.keyboard.press("Control+Enter")
    of_ben.wait_for_url("**/agree/decompose/")  # the last one to submit comes to where it is agreed
    document.refresh_from_db()
    assert (document.stage, document.phase) == (Stage.DECOMPOSE, Phase.CONSOLIDATING)
    of_ben.goto(f"/d/{document.public_id}/verify/")
    expect(of_ben.locator("main")).to_contain_text("opens when decompose is adjudicated")


def consolidation(of_ada: Page, of_ben: Page, document: Document) -> None:
    """Side by side in two browsers: what one settles the other sees; two signatures open verify."""
    address = f"/d/{document.public_id}/agree/decompose/"
    for page in (of_ada, of_ben):
        page.goto(address)
    check_axe(of_ada)
    expect(of_ben.locator(".agree-row.open", has_text=SECRET)).to_have_count(1)  # now, and not before
    while of_ben.locator(".agree-row.open").count():
        open_rows = of_ben.locator(".agree-row.open").count()
        difference = of_ben.locator(".agree-row.open .difference.open").first
        take_in = difference.get_by_label("Include")  # a sentence that needs checking keeps a claim
        (take_in if take_in.count() else difference.locator("input[type=radio]").first).click(
            force=True
        )  # the row is swapped at once
        expect(of_ben.locator(".agree-row.open")).not_to_have_count(open_rows)
    # The other browser follows by itself.
    expect(of_ada.locator(".agree-row.open")).to_have_count(0)
    expect(of_ada.locator(".agree-row.settled").first).to_contain_text("Ben")
    of_ada.get_by_role("button", name="Sign off").click()
    expect(of_ben.locator("#sign-state")).to_contain_text("Ada has signed off")
    of_ben.keyboard.press("Control+Enter")
    of_ben.wait_for_url(lambda url: "/agree/" not in url)
    document.refresh_from_db()
    assert document.stage == Stage.VERIFY
    expect(of_ada.locator("#foot")).to_contain_text("is adjudicated")
    of_ada.goto(address)  # to look back at
    expect(of_ada.locator(".look-back")).to_contain_text("decisions stand")
    check_axe(of_ada)


def discard(of_ada: Page, of_cleo: Page, document: Document, ada: User, ben: User) -> None:
    """Another answer on which they cannot agree: the third rater is asked, and gives it up."""
    for person in (ada, ben):
        annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
        for sentence in sentences_of(annotation):
            accept_sentence(sentence, by=person)
        if person == ben:
            save(sentences_of(annotation)[0], "importance", "less", ben)
        submit(annotation, by=person)
    of_ada.goto(f"/d/{document.public_id}/agree/decompose/")
    of_ada.locator("[popovertarget=ask-whole]").click()
    of_ada.locator("#ask-whole textarea").fill("We read it differently each time.")
    of_ada.get_by_role("button", name="Ask about the whole stage").click()
    expect(of_ada.locator("#talk")).to_contain_text("asked the adjudicator")
    of_cleo.goto("/")
    of_cleo.locator("main .btn.main").first.click()
    of_cleo.wait_for_url("**/agree/decompose/")
    expect(of_cleo.locator("#talk")).to_contain_text("We read it differently each time.")
    of_cleo.get_by_role("button", name="Discard document").click()
    check_axe(of_cleo)
    of_cleo.get_by_label("Why can’t it be adjudicated?").select_option("other")
    of_cleo.locator("#discard-reason").fill("The answer contradicts itself.")
    of_cleo.get_by_role("button", name="Discard", exact=True).click()
    of_cleo.wait_for_url(lambda url: "/agree/" not in url)
    document.refresh_from_db()
    assert (document.phase, document.discard_reason) == (Phase.DISCARDED, "The answer contradicts itself.")


def agreement(of_olga: Page) -> None:
    """The owner reads how well the two agreed before they talked."""
    of_olga.goto("/b/pair/agreement/")
    check_axe(of_olga)
    expect(of_olga.locator("main")).to_contain_text("alpha")
