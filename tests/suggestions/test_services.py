"""Services that owners add: who sees them, how the key is kept, and that runs use them."""

from __future__ import annotations

import datetime as dt
from importlib import import_module
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from annotator.core.actions.fields import BadValueError
from annotator.core.models import Activity, Benchmark, PendingCall, PipelineRun, User
from annotator.core.rules import NotAllowedError
from annotator.core.vocabulary import Role, RunState, Stage
from annotator.suggestions.actions import runs as run_actions
from annotator.suggestions.actions import services as service_actions
from annotator.suggestions.actions.plans import RunRequest
from annotator.suggestions.actions.runs import WITHHELD, start_run
from annotator.suggestions.actions.services import ServiceForm, ask_for_test, remove_service, save_service
from annotator.suggestions.models import Service
from annotator.suggestions.models.service import ServiceUse, UnreadableKeyError
from annotator.suggestions.queries.services import (
    first_of_month,
    money_this_month,
    service_settings,
    use_by_service,
)
from pipeline.clients.cost_meter import CallKind, Hold
from pipeline.runs import coordinator
from pipeline.runs.bridge import Bridge
from pipeline.runs.run_budget import RunMeter
from pipeline.runs.service_probe import probe_service
from tests.counting_strategy import Counting
from tests.factories import BenchmarkFactory, DocumentFactory, UserFactory, member
from tests.fakes.chat import FakeChat
from tests.fakes.search import FakeTavily

pytestmark = pytest.mark.django_db

KEY = "sk-secret-1234567890"
CHAT = ServiceForm("openai", "http://127.0.0.1:9/v1", "tiny", key=KEY, price_prompt=1.0, price_answer=2.0)

GOOD = {"provider": "openai", "url": "http://a.example", "model": "m"}


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(slug="pilot", strategy=Counting.name)


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER)


def fresh(benchmark: Benchmark) -> Benchmark:
    return Benchmark.objects.get(pk=benchmark.pk)


def test_a_run_uses_the_service_that_the_owner_added(
    benchmark: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_actions, "after_commit", lambda *_: None)
    with FakeChat(key=KEY) as chat:
        save_service(benchmark, "chat", ServiceForm("openai", chat.url, "tiny", key=KEY, price_prompt=1e6), by=owner)
        run = start_run(
            benchmark=fresh(benchmark),
            stage=Stage.DECOMPOSE,
            documents=[DocumentFactory(benchmark=benchmark).pk],
            by=owner,
            wish=RunRequest(parameters={"calls": 1}),
        )
        assert run is not None
        for item_id in coordinator.begin(run):
            coordinator.prefill_item(item_id)
        run.refresh_from_db()
        assert (run.state, len(chat.calls)) == (RunState.FINISHED, 1)
    assert run.plan["model"] == "tiny"
    assert run.spent_money > 0
    assert KEY not in str(run.plan)


def test_the_key_is_encrypted_at_rest_and_outlives_a_new_secret(
    benchmark: Benchmark, owner: User, settings: Any
) -> None:
    save_service(benchmark, "chat", CHAT, by=owner)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM annotator_service")
        assert KEY not in str(cursor.fetchall())
    assert service_settings(fresh(benchmark), has_corpus=False).llm_key == KEY
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another secret " * 4
    assert Service.objects.get().key() == KEY
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(UnreadableKeyError):
        Service.objects.get().key()
    assert service_settings(fresh(benchmark), has_corpus=False).llm_key == "", "the service will refuse, and say so"


def test_a_key_is_not_sent_to_another_address(benchmark: Benchmark, owner: User) -> None:
    save_service(benchmark, "chat", CHAT, by=owner)
    with pytest.raises(BadValueError, match="Enter the key again"):
        save_service(benchmark, "chat", ServiceForm("openai", "http://evil.example/v1", "tiny"), by=owner)
    save_service(benchmark, "chat", ServiceForm("openai", CHAT.url, "larger"), by=owner)
    row = Service.objects.get()
    assert (row.model, row.key()) == ("larger", KEY)


