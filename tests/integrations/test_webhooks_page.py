"""The page on which owners and admins look after webhooks, and the same through the API."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.core.actions.announce import announce
from annotator.core.models import Benchmark, User, Webhook, WebhookDelivery
from annotator.core.vocabulary import DeliveryState, Role, Scope, WebhookEvent
from annotator.integrations.actions.tokens import create_token
from annotator.integrations.actions.webhooks import add_webhook, note_failed, send_test, take
from tests.api import Api
from tests.factories import BenchmarkFactory, member
from tests.teams import get, words

pytestmark = pytest.mark.django_db

SENT: dict[str, Any] = {"url": "https://hooks.example/touchstone", "events": ["document.gold", "run.finished"]}


@pytest.fixture
def webhook(benchmark: Benchmark, owner: User) -> Webhook:
    return add_webhook(benchmark, by=owner, url=SENT["url"], events=SENT["events"])


def url(benchmark: Benchmark, *parts: str) -> str:
    return "/".join([f"/b/{benchmark.slug}/webhooks", *parts, ""])


def post(client: Client, user: User, address: str, data: dict[str, Any] | None = None) -> Any:
    client.force_login(user)
    return client.post(address, data or {})


def secret_on(answer: Any) -> str:
    field = BeautifulSoup(answer.content, "html.parser").find(id="new-secret")
    assert isinstance(field, Tag)
    return str(field["value"])


def test_its_secret_is_shown_once(client: Client, benchmark: Benchmark, owner: User) -> None:
    answer = post(client, owner, url(benchmark, "new"), SENT)
    assert (answer.status_code, "no-store" in answer["Cache-Control"]) == (200, True)
    webhook = benchmark.webhooks.get()
    assert secret_on(answer) == webhook.secret
    assert webhook.events == SENT["events"]
    assert webhook.secret not in get(client, owner, url(benchmark)).decode()
    rotated = post(client, owner, url(benchmark, webhook.public_id, "rotate"))
    assert secret_on(rotated) != webhook.secret
    assert "no-store" in rotated["Cache-Control"]


def test_what_is_wrong_is_said_and_what_was_typed_is_kept(client: Client, benchmark: Benchmark, owner: User) -> None:
    for sent, sentence in (
        (SENT | {"events": []}, "Choose at least one event."),
        (SENT | {"events": ["test"]}, "not one of the available"),
        (SENT | {"url": "https://me:pw@hooks.example/"}, "Remove the username and password"),
    ):
        answer = post(client, owner, url(benchmark, "new"), sent)
        assert (answer.status_code, sentence in answer.content.decode()) == (422, True)
        assert str(sent["url"]) in answer.content.decode()
    assert not benchmark.webhooks.exists()


def test_a_test_a_redelivery_off_on_and_gone(client: Client, webhook: Webhook, owner: User) -> None:
    own = url(webhook.benchmark, webhook.public_id)
    assert post(client, owner, f"{own}test/").status_code == 302
    delivery = webhook.deliveries.get()
    assert delivery.event == WebhookEvent.TEST
    WebhookDelivery.objects.update(state=DeliveryState.GIVEN_UP, attempts=8)
    again = url(webhook.benchmark, "delivery", delivery.public_id, "again")
    assert post(client, owner, again).status_code == 302
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == (DeliveryState.WAITING, 0)
    assert post(client, owner, f"{own}off/").status_code == 302
    for refused in (f"{own}test/", again):
        answer = post(client, owner, refused)
        assert (answer.status_code, "Enable it first" in answer.content.decode()) == (422, True)
    assert post(client, owner, f"{own}on/").status_code == 302
    assert Webhook.objects.get().active
    assert post(client, owner, f"{own}explode/").status_code == 404
    assert post(client, owner, f"{own}remove/").status_code == 302
    assert not Webhook.objects.exists()
    assert post(client, owner, f"{own}remove/").status_code == 404


def test_it_shows_how_deliveries_went(client: Client, webhook: Webhook, owner: User) -> None:
    page = get(client, owner, url(webhook.benchmark))
    assert "No deliveries yet" in words(page.find(id="latest"))
    announce(webhook.benchmark, WebhookEvent.DOCUMENT_GOLD, {})
    latest = get(client, owner, url(webhook.benchmark)).find(id="latest")
    assert isinstance(latest, Tag) and latest.has_attr("hx-get")  # the first attempt is on its way
    taken = take(webhook.deliveries.get().pk, 0)
    assert taken is not None
    note_failed(taken, "The receiver answered 500.", status=500, excerpt="<b>oops</b>")
    page = get(client, owner, url(webhook.benchmark))
    latest = page.find(id="latest")
    assert isinstance(latest, Tag) and not latest.has_attr("hx-get")
    assert "document.gold" in words(latest) and "The receiver answered 500." in words(latest)
    assert "<b>oops</b>" in words(latest)  # as text
    assert "retry after" in words(latest)
    assert "No successful delivery since" in words(page.find("article"))
    client.force_login(owner)
    part = client.get(url(webhook.benchmark), headers={"hx-request": "true"}).content.decode()
    assert part.lstrip().startswith("<section") and "document.gold" in part


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.THIRD_RATER, Role.RESEARCHER])
def test_it_is_for_owners_and_admins(client: Client, webhook: Webhook, owner: User, role: Role) -> None:
    other = member(webhook.benchmark, role)
    delivery = send_test(webhook, by=owner)
    addresses = [
        url(webhook.benchmark, "new"),
        url(webhook.benchmark, webhook.public_id, "rotate"),
        url(webhook.benchmark, webhook.public_id, "remove"),
        url(webhook.benchmark, "delivery", delivery.public_id, "again"),
    ]
    get(client, other, url(webhook.benchmark), status=403)
    for address in addresses:
        assert post(client, other, address, SENT).status_code == 403
    assert "/webhooks/" not in get(client, other, f"/b/{webhook.benchmark.slug}/team/").decode()
    assert Webhook.objects.count() == 1
    assert post(client, member(webhook.benchmark, Role.ADMIN), addresses[1]).status_code == 200
    assert "/webhooks/" in get(client, owner, f"/b/{webhook.benchmark.slug}/team/").decode()


def test_another_benchmarks_webhooks_are_not_reached(client: Client, webhook: Webhook, owner: User) -> None:
    other = BenchmarkFactory()
    manager = member(other, Role.OWNER)
    delivery = send_test(webhook, by=owner)
    assert post(client, manager, url(other, webhook.public_id, "remove")).status_code == 404
    assert post(client, manager, url(other, "delivery", delivery.public_id, "again")).status_code == 404
    assert webhook.url not in get(client, manager, url(other)).decode()


def test_the_page_costs_the_same_however_much_there_is(client: Client, webhook: Webhook, owner: User) -> None:
    client.force_login(owner)
    counts = []
    for _ in range(2):
        add_webhook(webhook.benchmark, by=owner, url=webhook.url, events=["run.finished"])
        for _ in range(5):
            send_test(webhook, by=owner)
        with CaptureQueriesContext(connection) as queries:
            client.get(url(webhook.benchmark))
        counts.append(len(queries))
    assert counts[0] == counts[1]


# --- through the API ------------------------------------------------------------------------------


def test_a_program_looks_after_webhooks(benchmark: Benchmark, owner: User) -> None:
    api, base = Api(owner), f"/benchmarks/{benchmark.slug}/webhooks/"
    added = api.send("POST", base, SENT, status=201)
    webhook = benchmark.webhooks.get()
    assert (added["secret"], added["events"]) == (webhook.secret, SENT["events"])
    assert "secret" not in api.get(base)[0]
    assert api.send("POST", f"{base}{added['id']}/secret/")["secret"] != added["secret"]
    sent = [api.send("POST", f"{base}{added['id']}/test/", status=202) for _ in range(3)]
    page = api.get(f"{base}deliveries/?size=2")
    assert [row["id"] for row in page["results"]] == [sent[2]["id"], sent[1]["id"]]
    assert [row["id"] for row in api.get(page["next"].partition("testserver")[2])["results"]] == [sent[0]["id"]]
    WebhookDelivery.objects.update(state=DeliveryState.GIVEN_UP)
    assert api.send("POST", f"{base}deliveries/{sent[0]['id']}/again/", status=202)["state"] == "waiting"
    assert api.send("PATCH", f"{base}{added['id']}/", {"active": False})["active"] is False
    assert "is disabled" in api.send("POST", f"{base}{added['id']}/test/", status=422)["detail"]
    assert api.send("PATCH", f"{base}{added['id']}/", {"active": True})["active"] is True
    assert api.send("DELETE", f"{base}{added['id']}/", status=204) is None
    assert api.get(base) == []
    for wrong in (SENT | {"url": "ftp://x"}, SENT | {"events": ["test"]}):
        api.send("POST", base, wrong, status=422)
    api.send("POST", base, SENT | {"events": []}, status=400)


def test_a_program_needs_the_scope_and_its_person_the_role(webhook: Webhook, owner: User, ada: User) -> None:
    base = f"/benchmarks/{webhook.benchmark.slug}/webhooks/"
    for person, scopes, status in (
        (owner, [Scope.MANAGE], 200),
        (owner, [Scope.READ, Scope.ANNOTATE, Scope.EXPORT], 403),
        (ada, list(Scope), 403),
    ):
        token = create_token(by=person, name="hooks", scopes=scopes).whole
        assert Api().ask("GET", base, Authorization=f"Bearer {token}").status_code == status
