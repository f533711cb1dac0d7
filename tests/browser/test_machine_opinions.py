"""What machines hold, in a real browser: opened by a key, a chain that leads to its passages, a live difference."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotator.core.models import (
    Document,
    PipelineRun,
    RevisionSuggestion,
    Stance,
    StanceSuggestion,
    User,
    VerdictSuggestion,
)
from annotator.core.vocabulary import Factuality, Stage, StanceLabel
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.queries.verification import claims_to_verify
from tests.browser.conftest import check_axe, wait_until_saved
from tests.factories import PAGE, BenchmarkFactory, DocumentFactory, decomposed, member, prefill, verified, with_corpus

pytestmark = pytest.mark.django_db(transaction=True)

MORE = (
    "Ada Lovelace was born in London in 1815, the only child of Lord Byron and Annabella Milbanke.",
    "Charles Babbage met Ada Lovelace in 1833. She was seventeen years old then.",
)
CHAIN = (
    ("When was Ada Lovelace born?", "", "On 10 December 1815, in London.", 0),
    ("How old was Ada Lovelace when she met Babbage?", "", "Seventeen, in 1833: she was born about 1815.", 1),
    ("In what year did Lord Byron's daughter come into the world?", "Ada Lovelace Byron", "Nothing was found.", None),
)


@pytest.fixture
def ada() -> User:
    benchmark = BenchmarkFactory(slug="scene", name="Scene")
    with_corpus(benchmark, PAGE, *MORE)
    return member(benchmark)


@pytest.fixture
def document(ada: User) -> Document:
    document = prefill(DocumentFactory(benchmark=ada.memberships.get().benchmark))
    decomposed(document, ada)
    document.refresh_from_db()
    return document


def run_of(document: Document, strategy: str, stage: Stage) -> PipelineRun:
    return PipelineRun.objects.create(
        benchmark=document.benchmark, strategy=strategy, stage=stage, plan={"model": "made-up-70b"}
    )


@pytest.fixture
def claim_id(document: Document, ada: User) -> str:
    """The claim with the wrong year: two strategies hold something of it, each passage has a suggested stance."""
    annotation = open_annotation(document, Stage.VERIFY, by=ada)
    work = next(each for each in claims_to_verify(annotation) if "1825" in each.claim.text)
    papelo = run_of(document, "papelo", Stage.VERIFY)
    for card in work.cards:
        row = StanceSuggestion.objects.create(
            run=papelo, evidence=card.evidence, label=StanceLabel.REFUTE, reason="It gives 1815.", probability=0.91
        )
        Stance.objects.filter(pk=card.stance.pk).update(suggestion=row)
    VerdictSuggestion.objects.create(
        run=papelo,
        claim=work.claim,
        label="Refuted",
        factuality=Factuality.FALSE,
        reason="Answers 1 and 2 both put her birth in 1815.",
        chain=[
            {
                "question": question,
                "query": query or f"{question} {work.claim.text}",
                "answer": answer,
                "evidence": None if position is None else work.cards[position % len(work.cards)].evidence.public_id,
            }
            for question, query, answer, position in CHAIN
        ],
    )
    VerdictSuggestion.objects.create(
        run=run_of(document, "offline", Stage.VERIFY),
        claim=work.claim,
        label="false",
        factuality=Factuality.FALSE,
        reason="The first passage gives 1815.",
        correction=work.claim.text.replace("1825", "1815"),
        probability=0.93,
    )
    return work.claim.public_id


@pytest.mark.parametrize(("width", "height", "scheme"), [(1440, 900, "light"), (390, 844, "dark")])
def test_a_hint_is_opened_read_and_accepted(
    sign_in: Callable[[User], Page],
    live_server: LiveServer,
    document: Document,
    ada: User,
    claim_id: str,
    width: int,
    height: int,
    scheme: str,
) -> None:
    page = sign_in(ada)
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(f"{live_server.url}/d/{document.public_id}/verify/?claim={claim_id}")
    expect(page.get_by_text("Answers 1 and 2 both")).to_be_hidden()
    page.keyboard.press("m")
    expect(page.get_by_text("Answers 1 and 2 both")).to_be_visible()
    page.locator("details.why summary").first.click()
    expect(page.get_by_text("It gives 1815.").first).to_be_visible()
    check_axe(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    page.locator(".chain").get_by_role("link", name="evidence 2").click()
    expect(page.get_by_role("article", name="Evidence 2")).to_be_focused()
    expect(page.get_by_role("article", name="Evidence 2")).to_be_in_viewport()

    # Answering a question leaves an open hint open.
    page.keyboard.press("t")
    wait_until_saved(page)
    expect(page.get_by_text("Answers 1 and 2 both")).to_be_visible()
    page.get_by_role("button", name="Accept as the edit").click()
    expect(page.locator(".judgement .op")).to_contain_text("1815")
    expect(page.locator(".judgement .edit")).to_contain_text("suggestion, accepted")
    expect(page.get_by_role("radio", name="False")).to_be_checked()
    check_axe(page)
    page.keyboard.press("z")
    expect(page.locator(".judgement .op")).to_have_count(0)
    expect(page.get_by_role("radio", name="True")).to_be_checked()


@pytest.mark.parametrize(("width", "height", "scheme"), [(1440, 900, "dark"), (390, 844, "light")])
def test_a_machines_answer_shows_its_difference_from_ones_own_as_it_is_typed(
    sign_in: Callable[[User], Page],
    live_server: LiveServer,
    document: Document,
    ada: User,
    width: int,
    height: int,
    scheme: str,
) -> None:
    verified(document, ada, false_claim="1825")
    open_annotation(document, Stage.REVISE, by=ada)
    own = document.response.replace("1825", "1815")
    RevisionSuggestion.objects.create(
        run=run_of(document, "papelo", Stage.REVISE),
        document=document,
        with_prompt=own.replace("an English", "a brilliant English"),
        without_prompt=own.replace("She was", "Lovelace was"),
    )
    page = sign_in(ada)
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(f"{live_server.url}/d/{document.public_id}/revise/")
    page.keyboard.press("m")
    proposals = page.locator(".held .opinion")
    expect(proposals).to_have_count(2)
    expect(proposals.nth(0).locator("ins")).to_have_text("a brilliant")
    expect(proposals.nth(0).locator("del")).to_have_text("an")
    check_axe(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    proposals.nth(0).get_by_role("button", name="Start from this").click()
    expect(page.locator("#response-text")).to_have_value(own.replace("an English", "a brilliant English"))
    expect(page.locator("#answer-state")).to_contain_text("Started from a model’s response")
    page.keyboard.press("m")
    page.locator("#response-text").fill("Something else.")
    expect(page.locator(".held .opinion").nth(0).locator("del")).to_contain_text("Something else")
    wait_until_saved(page)
    expect(page.locator(".held").get_by_role("button")).to_have_count(0)
