"""The pages of runs: the form with its forecast, a paused run, what strategies cost, prompts, the benchmark's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import (
    Activity,
    Benchmark,
    Document,
    PendingCall,
    PipelineRun,
    PromptVersion,
    RunItem,
    StepUse,
    User,
)
from annotator.core.vocabulary import Role, RunState, Stage
from annotator.suggestions.actions import runs as actions
from annotator.suggestions.actions.plans import RunRequest
from annotator.suggestions.actions.runs import pause_run, start_run
from annotator.suggestions.actions.suggestions import StaleWordingError, choose_strategy, write_wording
from annotator.suggestions.queries.costs import compared, costs_of, with_formula
from annotator.suggestions.queries.forecast import forecast
from annotator.suggestions.queries.prompts import prompts_in_use
from annotator.suggestions.queries.run_scope import MISSING, WAITING, RunScope, scope_of
from pipeline.catalogue import choice
from pipeline.prompts import shipped
from pipeline.runs import coordinator
from tests.counting_strategy import Counting
from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, documents, member, verified, with_corpus
from tests.fakes.chat import FakeChat

pytestmark = pytest.mark.django_db

PROMPT = "papelo/answer"


@pytest.fixture(autouse=True)
def nobody_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test hands out by itself."""
    monkeypatch.setattr(actions, "after_commit", lambda *_: None)


@pytest.fixture
def chat(settings: Any) -> Iterator[FakeChat]:
    with FakeChat() as fake:
        settings.LLM_URL, settings.LLM_MODEL = f"{fake.url}/v1", "tiny"
        settings.LLM_PRICE_PROMPT, settings.LLM_PRICE_ANSWER = 1.0, 2.0
        yield fake


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(strategy=Counting.name)


@pytest.fixture
def owner(benchmark: Benchmark, client: Client) -> User:
    person = member(benchmark, Role.OWNER)
    client.force_login(person)
    return person


def work(run: PipelineRun) -> PipelineRun:
    run.refresh_from_db()
    for item_id in coordinator.begin(run):
        coordinator.prefill_item(item_id)
    run.refresh_from_db()
    return run


def counted(benchmark: Benchmark, number: int, calls: int = 3) -> PipelineRun:
    ids = [DocumentFactory(benchmark=benchmark, response=f"Answer {n} of {calls} is here.").pk for n in range(number)]
    run = start_run(
        benchmark=benchmark, stage=Stage.DECOMPOSE, documents=ids, by=None, wish=RunRequest(parameters={"calls": calls})
    )
    assert run is not None
    return work(run)


def soup(client: Client, url: str, **headers: str) -> BeautifulSoup:
    response = client.get(url, headers=headers)
    assert response.status_code == 200
    return BeautifulSoup(response.content, "html.parser")


# --- the form -------------------------------------------------------------------------------------


def test_the_form_offers_every_strategy_with_what_it_lacks(client: Client, benchmark: Benchmark, owner: User) -> None:
    page = soup(client, reverse("run-new", args=[benchmark.slug]))
    cards = {card.input["value"]: card.text for card in page.select("label.option")}  # type: ignore[index]
    assert "No key, no network, no cost" in cards["offline"]
    assert "an owner can add under Services" in cards["counting"]
    assert page.select_one("input[name=strategy][checked]")["value"] == "counting"  # type: ignore[index]
    start = page.find("button", string="Start the run")
    assert start is not None and start.has_attr("disabled")
    field = page.find(id="p-counting-calls")
    assert field is not None and field["value"] == "3"
    assert "from 0 to 1000" in page.find(id="p-counting-calls-help").text  # type: ignore[union-attr]


