"""The list of benchmarks, a row each, and the steps of setting one up."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotator.core.models import Batch, Benchmark, Flag, Guidelines, Membership, User
from annotator.core.vocabulary import Phase, Role, RunState, Stage
from annotator.exchange.models import ImportJob
from annotator.home.queries.benchmark_rows import benchmark_rows
from annotator.home.queries.setup import setup_steps
from annotator.suggestions.actions.runs import start_run
from tests.factories import BenchmarkFactory, DocumentFactory, UserFactory, documents, member, with_corpus

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(slug="pilot", name="Pilot")


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER)


def rows(client: Client, user: User) -> list[dict[str, str]]:
    client.force_login(user)
    page = BeautifulSoup(client.get("/benchmarks/").content, "html.parser")
    return [
        {str(cell["data-label"]): cell.get_text(" ", strip=True) for cell in row.select("[data-label]")}
        for row in page.select("tbody tr")
    ]


def filled(benchmark: Benchmark, by: User) -> None:
    """Gold, a document that awaits adjudication, a flagged one, a run on its way and an import that failed."""
    DocumentFactory(benchmark=benchmark, stage=Stage.REVISE, phase=Phase.AGREED)
    DocumentFactory(benchmark=benchmark, phase=Phase.CONSOLIDATING)
    flagged = DocumentFactory(benchmark=benchmark)
    Flag.objects.create(document=flagged, by=by, reason="broken")
    start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=[flagged.pk], by=None)
    ImportJob.objects.create(benchmark=benchmark, by=by, filename="x", format="jsonl", state=RunState.FAILED)


def test_managers_see_how_far_what_waits_what_runs_and_what_went_wrong(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    filled(benchmark, owner)
    (row,) = rows(client, owner)
    assert (row["Benchmark"], row["Gold"], row["Awaiting adjudication"]) == ("Pilot", "1 of 3", "1")
    assert (row["Running"], row["Problems"], row["Use"]) == ("1", "1 document flagged 1 import failed", "Documents")


def test_researchers_find_what_they_may_use_and_nothing_of_the_work(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    filled(benchmark, owner)
    (row,) = rows(client, member(benchmark, Role.RESEARCHER))
    assert row["Use"] == "Export Statistics Scores" and "Problems" not in row and "Running" not in row
    (row,) = rows(client, member(benchmark))
    assert row["Use"] == "My work"


def test_archived_benchmarks_come_last(client: Client, benchmark: Benchmark, owner: User) -> None:
    other = BenchmarkFactory(name="Zulu")
    Membership.objects.create(benchmark=other, user=owner, role=Role.ADMIN)
    Benchmark.objects.filter(pk=benchmark.pk).update(archived_at=timezone.now())
    assert [row["Benchmark"] for row in rows(client, owner)] == ["Zulu", "Pilot archived"]


def test_ten_benchmarks_take_the_queries_of_one(
    owner: User, benchmark: Benchmark, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in (1, 9):
        for _ in range(number):
            filled(BenchmarkFactory(), owner)
        with django_assert_num_queries(8):
            assert benchmark_rows(Benchmark.objects.all())


# --- setting up -----------------------------------------------------------------------------------


def undone(benchmark: Benchmark) -> list[str]:
    benchmark = Benchmark.objects.get(pk=benchmark.pk)
    return [step.name for step in setup_steps(benchmark) if not step.is_done]


def test_each_step_is_done_when_it_is_done(benchmark: Benchmark) -> None:
    Benchmark.objects.update(strategy="", overlap=2)
    benchmark.refresh_from_db()  # with_corpus saves it
    assert undone(benchmark) == ["import", "guidelines", "corpora", "settings", "team", "batches"]
    documents(1, benchmark=benchmark)
    Guidelines.objects.create(benchmark=benchmark, number=2, text="Ours")
    with_corpus(benchmark)
    assert undone(benchmark) == ["settings", "team", "batches"]
    Benchmark.objects.update(strategy="offline")
    member(benchmark)
    assert undone(benchmark) == ["team", "batches"]
    member(benchmark)
    Batch.objects.create(benchmark=benchmark, name="Batch 1")
    assert undone(benchmark) == []


def test_the_list_of_steps_is_gone_with_the_first_gold(client: Client, benchmark: Benchmark, owner: User) -> None:
    def shown(user: User) -> Any:
        client.force_login(user)
        return BeautifulSoup(client.get("/b/pilot/").content, "html.parser").select_one("#setup-title")

    assert shown(owner) is not None and shown(UserFactory(is_superuser=True)) is not None
    assert shown(member(benchmark)) is None
    DocumentFactory(benchmark=benchmark, stage=Stage.REVISE, phase=Phase.AGREED)
    assert shown(owner) is None
