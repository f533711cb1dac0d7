"""Crowd platforms: a link with the worker's id, consent, a completion code, and a report for paying."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core.models import Benchmark, CrowdLink, CrowdWorker, Membership, User
from annotator.core.vocabulary import CrowdPlatform, Role
from annotator.team.actions.crowd import close_link, enter, open_link
from annotator.team.actions.erase import erase
from annotator.team.queries.crowd import worker_rows
from annotator.team.queries.personal_data import personal_data
from annotator.team.rules import CrowdEntryError
from tests.factories import BenchmarkFactory, DocumentFactory, UserFactory, decomposed, member, prefill

pytestmark = pytest.mark.django_db

PROLIFIC = {"PROLIFIC_PID": "5f3c0a", "STUDY_ID": "study-1", "SESSION_ID": "session-1"}


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(slug="pilot", overlap=1)


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER)


@pytest.fixture
def link(benchmark: Benchmark, owner: User) -> CrowdLink:
    return link_of(benchmark, owner)


def link_of(benchmark: Benchmark, owner: User, **options: Any) -> CrowdLink:
    given: dict[str, Any] = {
        "name": "Wave 1", "platform": CrowdPlatform.PROLIFIC, "consent": "You label texts.\nAsk lab@example.org.",
        "documents": 1, "completion_code": "C0DE", "reward": "2.50 GBP",
    }  # fmt: skip
    return open_link(benchmark, by=owner, **given | options)


def begin(client: Client, link: CrowdLink, **data: str) -> Any:
    return client.post(reverse("crowd", args=[link.token]), {**PROLIFIC, "agree": "yes", **data})


def test_a_worker_reads_the_consent_agrees_works_and_gets_the_code(client: Client, link: CrowdLink) -> None:
    address = reverse("crowd", args=[link.token])
    page = client.get(address, PROLIFIC).content.decode()
    assert "Ask lab@example.org." in page and 'value="5f3c0a"' in page and "2.50 GBP" in page
    assert client.post(address, PROLIFIC).status_code == 422, "without consent nobody comes in"
    assert not CrowdWorker.objects.exists()
    sent = {"worker_id": "5f3c0a", "study_id": "study-1", "session_id": "session-1", "agree": "yes"}
    assert client.post(address, sent)["Location"] == "/"
    worker = CrowdWorker.objects.get()
    assert (worker.worker_id, worker.study_id, worker.session_id) == ("5f3c0a", "study-1", "session-1")
    assert list(Membership.objects.filter(user=worker.user).values_list("benchmark__slug", "role")) == [
        ("pilot", "annotator")
    ]
    assert address in client.get("/").content.decode(), "My work leads back to the code"
    before = client.get(address).content.decode()
    assert "0 of 1 document submitted" in before and "C0DE" not in before
    decomposed(prefill(DocumentFactory(benchmark=link.benchmark)), worker.user)
    done = client.get(address).content.decode()
    assert "C0DE" in done and 'href="https://app.prolific.com/submissions/complete?cc=C0DE"' in done


def test_the_same_worker_comes_back_to_the_same_account(client: Client, link: CrowdLink) -> None:
    begin(client, link)
    begin(Client(), link, SESSION_ID="session-2")
    assert CrowdWorker.objects.count() == 1
    assert CrowdWorker.objects.get().session_id == "session-1"


def test_mechanical_turk_has_a_preview_and_its_own_names(client: Client, benchmark: Benchmark, owner: User) -> None:
    link = link_of(benchmark, owner, platform=CrowdPlatform.MTURK)
    address = reverse("crowd", args=[link.token])
    preview = client.get(address, {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "H1"}).content.decode()
    assert "This is a preview" in preview and '<button class="btn main" type="submit">Begin' not in preview
    client.post(address, {"workerId": "A1", "hitId": "H1", "assignmentId": "X1", "agree": "yes"})
    assert CrowdWorker.objects.values_list("worker_id", "study_id", "session_id").get() == ("A1", "H1", "X1")


@pytest.mark.parametrize("worker_id", ["", "=1+1", "a b", "x" * 129, "-5"])
def test_an_id_that_is_none_is_refused(client: Client, link: CrowdLink, worker_id: str) -> None:
    assert begin(client, link, PROLIFIC_PID=worker_id).status_code == 403
    assert not CrowdWorker.objects.exists()


def test_a_closed_or_full_link_lets_nobody_in(benchmark: Benchmark, owner: User) -> None:
    link = link_of(benchmark, owner, max_workers=1)
    enter(link, worker_id="one")
    with pytest.raises(CrowdEntryError, match="all the people it needs"):
        enter(link, worker_id="two")
    assert enter(link, worker_id="one") == CrowdWorker.objects.get().user
    close_link(link, by=owner)
    with pytest.raises(CrowdEntryError, match="closed"):
        enter(link, worker_id="one")


def test_an_id_opens_no_account_that_may_do_more(link: CrowdLink) -> None:
    person = enter(link, worker_id="one")
    other = Membership.objects.create(benchmark=BenchmarkFactory(), user=person, role=Role.ANNOTATOR)
    with pytest.raises(CrowdEntryError, match="anymore"):
        enter(link, worker_id="one")
    other.delete()
    person.set_password("a password of their own")
    person.save()
    with pytest.raises(CrowdEntryError, match="anymore"):
        enter(link, worker_id="one")
    person.set_unusable_password()
    person.save()
    Membership.objects.filter(user=person).update(role=Role.ADMIN)
    with pytest.raises(CrowdEntryError, match="anymore"):
        enter(link, worker_id="one")


def test_whoever_is_signed_in_as_someone_else_is_told(client: Client, link: CrowdLink, owner: User) -> None:
    client.force_login(owner)
    answer = begin(client, link)
    assert answer.status_code == 409 and "Sign out" in answer.content.decode()


def test_the_payment_report_counts_documents_once(client: Client, benchmark: Benchmark, owner: User) -> None:
    link = link_of(benchmark, owner, documents=2)
    first, second = (enter(link, worker_id=each) for each in ("one", "two"))
    for _ in range(2):
        decomposed(prefill(DocumentFactory(benchmark=benchmark)), first)
    decomposed(prefill(DocumentFactory(benchmark=benchmark)), second)
    client.force_login(owner)
    answer = client.get(reverse("crowd-report", args=["pilot", link.public_id]))
    rows = list(csv.DictReader(io.StringIO(b"".join([answer.content]).decode("utf-8-sig"))))
    assert [(row["worker_id"], row["documents"], row["completed"]) for row in rows] == [
        ("one", "2", "yes"), ("two", "1", "no"),
    ]  # fmt: skip
    assert rows[0]["completed_at"] and not rows[1]["completed_at"]
    assert {row["reward"] for row in rows} == {"2.50 GBP"} and rows[0]["account"] == first.username


def test_managers_make_and_close_links_and_annotators_do_not(client: Client, benchmark: Benchmark, owner: User) -> None:
    client.force_login(owner)
    address = reverse("crowd-links", args=["pilot"])
    form = {"name": "Wave 2", "platform": "prolific", "documents": 3, "consent": "You label texts."}
    assert client.post(address, form).status_code == 302
    link = CrowdLink.objects.get()
    assert len(link.completion_code) == 8, "made where none was given"
    page = client.get(address).content.decode()
    assert f"/crowd/{link.token}/?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}" in page
    assert client.post(address, form | {"consent": ""}).status_code == 422
    assert client.post(reverse("crowd-change", args=["pilot", link.public_id, "close"])).status_code == 302
    link.refresh_from_db()
    assert link.closed_at is not None
    client.force_login(member(benchmark))
    assert client.get(address).status_code == 403
    assert client.get(reverse("crowd-report", args=["pilot", link.public_id])).status_code == 403


def test_the_ids_of_a_worker_are_theirs_to_see_and_are_erased(link: CrowdLink) -> None:
    person = enter(link, worker_id="one", session_id="s")
    (row,) = dict(personal_data(person))["crowd_work"]
    assert row["worker_id"] == "one"
    erase(person, by=UserFactory(is_superuser=True))
    (worker,) = (each.worker for each in worker_rows(link))
    assert worker.worker_id.startswith("erased-") and not worker.session_id