def test_what_is_chosen_in_the_form_is_what_runs(
    client: Client, benchmark: Benchmark, owner: User, chat: FakeChat
) -> None:
    documents(3, benchmark=benchmark)
    typed = {
        "stage": "decompose", "strategy": "counting", "which": "missing", "most": "2",
        "p-counting-calls": "5", "p-counting-longest": "",
        "model": "huge", "seed": "7", "temperature": "0.5", "budget_tokens": "10,000", "budget_money": "1.50",
    }  # fmt: skip
    response = client.post(reverse("run-start", args=[benchmark.slug]), typed)
    run = benchmark.runs.get()
    assert response["Location"] == reverse("run", args=[benchmark.slug, run.public_id])
    assert (run.strategy, run.requested_by, run.items.count()) == ("counting", owner, 2)
    assert run.plan["parameters"] == {"calls": 5, "longest": 20}
    assert (run.plan["model"], run.plan["seed"], run.plan["temperature"]) == ("huge", 7, 0.5)
    assert (run.budget_tokens, run.budget_money) == (10_000, 1.5)
    work(run)
    assert len(chat.calls) == 5, "both have the same words"
    assert {(request["model"], request["seed"]) for request in chat.requests} == {("huge", 7)}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"p-counting-calls": "many"}, "“Questions a document” must be a whole number, not “many”."),
        ({"p-counting-calls": "5000"}, "Parameter “calls”"),
        ({"budget_money": "-1"}, "“Cost” must be a number"),
        ({"strategy": "counting", "stage": "revise"}, "No matching documents"),
    ],
)
def test_a_refusal_keeps_what_was_typed(
    client: Client, benchmark: Benchmark, owner: User, chat: FakeChat, wrong: dict[str, str], said: str
) -> None:
    documents(1, benchmark=benchmark)
    typed = {"stage": "decompose", "strategy": "counting", "which": "missing", "model": "my-model", "seed": "3"} | wrong
    response = client.post(reverse("run-start", args=[benchmark.slug]), typed)
    assert response.status_code == 422
    page = BeautifulSoup(response.content, "html.parser")
    assert said in page.select_one("[data-problem]").text  # type: ignore[union-attr]
    assert page.find(id="model")["value"] == "my-model"  # type: ignore[index]
    for name, value in wrong.items():
        field = page.find(id=name)
        assert field is None or field["value"] == value
    assert not benchmark.runs.exists()


