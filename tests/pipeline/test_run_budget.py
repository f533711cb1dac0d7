"""What runs cost, and that they stop: budgets under many hands, pause, resume, cancel, kept answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.db.models import Sum
from django.utils import timezone

from annotator.core.actions.fields import BadValueError
from annotator.core.models import (
    Benchmark,
    CachedAnswer,
    ClaimSuggestion,
    Document,
    Notice,
    PendingCall,
    PipelineRun,
    RunItem,
    SentenceSuggestion,
    StepUse,
    User,
)
from annotator.core.queries.documents import prefilling_of
from annotator.core.queries.notices import place_of
from annotator.core.vocabulary import NoticeKind, Phase, Role, RunState, Stage
from annotator.suggestions.actions import runs as actions
from annotator.suggestions.actions.plans import RunRequest
from annotator.suggestions.actions.runs import cancel_run, pause_run, resume_run, retry_failed, start_run
from annotator.suggestions.queries.costs import Pending, costs_of
from pipeline import tasks
from pipeline.clients.base import BudgetSpentError, Usage
from pipeline.clients.cost_meter import CallKind, Hold, KeptAnswer
from pipeline.runs import coordinator
from pipeline.runs.bridge import Bridge
from pipeline.runs.kept_answers import kept_answers
from pipeline.runs.run_budget import RunMeter, RunStoppedError, mark_lost
from tests.counting_strategy import Counting
from tests.factories import BenchmarkFactory, DocumentFactory, member
from tests.fakes.chat import FakeChat, Refusal


@pytest.fixture
def chat(settings: Any) -> Iterator[FakeChat]:
    with FakeChat() as fake:
        settings.LLM_URL = f"{fake.url}/v1"
        settings.LLM_MODEL = "tiny"
        settings.LLM_PRICE_PROMPT, settings.LLM_PRICE_ANSWER = 1.0, 2.0
        yield fake


@pytest.fixture(autouse=True)
def nobody_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test hands out by itself, also where its transactions are real."""
    monkeypatch.setattr(actions, "after_commit", lambda *_: None)


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(strategy=Counting.name)


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER)


def counting(benchmark: Benchmark, documents: int, *, calls: int = 3, **wish: Any) -> PipelineRun:
    made = [DocumentFactory(benchmark=benchmark, response=f"Answer {n} is here.") for n in range(documents)]
    run = start_run(
        benchmark=benchmark,
        stage=Stage.DECOMPOSE,
        documents=[each.pk for each in made],
        by=None,
        wish=RunRequest(parameters={"calls": calls}, **wish),
    )
    assert run is not None
    return run


def work(run: PipelineRun) -> None:
    run.refresh_from_db()
    for item_id in coordinator.begin(run):
        coordinator.prefill_item(item_id)
    run.refresh_from_db()


def spent(run: PipelineRun) -> tuple[Any, Any]:
    """What the steps say that was used: the run's own sums must agree."""
    uses = StepUse.objects.filter(item__run=run)
    sums = uses.aggregate(Sum("prompt_tokens"), Sum("answer_tokens"), Sum("money"))
    return (sums["prompt_tokens__sum"] or 0) + (sums["answer_tokens__sum"] or 0), sums["money__sum"] or 0.0


def states(run: PipelineRun) -> list[str]:
    return list(run.items.order_by("id").values_list("state", flat=True))


pytestmark = pytest.mark.django_db


# --- costs ----------------------------------------------------------------------------------------


def test_what_was_used_is_written_by_step_and_adds_up(benchmark: Benchmark, chat: FakeChat) -> None:
    run = counting(benchmark, 2)
    work(run)
    assert (run.state, len(chat.calls)) == (RunState.FINISHED, 6)
    use = StepUse.objects.get(item=run.items.first(), step="count")
    assert (use.chats, use.cached, use.searches) == (3, 0, 0)
    assert use.seconds > 0
    assert run.spent_tokens == spent(run)[0]
    assert run.spent_money == pytest.approx(spent(run)[1])
    assert run.spent_money == pytest.approx(
        sum(u.prompt_tokens * 1e-6 + u.answer_tokens * 2e-6 for u in StepUse.objects.filter(item__run=run))
    )
    item = run.items.first()
    assert item is not None
    assert not item.pending_calls.exists()
    assert item.counts == {"questions": 3, "sentences": 1}
    assert item.notes == [{"step": "count", "text": "Counted to the end."}]


