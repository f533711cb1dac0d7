"""Models ranked by their answers: by the gold, by a run, from a file; on the page and on the command line."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotator.core.models import Benchmark, Claim, Document, PipelineRun, RunItem, User, VerdictSuggestion
from annotator.core.queries.gold import GoldScope, checked
from annotator.core.vocabulary import Phase, Role, RunState, Stage
from annotator.exchange.actions.imports import import_gold
from annotator.leaderboard.queries.answers import gold_answers, judging_runs, run_answers
from annotator.stages.actions.documents import discard
from tests.factories import BenchmarkFactory, member
from tests.released import released_document
from tests.teams import get

pytestmark = pytest.mark.django_db
MODELS, SOURCES = ("one", "two"), ("web", "books")


@pytest.fixture
def pilot() -> Benchmark:
    """Each model answered twice from each source; of four checked claims each, one is true."""
    pilot = BenchmarkFactory(slug="pilot")
    rows = [
        released_document(prompt=f"{model} {source} {number}", model=model, source=source)
        for model in MODELS
        for source in SOURCES
        for number in range(2)
    ]
    import_gold(benchmark=pilot, source=io.BytesIO("\n".join(map(json.dumps, rows)).encode()))
    return pilot


@pytest.fixture
def researcher(pilot: Benchmark) -> User:
    return member(pilot, Role.RESEARCHER)


@pytest.fixture
def run(pilot: Benchmark) -> PipelineRun:
    """A run that finds all claims of model two true, and of model one's all false but one irrelevant; the documents of
    model two are not gold (any more)."""
    run = PipelineRun.objects.create(benchmark=pilot, stage=Stage.VERIFY, strategy="veriscore", state=RunState.FINISHED)
    for document in GoldScope(pilot).documents():
        RunItem.objects.create(run=run, document=document, state=RunState.FINISHED)
    for claim in GoldScope(pilot).claims().filter(checked("")).select_related("sentence__annotation__document"):
        document = claim.sentence.annotation.document
        label = "true" if document.model == "two" else "" if claim.order == 1 and claim.sentence.order == 1 else "false"
        VerdictSuggestion.objects.create(run=run, claim=claim, label=label or "irrelevant", factuality=label)
    Document.objects.filter(model="two").update(stage=Stage.VERIFY, phase=Phase.INDEPENDENT)
    return run


def address(**asked: str) -> str:
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    return reverse("answers", args=["pilot"]) + (f"?{query}" if query else "")


def ranked(page: Any) -> list[tuple[str, str]]:
    """Name and score of each model, in order."""
    return [
        (row.select_one("th").get_text(strip=True), row.select_one("td.number").contents[0].strip())
        for row in page.select("[aria-labelledby=ranking] table.board tbody tr")
    ]


def test_a_run_judges_answers_that_are_gold_and_that_are_not(
    pilot: Benchmark, run: PipelineRun, django_assert_num_queries: Any
) -> None:
    assert len(list(gold_answers(pilot))) == 4
    with django_assert_num_queries(3):
        rows = list(run_answers(run))
    counts = {row.model: (row.supported, row.claims, row.no_fact, row.valid) for row in rows}
    assert len(rows) == 8 and counts == {"one": (0, 3, 1, 4), "two": (4, 4, 0, 4)}
    discard(Document.objects.filter(model="two")[0], reason="a riddle", by=member(pilot, Role.OWNER))
    assert len(list(run_answers(run))) == 7


def test_claims_that_people_took_away_and_unfinished_runs_do_not_count(pilot: Benchmark, run: PipelineRun) -> None:
    claim = Claim.objects.filter(verdict_suggestions__run=run, sentence__annotation__document__model="two").first()
    assert claim is not None
    Claim.objects.filter(pk=claim.pk).update(removed="redundant")
    assert sorted(row.claims for row in run_answers(run) if row.model == "two") == [3, 4, 4, 4]
    assert list(judging_runs(pilot)) == [run]
    PipelineRun.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    assert list(judging_runs(pilot)) == []


def test_the_command_ranks_by_the_labels_of_a_run(pilot: Benchmark, run: PipelineRun) -> None:
    out = io.StringIO()
    call_command(
        "score", metric="factscore", benchmark="pilot", labels=f"run:{run.public_id}", json=True, stdout=out,
        stderr=io.StringIO(),
    )  # fmt: skip
    found = json.loads(out.getvalue())
    assert [(model["model"], model["score"]) for model in found["models"]] == [("two", 1.0), ("one", 0.0)]
    with pytest.raises(CommandError, match=f"There are: gold, run:{run.public_id}"):
        call_command("score", metric="factscore", benchmark="pilot", labels="run:nobody")
    with pytest.raises(CommandError, match="--labels requires --benchmark"):
        call_command("score", "answers.jsonl", metric="factscore", labels="run:nobody")


def test_the_page_says_whose_labels_it_ranks_by(
    client: Client, pilot: Benchmark, run: PipelineRun, researcher: User
) -> None:
    page = get(client, researcher, address(metric="factscore"))
    assert ranked(page) == [("one", "0.250")] and "Human labels" in page.get_text()
    chosen = get(client, researcher, address(labels=f"run:{run.public_id}", metric="factscore"))
    assert ranked(chosen) == [("two", "1.000"), ("one", "0.000")]
    assert "Model labels" in chosen.get_text() and "No annotator has confirmed them" in chosen.get_text()
    taus = [cell.get_text(strip=True) for cell in chosen.select("table.tau tbody td")]
    assert taus == ["", "1.000", "1.000", ""]


def test_k_is_given_or_the_median_of_each_source(client: Client, pilot: Benchmark, researcher: User) -> None:
    page = get(client, researcher, address()).get_text(" ", strip=True)
    assert "K: books 4, web 4" in page or "K: web 4, books 4" in page
    # One of four claims is supported: precision 1/4; of K = 1 recall 1, so F1 is 0.4.
    assert ranked(get(client, researcher, address(k="1"))) == [("one", "0.400"), ("two", "0.400")]
    for odd in ({"k": "0"}, {"k": "x"}, {"metric": "averitec"}, {"labels": "run:nobody"}):
        get(client, researcher, address(**odd), 422)


def rank(client: Client, user: User, content: bytes, **fields: str) -> Any:
    client.force_login(user)
    file = SimpleUploadedFile("answers.jsonl", content)
    return client.post(address(), {"metric": "factscore", "file": file, **fields})


def test_a_file_is_ranked_and_not_kept(client: Client, pilot: Benchmark, researcher: User) -> None:
    lines = [
        json.dumps({"model": model, "domain": "web", "claims": [{"label": label}]}).encode()
        for model, label in (("a", "supported"), ("b", "refuted"), ("b", "supported"))
    ]
    answer = rank(client, researcher, b"\n".join(lines))
    assert answer.status_code == 200
    page = answer.content.decode()
    assert "The file is not stored" in page and page.index(">a</th>") < page.index(">b</th>")
    faulty = rank(client, researcher, b"\n".join([*lines, b'{"claims": [{"label": "perhaps"}]}', b"{"]))
    assert faulty.status_code == 422
    assert (
        "Nothing was scored" in faulty.content.decode() and "“perhaps” isn’t a valid label" in faulty.content.decode()
    )
    partly = rank(client, researcher, b"\n".join([*lines, b"{"]), partial="on")
    assert partly.status_code == 200 and "Excluded from the scores" in partly.content.decode()
    empty = rank(client, researcher, "é".encode("utf-16"))
    assert "UTF-16" in empty.content.decode()
    missing = rank(client, researcher, lines[0], metric="fastfact")
    assert "k_prime" in missing.content.decode()


def test_half_of_a_surrogate_pair_in_a_file_is_left_out(client: Client, pilot: Benchmark, researcher: User) -> None:
    row = b'{"model": "m\\ud800", "domain": "web\\udfff", "claims": [{"label": "supported"}]}'
    for file in (row, b"[" + row + b"]"):
        answer = rank(client, researcher, file)
        assert answer.status_code == 200 and ">m</th>" in answer.content.decode()


def test_scores_are_broken_down_on_the_page_and_by_the_api_alike(
    client: Client, pilot: Benchmark, researcher: User
) -> None:
    lines = [
        json.dumps({"domain": "web", "language": language, "claims": [{"label": "supported"}, {"label": label}]})
        for language, label, times in (("de", "refuted", 11), ("en", "supported", 4))
        for _ in range(times)
    ]
    answer = rank(client, researcher, "\n".join(lines).encode())
    page = BeautifulSoup(answer.content, "html.parser").select_one("[aria-labelledby=breakdowns]")
    assert page is not None
    german, english = (row.get_text(" ", strip=True) for row in page.select("table")[0].select("tbody tr"))
    assert german == "de 0.500 0.246 to 0.754 11 11" and english == "en too few 4 4"
    file = SimpleUploadedFile("answers.jsonl", "\n".join(lines).encode())
    told = client.post(f"/api/v1/benchmarks/{pilot.slug}/answers/", data={"metric": "factscore", "file": file}).json()
    [german, english] = told["scores"]["breakdowns"]["language"]
    assert german["figures"] == {"score": 0.5} and english["figures"] is None
