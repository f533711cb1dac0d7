"""Studies in a real browser: comparisons and judgments by keyboard alone, FastFact by mouse, and every page by axe."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotator.core.models import Benchmark, User
from annotator.core.vocabulary import Role
from annotator.studies.models import Study
from annotator.studies.queries.figures import study_figures
from tests.browser.conftest import check_axe, wait_until_saved
from tests.factories import BenchmarkFactory, member
from tests.studies_robots import pairs, play, shipped, started

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def team() -> tuple[Benchmark, User, User]:
    benchmark = BenchmarkFactory(slug="study", name="Study")
    return benchmark, member(benchmark, Role.OWNER, display_name="Olga"), member(benchmark, display_name="Ada")


def picture(page: Page, name: str) -> None:
    """Kept where TOUCHSTONE_PICTURES names a folder: wide and narrow, light and dark."""
    folder = os.environ.get("TOUCHSTONE_PICTURES")
    if not folder:
        return
    for width in (1440, 390):
        for scheme in ("light", "dark"):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=Path(folder) / f"{name}.{width}.{scheme}.png", full_page=True)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="light")


def one_rater(name: str) -> Any:
    protocol = shipped(name)
    return protocol.model_copy(update={"sampling": protocol.sampling.model_copy(update={"design": "shares"})})


def test_pairs_by_keyboard_alone(
    team: tuple[Benchmark, User, User], sign_in: Callable[[User], Page], live_server: LiveServer
) -> None:
    benchmark, owner, ada = team
    study = started(benchmark, one_rater("veriscore-pairs"), pairs(2), [ada], owner)
    page = sign_in(ada)
    page.goto(f"{live_server.url}/b/study/studies/{study.public_id}/next/")
    check_axe(page)
    picture(page, "compare")
    for _ in range(2):
        expect(page.locator("#missing")).to_contain_text("2 answers missing")
        page.keyboard.press("2")
        wait_until_saved(page)
        expect(page.locator("#chosen-B")).to_have_text("chosen")
        page.keyboard.press("3")
        wait_until_saved(page)
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")
        page.keyboard.type("Nothing but facts, 3 of them.")
        here = page.url
        page.keyboard.press("Control+Enter")
        page.wait_for_function("here => location.href !== here", arg=here)
    expect(page.locator("main")).to_contain_text("You’re all caught up")
    figures = study_figures(study).comparison
    assert figures is not None
    assert [each.chosen for each in figures.places] == [0, 2]
    assert sum(each.slight for each in figures.totals) == 2
    page = sign_in(owner)
    page.goto(f"{live_server.url}/b/study/studies/{study.public_id}/")
    check_axe(page)
    picture(page, "study")


def verification(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"claim-{number}",
            "text": f"Ada Lovelace wrote {number + 2} notes on the Analytical Engine.",
            "passages": [
                {"title": f"Result {rank}", "url": f"https://pages.example/{rank}", "text": "Printed in 1843."}
                for rank in range(1, 4)
            ],
        }
        for number in range(count)
    ]  # fmt: skip


def test_judgments_by_keyboard_alone(
    team: tuple[Benchmark, User, User], sign_in: Callable[[User], Page], live_server: LiveServer
) -> None:
    benchmark, owner, ada = team
    study = started(benchmark, one_rater("veriscore-verification"), verification(1), [ada], owner)
    page = sign_in(ada)
    page.goto(f"{live_server.url}/b/study/studies/{study.public_id}/next/")
    check_axe(page)
    picture(page, "judge")
    for key in ("1", "3", "2"):  # each choice goes on to the next result
        page.keyboard.press(key)
        wait_until_saved(page)
    page.keyboard.press("s")
    wait_until_saved(page)
    expect(page.locator(".hint")).to_contain_text("A result contradicts the claim")
    page.keyboard.press("u")
    wait_until_saved(page)
    expect(page.locator("#missing")).to_contain_text("Why inconclusive?")
    page.keyboard.press("b")
    wait_until_saved(page)
    expect(page.locator("#missing")).to_contain_text("Nothing missing")
    page.keyboard.press("z")
    expect(page.locator("#missing")).to_contain_text("Why inconclusive?")
    page.keyboard.press("b")
    wait_until_saved(page)
    page.keyboard.press("Control+Enter")
    expect(page.locator("main")).to_contain_text("You’re all caught up")
    judged = study_figures(study).judgement
    assert judged is not None
    assert [(each.rank, each.useful) for each in judged.ranks] == [(1, 1), (2, 0), (3, 1)]
    assert judged.majority == {"inconclusive": 1}


def test_fastfact_by_mouse(
    team: tuple[Benchmark, User, User], sign_in: Callable[[User], Page], live_server: LiveServer
) -> None:
    benchmark, owner, ada = team
    evidence = "Evidence 1\nSource Title: Golden Globes\nContent: She was nominated five times.\n\n"
    row = {
        "question": "Did she win?", "response": "She won in 2020. It was fun.", "prompt_source": "longfact",
        "claims_lst": [
            {"claim_id": "1", "claim": "She won in 2020.", "pre-label": "unsure",
             "verification_result": {"verification_context": evidence, "verification_label": "refuted"}},
            {"claim_id": "2", "claim": "It was fun.", "pre-label": "supported"},
        ],
    }  # fmt: skip
    study = started(benchmark, one_rater("fastfact"), [row], [ada], owner)
    page = sign_in(ada)
    page.goto(f"{live_server.url}/b/study/studies/{study.public_id}/next/")
    first, second = page.locator("article.part").nth(0), page.locator("article.part").nth(1)
    first.get_by_text("Keep", exact=False).first.click()
    wait_until_saved(page)
    first.get_by_text("Disagree").click()
    wait_until_saved(page)
    expect(page.locator("#missing")).to_contain_text("Claim 1: The right label")
    first.get_by_text("Not enough evidence").click()
    second.get_by_text("Remove", exact=False).first.click()
    wait_until_saved(page)
    second.get_by_text("Not a claim").click()
    wait_until_saved(page)
    page.get_by_role("button", name="Add a claim after 1").click()
    added = page.locator("article.part").nth(1)
    expect(added).to_contain_text("added by you")
    added.get_by_label("The claim as it should be").fill("She was nominated for five Golden Globes.")
    added.get_by_text("Supported").click()
    wait_until_saved(page)
    check_axe(page)
    picture(page, "fastfact")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("main")).to_contain_text("You’re all caught up")
    (every, longfact) = study_figures(study).alignment
    assert longfact.operations == {"unchanged": 1, "revised": 0, "removed": 1, "added": 1}
    assert (every.supported, every.not_supported, every.k_prime, every.exact) == (1, 1, 2, 0.0)


def test_a_protocol_is_copied_and_a_question_added_without_code(
    team: tuple[Benchmark, User, User], sign_in: Callable[[User], Page], live_server: LiveServer
) -> None:
    benchmark, owner, _ = team
    page = sign_in(owner)
    page.goto(f"{live_server.url}/b/study/protocols/aggrefact/")
    check_axe(page)
    picture(page, "protocol")
    page.get_by_label("Name").fill("my-aggrefact")
    page.get_by_role("button", name="Copy and edit").click()
    page.get_by_label("Key", exact=True).fill("sure")
    page.locator("#new-ask").fill("Are you sure?")
    page.locator("#new-labels").fill("yes | Sure | 3\nno | Not sure | 2")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("The key “2” is taken by questions[0].labels[1].key")
    page.locator("#labels-1").fill("yes | Sure | 3\nno | Not sure | 4")
    picture(page, "protocol-edit")
    check_axe(page)
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main")).to_contain_text("Are you sure?")
    page.goto(f"{live_server.url}/b/study/studies/new/?protocol=my-aggrefact")
    check_axe(page)
    lines = '{"id": "1", "text": "Water is wet.", "passages": [{"text": "Water is a liquid."}]}\n'
    page.locator("input[type=file]").set_input_files(
        {"name": "items.jsonl", "mimeType": "application/jsonl", "buffer": lines.encode()}
    )
    page.get_by_role("button", name="Create study").click()
    expect(page.locator("h1")).to_contain_text("LLM-AggreFact")
    check_axe(page)
    study = Study.objects.get()
    from annotator.studies.actions.studies import start_study
    from annotator.studies.queries.table import long_rows

    start_study(study, [owner, member(benchmark)], by=owner)
    play(study, lambda sheet: {"item.label": "1", "item.sure": "no"})
    assert {(row["question"], row["value_label"]) for row in long_rows(study, named=False)} == {
        ("label", "Supported"), ("sure", "Not sure"),
    }  # fmt: skip