def test_what_was_removed_is_the_installations_again(benchmark: Benchmark, owner: User, settings: Any) -> None:
    settings.LLM_URL, settings.LLM_MODEL, settings.LLM_KEY = "http://127.0.0.1:8/v1", "ours", "k"
    other = BenchmarkFactory()
    save_service(benchmark, "chat", CHAT, by=owner)
    assert service_settings(fresh(benchmark), has_corpus=False).llm_model == "tiny"
    assert service_settings(fresh(other), has_corpus=False).llm_model == "ours"
    remove_service(benchmark, "chat", by=owner)
    assert not Service.objects.exists()
    assert service_settings(fresh(benchmark), has_corpus=False).llm_key == "k"
    reasons = list(Activity.objects.filter(benchmark=benchmark).values_list("reason", flat=True))
    assert not any(KEY in reason for reason in reasons)


@pytest.mark.parametrize("role", [Role.ADMIN, Role.ANNOTATOR])
def test_only_owners_see_that_a_service_exists(client: Client, benchmark: Benchmark, owner: User, role: Role) -> None:
    save_service(benchmark, "chat", CHAT, by=owner)
    person = member(benchmark, role)
    client.force_login(person)
    assert client.get(reverse("services", args=[benchmark.slug])).status_code == 403
    assert client.post(reverse("services-change", args=[benchmark.slug, "chat"]), {"remove": "1"}).status_code == 403
    with pytest.raises(NotAllowedError):
        save_service(benchmark, "chat", CHAT, by=person)
    with pytest.raises(NotAllowedError):
        remove_service(benchmark, "chat", by=person)
    if role == Role.ADMIN:
        for name in ("runs", "run-new"):
            assert "/services/" not in client.get(reverse(name, args=[benchmark.slug])).content.decode()
    assert Service.objects.count() == 1


def test_the_page_saves_and_never_shows_the_key(client: Client, benchmark: Benchmark, owner: User) -> None:
    client.force_login(owner)
    page, change = reverse("services", args=["pilot"]), reverse("services-change", args=["pilot", "chat"])
    typed = {"provider": "anthropic", "url": "https://api.anthropic.com", "model": "m-1", "key": KEY}
    assert client.post(change, typed | {"price_prompt": "0.5"}).status_code == 302
    shown = client.get(page).content.decode()
    assert "Added here: m-1 at api.anthropic.com" in shown
    assert KEY not in shown
    assert Service.objects.get().encrypted_key not in shown
    assert client.post(change, typed | {"key": "", "model": "m-2"}).status_code == 302
    assert (Service.objects.get().model, Service.objects.get().key()) == ("m-2", KEY)
    assert client.post(change, {"remove": "1"}).status_code == 302
    assert not Service.objects.exists()


@pytest.mark.parametrize(
    ("kind", "typed", "said"),
    [
        ("chat", {"provider": "magic", "url": "http://a.example"}, "“magic” isn't a provider"),
        ("chat", {"provider": "openai", "model": "m"}, "Enter the address"),
        ("chat", {"provider": "openai", "url": "a.example", "model": "m"}, "begins with http"),
        ("chat", {"provider": "openai", "url": "http://a.example"}, "name the model"),
        ("chat", GOOD | {"price_prompt": "x"}, "isn't a number"),
        ("chat", GOOD | {"price_answer": "-1"}, "negative"),
        ("chat", GOOD | {"calls_per_minute": "many"}, "whole number of calls"),
        ("chat", GOOD | {"calls_per_minute": "0"}, "1 or more"),
        ("chat", GOOD | {"money_per_month": "0", "price_prompt": "1"}, "more than 0"),
        ("chat", GOOD | {"money_per_month": "x"}, "isn't a number"),
        ("chat", GOOD | {"money_per_month": "5"}, "needs prices"),
        ("search", {"provider": "tavily"}, "needs a key"),
        ("search", {"provider": "searxng"}, "address of the server"),
        ("search", {"provider": "corpus"}, "isn't a provider"),
    ],
)
def test_what_is_wrong_is_said_and_what_was_typed_stays(
    client: Client, benchmark: Benchmark, owner: User, kind: str, typed: dict[str, str], said: str
) -> None:
    client.force_login(owner)
    answer = client.post(reverse("services-change", args=["pilot", kind]), typed)
    assert answer.status_code == 422
    page = BeautifulSoup(answer.content, "html.parser")
    alert = page.select_one("p.note[role=alert]")
    assert alert is not None
    assert said in alert.text
    if "url" in typed:
        assert page.select_one(f"#{kind}-url")["value"] == typed["url"]  # type: ignore[index]
    assert not Service.objects.exists()


