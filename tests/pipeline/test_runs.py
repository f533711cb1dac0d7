"""Runs of the pipeline: each document once, whatever is delivered twice, lost, cancelled or fails; and their pages."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotator.core import rules
from annotator.core.models import Benchmark, Document, PipelineRun, RunItem, SentenceSuggestion, User
from annotator.core.vocabulary import Phase, Role, RunState, Stage
from annotator.stages.actions.annotate import open_annotation
from annotator.suggestions.actions import get_suggestions, runs
from annotator.suggestions.actions.runs import (
    AT_ONCE,
    cancel_run,
    cancelled_with_documents,
    open_documents_of,
    retry_failed,
    start_run,
)
from pipeline.runs import coordinator
from pipeline.strategies.offline import Offline
from pipeline.suggestions import Decomposition, DocumentText
from pipeline.tools import Tools
from tests.counting_strategy import Counting
from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, documents, member, with_corpus
from tests.fakes.chat import FakeChat

pytestmark = [pytest.mark.django_db, pytest.mark.database]  # rows that workers take with SKIP LOCKED


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory()


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER)


def run_over(benchmark: Benchmark, documents: int) -> PipelineRun:
    made = [DocumentFactory(benchmark=benchmark, response=f"Answer {n} is here.") for n in range(documents)]
    run = start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=[each.pk for each in made], by=None)
    assert run is not None
    return run


def work(run: PipelineRun) -> None:
    for item_id in coordinator.begin(run):
        coordinator.prefill_item(item_id)
    run.refresh_from_db()


def states(run: PipelineRun) -> list[str]:
    return list(run.items.order_by("id").values_list("state", flat=True))


def phases(run: PipelineRun) -> list[str]:
    return list(Document.objects.filter(run_items__run=run).order_by("order").values_list("phase", flat=True))


def fail_for(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    honest = Offline.decompose

    async def decompose(self: Offline, document: DocumentText, tools: Tools) -> Decomposition:
        if words in document.response:
            raise ValueError("this answer cannot be split")
        return await honest(self, document, tools)

    monkeypatch.setattr(Offline, "decompose", decompose)


# --- the rows are the truth -----------------------------------------------------------------------


def test_a_run_takes_its_documents_from_waiting_to_open(benchmark: Benchmark) -> None:
    run = run_over(benchmark, 2)
    assert phases(run) == [Phase.PREFILLING] * 2
    work(run)
    assert (run.state, states(run), phases(run)) == (RunState.FINISHED, ["finished"] * 2, [Phase.INDEPENDENT] * 2)
    assert SentenceSuggestion.objects.filter(run=run).values("document").distinct().count() == 2


def test_a_document_is_taken_once_whoever_asks(benchmark: Benchmark) -> None:
    item = run_over(benchmark, 1).items.get()
    assert coordinator.claim_item(item.pk) is not None
    assert coordinator.claim_item(item.pk) is None
    coordinator.prefill_item(item.pk)  # delivered twice: another worker has it
    assert not SentenceSuggestion.objects.exists()


def test_a_finished_document_is_not_done_again(benchmark: Benchmark) -> None:
    run = run_over(benchmark, 1)
    work(run)
    before = list(SentenceSuggestion.objects.values_list("pk", flat=True))
    coordinator.prefill_item(run.items.get().pk)
    assert list(SentenceSuggestion.objects.values_list("pk", flat=True)) == before
    assert run.items.get().attempts == 1


def test_a_run_whose_worker_was_killed_is_resumed(benchmark: Benchmark) -> None:
    """One document was done, one was in the worker's hands, one waited; and the queue is gone."""
    run = run_over(benchmark, 3)
    first, second, third = coordinator.begin(run)
    coordinator.prefill_item(first)
    coordinator.claim_item(second)
    assert run.pk in list(coordinator.unfinished_runs())
    assert coordinator.open_items(run) == [third], "a document that a worker may still have is left to it"
    lost = timezone.now() - coordinator.LOST_AFTER - dt.timedelta(seconds=1)
    RunItem.objects.filter(pk=second).update(seen_at=lost)
    assert coordinator.open_items(run) == [second, third]
    work(run)
    assert (run.state, states(run)) == (RunState.FINISHED, ["finished"] * 3)
    assert RunItem.objects.get(pk=second).attempts == 2