def test_a_run_done_again_costs_nothing_and_gives_the_same(benchmark: Benchmark, chat: FakeChat) -> None:
    first = counting(benchmark, 1)
    work(first)
    document = first.items.get().document
    again = start_run(
        benchmark=benchmark,
        stage=Stage.DECOMPOSE,
        documents=[document.pk],
        by=None,
        wish=RunRequest(parameters={"calls": 3}, budget_tokens=0),
    )
    assert again is not None
    work(again)
    assert (again.state, again.spent_tokens, len(chat.calls)) == (RunState.FINISHED, 0, 3)
    assert StepUse.objects.get(item__run=again).cached == 3
    texts = [list(SentenceSuggestion.objects.filter(run=run).values_list("text", "type")) for run in (first, again)]
    assert texts[0] == texts[1]


def test_an_answer_and_its_cost_are_written_together(
    benchmark: Benchmark, chat: FakeChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The document fails after its second call: both calls are paid and kept all the same."""
    honest = Counting._ask

    async def failing(self: Counting, tools: Any, step: str, text: str) -> str:
        if text.startswith("2:"):
            raise KeyError("nothing there")
        return await honest(self, tools, step, text)

    monkeypatch.setattr(Counting, "_ask", failing)
    run = counting(benchmark, 1)
    work(run)
    assert (run.state, run.items.get().error_details) == (RunState.FAILED, "KeyError: 'nothing there'")
    assert StepUse.objects.get(item__run=run).chats == CachedAnswer.objects.count() == 2
    assert run.spent_tokens == spent(run)[0] > 0
    assert not SentenceSuggestion.objects.exists()


def test_what_a_service_says_is_the_reason_that_a_person_reads(
    benchmark: Benchmark, chat: FakeChat, settings: Any
) -> None:
    settings.LLM_URL = f"{chat.url}/nowhere"
    run = counting(benchmark, 1)
    work(run)
    error = run.items.get().error_details
    assert "Unknown request URL" in error
    assert not error.startswith("ServiceError")


# --- the budget -----------------------------------------------------------------------------------


def test_a_run_pauses_before_its_budget_is_passed_and_goes_on_with_a_greater_one(
    benchmark: Benchmark, chat: FakeChat, owner: User
) -> None:
    run = counting(benchmark, 4, budget_tokens=60)
    work(run)
    assert run.state == RunState.PAUSED
    assert 0 < run.spent_tokens <= 60
    assert "of the budget of 60 are spent" in run.halted
    assert "Raise the budget and resume" in run.halted
    assert RunState.RUNNING not in states(run)
    assert coordinator.begin(run) == [], "nothing is handed out while it is paused"
    done = len(chat.calls)
    resume_run(run, by=owner, budget_tokens=100_000)
    work(run)
    assert (run.state, states(run), run.halted) == (RunState.FINISHED, ["finished"] * 4, "")
    assert len(chat.calls) == 12, f"the {done} calls that were paid are not made again"
    assert run.spent_tokens == spent(run)[0]
    assert set(run.items.values_list("attempts", flat=True)) == {1}, "a pause is not a failed try"


def test_who_manages_is_told_once_that_suggestions_have_paused(
    benchmark: Benchmark, chat: FakeChat, owner: User
) -> None:
    admin = member(benchmark, Role.ADMIN)
    member(benchmark)
    for _ in range(2):
        work(counting(benchmark, 4, budget_tokens=60))
    told = Notice.objects.filter(kind=NoticeKind.HALTED)
    assert {notice.to for notice in told} == {owner, admin}
    assert told.count() == 2, "the second run says nothing that is not said already"
    assert told[0].text.startswith("Suggestions for decompose were paused automatically. ")
    assert "Raise the budget and resume" in told[0].text
    assert place_of(told[0]) == f"/b/{benchmark.slug}/runs/"
    told.update(read_at=timezone.now())
    work(counting(benchmark, 4, budget_tokens=60))
    assert told.count() == 4, "it has happened again"


def test_nobody_is_told_of_the_search_that_somebody_made_at_a_claim(benchmark: Benchmark, owner: User) -> None:
    run = PipelineRun.objects.create(
        benchmark=benchmark, stage=Stage.VERIFY, strategy="search", plan={"again": True, "claims": []}
    )
    actions.halt(run.pk, "The search service does not answer.")
    run.refresh_from_db()
    assert run.state == RunState.PAUSED
    assert not Notice.objects.exists()


def test_a_budget_in_money_holds_too(benchmark: Benchmark, chat: FakeChat) -> None:
    run = counting(benchmark, 4, budget_money=0.00008)
    work(run)
    assert run.state == RunState.PAUSED
    assert 0 < run.spent_money <= 0.00008
    assert "might cost" in run.halted


def meters(run: PipelineRun) -> list[RunMeter]:
    """One for each document, each in the hands of a worker."""
    now = timezone.now()
    run.items.update(state=RunState.RUNNING, started_at=now, seen_at=now)
    return [RunMeter(item, Bridge()) for item in run.items.all()]


@pytest.mark.django_db(transaction=True)
def test_many_workers_together_never_pass_the_budget(benchmark: Benchmark, chat: FakeChat) -> None:
    """Eight threads with connections of their own reserve and settle; no sum of spent and held ever passes 1,000."""
    run = counting(benchmark, 8, budget_tokens=1000)
    highest: list[int] = []
    refused: list[str] = []

    def one(meter: RunMeter) -> None:
        bridge = meter.bridge
        hold = Hold("count", CallKind.CHAT, tokens=90)

        async def main() -> None:
            while True:
                await meter.reserve(hold)
                highest.append(
                    await bridge.do(lambda: PipelineRun.objects.values_list("spent_tokens", flat=True).get())
                )
                await meter.settle(hold, Usage(prompt_tokens=20, answer_tokens=10), 0.01, None)

        try:
            bridge.run(main)
        except BudgetSpentError as error:
            refused.append(str(error))
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, meters(run)))
    run.refresh_from_db()
    assert len(refused) == 8
    assert max(highest) <= 1000
    assert run.spent_tokens == spent(run)[0]
    assert run.spent_tokens > 1000 - 90 - 30, "held-back worst cases of others do not stop a run early"
    assert not PendingCall.objects.exists()


def test_what_a_killed_worker_had_on_the_wire_stays_counted(benchmark: Benchmark, chat: FakeChat) -> None:
    run = counting(benchmark, 1, budget_tokens=1000)
    item = coordinator.claim_item(run.items.get().pk)
    assert item is not None
    bridge = Bridge()
    meter = RunMeter(item, bridge)
    bridge.run(lambda: meter.reserve(Hold("count", CallKind.CHAT, tokens=900)))
    run.refresh_from_db()
    assert run.spent_tokens == 900
    RunItem.objects.filter(pk=item.pk).update(seen_at=timezone.now() - 2 * coordinator.LOST_AFTER)
    taken = coordinator.claim_item(item.pk)
    assert taken is not None
    run.refresh_from_db()
    assert run.spent_tokens == 900, "the service may have charged it"
    costs = costs_of(run)
    assert (costs.held, costs.lost) == (Pending(), Pending(1, 900, 0.0))
    assert costs.percent == 90
    # The first one was not dead but slow: what its call did cost is known after all.
    answer = KeptAnswer("k" * 64, CallKind.CHAT, {"text": "late"})
    bridge.run(lambda: meter.settle(Hold("count", CallKind.CHAT, tokens=900), Usage(5, 5, 0.1), 1.0, answer))
    run.refresh_from_db()
    assert run.spent_tokens == 10
    assert run.spent_money == pytest.approx(0.1)
    assert kept_answers(["k" * 64])[0] == {"text": "late"}
    with pytest.raises(RunStoppedError):
        bridge.run(lambda: meter.reserve(Hold("count", CallKind.CHAT, tokens=1)))
    run.refresh_from_db()
    assert run.spent_tokens == 10


def test_the_same_call_is_made_once_by_all_processes(benchmark: Benchmark, chat: FakeChat) -> None:
    """Who comes second waits until the answer is kept, or until the first is lost."""
    first, second = meters(counting(benchmark, 2))
    hold = Hold("count", CallKind.CHAT, tokens=10, key="k" * 64)

    def held(meter: RunMeter) -> bool:
        return meter.bridge.run(lambda: meter.reserve(hold))

    assert held(first)
    assert not held(second)
    assert PipelineRun.objects.get().spent_tokens == 10, "who waits holds nothing"
    mark_lost(RunItem.objects.order_by("id")[0])
    assert held(second)


@pytest.mark.parametrize(
    ("kept", "instead", "may"),
    [
        ({"text": "kept"}, False, False),
        ({"text": "kept, and of no use"}, True, True),
        ({"snapshot": "its text is gone"}, False, True),
    ],
)
def test_a_call_whose_answer_came_meanwhile_is_not_made_again(
    benchmark: Benchmark, chat: FakeChat, kept: dict[str, str], instead: bool, may: bool
) -> None:
    [meter] = meters(counting(benchmark, 1))
    CachedAnswer.objects.create(key="k" * 64, kind=CallKind.PAGE, answer=kept)
    hold = Hold("count", CallKind.CHAT, tokens=10, key="k" * 64, instead=instead)
    assert meter.bridge.run(lambda: meter.reserve(hold)) == may
    assert PipelineRun.objects.get().spent_tokens == (10 if may else 0)


def test_a_worker_that_was_only_slow_stores_nothing(benchmark: Benchmark, chat: FakeChat) -> None:
    """Another worker took its document and did it: two results would be two sets of suggestions."""
    run = counting(benchmark, 1)
    slow = coordinator.claim_item(run.items.get().pk)
    assert slow is not None
    RunItem.objects.update(seen_at=timezone.now() - 2 * coordinator.LOST_AFTER)
    coordinator.prefill_item(slow.pk)
    assert states(run) == ["finished"]
    before = SentenceSuggestion.objects.count()
    with pytest.raises(coordinator._TakenError):
        coordinator._prefill(slow)
    assert SentenceSuggestion.objects.count() == before > 0


# --- stopping -------------------------------------------------------------------------------------


class During(FakeChat):
    """Does something while a call is under way."""

    def __init__(self, at: int, act: Callable[[], object]) -> None:
        super().__init__(self._say)
        self.at, self.act = at, act

    def _say(self, request: object) -> str:
        if len(self.calls) == self.at:
            thread = threading.Thread(target=self._act)
            thread.start()
            thread.join()
        return "Yes."

    def _act(self) -> None:
        self.act()
        connection.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", ["pause", "cancel"])
def test_a_stop_takes_effect_between_two_calls(benchmark: Benchmark, owner: User, what: str, settings: Any) -> None:
    run_id: list[int] = []

    def stop() -> None:
        run = PipelineRun.objects.select_related("benchmark").get(pk=run_id[0])
        (pause_run if what == "pause" else cancel_run)(run, by=owner)

    with During(2, stop) as chat:
        settings.LLM_URL, settings.LLM_MODEL = f"{chat.url}/v1", "tiny"
        run = counting(benchmark, 2, calls=50)
        run_id.append(run.pk)
        work(run)
        assert len(chat.calls) == 2, "no call after that under way"
        assert CachedAnswer.objects.count() == 2, "what was paid is kept"
        if what == "cancel":
            assert (run.state, states(run)) == (RunState.CANCELLED, ["cancelled"] * 2)
            assert set(Document.objects.values_list("phase", flat=True)) == {Phase.INDEPENDENT}
            return
        assert (run.state, states(run), run.halted) == (RunState.PAUSED, ["queued"] * 2, "")
        resume_run(run, by=owner)
        work(run)
        assert (run.state, states(run)) == (RunState.FINISHED, ["finished"] * 2)
        assert len(chat.calls) == 100


def test_a_paused_run_can_be_cancelled(benchmark: Benchmark, chat: FakeChat, owner: User) -> None:
    run = counting(benchmark, 2)
    pause_run(run, by=owner)
    document = Document.objects.select_related("benchmark").first()
    assert document is not None and prefilling_of(document).paused
    coordinator.prefill_item(run.items.first().pk)  # type: ignore[union-attr]  # delivered late
    assert states(run) == ["queued"] * 2
    cancel_run(run, by=owner)
    run.refresh_from_db()
    assert (run.state, states(run)) == (RunState.CANCELLED, ["cancelled"] * 2)
    assert set(Document.objects.values_list("phase", flat=True)) == {Phase.INDEPENDENT}


# --- what is missing ------------------------------------------------------------------------------


def test_a_run_without_its_service_leaves_documents_open_and_says_why(
    benchmark: Benchmark, owner: User, settings: Any, chat: FakeChat
) -> None:
    settings.LLM_URL, url = "", settings.LLM_URL
    run = counting(benchmark, 1)
    assert (run.state, states(run)) == (RunState.FAILED, ["failed"])
    assert "an owner can add under Services" in run.items.get().error
    assert run.items.get().document.phase == Phase.INDEPENDENT
    with pytest.raises(BadValueError, match="Services"):
        retry_failed(run, by=owner)
    assert states(run) == ["failed"]
    settings.LLM_URL = url
    assert retry_failed(run, by=owner) == 1
    work(run)
    assert (run.state, states(run), run.plan["model"]) == (RunState.FINISHED, ["finished"], "tiny")


def test_a_wrong_setting_pauses_the_run_before_anything_is_asked(
    benchmark: Benchmark, chat: FakeChat, settings: Any
) -> None:
    settings.SEARCH_PROVIDER = "serper"
    run = counting(benchmark, 1)
    work(run)
    assert run.state == RunState.PAUSED
    assert "SEARCH_KEY" in run.halted_details
    assert not chat.calls


def test_the_plan_is_frozen(benchmark: Benchmark, chat: FakeChat, settings: Any) -> None:
    run = counting(benchmark, 1)
    assert run.plan["parameters"] == {"calls": 3, "longest": 20}
    assert (run.plan["model"], run.plan["seed"], run.plan["temperature"]) == ("tiny", 0, 0.0)
    assert run.plan["services"]["chat"].startswith("tiny at 127.0.0.1")
    settings.LLM_MODEL = "huge"
    Benchmark.objects.update(parameters={"calls": 1})
    work(run)
    assert {request["model"] for request in chat.requests} == {"tiny"}
    assert len(chat.calls) == 3
    with pytest.raises(BadValueError, match="calls"):
        counting(benchmark, 1, calls=5000)


# --- what a broker forgets ------------------------------------------------------------------------


def test_what_the_broker_has_forgotten_is_handed_out_again(benchmark: Benchmark, chat: FakeChat) -> None:
    run = counting(benchmark, 2)
    coordinator.begin(run)  # its messages were lost
    assert tasks.resume_runs() == 1
    run.refresh_from_db()
    assert (run.state, states(run)) == (RunState.FINISHED, ["finished"] * 2)


def test_while_messages_wait_only_what_was_lost_is_handed_out(
    benchmark: Benchmark, chat: FakeChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "_queues_are_empty", lambda: False)
    run = counting(benchmark, 3)
    lost, alive, _ = coordinator.begin(run)
    for item_id in (lost, alive):
        assert coordinator.claim_item(item_id)
    RunItem.objects.filter(pk=lost).update(seen_at=timezone.now() - 2 * coordinator.LOST_AFTER)
    PendingCall.objects.create(item_id=lost, step="count", kind="chat", tokens=5)
    PipelineRun.objects.update(spent_tokens=5)
    assert tasks.resume_runs() == 1
    assert states(run) == ["finished", "running", "queued"]
    run.refresh_from_db()
    assert run.spent_tokens == spent(run)[0] + 5, "what the lost worker had on the wire stays counted"
    assert costs_of(run).held == Pending()


def test_a_worker_that_is_alone_takes_up_everything_at_its_start(
    benchmark: Benchmark, chat: FakeChat, owner: User
) -> None:
    run, paused = counting(benchmark, 1), counting(benchmark, 1)
    for each in (run, paused):
        (item_id,) = coordinator.begin(each)
        assert coordinator.claim_item(item_id)
    pause_run(paused, by=owner)
    tasks.resume_runs()
    assert (states(run), states(paused)) == (["running"], ["running"]), "a fresh sign of life is believed"
    tasks.resume_runs(alone=True)
    assert (states(run), states(paused)) == (["finished"], ["queued"])


@pytest.mark.django_db
def test_parameters_that_are_out_of_date_hold_up_nobody_who_hands_in(
    benchmark: Benchmark, chat: FakeChat, owner: User
) -> None:
    benchmark.parameters = {"of_an_older_release": 1}
    benchmark.save()
    document = DocumentFactory(benchmark=benchmark)
    wanted: dict[str, Any] = {"benchmark": benchmark, "stage": Stage.DECOMPOSE, "documents": [document.pk], "by": None}
    run = start_run(**wanted)
    assert run is not None
    assert run.state == RunState.FAILED
    assert "of_an_older_release" in run.items.get().error
    document.refresh_from_db()
    assert document.phase == Phase.INDEPENDENT
    with pytest.raises(BadValueError, match="of_an_older_release"):
        start_run(**wanted, refuse=True)
    with pytest.raises(BadValueError, match="of_an_older_release"):
        retry_failed(run, by=owner)


@pytest.mark.django_db
def test_a_document_that_fails_holds_nothing(
    benchmark: Benchmark, chat: FakeChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cost of an answer that cannot be written is counted at its most; held, it would be waited for for ever."""

    def refuse(kept: Sequence[KeptAnswer]) -> None:
        raise ValueError("cannot be stored")

    monkeypatch.setattr("pipeline.runs.run_budget.keep_answers", refuse)
    run = counting(benchmark, 1, calls=1, budget_tokens=10_000)
    PipelineRun.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    coordinator.prefill_item(run.items.get().pk)
    item = run.items.get()
    run.refresh_from_db()
    assert item.state == RunState.FAILED
    costs = costs_of(run)
    assert costs.held == Pending()
    assert costs.lost.calls == 1
    assert run.spent_tokens == costs.lost.tokens
    assert run.spent_money == pytest.approx(costs.lost.money)
    assert run.spent_tokens > 0


@pytest.mark.django_db
def test_a_document_put_back_into_a_cancelled_run_is_closed(benchmark: Benchmark, chat: FakeChat, owner: User) -> None:
    """A worker may put it back at the very moment at which its run is cancelled: neither sees the other."""
    run = counting(benchmark, 1)
    cancel_run(run, by=owner)
    item = run.items.get()
    RunItem.objects.filter(pk=item.pk).update(state=RunState.QUEUED, finished_at=None)
    Document.objects.filter(pk=item.document_id).update(phase=Phase.PREFILLING)
    coordinator.close_cancelled(alone=False)
    item.refresh_from_db()
    assert item.state == RunState.CANCELLED
    assert Document.objects.get(pk=item.document_id).phase == Phase.INDEPENDENT


@pytest.mark.parametrize("refusal", [{"message": "It was flagged by our content filter."}, {"message": "Bad request"}])
def test_one_refused_prompt_takes_nothing_away_from_its_document(
    chat: FakeChat, settings: Any, refusal: dict[str, str]
) -> None:
    """One sentence of three is refused: it falls back to rules and says so, the others keep what the model said."""
    benchmark = BenchmarkFactory(strategy="veriscore")
    settings.SEARCH_PROVIDER, settings.SEARCH_URL = "searxng", "http://127.0.0.1:9"

    def script(request: Mapping[str, Any]) -> object:
        sentence = request["messages"][-1]["content"].partition("<SOS>")[2].partition("<EOS>")[0]
        return Refusal(refusal) if "second" in sentence else {"claims": [f"Model: {sentence}"]}

    chat.script = script
    document = DocumentFactory(
        benchmark=benchmark, response="The first fort stands. The second fort stands. The third fort stands."
    )
    run = start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=[document.pk], by=None)
    assert run is not None
    work(run)
    assert states(run) == [RunState.FINISHED]
    [note] = run.items.get().notes
    assert "refused" in note["text"]
    assert "decomposed by rules" in note["text"]
    assert "LLM_KEY" not in note["text"]
    texts = list(ClaimSuggestion.objects.order_by("id").values_list("text", flat=True))
    assert [text.startswith("Model:") for text in texts] == [True, False, True]


def test_an_unreadable_answer_is_not_replayed(chat: FakeChat, settings: Any) -> None:
    benchmark = BenchmarkFactory(strategy="veriscore")
    settings.SEARCH_PROVIDER, settings.SEARCH_URL = "searxng", "http://127.0.0.1:9"
    document = DocumentFactory(benchmark=benchmark, response="The first fort stands.")
    answers: list[tuple[object, int]] = [("<html>Bad gateway</html>", 0), ({"claims": ["The fort stands."]}, 1)]
    for said, expected in answers:
        chat.script = partial(lambda said, _: said, said)
        run = start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=[document.pk], by=None)
        assert run is not None
        work(run)
        assert states(run) == [RunState.FINISHED]
        assert CachedAnswer.objects.count() == expected
    assert len(chat.calls) == 3