def test_a_strategy_that_lacks_a_service_leads_its_owner_there(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    client.force_login(owner)
    form = BeautifulSoup(client.get(reverse("run-new", args=["pilot"])).content, "html.parser")
    assert form.select(f'a[href="{reverse("services", args=["pilot"])}"]')
    assert "an owner can add under Services" in form.text


def probed(benchmark: Benchmark, kind: str, owner: User) -> list[tuple[bool, str]]:
    ask_for_test(benchmark, kind, by=owner)
    row = Service.objects.get(benchmark=benchmark, kind=kind)
    assert row.test == {"waiting": True}
    probe_service(row.pk)
    row.refresh_from_db()
    return [(line["works"], line["text"]) for line in row.test["lines"]]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("refuses", "works"),
    [
        ((), [True, True, True, False]),
        (("json_schema", "json_object"), [True, False, True, False]),
        (("logprobs",), [True, True, False, False]),
    ],
)
def test_a_test_says_what_works(
    benchmark: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch, refuses: tuple[str, ...], works: list[bool]
) -> None:
    monkeypatch.setattr(service_actions, "after_commit", lambda *_: None)
    with FakeChat(lambda _: {"capital": "Paris"}, key=KEY, refuses=refuses) as chat:
        save_service(benchmark, "chat", ServiceForm("openai", chat.url, "tiny", key=KEY), by=owner)
        found = probed(benchmark, "chat", owner)
    assert [each for each, _ in found] == works
    assert KEY not in str(found)


@pytest.mark.django_db(transaction=True)
def test_a_test_of_a_wrong_key_says_so(
    client: Client, benchmark: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_actions, "after_commit", lambda *_: None)
    with FakeChat(key="another") as chat, FakeTavily(key="k") as tavily:
        save_service(benchmark, "chat", ServiceForm("openai", chat.url, "tiny", key=KEY), by=owner)
        save_service(benchmark, "search", ServiceForm("tavily", f"{tavily.url}/search", key="k"), by=owner)
        [(works, text)] = probed(benchmark, "chat", owner)
        assert not works
        assert "401" in text
        assert KEY not in text
        assert probed(benchmark, "search", owner) == [(True, "It answers with 3 results.")]
    client.force_login(owner)
    page = client.get(reverse("services", args=["pilot"])).content.decode()
    assert "It answers with 3 results." in page
    assert "every 2s" not in page
    ask_for_test(benchmark, "chat", by=owner)
    assert (
        "every 2s" in client.get(reverse("services", args=["pilot"]), headers={"HX-Request": "true"}).content.decode()
    )


# --- of the installation --------------------------------------------------------------------------


def test_every_benchmark_uses_the_installations_service_unless_it_has_its_own(
    benchmark: Benchmark, owner: User, settings: Any
) -> None:
    settings.LLM_URL, settings.LLM_MODEL = "http://127.0.0.1:8/v1", "from the environment"
    chief, other = UserFactory(is_superuser=True), BenchmarkFactory()
    save_service(None, "chat", CHAT, by=chief)
    with pytest.raises(IntegrityError), transaction.atomic():
        Service.objects.create(kind="chat", provider="openai")
    save_service(benchmark, "chat", ServiceForm("openai", CHAT.url, "own"), by=owner)
    assert service_settings(fresh(benchmark), has_corpus=False).llm_model == "own"
    assert service_settings(fresh(other), has_corpus=False).llm_model == "tiny"
    remove_service(None, "chat", by=chief)
    assert service_settings(fresh(other), has_corpus=False).llm_model == "from the environment"


def test_only_superusers_see_the_installations_services(client: Client, owner: User) -> None:
    page, change = reverse("services-all"), reverse("services-all-change", args=["chat"])
    client.force_login(owner)
    assert client.get(page).status_code == 403
    assert client.post(change, GOOD).status_code == 403
    with pytest.raises(NotAllowedError):
        save_service(None, "chat", CHAT, by=owner)
    client.force_login(UserFactory(is_superuser=True))
    typed = GOOD | {"key": KEY, "calls_per_minute": "60", "price_prompt": "1", "money_per_month": "2.5"}
    assert client.post(change, typed).status_code == 302
    row = Service.objects.get()
    assert (row.benchmark, row.calls_per_minute, row.money_per_month) == (None, 60, 2.5)
    shown = BeautifulSoup(client.get(page).content, "html.parser")
    assert shown.select_one("#chat-calls-per-minute")["value"] == "60"  # type: ignore[index]
    assert KEY not in str(shown)


