"""Two systems' errors crossed, and the page of one item with all that people and systems said of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.core.models import Benchmark, Claim, Document, User
from annotator.core.vocabulary import Role, Stage
from annotator.leaderboard.actions.evaluations import Wanted, score_upload
from annotator.leaderboard.models import Evaluation
from annotator.leaderboard.queries.crossed import NotKeptError, crossed
from annotator.leaderboard.queries.evaluations import paired_of, wrong_answers
from annotator.leaderboard.queries.gold_items import gold_items
from annotator.leaderboard.scoring.crossing import Cell
from annotator.leaderboard.scoring.tasks import Options, Task
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.documents import discard
from annotator.stages.actions.submit import submit
from tests.agreeing import claims_of, settle, submitted
from tests.factories import BenchmarkFactory, DocumentFactory, member, prefill, retrieve, verified, with_corpus
from tests.leaderboard.test_scores_pages import media, owner, pilot, researcher
from tests.teams import get, words

__all__ = ["media", "owner", "pilot", "researcher"]
pytestmark = pytest.mark.django_db


def uploaded(
    benchmark: Benchmark,
    by: User,
    answer: Callable[[Any], str | None],
    task: Task = Task.CLAIM_FACTUALITY,
    system: str = "Checker 1",
    **options: Any,
) -> Evaluation:
    """A file with these answers, "" for a blank one, None for no row; scored in part."""
    chosen = Options.of(options)
    answers = ((item.key, answer(item)) for item in gold_items(benchmark, task, chosen))
    rows = "\n".join(json.dumps({"id": key, "label": said or None}) for key, said in answers if said is not None)
    wanted = Wanted(task=task, system=system, options=chosen, partial=True)
    file = SimpleUploadedFile("done.jsonl", rows.encode())
    return score_upload(benchmark=benchmark, by=by, wanted=wanted, file=file)


def guesses(seed: int, *labels: str | None) -> Callable[[Any], str | None]:
    random = Random(seed)
    return lambda item: random.choice(labels)


# --- crossed --------------------------------------------------------------------------------------


def test_a_table_of_three_answers_by_hand(pilot: Benchmark, owner: User) -> None:
    """Nine claims are true or false, three and six of them."""
    naive = uploaded(pilot, owner, lambda item: "true")
    gloomy = uploaded(pilot, owner, lambda item: "false", system="Gloomy")
    undecided = uploaded(pilot, owner, lambda item: "not_enough_evidence", system="Undecided")
    found = crossed(naive, gloomy)
    assert found is not None and found.total == 9
    assert found.table["true"][Cell.ONLY_FIRST] == 3 and found.table["false"][Cell.ONLY_SECOND] == 6
    both_wrong = crossed(naive, undecided, cell=Cell.WRONG_APART, gold="false")
    assert both_wrong is not None and len(both_wrong.items) == 6
    assert {(each.first, each.second) for each in both_wrong.items} == {("true", "not_enough_evidence")}
    same = crossed(undecided, undecided)
    assert same is not None and {each.cell for each in same.items} == {Cell.WRONG_ALIKE} and len(same.items) == 9


@pytest.mark.parametrize("task", [Task.STANCE, Task.CLAIM_FACTUALITY, Task.SENTENCE_CHECKWORTHINESS])
def test_what_was_kept_gives_the_same_table_as_both_files(pilot: Benchmark, owner: User, task: Task) -> None:
    """Two ways: from the errors that were kept, and from both files joined to the gold anew; with blank and missing
    answers on either side."""
    labels = {
        Task.STANCE: ("refute", "irrelevant", "completely-support"),
        Task.CLAIM_FACTUALITY: ("true", "false", "not_enough_evidence"),
        Task.SENTENCE_CHECKWORTHINESS: ("yes", "no"),
    }[task]
    for seed in range(4):
        one, two = (
            uploaded(pilot, owner, guesses(10 * seed + number, *labels, "", None), task, f"Checker {seed} {number}")
            for number in range(2)
        )
        found = crossed(one, two)
        assert found is not None
        anew = paired_of(one, two)
        table = {gold: {cell.value: number for cell, number in row.items()} for gold, row in found.table.items()}
        assert {gold: row for gold, row in table.items() if sum(row.values())} == anew.get("crossed", {})
        assert found.total == anew["items"]
        assert len(found.items) == found.total - sum(row[Cell.BOTH_RIGHT] for row in found.table.values())
        assert all(each.predicted for each in wrong_answers(one)), "blank answers are no wrong ones"


def test_files_that_were_scored_before_are_to_be_scored_again(pilot: Benchmark, owner: User) -> None:
    one = uploaded(pilot, owner, guesses(1, "true", "false", ""))
    two = uploaded(pilot, owner, lambda item: "true", system="Two")
    path = Path(one.errors.path)
    lines = [line for line in path.read_text().splitlines(keepends=True) if json.loads(line)["predicted"]]
    path.write_text("".join(lines))
    with pytest.raises(NotKeptError):
        crossed(one, two)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        crossed(one, two)


def test_texts_are_not_crossed(pilot: Benchmark, owner: User) -> None:
    rows = "\n".join(
        json.dumps({"id": item.key, "claims": []}) for item in gold_items(pilot, Task.DECOMPOSITION, Options())
    )
    one, two = (
        score_upload(
            benchmark=pilot,
            by=owner,
            wanted=Wanted(task=Task.DECOMPOSITION, system=name),
            file=SimpleUploadedFile("done.jsonl", rows.encode()),
        )
        for name in "ab"
    )
    assert crossed(one, two) is None and "crossed" not in paired_of(one, two)


def test_the_page_leads_from_a_number_to_its_items(client: Client, pilot: Benchmark, owner: User) -> None:
    naive = uploaded(pilot, owner, lambda item: "true", system="Naive")
    gloomy = uploaded(pilot, owner, lambda item: "false", system="Gloomy")
    score = reverse("score", args=["pilot", naive.public_id])
    link = get(client, owner, f"{score}?against={gloomy.public_id}").select_one("[aria-labelledby=against] p.pad a")
    assert link is not None
    page = get(client, owner, str(link["href"]))
    assert [words(each) for each in page.select("table.crossed tbody tr")] == [
        "true 0 3 0 0 0", "false 0 0 6 0 0", "All 0 3 6 0 0",
    ]  # fmt: skip
    number = page.select_one("table.crossed tbody tr a")
    assert number is not None
    chosen = get(client, owner, f"{link['href']}{number['href']}")
    assert "3 items: only the first right, gold true" in words(chosen.main)
    assert len(chosen.select(".wrong-answers > li")) == 3 and "✓ true" in words(chosen.select(".wrong-answers > li")[0])
    assert client.get(f"{link['href']}?cell=odd&gold=none&page=7").status_code == 200
    discard(Document.objects.filter(benchmark=pilot)[0], reason="a riddle", by=owner)
    assert client.get(str(link["href"])).status_code == 404, "against an older gold"


def test_the_api_crosses_and_pages(client: Client, pilot: Benchmark, researcher: User) -> None:
    naive = uploaded(pilot, researcher, lambda item: "true", system="Naive")
    gloomy = uploaded(pilot, researcher, lambda item: "false", system="Gloomy")
    stance = uploaded(pilot, researcher, lambda item: "refute", Task.STANCE)
    client.force_login(researcher)
    address = f"/api/v1/benchmarks/pilot/evaluations/{naive.public_id}/crossed/"
    asked = {"against": gloomy.public_id, "cell": "only_second", "start": "1", "size": "2"}
    found = client.get(address, asked).json()
    assert found["table"]["true"] == {
        "both_right": 0, "only_first": 3, "only_second": 0, "wrong_alike": 0, "wrong_apart": 0
    }  # fmt: skip
    assert found["total"] == 6 and len(found["results"]) == 2
    assert {(each["gold"], each["first"], each["second"]) for each in found["results"]} == {("false", "true", "false")}
    assert client.get(address, {"against": stance.public_id}).status_code == 409
    assert client.get(address, {"against": "nothing"}).status_code == 404


# --- one item -------------------------------------------------------------------------------------


@pytest.fixture
def made(owner: User) -> tuple[Document, User, User, User]:
    """A gold document of a benchmark with two raters, who differed on the first claim; with the owner and them."""
    benchmark = BenchmarkFactory(slug="two", overlap=2)
    with_corpus(benchmark)
    boss, ada, ben = member(benchmark, Role.OWNER), member(benchmark), member(benchmark)
    document = prefill(DocumentFactory(benchmark=benchmark))
    submitted(document, ada, ben)
    retrieve(settle(document, [ada, ben], []))
    verified(document, ada)
    verified(document, ben, false_claim=first_claim(document).text)
    settle(document, [ada, ben, boss], [])
    for person in (ada, ben):
        submit(open_annotation(document, Stage.REVISE, by=person), by=person)
    document.refresh_from_db()
    assert settle(document, [ada, ben], []).is_gold
    return document, boss, ada, ben


def first_claim(document: Document) -> Claim:
    adjudicated = document.annotations.get(stage=Stage.DECOMPOSE, kind="consolidated")
    return claims_of(adjudicated)[0]


def test_an_item_shows_all_raters_all_systems_and_the_evidence(
    client: Client, made: tuple[Document, User, User, User]
) -> None:
    document, boss, ada, ben = made
    benchmark = document.benchmark
    key = first_claim(document).public_id
    uploaded(benchmark, boss, lambda item: "true", system="Naive")
    uploaded(benchmark, boss, lambda item: None if item.key == key else "true", system="Silent")
    uploaded(benchmark, boss, lambda item: "false", system="Gloomy", undetermined="own_label")
    address = reverse("score-item", args=["two", "claim_factuality", key])
    page = get(client, boss, address)
    raters, systems = (page.select_one(f"[aria-labelledby={name}] tbody") for name in ("raters", "systems"))
    assert words(raters) == f"{ada} true {ben} false differs from the gold"
    told = words(systems)
    assert "Gloomy not enough evidence as a third label ✕ false" in told
    assert "Naive claims without enough evidence excluded ✓ true" in told and told.endswith("✕ no answer")
    evidence = page.select_one("[aria-labelledby=item-evidence]")
    assert evidence is not None and f"{ada} : supports · {ben} : refutes" in words(evidence)
    reader = member(benchmark, Role.RESEARCHER)
    seen = words(get(client, reader, address).main)
    assert "Annotator 1 true Annotator 2 false" in seen and str(ada) not in seen
    client.force_login(reader)
    told = client.get(f"/api/v1/benchmarks/two/items/claim_factuality/{key}/").json()
    assert [each["label"] for each in told["raters"]] == ["true", "false"]
    assert all(each["rater"].startswith("person-") for each in told["raters"])
    assert {each["system"]: each["answer"] for each in told["systems"]} == {
        "Naive": "true", "Silent": None, "Gloomy": "false"
    }  # fmt: skip
    assert [each["label"] for each in told["evidence"][0]["raters"]] == ["completely_support", "refute"]


@pytest.mark.parametrize("task", ["sentence_checkworthiness", "claim_checkworthiness", "stance"])
def test_every_task_has_its_items(client: Client, made: tuple[Document, User, User, User], task: str) -> None:
    document, boss, *_ = made
    for item in gold_items(document.benchmark, Task(task), Options()):
        answer = get(client, boss, reverse("score-item", args=["two", task, item.key]))
        assert len(answer.select("[aria-labelledby=raters] tbody tr")) == 2
        client.force_login(boss)
        told = client.get(f"/api/v1/benchmarks/two/items/{task}/{item.key}/").json()
        assert told["gold"] == item.gold and len(told["raters"]) == 2


def test_what_is_no_item_of_the_gold_is_not_found(client: Client, pilot: Benchmark, owner: User) -> None:
    client.force_login(owner)
    key = next(iter(gold_items(pilot, Task.CLAIM_FACTUALITY, Options()))).key
    address = reverse("score-item", args=["pilot", "claim_factuality", key])
    assert "imported as adjudicated" in words(get(client, owner, address).main)
    for task, name in (("claim_factuality", "nothing"), ("stance", key), ("revision", key), ("odd", key)):
        assert client.get(reverse("score-item", args=["pilot", task, name])).status_code == 404
        assert client.get(f"/api/v1/benchmarks/pilot/items/{task}/{name}/").status_code == 404
    client.force_login(member(pilot, Role.ANNOTATOR))
    assert client.get(address).status_code == 403


def test_queries_of_an_item_do_not_grow_with_systems(client: Client, pilot: Benchmark, owner: User) -> None:
    key = next(iter(gold_items(pilot, Task.CLAIM_FACTUALITY, Options()))).key
    address = reverse("score-item", args=["pilot", "claim_factuality", key])
    client.force_login(owner)

    def queries() -> int:
        client.get(address)
        with CaptureQueriesContext(connection) as captured:
            assert client.get(address).status_code == 200
        return len(captured)

    uploaded(pilot, owner, lambda item: "true")
    few = queries()
    for number in range(5):
        uploaded(pilot, owner, lambda item: "false", system=f"Checker {number + 2}")
    assert queries() == few
