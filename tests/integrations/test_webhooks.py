"""Webhooks: what is told when, over real sockets to a receiver that takes it, refuses it, is slow, or is not there."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import io
import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, DjangoCaptureOnCommitCallbacks

from annotator.core import rules
from annotator.core.actions.announce import announce
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Activity, Benchmark, Document, Notice, User, Webhook, WebhookDelivery
from annotator.core.queries.notices import place_of
from annotator.core.queries.pseudonyms import pseudonym
from annotator.core.vocabulary import DeliveryState, NoticeKind, Role, Stage, WebhookEvent
from annotator.exchange.actions.import_jobs import keep_upload, start_import
from annotator.exchange.actions.imports import import_gold
from annotator.exchange.actions.making_releases import make_release
from annotator.exchange.actions.releases import ReleaseRequest, start_release
from annotator.exchange.releases.splits import Shares
from annotator.integrations.actions import webhooks as actions
from annotator.integrations.actions.webhooks import (
    MAX_ATTEMPTS,
    add_webhook,
    forget_old,
    note_delivered,
    note_failed,
    order_due,
    pause_after,
    redeliver,
    remove_webhook,
    rotate_secret,
    send_test,
    switch_off,
    switch_on,
    take,
)
from annotator.stages.actions.documents import bring_back, discard
from annotator.suggestions.actions.runs import cancel_run, start_run
from annotator.team.actions.team import change_role
from pipeline.clients import webhooks as client
from pipeline.runs import webhooks as sending
from tests.agreeing import signed_by, submitted
from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, member, prefill, verified, with_corpus
from tests.fakes.receiver import FakeReceiver
from tests.fakes.server import Reply, broken, cut_off, slow
from tests.released import numbered
from tests.teams import at_once, ship

pytestmark = pytest.mark.django_db

ALL = [event.value for event in actions.CHOOSABLE]
DOCS = Path(__file__).resolve().parents[2] / "docs" / "api" / "webhooks.md"


@pytest.fixture
def receiver(settings: Any) -> Iterator[FakeReceiver]:
    settings.WEBHOOKS_ALLOW = ["127.0.0.1"]
    with FakeReceiver() as fake:
        yield fake


@pytest.fixture
def webhook(benchmark: Benchmark, owner: User, receiver: FakeReceiver) -> Webhook:
    return add_webhook(benchmark, by=owner, url=f"{receiver.url}/touchstone?key=k", events=ALL)


def waiting(webhook: Webhook) -> WebhookDelivery:
    """A delivery that nobody has taken yet."""
    announce(webhook.benchmark, WebhookEvent.DOCUMENT_GOLD, {"document": "d1"})
    return webhook.deliveries.latest("pk")


def attempt(delivery: WebhookDelivery) -> WebhookDelivery:
    """Make the next attempt; the delivery as it then stands."""
    delivery.refresh_from_db()
    sending.send_delivery(delivery.pk, delivery.attempts)
    delivery.refresh_from_db()
    return delivery


def events(benchmark: Benchmark) -> list[tuple[str, Any]]:
    """What was announced since the last call: the event and its data."""
    rows = WebhookDelivery.objects.filter(webhook__benchmark=benchmark).order_by("pk")
    found = [(row.event, row.payload["data"]) for row in rows]
    rows.delete()
    return found


# --- what is sent ---------------------------------------------------------------------------------


def test_an_event_arrives_signed(
    webhook: Webhook,
    receiver: FakeReceiver,
    owner: User,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        announce(webhook.benchmark, WebhookEvent.DOCUMENT_GOLD, {"document": "d1", "external_id": "Ürümqi"})
    delivery = webhook.deliveries.get()
    assert (delivery.state, delivery.attempts, delivery.response_status) == (DeliveryState.DELIVERED, 1, 204)
    assert delivery.delivered_at is not None
    (call,) = receiver.calls
    assert (call.method, call.target) == ("POST", "/touchstone?key=k")
    assert call.headers["content-type"] == "application/json"
    assert call.headers["touchstone-event"] == "document.gold"
    assert call.headers["touchstone-event-id"] == delivery.public_id == call.json()["id"]
    assert call.json() == {
        "id": delivery.public_id,
        "event": "document.gold",
        "at": delivery.payload["at"],
        "benchmark": webhook.benchmark.slug,
        "data": {"document": "d1", "external_id": "Ürümqi"},
    }
    # Checked here from the documentation's words alone, not with the code that signed it.
    stamp, digest = re.fullmatch(r"t=(\d+),v1=([0-9a-f]{64})", call.headers["touchstone-signature"]).groups()  # type: ignore[union-attr]
    expected = hmac.new(webhook.secret.encode(), f"{stamp}.".encode() + call.body, hashlib.sha256).hexdigest()
    assert digest == expected
    assert abs(int(stamp) - time.time()) < 60


def documented_check() -> Callable[..., bool]:
    """The function that the documentation shows to receivers."""
    code = re.search(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert code
    names: dict[str, Any] = {}
    exec(code[1], names)
    check: Callable[..., bool] = names["is_from_touchstone"]
    return check


def test_the_documented_check_takes_what_is_sent_and_nothing_else(webhook: Webhook, receiver: FakeReceiver) -> None:
    attempt(waiting(webhook))
    (call,) = receiver.calls
    check = documented_check()
    signature = call.headers["touchstone-signature"]
    assert check(signature, call.body, webhook.secret)
    assert not check(signature, call.body + b" ", webhook.secret)
    assert not check(signature, call.body, "whsec_another")
    assert not check(client.signature(webhook.secret, int(time.time()) - 301, call.body), call.body, webhook.secret)
    assert not check(client.signature(webhook.secret, int(time.time()) + 301, call.body), call.body, webhook.secret)
    for nonsense in ("", "t=1", "v1=abc", "t=x,v1=y", "t=²,v1=y", signature.partition(",")[0]):
        assert not check(nonsense, call.body, webhook.secret)


def test_a_known_signature() -> None:
    """Worked out with `printf '1700000000.{}' | openssl dgst -sha256 -hmac s`."""
    digest = "e9232c9945da8456c2dea6b39da7786c07b00bca7a64d5dd1283674713a7b72a"
    assert client.signature("s", 1_700_000_000, b"{}") == f"t=1700000000,v1={digest}"


def test_the_documentation_names_every_event() -> None:
    assert set(re.findall(r"^\| `([a-z.]+)` \|", DOCS.read_text(), re.MULTILINE)) == set(WebhookEvent)


# --- when something is told -----------------------------------------------------------------------


def test_a_documents_way_to_gold_is_told_without_anybodys_work(
    webhook: Webhook, document: Document, ada: User, ben: User, owner: User
) -> None:
    about = {"document": document.public_id, "external_id": document.external_id}
    events(webhook.benchmark)
    submitted(document, ada)
    mine = {"stage": "decompose", "annotator": pseudonym(webhook.benchmark, ada.pk)}
    told = events(webhook.benchmark)
    assert told == [("annotation.submitted", about | mine)]
    assert not any(name in json.dumps(told) for name in (ada.username, str(ada)))
    submitted(document, ben)
    theirs = {"stage": "decompose", "annotator": pseudonym(webhook.benchmark, ben.pk)}
    assert events(webhook.benchmark) == [("annotation.submitted", about | theirs)]
    signed_by(document, ada, ben)
    assert ("document.agreed", about | {"stage": "decompose"}) in events(webhook.benchmark)
    discard(document, "It is a poem.", by=owner)
    assert events(webhook.benchmark) == [("document.discarded", about)]
    bring_back(document, by=owner)
    assert events(webhook.benchmark) == []


def test_gold_is_told_with_the_last_stage(owner: User) -> None:
    alone = BenchmarkFactory(overlap=1)
    with_corpus(alone)
    person = member(alone, Role.OWNER)
    add_webhook(alone, by=person, url="https://hooks.example/", events=["document.agreed", "document.gold"])
    document = prefill(DocumentFactory(benchmark=alone))
    about = {"document": document.public_id, "external_id": document.external_id}
    decomposed(document, person)
    document.refresh_from_db()
    verified(document, person)
    assert events(alone) == [("document.agreed", about | {"stage": stage}) for stage in ("decompose", "verify")]
    from annotator.stages.actions.annotate import open_annotation
    from annotator.stages.actions.submit import submit

    submit(open_annotation(document, Stage.REVISE, by=person), by=person)
    assert events(alone) == [("document.agreed", about | {"stage": "revise"}), ("document.gold", about)]
    document.refresh_from_db()
    discard(document, "Twice in it.", by=person)
    bring_back(document, by=person)
    assert events(alone) == [("document.gold", about)]


def test_copies_that_measure_people_are_not_told_of(webhook: Webhook, document: Document, ada: User) -> None:
    twin = prefill(DocumentFactory(benchmark=webhook.benchmark, twin_of=document, practice_for=ada))
    events(webhook.benchmark)
    submitted(twin, ada)
    assert [event for event, _ in events(webhook.benchmark) if event != "run.finished"] == []


def test_runs_and_imports_are_told_when_they_are_over(
    webhook: Webhook,
    owner: User,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    benchmark = webhook.benchmark
    benchmark.strategy = "offline"
    benchmark.save()
    upload = SimpleUploadedFile("two.jsonl", b'{"prompt": "a", "response": "One is one."}\n{"prompt": "b"}\n')
    with django_capture_on_commit_callbacks(execute=True):
        job = start_import(
            benchmark=benchmark, by=owner, file=keep_upload(upload), filename="two.jsonl", format="jsonl"
        )
    found = dict(events(benchmark))
    assert found["import.finished"] == {
        "import": job.public_id, "filename": "two.jsonl", "format": "jsonl", "state": "finished",
        "read": 2, "imported": 1, "unchanged": 0, "bad": 1,
    }  # fmt: skip
    run = benchmark.runs.get()
    assert found["run.finished"] == {
        "run": run.public_id,
        "strategy": "offline",
        "stage": "decompose",
        "state": "finished",
        "documents": {"finished": 1},
    }
    document = DocumentFactory(benchmark=benchmark)
    another = start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=[document.pk], by=owner)
    assert another is not None
    cancel_run(another, by=owner)
    cancel_run(another, by=owner)
    ((event, data),) = events(benchmark)
    assert (event, data["state"], data["documents"]) == ("run.finished", "cancelled", {"cancelled": 1})


def test_a_release_is_told_when_it_is_ready(webhook: Webhook, owner: User, settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    lines = "\n".join(json.dumps(numbered(number)) for number in range(4))
    import_gold(benchmark=webhook.benchmark, source=io.BytesIO(lines.encode()))
    assert events(webhook.benchmark) == []  # an import of gold is no thousand events
    wish = ReleaseRequest(version="1.0", title="T", licence="CC0-1.0", authors=["A"], shares=Shares(50, 25, 25), seed=1)
    release = start_release(benchmark=webhook.benchmark, wish=wish, by=owner, here=True)
    make_release(release.pk)
    release.refresh_from_db()
    about = {"release": release.public_id, "version": "1.0", "sha256": release.sha256, "documents": 4}
    assert events(webhook.benchmark) == [("release.ready", about)]


def test_only_what_was_chosen_and_only_to_those_that_are_on(webhook: Webhook, owner: User) -> None:
    benchmark = webhook.benchmark
    chooser = add_webhook(benchmark, by=owner, url="https://hooks.example/", events=["run.finished"])
    elsewhere = BenchmarkFactory()
    add_webhook(elsewhere, by=member(elsewhere, Role.OWNER), url="https://hooks.example/", events=ALL)
    switch_off(webhook, by=owner)
    for event in (WebhookEvent.RUN_FINISHED, WebhookEvent.DOCUMENT_GOLD):
        announce(benchmark, event, {})
    assert [(row.webhook, row.event) for row in WebhookDelivery.objects.all()] == [(chooser, "run.finished")]


def test_what_is_rolled_back_is_not_told(
    webhook: Webhook, receiver: FakeReceiver, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    class Undone(Exception):
        pass

    with django_capture_on_commit_callbacks(execute=True), pytest.raises(Undone), transaction.atomic():
        waiting(webhook)
        raise Undone
    assert (webhook.deliveries.count(), receiver.calls) == (0, [])


def test_where_nobody_listens_it_costs_one_query(
    benchmark: Benchmark, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        announce(benchmark, WebhookEvent.DOCUMENT_GOLD, {})


# --- receivers that do not take it ----------------------------------------------------------------


def test_what_fails_is_tried_again_with_the_same_id(webhook: Webhook, receiver: FakeReceiver) -> None:
    receiver.first(broken(500), cut_off(), Reply(404, b"who are you?"))
    delivery = waiting(webhook)
    problems = []
    for number in (1, 2, 3):
        before = timezone.now()
        attempt(delivery)
        assert (delivery.state, delivery.attempts) == (DeliveryState.WAITING, number)
        pause = (delivery.next_attempt_at - before).total_seconds() / (10 * 4 ** (number - 1))
        assert 0.75 <= pause < 1.4
        problems.append(delivery.problem)
        webhook.refresh_from_db()
        assert webhook.failing_since is not None
    assert problems[0] == "The receiver answered 500."
    assert problems[2] == "The receiver answered 404."
    assert (delivery.response_status, delivery.response_excerpt) == (404, "who are you?")
    attempt(delivery)
    assert (delivery.state, delivery.problem) == (DeliveryState.DELIVERED, "")
    webhook.refresh_from_db()
    assert webhook.failing_since is None
    assert len({call.headers["touchstone-event-id"] for call in receiver.calls}) == 1
    assert len({call.body for call in receiver.calls}) == 1
    assert attempt(delivery).attempts == 4  # it is over: nothing more is sent
    assert len(receiver.calls) == 4


def test_redirects_are_not_followed(webhook: Webhook, receiver: FakeReceiver) -> None:
    receiver.first(Reply(307, headers={"Location": f"{receiver.url}/elsewhere"}))
    assert attempt(waiting(webhook)).problem == "The receiver answered 307: redirects are not followed."
    assert [call.path for call in receiver.calls] == ["/touchstone"]


@pytest.mark.parametrize("reply", [slow(30), Reply(200, b"x" * 1000, drip=0.2)], ids=["silent", "dripping"])
def test_slow_receivers_are_not_waited_for(
    webhook: Webhook, receiver: FakeReceiver, monkeypatch: pytest.MonkeyPatch, reply: Reply
) -> None:
    monkeypatch.setattr(sending, "SECONDS", 0.5)
    receiver.first(reply)
    delivery = attempt(waiting(webhook))
    assert delivery.problem == "The receiver did not answer within 0.5 seconds."
    assert delivery.state == DeliveryState.WAITING


def test_of_a_long_answer_the_beginning_is_kept(webhook: Webhook, receiver: FakeReceiver) -> None:
    receiver.first(Reply(200, endless="ü\x00".encode() * 4000))
    delivery = attempt(waiting(webhook))
    assert delivery.state == DeliveryState.DELIVERED
    assert delivery.response_excerpt == "ü" * len(delivery.response_excerpt)
    assert 400 <= len(delivery.response_excerpt) <= client.EXCERPT


def test_nobody_there_is_a_failure_with_a_reason(webhook: Webhook, receiver: FakeReceiver) -> None:
    receiver.stop()
    delivery = attempt(waiting(webhook))
    assert delivery.problem.startswith("The receiver could not be reached: ")
    assert delivery.response_status is None


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "[::ffff:127.0.0.1]", "0.0.0.0"]
)
def test_private_addresses_are_refused_when_connecting(
    benchmark: Benchmark, owner: User, receiver: FakeReceiver, settings: Any, host: str
) -> None:
    settings.WEBHOOKS_ALLOW = []
    webhook = add_webhook(benchmark, by=owner, url=f"http://{host}:{receiver.port}/", events=ALL)
    delivery = attempt(waiting(webhook))
    assert "WEBHOOKS_ALLOW" in delivery.problem
    assert receiver.calls == []


# --- given up, switched off -----------------------------------------------------------------------


def test_given_up_after_the_last_attempt_and_the_managers_are_told_once(
    webhook: Webhook, receiver: FakeReceiver, ada: User, owner: User
) -> None:
    admin = member(webhook.benchmark, Role.ADMIN)
    first, second = waiting(webhook), waiting(webhook)
    for delivery in (first, second):
        receiver.first(*[broken(503)] * MAX_ATTEMPTS)
        for _ in range(MAX_ATTEMPTS):
            attempt(delivery)
        assert (delivery.state, delivery.attempts) == (DeliveryState.GIVEN_UP, MAX_ATTEMPTS)
    told = Notice.objects.filter(kind=NoticeKind.WEBHOOK)
    assert {notice.to for notice in told} == {owner, admin}
    assert told.count() == 2  # once for each manager, not for each event
    assert "503" in told[0].text and "key=k" not in told[0].text
    assert place_of(told[0]) == f"/b/{webhook.benchmark.slug}/webhooks/"
    redeliver(first, by=owner)
    first.refresh_from_db()
    assert (first.state, first.attempts) == (DeliveryState.WAITING, 0)
    assert attempt(first).state == DeliveryState.DELIVERED
    assert receiver.calls[-1].headers["touchstone-event-id"] == first.public_id


def test_switched_off_after_days_without_a_success(webhook: Webhook, receiver: FakeReceiver, owner: User) -> None:
    receiver.first(*[broken(503)] * 3)
    delivery, other = waiting(webhook), waiting(webhook)
    attempt(delivery)
    Webhook.objects.update(failing_since=timezone.now() - actions.OFF_AFTER)
    attempt(delivery)
    webhook.refresh_from_db()
    assert not webhook.active
    assert "503" in webhook.disabled_reason
    assert set(webhook.deliveries.values_list("state", flat=True)) == {DeliveryState.GIVEN_UP}
    other.refresh_from_db()
    assert other.problem == "The webhook was disabled."
    assert Activity.objects.filter(action="switch-webhook-off", by=None).count() == 1
    assert Notice.objects.get(kind=NoticeKind.WEBHOOK).to == owner
    for refused in (lambda: send_test(webhook, by=owner), lambda: redeliver(delivery, by=owner)):
        with pytest.raises(BadValueError, match=r"is disabled\. Enable it first"):
            refused()
    switch_on(webhook, by=owner)
    webhook.refresh_from_db()
    assert (webhook.active, webhook.disabled_reason, webhook.failing_since) == (True, "", None)
    assert send_test(webhook, by=owner).state == DeliveryState.WAITING


def test_pauses_grow_and_scatter() -> None:
    for attempts in range(1, MAX_ATTEMPTS):
        pauses = {pause_after(attempts).total_seconds() for _ in range(50)}
        middle = 10 * 4 ** (attempts - 1)
        assert middle * 0.75 <= min(pauses) < max(pauses) <= middle * 1.25
    assert 14 * 3600 < sum(10 * 4 ** (n - 1) for n in range(1, MAX_ATTEMPTS)) < 16 * 3600  # as the constant says


# --- lost and found -------------------------------------------------------------------------------


def test_a_killed_workers_event_is_sent_again_with_its_id(webhook: Webhook, receiver: FakeReceiver) -> None:
    delivery = waiting(webhook)
    taken = take(delivery.pk, 0)
    assert taken is not None  # and here the worker dies, before or after sending
    assert order_due() == []
    WebhookDelivery.objects.update(next_attempt_at=timezone.now() - dt.timedelta(seconds=1))
    assert order_due() == [(delivery.pk, 1)]
    assert order_due() == []  # ordered: not again before that has had its time
    attempt(delivery)
    assert (delivery.state, delivery.attempts) == (DeliveryState.DELIVERED, 2)
    # Should the first worker only have been slow, what it notes changes nothing any more.
    note_failed(taken, "too late")
    note_delivered(taken, status=200, excerpt="late")
    delivery.refresh_from_db()
    assert (delivery.state, delivery.problem, delivery.response_status) == (DeliveryState.DELIVERED, "", 204)


def test_what_the_queue_has_forgotten_is_ordered_by_the_sweep(webhook: Webhook, receiver: FakeReceiver) -> None:
    from pipeline.tasks import send_due_webhooks

    delivery = waiting(webhook)  # written, and its order lost with the queue
    assert send_due_webhooks() == 0
    WebhookDelivery.objects.update(next_attempt_at=timezone.now())
    assert send_due_webhooks() == 1
    delivery.refresh_from_db()
    assert delivery.state == DeliveryState.DELIVERED


def test_a_receiver_that_is_down_gets_one_event_at_a_time(
    webhook: Webhook,
    receiver: FakeReceiver,
    owner: User,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    receiver.first(broken(503))
    attempt(waiting(webhook))
    with django_capture_on_commit_callbacks(execute=True):
        for _ in range(5):
            announce(webhook.benchmark, WebhookEvent.RUN_FINISHED, {})
    assert len(receiver.calls) == 1  # nothing is ordered at once
    healthy = add_webhook(webhook.benchmark, by=owner, url=f"{receiver.url}/healthy", events=ALL)
    announce(webhook.benchmark, WebhookEvent.RUN_FINISHED, {})
    WebhookDelivery.objects.update(next_attempt_at=timezone.now())
    ((first, attempts), (second, _)) = order_due()
    assert {WebhookDelivery.objects.get(pk=pk).webhook for pk in (first, second)} == {webhook, healthy}
    sending.send_delivery(second, 1)
    webhook.refresh_from_db()
    assert webhook.failing_since is None  # it is back: all that waits may go
    assert (attempts, len(order_due())) == (0, 5 + 1)


def test_of_two_orders_for_one_attempt_one_wins(webhook: Webhook) -> None:
    delivery = waiting(webhook)
    assert take(delivery.pk, 0) is not None
    assert take(delivery.pk, 0) is None
    assert take(delivery.pk, 1) is not None


def test_who_waits_for_another_workers_attempt_sees_that_it_was_begun(webhook: Webhook) -> None:
    """PostgreSQL asks the conditions anew of the row that was waited for, but not of what a subquery had found."""
    delivery = waiting(webhook)
    with CaptureQueriesContext(connection) as captured:
        take(delivery.pk, 0)
    [update] = [query["sql"] for query in captured if query["sql"].startswith("UPDATE")]
    assert '"annotator_webhookdelivery"."attempts" = 0' in update
    assert 'FROM "annotator_webhookdelivery"' not in update


@pytest.mark.real_worker
@pytest.mark.django_db(transaction=True)
def test_a_worker_sends_it_after_the_commit(webhook: Webhook, receiver: FakeReceiver, real_worker: None) -> None:
    with transaction.atomic():
        delivery = waiting(webhook)
        assert receiver.calls == []
    for _ in range(200):
        delivery.refresh_from_db()
        if delivery.state == DeliveryState.DELIVERED:
            break
        time.sleep(0.05)
    assert (delivery.state, delivery.attempts, len(receiver.calls)) == (DeliveryState.DELIVERED, 1, 1)


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_send_it_once(webhook: Webhook, receiver: FakeReceiver) -> None:
    delivery = waiting(webhook)  # committed, so tasks at once have sent it
    delivery.refresh_from_db()
    redeliver(delivery, by=webhook.created_by)
    WebhookDelivery.objects.update(state=DeliveryState.WAITING, attempts=0, delivered_at=None)
    before = len(receiver.calls)
    assert at_once(*[lambda: sending.send_delivery(delivery.pk, 0)] * 3) == [None] * 3
    assert len(receiver.calls) == before + 1


def test_a_webhook_that_is_removed_meanwhile_is_no_error(webhook: Webhook, owner: User) -> None:
    delivery = waiting(webhook)
    taken = take(delivery.pk, 0)
    assert taken is not None
    remove_webhook(Webhook.objects.get(), by=owner)
    note_failed(taken, "gone")
    note_delivered(taken, status=200, excerpt="")
    sending.send_delivery(delivery.pk, 1)
    assert not WebhookDelivery.objects.exists()


def test_what_was_over_a_month_ago_is_forgotten(webhook: Webhook, receiver: FakeReceiver) -> None:
    old, new, still_waiting = attempt(waiting(webhook)), attempt(waiting(webhook)), waiting(webhook)
    long_ago = timezone.now() - actions.KEPT_FOR - dt.timedelta(minutes=1)
    WebhookDelivery.objects.filter(pk__in=[old.pk, still_waiting.pk]).update(created_at=long_ago)
    assert forget_old() == 1
    assert set(WebhookDelivery.objects.all()) == {new, still_waiting}


# --- managing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "isn’t a web address"),
        ("ftp://hooks.example/", "isn’t a web address"),
        ("javascript:alert(1)", "isn’t a web address"),
        ("https://", "isn’t a web address"),
        ("https://[::1", "isn’t a web address"),
        ("https://hooks.example:99999/", "isn’t a web address"),
        ("https://hooks.example/a b", "isn’t a web address"),
        ("https://me:secret@hooks.example/", "name and password"),
        ("https://hooks.example/#top", "“#”"),
        ("https://hooks.example/" + "x" * 500, "the limit is 500"),
    ],
)
def test_what_is_no_address_is_refused(benchmark: Benchmark, owner: User, url: str, words: str) -> None:
    with pytest.raises(BadValueError, match=words):
        add_webhook(benchmark, by=owner, url=url, events=ALL)


def test_events_are_words_of_the_list(benchmark: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ([], ["document.read"], ["test"]):
        with pytest.raises(BadValueError):
            add_webhook(benchmark, by=owner, url="https://hooks.example/", events=wrong)
    monkeypatch.setattr(actions, "MAX_WEBHOOKS", 1)
    add_webhook(benchmark, by=owner, url="https://hooks.example/", events=ALL)
    with pytest.raises(BadValueError, match="at most 1"):
        add_webhook(benchmark, by=owner, url="https://hooks.example/", events=ALL)


def test_who_does_not_manage_does_nothing_with_them(webhook: Webhook, ada: User) -> None:
    delivery = waiting(webhook)
    calls: list[Callable[[], object]] = [
        lambda: add_webhook(webhook.benchmark, by=ada, url="https://hooks.example/", events=ALL),
        lambda: rotate_secret(webhook, by=ada),
        lambda: switch_off(webhook, by=ada),
        lambda: switch_on(webhook, by=ada),
        lambda: remove_webhook(webhook, by=ada),
        lambda: send_test(webhook, by=ada),
        lambda: redeliver(delivery, by=ada),
    ]
    for call in calls:
        with pytest.raises(rules.NotAllowedError):
            call()


def test_a_new_secret_signs_at_once_and_no_record_holds_one(
    webhook: Webhook, receiver: FakeReceiver, owner: User
) -> None:
    old = webhook.secret
    delivery = waiting(webhook)
    new = rotate_secret(webhook, by=owner).secret
    assert new != old
    attempt(delivery)
    signature, body = receiver.calls[0].headers["touchstone-signature"], receiver.calls[0].body
    assert documented_check()(signature, body, new)
    assert not documented_check()(signature, body, old)
    switch_off(webhook, by=owner)
    switch_on(webhook, by=owner)
    remove_webhook(webhook, by=owner)
    rows = list(Activity.objects.values_list("action", "reason", "changes"))
    assert {action for action, _, _ in rows} >= {
        "add-webhook", "rotate-webhook-secret", "switch-webhook-off", "switch-webhook-on", "remove-webhook",
    }  # fmt: skip
    for secret in (old, new, "key=k"):
        assert secret not in json.dumps(rows)


def test_it_outlives_its_makers_role(webhook: Webhook, receiver: FakeReceiver, owner: User) -> None:
    second = member(webhook.benchmark, Role.OWNER)
    change_role(ship(webhook.benchmark, owner), Role.ANNOTATOR, by=second)
    assert attempt(waiting(webhook)).state == DeliveryState.DELIVERED
