"""Settings of a benchmark: what can be changed by whom, archive, copy without documents, delete with the name typed."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.db.models import QuerySet
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks

from annotator.core import rules
from annotator.core.models import Activity, Annotation, Benchmark, Document, PromptVersion, SearchEntry, User
from annotator.core.queries.membership import benchmarks_of
from annotator.core.vocabulary import Role, RunState, Stage
from annotator.exchange.models import Release
from annotator.home.actions import benchmark_settings as actions
from annotator.stages.actions.annotate import open_annotation
from annotator.suggestions.actions.runs import start_run
from annotator.team.queries.work import next_task
from tests.factories import (
    BenchmarkFactory,
    DocumentFactory,
    UserFactory,
    decomposed,
    documents,
    member,
    prefill,
    verified,
    with_corpus,
)

pytestmark = pytest.mark.django_db

URL = "/b/pilot/settings/"


@pytest.fixture
def benchmark() -> Benchmark:
    benchmark = BenchmarkFactory(slug="pilot", name="The pilot")
    with_corpus(benchmark)
    return benchmark


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER, is_staff=True)


def post(client: Client, user: User, what: str = "", **data: Any) -> Any:
    client.force_login(user)
    return client.post(f"{URL}do/{what}/" if what else URL, data)


def test_what_is_changed_is_saved_and_on_record(client: Client, benchmark: Benchmark, owner: User) -> None:
    data = {"name": "New  name", "description": "About it", "strategy": "", "corpus": "", "asks_reliable": "on"}
    assert post(client, owner, **data)["Location"] == URL
    benchmark.refresh_from_db()
    assert (benchmark.name, benchmark.description, benchmark.strategy) == ("New name", "About it", "")
    assert (benchmark.corpus, benchmark.asks_reliable, benchmark.asks_sufficient) == (None, True, False)
    changes = Activity.objects.get(action="change-settings").changes
    assert {each["field"] for each in changes} == {"name", "description", "asks_sufficient", "learns", "corpus_id"}
    assert Activity.objects.filter(action="choose-strategy").count() == 1
    page = BeautifulSoup(client.get(URL).content, "html.parser")
    assert page.select_one("input[name=name]")["value"] == "New name"  # type: ignore[index]


def test_a_blank_name_is_refused(client: Client, benchmark: Benchmark, owner: User) -> None:
    assert post(client, owner, name=" ").status_code == 422
    benchmark.refresh_from_db()
    assert benchmark.name == "The pilot"


@pytest.mark.parametrize(("role", "sees", "owns"), [(Role.ANNOTATOR, 403, False), (Role.ADMIN, 200, False)])
def test_annotators_see_no_settings_and_admins_cannot_end_a_benchmark(
    client: Client, benchmark: Benchmark, role: Role, sees: int, owns: bool
) -> None:
    user = member(benchmark, role)
    client.force_login(user)
    answer = client.get(URL)
    assert answer.status_code == sees and ("Delete this benchmark" in answer.content.decode()) == owns
    for what in ("archive", "delete", "copy"):
        assert post(client, user, what, name="The pilot").status_code == 403, what
    assert Benchmark.objects.get().archived_at is None


def test_corpora_of_others_are_not_offered_to_who_makes_no_benchmarks(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    with_corpus(BenchmarkFactory(slug="other"))
    for user, number in ((member(benchmark, Role.ADMIN), 1), (owner, 2)):
        client.force_login(user)
        options = BeautifulSoup(client.get(URL).content, "html.parser").select("select[name=corpus] option[value]")
        assert len([each for each in options if each["value"]]) == number


# --- archive --------------------------------------------------------------------------------------


def test_an_archived_benchmark_gives_nobody_work(client: Client, benchmark: Benchmark, owner: User) -> None:
    document = prefill(DocumentFactory(benchmark=benchmark))
    ada = member(benchmark)
    assert next_task(ada) is not None
    post(client, owner, "archive")
    assert next_task(ada) is None and next_task(UserFactory(is_superuser=True)) is None
    with pytest.raises(rules.NotAllowedError, match="archived"):
        open_annotation(document, Stage.DECOMPOSE, by=ada)
    assert "Archived since" in client.get("/b/pilot/").content.decode()
    post(client, owner, "unarchive")
    assert open_annotation(document, Stage.DECOMPOSE, by=ada)


# --- copy -----------------------------------------------------------------------------------------


def test_a_copy_has_the_settings_the_guidelines_and_no_documents(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    Benchmark.objects.update(overlap=3, asks_reliable=False, description="About it")
    documents(2, benchmark=benchmark)
    ada = member(benchmark)
    PromptVersion.objects.create(benchmark=benchmark, name="papelo/answer", number=1, text="Old")
    PromptVersion.objects.create(benchmark=benchmark, name="papelo/answer", number=2, text="New")
    assert post(client, owner, "copy", name="Second pilot", team="yes")["Location"] == "/b/second-pilot/"
    copy = Benchmark.objects.get(slug="second-pilot")
    assert (copy.overlap, copy.asks_reliable, copy.description) == (3, False, "About it")
    assert copy.corpus == benchmark.corpus and not copy.documents.exists()
    assert [each.text for each in copy.guidelines.all()] == ["# Guidelines"]
    assert [(each.number, each.text) for each in copy.prompts.all()] == [(1, "New")]
    assert dict(copy.memberships.values_list("user", "role")) == {owner.pk: "owner", ada.pk: "annotator"}
    post(client, owner, "copy", name="Second pilot")
    assert Benchmark.objects.get(slug="second-pilot-2").memberships.count() == 1
    assert post(client, owner, "copy", name="東京").status_code == 422


# --- delete ---------------------------------------------------------------------------------------


def test_deleting_needs_the_name_and_no_release(client: Client, benchmark: Benchmark, owner: User) -> None:
    assert post(client, owner, "delete", name="the pilot").status_code == 422
    Release.objects.create(
        benchmark=benchmark, version="1", title="x", licence="x", authors=["A"], by=owner,
        share_train=100, share_dev=0, share_test=0,
    )  # fmt: skip
    answer = post(client, owner, "delete", name="The pilot")
    assert answer.status_code == 422 and "releases" in answer.content.decode()
    assert Benchmark.objects.get().deleting_at is None


def test_a_benchmark_with_runs_on_their_way_is_not_deleted(client: Client, benchmark: Benchmark, owner: User) -> None:
    document = DocumentFactory(benchmark=benchmark)
    start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=[document.pk], by=owner)
    answer = post(client, owner, "delete", name="The pilot")
    assert answer.status_code == 422 and "Cancel them first" in answer.content.decode()


def test_a_deleted_benchmark_is_gone_at_once_and_its_rows_by_a_worker(
    client: Client,
    benchmark: Benchmark,
    owner: User,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    document = prefill(DocumentFactory(benchmark=benchmark))
    ada = member(benchmark)
    decomposed(document, ada)
    document.refresh_from_db()
    verified(document, ada, false_claim="1825")
    DocumentFactory(benchmark=benchmark, twin_of=document)
    benchmark.runs.update(state=RunState.FINISHED, finished_at=timezone.now())
    other = DocumentFactory()
    superuser = UserFactory(is_superuser=True)
    with django_capture_on_commit_callbacks() as callbacks:
        assert post(client, owner, "delete", name="The pilot")["Location"] == "/benchmarks/"
    for user in (owner, ada, superuser):
        client.force_login(user)
        assert client.get("/b/pilot/").status_code == 404
        assert benchmark not in benchmarks_of(user)
    assert Document.objects.count() == 3 and actions.being_deleted() == [benchmark.pk]
    for callback in callbacks:
        callback()
    assert list(Benchmark.objects.all()) == [other.benchmark] and list(Document.objects.all()) == [other]
    rows: list[QuerySet[Any]] = [Annotation.objects.all(), SearchEntry.objects.all()]
    assert not any(each.exists() for each in rows)
    told = Activity.objects.get(action="delete-benchmark")
    assert told.reason == "The pilot (pilot), 2 documents" and told.by == owner
    assert Activity.objects.filter(action="submit").exists()  # the history stays
    assert actions.being_deleted() == []


def test_rows_are_deleted_only_where_somebody_asked(benchmark: Benchmark) -> None:
    actions.delete_rows(benchmark.pk)
    actions.delete_rows(12345)
    assert Benchmark.objects.filter(pk=benchmark.pk).exists()