def test_one_document_that_fails_leaves_the_others_alone(benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_for(monkeypatch, "Answer 1")
    run = run_over(benchmark, 3)
    work(run)
    assert (run.state, states(run)) == (RunState.FINISHED, ["finished", "failed", "finished"])
    assert "this answer cannot be split" in run.items.get(state=RunState.FAILED).error
    # A person can begin all of them, without suggestions where there are none.
    assert phases(run) == [Phase.INDEPENDENT] * 3
    failed = Document.objects.get(run_items__state=RunState.FAILED)
    assert open_annotation(failed, Stage.DECOMPOSE, by=member(benchmark)).sentences.count() == 1


def test_a_run_of_which_nothing_worked_has_failed(benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_for(monkeypatch, "Answer")
    run = run_over(benchmark, 2)
    work(run)
    assert run.state == RunState.FAILED


def test_cancelling_keeps_what_is_done_and_opens_the_rest(benchmark: Benchmark, owner: User) -> None:
    run = run_over(benchmark, 3)
    first, second, _ = coordinator.begin(run)
    coordinator.prefill_item(first)
    coordinator.claim_item(second)
    cancel_run(run, by=owner)
    assert states(run) == ["finished", "running", "cancelled"]
    assert phases(run) == [Phase.INDEPENDENT, Phase.PREFILLING, Phase.INDEPENDENT]
    # The one in a worker's hands is its own until that is lost; nobody else takes it, and the run stays cancelled.
    coordinator.prefill_item(run.items.get(state=RunState.CANCELLED).pk)
    coordinator.close_cancelled(alone=False)
    assert states(run) == ["finished", "running", "cancelled"]
    RunItem.objects.filter(pk=second).update(seen_at=timezone.now() - coordinator.LOST_AFTER * 2)
    coordinator.prefill_item(second)
    coordinator.close_cancelled(alone=False)
    run.refresh_from_db()
    assert (run.state, states(run)) == (RunState.CANCELLED, ["finished", "cancelled", "cancelled"])
    assert phases(run) == [Phase.INDEPENDENT] * 3


def test_what_failed_can_be_tried_again(benchmark: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        fail_for(broken, "Answer 1")
        run = run_over(benchmark, 2)
        work(run)
    assert retry_failed(run, by=owner) == 1
    run.refresh_from_db()
    assert run.state == RunState.QUEUED
    work(run)
    assert (run.state, states(run)) == (RunState.FINISHED, ["finished"] * 2)
    assert not run.items.exclude(error="").exists()


def test_the_queue_runs_it_when_the_transaction_commits(
    benchmark: Benchmark, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        run = run_over(benchmark, 2)
    run.refresh_from_db()
    assert run.state == RunState.FINISHED


# --- asking for what is missing -------------------------------------------------------------------


def test_suggestions_are_asked_for_documents_that_nobody_has_begun(benchmark: Benchmark, owner: User) -> None:
    waiting, begun, done, elsewhere = (DocumentFactory(benchmark=benchmark) for _ in range(4))
    open_annotation(begun, Stage.DECOMPOSE, by=member(benchmark))
    work(start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=[done.pk], by=None))  # type: ignore[arg-type]
    start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=[elsewhere.pk], by=None)
    (run,) = get_suggestions.get_suggestions(benchmark=benchmark, stage=Stage.DECOMPOSE, by=owner)
    assert list(run.items.values_list("document", flat=True)) == [waiting.pk]
    assert get_suggestions.get_suggestions(benchmark=benchmark, stage=Stage.DECOMPOSE, by=owner) == []


def test_evidence_is_asked_for_claims_that_have_none(benchmark: Benchmark, owner: User) -> None:
    document = DocumentFactory(benchmark=benchmark)
    work(start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=[document.pk], by=None))  # type: ignore[arg-type]
    decomposed(document, owner)  # without a corpus nothing is retrieved
    with pytest.raises(rules.NotAllowedError, match="import_corpus"):
        get_suggestions.get_suggestions(benchmark=benchmark, stage=Stage.VERIFY, by=owner)
    with_corpus(benchmark)
    (run,) = get_suggestions.get_suggestions(benchmark=benchmark, stage=Stage.VERIFY, by=owner)
    work(run)
    assert run.evidence_set.exists()
    assert get_suggestions.get_suggestions(benchmark=benchmark, stage=Stage.VERIFY, by=owner) == []


def test_an_annotator_does_not_start_runs(benchmark: Benchmark) -> None:
    with pytest.raises(rules.NotAllowedError):
        get_suggestions.get_suggestions(benchmark=benchmark, stage=Stage.DECOMPOSE, by=member(benchmark))


def test_many_documents_make_runs_of_bounded_size(benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(get_suggestions, "RUN_SIZE", 2)
    ids = [DocumentFactory(benchmark=benchmark).pk for _ in range(5)]
    made = get_suggestions.prefill_after_import(benchmark=benchmark, ids=ids, by=None)
    assert [run.items.count() for run in made] == [2, 2, 1]


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_prefill_waits_until_the_work_is_done(benchmark: Benchmark, capsys: pytest.CaptureFixture[str]) -> None:
    documents(2, benchmark=benchmark)
    call_command("prefill", benchmark=benchmark.slug, wait=True)
    assert "2 documents done, 0 failed." in capsys.readouterr().out
    assert benchmark.runs.get().state == RunState.FINISHED
    call_command("prefill", benchmark=benchmark.slug, wait=True)
    assert "Nothing to do" in capsys.readouterr().out


@pytest.mark.django_db(transaction=True)
def test_prefill_that_waits_does_several_documents_at_once(
    settings: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.CELERY_WORKER_CONCURRENCY = 4
    monkeypatch.setattr(runs, "after_commit", lambda *_: None)  # the queue in memory has no worker
    benchmark = BenchmarkFactory(strategy=Counting.name)
    for number in range(4):  # the same response would be asked about once
        DocumentFactory(benchmark=benchmark, response=f"This is number {number}.")
    with FakeChat(latency=0.2) as chat:
        settings.LLM_URL, settings.LLM_MODEL = f"{chat.url}/v1", "tiny"
        call_command("prefill", benchmark=benchmark.slug, wait=True)
        assert chat.most_under_way > 1, "a document's calls come one after the other"
    assert "4 documents done, 0 failed." in capsys.readouterr().out


def test_prefill_without_waiting_writes_the_run(benchmark: Benchmark, capsys: pytest.CaptureFixture[str]) -> None:
    DocumentFactory(benchmark=benchmark)
    call_command("prefill", benchmark=benchmark.slug)
    assert "1 documents are waiting for a worker" in capsys.readouterr().out
    assert benchmark.runs.get().state == RunState.QUEUED


@pytest.mark.django_db(transaction=True)
def test_prefill_says_when_documents_failed(benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_for(monkeypatch, "Ada")
    DocumentFactory(benchmark=benchmark)
    with pytest.raises(CommandError, match="0 documents done, 1 failed"):
        call_command("prefill", benchmark=benchmark.slug, wait=True)


def test_prefill_needs_a_strategy(benchmark: Benchmark) -> None:
    Benchmark.objects.filter(pk=benchmark.pk).update(strategy="")
    with pytest.raises(CommandError, match="no suggestion strategy"):
        call_command("prefill", benchmark=benchmark.slug)


# --- the pages ------------------------------------------------------------------------------------


def soup(client: Client, url: str, *, htmx: bool = False) -> BeautifulSoup:
    response = client.get(url, headers={"HX-Request": "true"} if htmx else {})
    assert response.status_code == 200
    return BeautifulSoup(response.content, "html.parser")


def test_the_page_of_a_run_follows_it_to_its_end(client: Client, benchmark: Benchmark, owner: User) -> None:
    client.force_login(owner)
    run = run_over(benchmark, 2)
    first, second = coordinator.begin(run)
    coordinator.prefill_item(first)
    url = reverse("run", args=[benchmark.slug, run.public_id])
    page = soup(client, url)
    asked = page.select_one("#numbers")
    assert asked is not None
    assert (asked["hx-get"], asked["hx-trigger"]) == (url, "every 1s")
    assert page.select_one("progress")["value"] == "1"  # type: ignore[index]
    assert page.find("button", string="Cancel")
    # While it runs the answer to the page's question is the numbers alone: the button under the hand stays.
    moving = client.get(url, headers={"HX-Request": "true"})
    assert "HX-Retarget" not in moving and b"Cancel" not in moving.content
    coordinator.prefill_item(second)
    over = client.get(url, headers={"HX-Request": "true"})
    assert over["HX-Retarget"] == "#run"
    # What is swapped in equals what a fresh page shows, and asks no more.
    fresh = soup(client, url).select_one("#run")
    assert BeautifulSoup(over.content, "html.parser").select_one("#run") == fresh
    assert fresh is not None and fresh.select_one("[hx-get]") is None
    assert "All 2 documents done." in fresh.text


def test_the_page_names_what_failed_and_tries_it_again(
    client: Client, benchmark: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_for(monkeypatch, "Answer 1")
    run = run_over(benchmark, 2)
    work(run)
    client.force_login(owner)
    url = reverse("run", args=[benchmark.slug, run.public_id])
    page = soup(client, url)
    failed = Document.objects.get(run_items__state=RunState.FAILED)
    link = page.select_one("table a")
    assert link is not None and link["href"] == reverse("document", args=[failed.public_id])
    assert "this answer cannot be split" in page.text
    client.post(reverse("run-change", args=[benchmark.slug, run.public_id, "retry"]))
    assert states(run) == ["finished", "queued"]
    client.post(reverse("run-change", args=[benchmark.slug, run.public_id, "cancel"]))
    assert states(run) == ["finished", "cancelled"]


def test_the_list_moves_while_a_run_does(client: Client, benchmark: Benchmark, owner: User) -> None:
    client.force_login(owner)
    url = reverse("runs", args=[benchmark.slug])
    run = run_over(benchmark, 1)
    moving = soup(client, url, htmx=True).select_one("#runs")
    assert moving is not None and moving["hx-trigger"] == "every 1s"
    work(run)
    over = client.get(url, headers={"HX-Request": "true"})
    assert over["HX-Retarget"] == "#everything"
    assert b"every 1s" not in over.content


def test_a_press_asks_for_suggestions(client: Client, benchmark: Benchmark, owner: User) -> None:
    client.force_login(owner)
    DocumentFactory(benchmark=benchmark)
    page = soup(client, reverse("runs", args=[benchmark.slug]))
    assert "1 unstarted document has no suggestions yet" in page.text
    response = client.post(reverse("run-start", args=[benchmark.slug]), {"stage": "decompose"})
    run = benchmark.runs.get()
    assert response["Location"] == reverse("run", args=[benchmark.slug, run.public_id])
    assert run.requested_by == owner


@pytest.mark.parametrize(("who", "status"), [("annotator", 403), ("stranger", 404)])
def test_others_neither_see_nor_change_runs(client: Client, benchmark: Benchmark, who: str, status: int) -> None:
    run = run_over(benchmark, 1)
    client.force_login(member(benchmark) if who == "annotator" else member(BenchmarkFactory(), Role.OWNER))
    slug = benchmark.slug
    assert client.get(reverse("runs", args=[slug])).status_code == status
    assert client.get(reverse("run", args=[slug, run.public_id])).status_code == status
    assert client.post(reverse("run-start", args=[slug])).status_code == status
    assert client.post(reverse("run-change", args=[slug, run.public_id, "cancel"])).status_code == status
    assert states(run) == ["queued"]


def test_a_run_is_not_reached_through_another_benchmark(client: Client, benchmark: Benchmark, owner: User) -> None:
    client.force_login(owner)
    other = run_over(BenchmarkFactory(), 1)
    assert client.get(reverse("run", args=[benchmark.slug, other.public_id])).status_code == 404
    assert client.post(reverse("run-change", args=[benchmark.slug, other.public_id, "cancel"])).status_code == 404


@pytest.mark.parametrize("page", ["runs", "run"])
def test_the_number_of_queries_does_not_grow(
    client: Client, benchmark: Benchmark, owner: User, page: str, django_assert_num_queries: DjangoAssertNumQueries,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    fail_for(monkeypatch, "Answer")
    client.force_login(owner)
    runs_made = [run_over(benchmark, 1), run_over(benchmark, 3)]
    for run in runs_made:
        work(run)
    arguments = [[benchmark.slug, run.public_id] for run in runs_made] if page == "run" else [[benchmark.slug]] * 2
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client.get(reverse(page, args=arguments[0]))
    with CaptureQueriesContext(connection) as few:
        client.get(reverse(page, args=arguments[0]))
    if page == "runs":
        for _ in range(3):
            work(run_over(benchmark, 2))
    with django_assert_num_queries(len(few)):
        client.get(reverse(page, args=arguments[1]))


def test_many_documents_of_a_cancelled_run_are_opened_by_a_worker(benchmark: Benchmark, owner: User) -> None:
    run = run_over(benchmark, AT_ONCE + 2)
    last = run.items.order_by("-document")[0]
    cancel_run(run, by=owner)
    assert states(run) == [RunState.CANCELLED] * (AT_ONCE + 2)
    assert phases(run) == [Phase.PREFILLING] * (AT_ONCE + 2)
    assert cancelled_with_documents() == [run.pk]
    # Another run that has one of them keeps it waiting.
    other = start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=[last.document_id], by=None)
    assert other is not None
    open_documents_of(run.pk)
    assert phases(run) == [Phase.INDEPENDENT] * (AT_ONCE + 1) + [Phase.PREFILLING]
    cancel_run(other, by=owner)
    assert cancelled_with_documents() == []
    run.refresh_from_db()
    assert retry_failed(run, by=owner) == AT_ONCE + 2
    run.refresh_from_db()
    assert (run.state, run.halted) == (RunState.QUEUED, "")
    assert set(states(run)) == {RunState.QUEUED}
    assert set(phases(run)) == {Phase.PREFILLING}


def test_a_large_run_waits_until_it_has_all_its_documents(
    benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "ITEMS_AT_ONCE", 2)
    added = runs._add_documents

    def seen_by_a_worker(run: PipelineRun, ids: Sequence[int], why: str) -> None:
        added(run, ids, why)
        run.refresh_from_db()
        assert (run.state, run.halted) == (RunState.PAUSED, runs.ADDING)
        assert coordinator.begin(run) == []

    monkeypatch.setattr(runs, "_add_documents", seen_by_a_worker)
    run = run_over(benchmark, 7)
    assert (run.state, run.halted, run.items.count()) == (RunState.QUEUED, "", 7)
    assert set(phases(run)) == {Phase.PREFILLING}
    work(run)
    assert run.state == RunState.FINISHED