def test_a_change_of_strategy_swaps_the_choices_and_any_other_the_forecast_alone(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    url = reverse("run-new", args=[benchmark.slug])
    swapped = soup(client, f"{url}?strategy=offline&stage=decompose", **{"HX-Request": "true"})
    assert swapped.find(id="choices") and not swapped.find(id="forecast")
    assert swapped.find(id="p-offline-passages") and not swapped.find(id="p-counting-calls")
    alone = soup(client, f"{url}?strategy=offline&stage=decompose&part=forecast", **{"HX-Request": "true"})
    assert alone.find(id="forecast") and not alone.find(id="choices")
    # What was typed for one strategy is no parameter of another.
    other = soup(client, f"{url}?strategy=offline&p-counting-calls=9&p-papelo-passages=9", **{"HX-Request": "true"})
    assert other.find(id="p-offline-passages")["value"] == "5"  # type: ignore[index]
    assert client.get(f"{url}?strategy=magic").status_code == 404


# --- the forecast ---------------------------------------------------------------------------------


def told(benchmark: Benchmark, stage: Stage, scope: RunScope, **parameters: object) -> Any:
    strategy = choice("counting")
    assert strategy is not None
    return forecast(benchmark, strategy, parameters, stage, scope, {})


def test_before_anything_was_measured_the_formula_tells(benchmark: Benchmark, chat: FakeChat, settings: Any) -> None:
    made = documents(4, benchmark=benchmark)
    found = told(benchmark, Stage.DECOMPOSE, RunScope([each.pk for each in made]))
    # Three questions a document; later two claims, each a question and a "look": the typical quantities.
    assert (found.documents, found.chats + found.searches, found.measured) == (4, 4 * 3, 0)
    assert found.tokens > found.chats * 250
    assert found.money == pytest.approx((found.tokens - found.chats * 250) * 1e-6 + found.chats * 250 * 2e-6)
    claims = {each.pk: [1, 2, 3, 4] for each in made}
    verify = told(benchmark, Stage.VERIFY, RunScope(list(claims), claims))
    assert verify.calls == 4 * 2 * (2 + 2), "four claims, where two are typical"


@pytest.mark.parametrize(("strategy", "length", "calls"), [("factcheck_gpt", 6000, 2), ("fastfact", 12_000, 2)])
def test_the_forecast_knows_that_long_responses_are_read_in_parts(
    benchmark: Benchmark, strategy: str, length: int, calls: int
) -> None:
    short, long = ("Short. " * 10, "A long one. " * (length // 6 + 1))
    made = [DocumentFactory(benchmark=benchmark, response=each) for each in (short, long)]
    found, one = (
        forecast(benchmark, choice(strategy), {}, Stage.DECOMPOSE, RunScope([each.pk for each in of]), {})  # type: ignore[arg-type]
        for of in (made, made[:1])
    )
    assert found.chats - 2 * one.chats == pytest.approx(calls), (
        f"the long one is twice {length:,} characters and a little more"
    )
    assert f"One response is longer than {length:,} characters" in found.words()
    assert "longer" not in one.words()


def test_what_was_measured_here_tells_better(benchmark: Benchmark, chat: FakeChat) -> None:
    run = counted(benchmark, 2, calls=5)
    found = told(benchmark, Stage.DECOMPOSE, RunScope([1, 2, 3, 4]))
    assert (found.measured, found.chats) == (2, 20)
    assert found.tokens == pytest.approx(2 * run.spent_tokens)
    assert found.money == pytest.approx(2 * run.spent_money)
    # Done again from the store it cost nothing, and is no cheaper for other documents.
    again = start_run(
        benchmark=benchmark,
        stage=Stage.DECOMPOSE,
        documents=list(run.items.values_list("document", flat=True)),
        by=None,
        wish=RunRequest(parameters={"calls": 5}),
    )
    assert again is not None
    work(again)
    found = told(benchmark, Stage.DECOMPOSE, RunScope([1, 2, 3, 4]))
    assert (found.measured, found.chats) == (4, 20)
    assert found.tokens == pytest.approx(2 * run.spent_tokens)


def test_documents_are_those_that_lack_something_or_that_nobody_has_begun(
    benchmark: Benchmark, owner: User, chat: FakeChat
) -> None:
    with_corpus(benchmark)
    run = counted(benchmark, 2)
    done = list(run.items.order_by("document").values_list("document", flat=True))
    new = DocumentFactory(benchmark=benchmark)
    assert scope_of(benchmark, Stage.DECOMPOSE, MISSING).documents == [new.pk]
    assert scope_of(benchmark, Stage.DECOMPOSE, WAITING).documents == [*done, new.pk]
    document = Document.objects.get(pk=done[0])
    decomposed(document, owner)
    assert scope_of(benchmark, Stage.DECOMPOSE, WAITING).documents == [done[1], new.pk]
    assert scope_of(benchmark, Stage.VERIFY, MISSING).documents == [document.pk], "nothing was found for it"
    again = scope_of(benchmark, Stage.VERIFY, WAITING)
    assert (again.documents, again.claims_in_all) == ([document.pk], 1)
    assert again.first(0).documents == []
    assert again.first(None, batch=set()).documents == []
    verified(document, owner, false_claim="Answer")
    assert scope_of(benchmark, Stage.REVISE, MISSING).documents == [], "a run for it waits already"
    for item in document.run_items.filter(state="queued"):
        coordinator.prefill_item(item.pk)
    assert scope_of(benchmark, Stage.REVISE, MISSING).documents == []
    assert scope_of(benchmark, Stage.REVISE, WAITING).documents == [document.pk]


# --- one run --------------------------------------------------------------------------------------


def test_the_page_tells_costs_by_step_beside_the_formula(
    client: Client, benchmark: Benchmark, owner: User, chat: FakeChat
) -> None:
    run = counted(benchmark, 2)
    costs = with_formula(costs_of(run), run)
    assert [(use.step, use.calls, use.formula) for use in costs.steps] == [("count", 6, 6)]
    assert (costs.total.tokens, costs.percent) == (run.spent_tokens, None)
    page = soup(client, reverse("run", args=[benchmark.slug, run.public_id]))
    (row,) = page.select("table.costs tbody tr")
    assert [cell.text for cell in row.select("th, td")][:5] == ["count", "6", "0", "6", "6"]
    assert "Counted to the end. in 2 documents" in " ".join(page.text.split())
    plan = page.select_one("dl.plan")
    assert plan is not None and "tiny at 127.0.0.1" in plan.text


def test_answers_from_the_store_stand_apart_from_calls(
    client: Client, benchmark: Benchmark, owner: User, chat: FakeChat
) -> None:
    run = counted(benchmark, 1)
    StepUse.objects.filter(item__run=run).update(chats=1, cached=2)
    item = run.items.get()
    PendingCall.objects.create(item=item, step="count", kind="chat", tokens=1234, lost_at=timezone.now())
    page = soup(client, reverse("run", args=[benchmark.slug, run.public_id]))
    (row,) = page.select("table.costs tbody tr")
    assert [cell.text for cell in row.select("th, td")][:5] == ["count", "1", "2", "3", "3"]
    said = " ".join(page.text.split())
    assert "1 call was interrupted" in said
    assert "1,234 tokens" in said


def test_a_halted_run_says_why_and_is_resumed_with_what_is_typed(
    client: Client, benchmark: Benchmark, owner: User, chat: FakeChat
) -> None:
    ids = [each.pk for each in documents(2, benchmark=benchmark)]
    run = start_run(
        benchmark=benchmark,
        stage=Stage.DECOMPOSE,
        documents=ids,
        by=owner,
        wish=RunRequest(parameters={}, budget_tokens=60),
    )
    assert run is not None
    assert work(run).state == RunState.PAUSED
    url = reverse("run", args=[benchmark.slug, run.public_id])
    page = soup(client, url)
    assert "of the budget of 60" in page.select_one(".note[role=status]").text  # type: ignore[union-attr]
    assert page.select_one("[hx-trigger='every 1s']") is None, "nothing moves while it is paused"
    assert page.find(id="budget-tokens")["value"] == "60"  # type: ignore[index]
    bad = client.post(reverse("run-change", args=[benchmark.slug, run.public_id, "resume"]), {"budget_tokens": "lots"})
    assert bad.status_code == 422
    client.post(reverse("run-change", args=[benchmark.slug, run.public_id, "resume"]), {"budget_tokens": "9,000"})
    run.refresh_from_db()
    assert (run.state, run.budget_tokens) == (RunState.QUEUED, 9000)
    assert work(run).state == RunState.FINISHED
    assert Activity.objects.get(action="resume-run").reason == "counting, at most 9,000 tokens"


def test_a_paused_run_waits_and_a_running_one_shows_its_budget(
    client: Client, benchmark: Benchmark, owner: User, chat: FakeChat
) -> None:
    run = counted(benchmark, 1)
    PipelineRun.objects.filter(pk=run.pk).update(state=RunState.RUNNING, budget_tokens=2 * run.spent_tokens)
    RunItem.objects.create(run=run, document=DocumentFactory(benchmark=benchmark))
    url = reverse("run", args=[benchmark.slug, run.public_id])
    numbers = soup(client, url, **{"HX-Request": "true"})
    assert numbers.select_one("progress[aria-label='Budget spent']")["value"] == "50"  # type: ignore[index]
    assert client.post(reverse("run-change", args=[benchmark.slug, run.public_id, "pause"])).status_code == 302
    page = soup(client, url)
    assert "1 document waits for this run" in page.text
    assert page.find("button", string="Resume")


def test_annotators_neither_see_nor_change_any_of_it(client: Client, benchmark: Benchmark, chat: FakeChat) -> None:
    run = counted(benchmark, 1)
    person = member(benchmark)
    client.force_login(person)
    slug = benchmark.slug
    for url in (
        reverse("run-new", args=[slug]), reverse("run-costs", args=[slug]), reverse("prompts", args=[slug]),
        reverse("prompt", args=[slug, *PROMPT.split("/")]),
    ):  # fmt: skip
        assert client.get(url).status_code == 403
    assert client.post(reverse("run-keep", args=[slug]), {"strategy": "offline"}).status_code == 403
    with pytest.raises(rules.NotAllowedError):
        pause_run(run, by=person)
    with pytest.raises(rules.NotAllowedError):
        write_wording(benchmark, PROMPT, shipped(PROMPT).text + " ", based_on=0, by=person) or write_wording(
            benchmark, PROMPT, shipped(PROMPT).text + "More.", based_on=0, by=person
        )


# --- side by side ---------------------------------------------------------------------------------


def test_strategies_are_compared_by_document(client: Client, benchmark: Benchmark, owner: User, chat: FakeChat) -> None:
    counted(benchmark, 2, calls=2)
    counted(benchmark, 1, calls=5)
    run = start_run(
        benchmark=benchmark,
        stage=Stage.DECOMPOSE,
        documents=[DocumentFactory(benchmark=benchmark).pk],
        by=None,
        wish=RunRequest(strategy="offline"),
    )
    assert run is not None
    work(run)
    ours, offline = compared(benchmark)
    assert (ours.strategy, ours.documents, offline.strategy, offline.documents) == ("counting", 3, "offline", 1)
    each = ours.per_document
    assert (each["calls"], each["formula"], each["chats"]) == (3, 3, 3)
    assert offline.per_document["calls"] == 0
    page = soup(client, reverse("run-costs", args=[benchmark.slug]))
    names = [cell.find(string=True) for cell in page.select("table.costs")[0].select("tbody th")]
    assert names == ["Counting, decompose", "Offline rules, decompose"]
    bars = page.select(".drawn-bars rect.made")
    assert [bar["width"] for bar in bars] == ["100.0%", "0.0%"]


def test_calls_of_another_parameter_and_of_failed_documents_do_not_mix(benchmark: Benchmark, chat: FakeChat) -> None:
    run = counted(benchmark, 2, calls=4)
    item = run.items.first()
    assert item is not None
    RunItem.objects.filter(pk=item.pk).update(state=RunState.FAILED)
    (entry,) = compared(benchmark)
    assert (entry.documents, entry.use.requests, entry.use.formula) == (1, 4, 4)
    assert costs_of(run).total.requests == 8, "the run's own page tells all that was spent"


@pytest.mark.parametrize("name", ["run-costs", "run-new", "prompts"])
def test_the_number_of_queries_does_not_grow(
    client: Client, benchmark: Benchmark, owner: User, chat: FakeChat, name: str,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:  # fmt: skip
    url = reverse(name, args=[benchmark.slug])
    counted(benchmark, 1)
    client.get(url)
    with CaptureQueriesContext(connection) as few:
        client.get(url)
    for _ in range(3):
        counted(benchmark, 3, calls=2)
    documents(3, benchmark=benchmark)
    with django_assert_num_queries(len(few)):
        client.get(url)


# --- the benchmark's choice, and its prompts ------------------------------------------------------


def test_the_benchmark_keeps_a_choice_for_runs_that_begin_by_themselves(
    client: Client, benchmark: Benchmark, owner: User, chat: FakeChat
) -> None:
    typed = {
        "stage": "decompose",
        "strategy": "counting",
        "p-counting-calls": "4",
        "budget_tokens": "500",
        "budget_money": "",
    }
    assert client.post(reverse("run-keep", args=[benchmark.slug]), typed).status_code == 302
    benchmark.refresh_from_db()
    assert benchmark.parameters == {"calls": 4, "longest": 20}
    assert (benchmark.budget_tokens, benchmark.budget_money) == (500, None)
    run = start_run(
        benchmark=benchmark, stage=Stage.DECOMPOSE, documents=[DocumentFactory(benchmark=benchmark).pk], by=None
    )
    assert run is not None
    assert (run.plan["parameters"]["calls"], run.budget_tokens) == (4, 500)
    page = soup(client, reverse("run-new", args=[benchmark.slug]))
    assert page.find(id="p-counting-calls")["value"] == "4"  # type: ignore[index]
    assert "the paper’s is 3" in page.find(id="p-counting-calls-help").text  # type: ignore[union-attr]
    bad = client.post(reverse("run-keep", args=[benchmark.slug]), typed | {"p-counting-calls": "-2"})
    assert bad.status_code == 422
    # Another strategy has parameters of its own: the kept ones are not its.
    other = start_run(
        benchmark=benchmark,
        stage=Stage.DECOMPOSE,
        documents=[DocumentFactory(benchmark=benchmark).pk],
        by=None,
        wish=RunRequest(strategy="offline"),
    )
    assert other is not None and other.plan["parameters"] == {"passages": 5}
    choose_strategy(benchmark, strategy="", parameters={}, budget_tokens=None, budget_money=None, by=owner)
    changed = Activity.objects.filter(action="choose-strategy").latest("pk").changes
    assert {change["field"] for change in changed} == {"strategy", "parameters", "budget_tokens"}


def own(text: str = "") -> str:
    return shipped(PROMPT).text.replace("=== system ===\n", f"=== system ===\nBe brief. {text}\n", 1)


def test_a_wording_of_ones_own_is_used_from_then_on_and_taken_back(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    url = reverse("prompt", args=[benchmark.slug, *PROMPT.split("/")])
    page = soup(client, url)
    assert page.find(id="text").text.strip() == shipped(PROMPT).text.strip()  # type: ignore[union-attr]
    assert "the shipped wording is in use" in page.text
    assert client.post(url, {"text": own(), "based_on": "0"}).status_code == 302
    version = PromptVersion.objects.get()
    assert (version.number, version.created_by) == (1, owner)
    used = prompts_in_use(benchmark, [PROMPT])[PROMPT]
    assert (used.label, "Be brief." in used.text) == ("wording 1", True)
    page = soup(client, url)
    assert "Be brief." in "".join(each.text for each in page.select(".diff-text ins, .diff-text .ins"))
    assert "wording 1" in soup(client, reverse("prompts", args=[benchmark.slug])).text
    client.post(url, {"back": "yes", "based_on": "1"})
    assert prompts_in_use(benchmark, [PROMPT])[PROMPT] == shipped(PROMPT)
    assert [each.number for each in PromptVersion.objects.order_by("number")] == [1, 2]
    assert "Be brief." in soup(client, f"{url}?wording=1").select_one(".diff-text").text  # type: ignore[union-attr]
    assert client.get(reverse("prompt", args=[benchmark.slug, "papelo", "magic"])).status_code == 404


def test_a_wording_that_cannot_be_used_comes_back_as_it_was_typed(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    url = reverse("prompt", args=[benchmark.slug, *PROMPT.split("/")])
    field = sorted(shipped(PROMPT).fields)[0]
    without = shipped(PROMPT).text.replace(f"{{{{ {field} }}}}", "")
    response = client.post(url, {"text": without, "based_on": "0"})
    assert response.status_code == 422
    page = BeautifulSoup(response.content, "html.parser")
    assert "is missing" in page.select_one("[data-problem]").text  # type: ignore[union-attr]
    assert page.find(id="text").text.strip() == without.strip()  # type: ignore[union-attr]
    assert not PromptVersion.objects.exists()
    assert client.post(url, {"text": "  ", "based_on": "0"}).status_code == 422


def test_a_wording_written_meanwhile_is_not_overwritten(client: Client, benchmark: Benchmark, owner: User) -> None:
    write_wording(benchmark, PROMPT, own("Theirs."), based_on=0, by=owner)
    with pytest.raises(StaleWordingError):
        write_wording(benchmark, PROMPT, own("Mine."), based_on=0, by=owner)
    url = reverse("prompt", args=[benchmark.slug, *PROMPT.split("/")])
    response = client.post(url, {"text": own("Mine."), "based_on": "0"})
    assert response.status_code == 409
    page = BeautifulSoup(response.content, "html.parser")
    assert "Mine." in page.find(id="text").text  # type: ignore[union-attr]
    assert "Theirs" in page.select_one(".diff-text").text  # type: ignore[union-attr]
    assert page.select_one("[name=based_on]")["value"] == "1"  # type: ignore[index]
    assert write_wording(benchmark, PROMPT, own("Theirs."), based_on=1, by=owner) is None, "the same again"
    with pytest.raises(BadValueError):
        write_wording(benchmark, PROMPT, "x" * 60_000, based_on=1, by=owner)


def test_a_run_freezes_the_wordings_that_stand_when_it_is_asked_for(
    benchmark: Benchmark, owner: User, chat: FakeChat, settings: Any
) -> None:
    settings.SEARCH_PROVIDER = "mediawiki"
    write_wording(benchmark, PROMPT, own(), based_on=0, by=owner)
    run = start_run(
        benchmark=benchmark,
        stage=Stage.DECOMPOSE,
        documents=[DocumentFactory(benchmark=benchmark).pk],
        by=None,
        wish=RunRequest(strategy="papelo"),
    )
    assert run is not None
    frozen = run.plan["prompts"]
    assert frozen[PROMPT]["label"] == "wording 1"
    assert "Be brief." in frozen[PROMPT]["text"]
    assert all(len(each["digest"]) == 12 for each in frozen.values())
    assert frozen["papelo/first_question"]["label"].startswith("shipped ")
    assert "SECRET" not in str(run.plan)


def test_no_key_is_written_into_a_plan(benchmark: Benchmark, chat: FakeChat, settings: Any) -> None:
    settings.LLM_KEY, settings.SEARCH_KEY, settings.SEARCH_PROVIDER = "sk-SECRET", "SECRET", "serper"
    ids = [DocumentFactory(benchmark=benchmark).pk]
    run = start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=ids, by=None)
    assert run is not None
    assert "SECRET" not in str(run.plan)
    assert run.plan["services"]["search"] == "serper"


# --- the command ----------------------------------------------------------------------------------


def test_prefill_takes_strategy_parameters_and_budget(benchmark: Benchmark, chat: FakeChat) -> None:
    DocumentFactory(benchmark=benchmark)
    options: dict[str, Any] = {"benchmark": benchmark.slug, "parameter": ["calls=7", "longest=9"]}
    call_command("prefill", budget_tokens=900, strategy="counting", **options)
    run = benchmark.runs.get()
    assert (run.plan["parameters"], run.budget_tokens) == ({"calls": 7, "longest": 9}, 900)
    DocumentFactory(benchmark=benchmark)
    for wrong, said in (
        ({"strategy": "magic"}, "There is no strategy “magic”. Known: offline"),
        ({"parameter": ["calls"]}, "write NAME=VALUE"),
        ({"parameter": ["calls=0.5"]}, "Parameter “calls”"),
    ):
        with pytest.raises(CommandError, match=said):
            call_command("prefill", **(options | wrong))


@pytest.mark.django_db(transaction=True)
def test_prefill_that_waits_says_when_the_budget_stops_it(benchmark: Benchmark, chat: FakeChat) -> None:
    documents(2, benchmark=benchmark)
    with pytest.raises(CommandError, match="of the budget of 60 are spent"):
        call_command("prefill", benchmark=benchmark.slug, budget_tokens=60, wait=True)
    assert benchmark.runs.get().state == RunState.PAUSED