# --- limits and costs -----------------------------------------------------------------------------


def run_with(benchmark: Benchmark, owner: User, calls: int) -> PipelineRun:
    """A run over one document that makes so many calls at once, worked off."""
    document = DocumentFactory(benchmark=benchmark)
    wish = RunRequest(parameters={"calls": calls})
    run = start_run(benchmark=fresh(benchmark), stage=Stage.DECOMPOSE, documents=[document.pk], by=owner, wish=wish)
    assert run is not None
    for item_id in coordinator.begin(run):
        coordinator.prefill_item(item_id)
    run.refresh_from_db()
    return run


@pytest.fixture
def no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (run_actions, service_actions):
        monkeypatch.setattr(module, "after_commit", lambda *_: None)


@pytest.mark.usefixtures("no_queue")
def test_calls_are_spread_over_the_minute(benchmark: Benchmark, owner: User) -> None:
    with FakeChat() as chat:
        form = ServiceForm("openai", chat.url, "tiny", calls_per_minute=600)
        save_service(benchmark, "chat", form, by=owner)
        run = run_with(benchmark, owner, calls=5)
        assert run.state == RunState.FINISHED
        times = sorted(call.at for call in chat.calls)
    # The first call took its turn a moment before it was made; the fifth one is due 0.4 seconds after that.
    assert len(times) == 5
    assert times[-1] - times[0] > 0.3
    assert not PendingCall.objects.exists()


@pytest.mark.usefixtures("no_queue")
def test_a_service_is_not_asked_beyond_its_cost_per_month(benchmark: Benchmark, owner: User) -> None:
    with FakeChat() as chat:
        # A million tokens for a million: a call costs at least one, and at most what its longest answer would.
        form = ServiceForm("openai", chat.url, "tiny", price_prompt=1e6, price_answer=1e6, money_per_month=1e6)
        save_service(benchmark, "chat", form, by=owner)
        assert run_with(benchmark, owner, calls=1).state == RunState.FINISHED
        spent = ServiceUse.objects.get().money
        Service.objects.update(money_per_month=spent + 1)
        halted = run_with(benchmark, owner, calls=2)
        assert halted.state == RunState.PAUSED
        assert f"{spent:.4f} of this month's limit" in halted.halted_details
        assert "Raise the limit under Services" in halted.halted_details
        assert halted.spent_money == 0
        assert len(chat.calls) == 1
        # What was spent last month does not count.
        ServiceUse.objects.update(day=first_of_month() - dt.timedelta(days=1))
        Service.objects.update(money_per_month=1e6)
        assert money_this_month(Service.objects.get()) == 0
        assert run_with(benchmark, owner, calls=3).state == RunState.FINISHED


@pytest.mark.usefixtures("no_queue")
def test_costs_by_service_are_shown_to_owners_alone(client: Client, benchmark: Benchmark, owner: User) -> None:
    admin = member(benchmark, Role.ADMIN)
    with FakeChat() as chat:
        save_service(benchmark, "chat", ServiceForm("openai", chat.url, "zeppelin-9", price_prompt=1e6), by=owner)
        run = run_with(benchmark, owner, calls=3)
    [use] = use_by_service(benchmark)
    assert (use.name, use.calls) == ("zeppelin-9 at 127.0.0.1", 3)
    assert use.money == pytest.approx(run.spent_money)
    assert use.prompt_tokens + use.answer_tokens == run.spent_tokens
    pages = [reverse("run-costs", args=["pilot"]), reverse("run", args=["pilot", run.public_id])]
    for person, sees in ((owner, True), (admin, False)):
        client.force_login(person)
        for page in [*pages, reverse("run-new", args=["pilot"])]:
            assert ("zeppelin-9" in client.get(page).content.decode()) is sees, (page, sees)
        answer = client.get(f"/api/v1/benchmarks/pilot/runs/{run.public_id}/")
        assert answer.status_code == 200
        assert ("zeppelin-9" in answer.content.decode()) is sees
    client.force_login(owner)
    assert "Used this month" in client.get(reverse("services", args=["pilot"])).content.decode()
    remove_service(benchmark, "chat", by=owner)
    assert use_by_service(benchmark) == [use], "what it cost is known after it has gone"


