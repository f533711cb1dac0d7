"""Runs whose model is asked in batches: what they cost, and that a killed worker's batch is gone on with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotator.core.models import Benchmark, CachedAnswer, ModelBatch, PendingCall, PipelineRun, StepUse, User
from annotator.core.vocabulary import Role, RunState, Stage
from annotator.suggestions.actions import runs as run_actions
from annotator.suggestions.actions.plans import RunRequest
from annotator.suggestions.actions.runs import cancel_run, resume_run, start_run
from annotator.suggestions.queries.costs import costs_of, with_formula
from annotator.suggestions.queries.forecast import Forecast, forecast
from annotator.suggestions.queries.run_scope import RunScope
from annotator.suggestions.queries.services import use_by_service
from pipeline.catalogue import choice
from pipeline.runs import batching, coordinator
from pipeline.runs.run_budget import RunMeter
from tests.counting_strategy import Counting
from tests.factories import BenchmarkFactory, DocumentFactory, member
from tests.fakes.batches import FakeOpenAIBatches
from tests.fakes.server import broken

pytestmark = pytest.mark.django_db

CALLS = 2


@pytest.fixture
def model(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAIBatches]:
    monkeypatch.setattr(run_actions, "after_commit", lambda *_: None)
    settings.BATCH_PAUSE = 0
    with FakeOpenAIBatches(lambda _: "One, two, three.") as fake:
        settings.LLM_URL, settings.LLM_MODEL = f"{fake.url}/v1", "tiny"
        settings.LLM_PRICE_PROMPT, settings.LLM_PRICE_ANSWER = 1e6, 1e6  # one for a token
        yield fake


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(slug="pilot", strategy=Counting.name)


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER)


def in_batches(benchmark: Benchmark, documents: int = 2, **wish: Any) -> PipelineRun:
    rows = [DocumentFactory(benchmark=benchmark, response=f"Text number {each}.") for each in range(documents)]
    run = start_run(
        benchmark=benchmark,
        stage=Stage.DECOMPOSE,
        documents=[row.pk for row in rows],
        by=None,
        wish=RunRequest(parameters={"calls": CALLS}, in_batches=True, **wish),
    )
    assert run is not None
    return run


def turn(run: PipelineRun) -> None:
    """What the workers do until nothing moves: all documents once, then the batches."""
    for item_id in coordinator.begin(run):
        coordinator.prefill_item(item_id)
    batching.work_on_batches()
    run.refresh_from_db()


def until_over(run: PipelineRun) -> PipelineRun:
    for _ in range(12):
        turn(run)
        if run.state != RunState.RUNNING:
            return run
    raise AssertionError(f"the run does not end: {list(run.items.values_list('state', 'waits'))}")


def check_paid_once(run: PipelineRun, model: FakeOpenAIBatches) -> None:
    """Every request is in one batch, its answer kept, its cost in the books at half the price; nothing is held."""
    keys = [line["custom_id"] for lines in model.made.values() for line in lines]
    assert len(keys) == len(set(keys)) == CachedAnswer.objects.count()
    assert not PendingCall.objects.exists()
    use = StepUse.objects.filter(item__run=run)
    assert sum(use.values_list("chats", flat=True)) == len(keys)
    tokens = sum(sum(each) for each in use.values_list("prompt_tokens", "answer_tokens"))
    assert run.spent_tokens == tokens > 0
    assert run.spent_money == pytest.approx(tokens / 2)


def test_a_run_in_batches_costs_half_and_makes_no_call_of_its_own(
    benchmark: Benchmark, model: FakeOpenAIBatches
) -> None:
    run = until_over(in_batches(benchmark))
    assert run.state == RunState.FINISHED
    assert list(run.items.values_list("state", flat=True)) == [RunState.FINISHED] * 2
    assert model.direct == []
    assert [len(lines) for lines in model.made.values()] == [2] * CALLS, "both documents go into one batch a step"
    check_paid_once(run, model)
    costs = with_formula(costs_of(run), run)
    assert costs.total.requests == 2 * CALLS == costs.total.chats, "what came with a batch is not counted as kept, too"
    assert sum(each.calls for each in use_by_service(benchmark)) == 2 * CALLS


def test_while_a_batch_is_out_documents_wait_and_no_worker_takes_them(
    benchmark: Benchmark, model: FakeOpenAIBatches
) -> None:
    model.looks = 1000
    run = in_batches(benchmark)
    turn(run)
    turn(run)
    assert coordinator.begin(run) == []
    assert set(run.items.values_list("state", "waits", "attempts")) == {(RunState.QUEUED, True, 0)}
    assert len(model.made) == 1
    assert run.spent_money > 0, "what the batch can cost at most is held"


def test_a_worker_lost_before_it_wrote_the_name_down_pays_nothing_twice(
    benchmark: Benchmark, model: FakeOpenAIBatches
) -> None:
    model.looks = 3
    run = in_batches(benchmark)
    turn(run)
    turn(run)
    assert ModelBatch.objects.get().name
    ModelBatch.objects.update(name="", next_look_at=None)
    until_over(run)
    assert len(model.made) == CALLS
    check_paid_once(run, model)


def test_a_worker_lost_while_it_reads_the_results_pays_nothing_twice(
    benchmark: Benchmark, model: FakeOpenAIBatches, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = in_batches(benchmark)
    settle = RunMeter.settle_batch
    settled: list[None] = []

    def once(meter: RunMeter, ended: Any) -> None:
        if settled:
            raise KeyboardInterrupt
        settle(meter, ended)
        settled.append(None)

    monkeypatch.setattr(RunMeter, "settle_batch", once)
    with pytest.raises(KeyboardInterrupt):
        until_over(run)
    assert PendingCall.objects.count() == 1
    monkeypatch.setattr(RunMeter, "settle_batch", settle)
    ModelBatch.objects.update(next_look_at=None)  # as if the lost worker's time were over
    until_over(run)
    assert run.state == RunState.FINISHED
    check_paid_once(run, model)


def test_what_a_batch_leaves_unanswered_is_asked_directly(benchmark: Benchmark, model: FakeOpenAIBatches) -> None:
    model.expires = frozenset({0})
    run = until_over(in_batches(benchmark))
    assert run.state == RunState.FINISHED
    assert len(model.direct) == CALLS, "the first line of each batch"
    assert CachedAnswer.objects.count() == 2 * CALLS
    assert not PendingCall.objects.exists()


def test_a_service_that_fails_pauses_the_run_and_a_resumed_run_goes_on(
    benchmark: Benchmark, owner: User, model: FakeOpenAIBatches
) -> None:
    run = in_batches(benchmark)
    turn(run)
    model.key = "another"
    batching.work_on_batches()
    run.refresh_from_db()
    assert run.state == RunState.PAUSED
    assert "401" in run.halted_details
    model.key = ""
    resume_run(run, by=owner)
    until_over(run)
    assert run.state == RunState.FINISHED
    check_paid_once(run, model)


def test_a_canceled_run_cancels_its_batch_and_holds_nothing(
    benchmark: Benchmark, owner: User, model: FakeOpenAIBatches
) -> None:
    model.looks = 1000
    run = in_batches(benchmark)
    turn(run)
    turn(run)
    cancel_run(run, by=owner)
    batching.work_on_batches()
    batching.work_on_batches()
    run.refresh_from_db()
    assert model.cancelled == set(model.made)
    assert not PendingCall.objects.exists()
    assert (run.spent_tokens, run.spent_money) == (0, 0)


def test_requests_that_were_never_handed_over_are_dropped_with_their_run(
    benchmark: Benchmark, owner: User, model: FakeOpenAIBatches
) -> None:
    run = in_batches(benchmark)
    for item_id in coordinator.begin(run):
        coordinator.prefill_item(item_id)
    assert PendingCall.objects.count() == 2
    cancel_run(run, by=owner)
    batching.work_on_batches()
    run.refresh_from_db()
    assert model.made == {}
    assert not PendingCall.objects.exists()
    assert (run.spent_tokens, run.spent_money) == (0, 0)


def test_the_form_offers_batches(client: Client, benchmark: Benchmark, owner: User, model: FakeOpenAIBatches) -> None:
    client.force_login(owner)
    DocumentFactory(benchmark=benchmark)
    form = reverse("run-new", args=["pilot"])
    assert 'name="in_batches"' in client.get(form).content.decode()
    typed = {"stage": "decompose", "strategy": "counting", "which": "missing", "in_batches": "yes"}
    answer = client.post(reverse("run-start", args=["pilot"]), typed)
    assert answer.status_code == 302
    assert benchmark.runs.get().plan["in_batches"] is True
    assert "asked in batches" in client.get(answer["Location"]).content.decode()


def test_a_service_that_is_down_is_looked_at_again(benchmark: Benchmark, model: FakeOpenAIBatches) -> None:
    run = in_batches(benchmark)
    turn(run)
    batching.work_on_batches()
    [batch] = ModelBatch.objects.all()
    model.first(broken(400))
    ModelBatch.objects.update(next_look_at=None)
    batching.work_on_batches()
    run.refresh_from_db()
    assert run.state == RunState.RUNNING, "the batch is out: looking again costs nothing"
    assert batch.name
    ModelBatch.objects.update(next_look_at=None)
    assert until_over(run).state == RunState.FINISHED


@pytest.mark.django_db(transaction=True)
def test_prefill_in_batches_is_resumed_by_the_same_command(
    benchmark: Benchmark, model: FakeOpenAIBatches, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        DocumentFactory(benchmark=benchmark, response=f"Text number {number}.")

    def command() -> None:
        call_command("prefill", benchmark="pilot", parameter=[f"calls={CALLS}"], batches=True, wait=True)

    def stopped(_: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("annotator.management.working.time.sleep", stopped)
        command()
    run = benchmark.runs.get()
    assert (run.state, len(model.made)) == (RunState.RUNNING, 0), "collected, and not handed over yet"
    command()
    run.refresh_from_db()
    assert (run.state, benchmark.runs.count()) == (RunState.FINISHED, 1)
    assert model.direct == []
    check_paid_once(run, model)


def test_the_forecast_shows_the_price_of_batches(benchmark: Benchmark, model: FakeOpenAIBatches, owner: User) -> None:
    counting = choice(Counting.name)
    assert counting is not None

    def told() -> Forecast:
        return forecast(benchmark, counting, {}, Stage.DECOMPOSE, RunScope([1, 2]), {})

    guessed = told()
    assert guessed.money > 0
    assert guessed.money_in_batches == pytest.approx(guessed.money / 2)
    until_over(in_batches(benchmark))
    measured = told()
    assert measured.measured == 2
    assert measured.money_in_batches == pytest.approx(measured.money), "as it was paid"