@pytest.mark.usefixtures("no_queue")
@pytest.mark.parametrize("is_paused", [False, True])
def test_only_owners_read_which_service_failed(
    client: Client, benchmark: Benchmark, owner: User, *, is_paused: bool
) -> None:
    admin = member(benchmark, Role.ADMIN)
    with FakeChat() as chat:
        save_service(benchmark, "chat", ServiceForm("openai", f"{chat.url}/nowhere", "zeppelin-9"), by=owner)
        if is_paused:  # before the first call: another service has no key
            form = ServiceForm("serper", "http://zeppelin.example", key="k")
            save_service(benchmark, "search", form, by=owner)
            Service.objects.filter(kind="search").update(encrypted_key="")
        run = run_with(benchmark, owner, calls=1)
    assert run.state == (RunState.PAUSED if is_paused else RunState.FAILED)
    document = run.items.get().document
    details = run.halted_details if is_paused else run.items.get().error_details
    assert ("SEARCH_KEY" if is_paused else "127.0.0.1") in details
    assert WITHHELD in (run.halted, run.items.get().error)
    pages = [
        reverse("run", args=["pilot", run.public_id]), f"/api/v1/benchmarks/pilot/runs/{run.public_id}/",
        reverse("runs", args=["pilot"]), "/api/v1/benchmarks/pilot/runs/", reverse("notices"),
        reverse("document", args=[document.public_id]), f"/api/v1/documents/{document.public_id}/",
    ]  # fmt: skip
    for person in (owner, admin):
        client.force_login(person)
        shown = [client.get(page) for page in pages]
        assert {answer.status_code for answer in shown} == {200}
        texts = [answer.content.decode() for answer in shown]
        named = ["SEARCH_KEY" in text or "127.0.0.1" in text or "zeppelin" in text for text in texts]
        assert named[:2] == [person == owner] * 2
        # A notice tells an owner why a run was paused.
        assert named[2:] == [False, False, person == owner and is_paused, False, False]


def test_an_upgrade_withholds_what_older_runs_say_of_services(benchmark: Benchmark) -> None:
    withhold = import_module("annotator.migrations.0014_details_for_owners")
    runs = [
        PipelineRun.objects.create(benchmark=benchmark, stage=Stage.DECOMPOSE, strategy="x", plan=plan, halted=halted)
        for plan, halted in (
            ({"services": {"chat": "m at h"}}, "h refused"),
            ({"services": {}}, "1 of the budget of 1 are spent."),
            ({}, "h"),
        )
    ]
    for run in runs:
        run.items.create(document=DocumentFactory(benchmark=benchmark), error="h said no")
    withhold.withhold(apps, None)
    told = list(PipelineRun.objects.order_by("pk").values_list("halted", "items__error", "items__error_details"))
    assert told == [
        (WITHHELD, WITHHELD, "h said no"),
        ("1 of the budget of 1 are spent.", WITHHELD, "h said no"),
        ("h", "h said no", ""),
    ]
    withhold.show(apps, None)
    assert set(PipelineRun.objects.values_list("items__error", flat=True)) == {"h said no"}


@pytest.mark.usefixtures("no_queue")
def test_a_limited_service_that_was_removed_limits_no_call(benchmark: Benchmark, owner: User) -> None:
    form = ServiceForm("openai", "http://127.0.0.1:9/v1", "tiny", calls_per_minute=1)
    save_service(benchmark, "chat", form, by=owner)
    run = start_run(
        benchmark=fresh(benchmark), stage=Stage.DECOMPOSE, documents=[DocumentFactory(benchmark=benchmark).pk], by=owner
    )
    assert run is not None
    [item_id] = coordinator.begin(run)
    item = coordinator.claim_item(item_id)
    assert item is not None
    meter = RunMeter(item, Bridge())
    remove_service(benchmark, "chat", by=owner)
    assert meter.bridge.run(lambda: meter.reserve(Hold("count", CallKind.CHAT, key="k" * 64)))
    assert PendingCall.objects.get().service is None
