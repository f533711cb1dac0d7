"""The Django admin: annotation data to look at, people and settings to manage, superusers only."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotator.core.models import Activity, Benchmark, Corpus, Document, Guidelines, Membership, User
from annotator.core.vocabulary import Role, Stage
from annotator.stages.actions.annotate import open_annotation
from tests.factories import BenchmarkFactory, DocumentFactory, UserFactory, decomposed, prefill, verified, with_corpus

pytestmark = pytest.mark.django_db

MANAGED = {"User", "Membership", "Benchmark", "Guidelines", "Corpus", "CorpusPage"}
# Rows of others' aggregates, shown with their parents' history rather than alone; and what owners alone see.
NOT_SHOWN = {"EditOperation", "RestsOn", "Service", "BatchChange", "BatchChangeRows", "SearchEntry", "DocumentView"}
NOT_SHOWN |= {"ServiceUse", "ModelBatch"}
NOT_SHOWN |= {"DocumentChange", "DocumentChangeRows", "SecurityEvent", "Pool", "PoolStep", "PoolCandidate"}
NOT_SHOWN |= {"CrowdLink", "CrowdWorker"}
OURS: list[type[Model]] = sorted(apps.get_app_config("annotator").get_models(), key=lambda model: model.__name__)
READ_ONLY = [model for model in OURS if model.__name__ not in MANAGED | NOT_SHOWN]


@pytest.fixture
def root() -> User:
    return UserFactory(username="root", is_staff=True, is_superuser=True)


@pytest.fixture
def data(root: User) -> Document:
    """A document with work at every stage, so that no page of the admin is empty for want of rows."""
    benchmark = BenchmarkFactory(slug="pilot")
    with_corpus(benchmark)
    document = prefill(DocumentFactory(benchmark=benchmark))
    decomposed(document, root)
    document.refresh_from_db()
    verified(document, root, false_claim="1825")
    open_annotation(document, Stage.REVISE, by=root)
    return document


def url(model: type[Model], page: str, *args: Any) -> str:
    return reverse(f"admin:annotator_{model._meta.model_name}_{page}", args=args)


def test_every_model_is_registered_or_left_out_on_purpose() -> None:
    registered = {model.__name__ for model in OURS if admin.site.is_registered(model)}
    assert registered == {model.__name__ for model in OURS} - NOT_SHOWN


# What the scene of these tests does not make: one person, nothing in dispute.
WITHOUT_ROWS = {
    "Flag", "SentBack", "ImportJob", "ClaimRevision", "StanceSuggestion", "Batch", "Group", "GroupMember", "Invitation",
    "Decision", "Comment", "Question", "SignOff", "Tally", "Notice", "StepUse", "PendingCall", "CachedAnswer",
    "PageSnapshot", "PageArchive", "PageCheck", "Recheck", "VerdictSuggestion", "RevisionSuggestion", "PromptVersion",
    "TrainedSuggester",
    "ApiToken", "Webhook", "WebhookDelivery",
    "Release", "ReleaseDocument", "Evaluation", "Download", "ProtocolVersion", "Study", "StudyItem", "StudyPart",
    "StudyRater", "StudyAssignment", "StudyAnswer", "StudyActivity",
}  # fmt: skip


@pytest.mark.parametrize("model", READ_ONLY, ids=lambda model: model.__name__)
def test_annotation_data_is_read_only(client: Client, root: User, data: Document, model: type[Model]) -> None:
    client.force_login(root)
    assert client.get(url(model, "changelist")).status_code == 200
    assert client.get(url(model, "add")).status_code == 403
    assert client.post(url(model, "add"), {}).status_code == 403
    row = model._default_manager.first()
    if row is None:
        assert model.__name__ in WITHOUT_ROWS
        return
    before = model._default_manager.filter(pk=row.pk).values().get()
    assert client.get(url(model, "change", row.pk)).status_code == 200
    assert client.post(url(model, "change", row.pk), {}).status_code == 403
    assert client.post(url(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    client.post(url(model, "changelist"), {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"})
    assert model._default_manager.filter(pk=row.pk).values().get() == before


@pytest.mark.parametrize(
    "model", [model for model in OURS if model.__name__ not in NOT_SHOWN], ids=lambda m: m.__name__
)
def test_staff_see_nothing_here_even_with_djangos_own_rights(
    client: Client, data: Document, model: type[Model]
) -> None:
    staff = UserFactory(is_staff=True)
    staff.user_permissions.set(Permission.objects.all())
    client.force_login(staff)
    assert client.get(url(model, "changelist")).status_code == 403


def test_lists_and_searches_work_on_public_ids(client: Client, root: User, data: Document) -> None:
    client.force_login(root)
    page = client.get(url(Document, "changelist"), {"q": data.public_id}).content.decode()
    assert data.public_id in page
    for model in OURS:
        if admin.site.is_registered(model) and admin.site._registry[model].search_fields:
            assert client.get(url(model, "changelist"), {"q": "zz"}).status_code == 200


@pytest.mark.parametrize("model", [Document, Activity], ids=lambda model: model.__name__)
def test_a_list_of_one_and_of_three_take_the_same_number_of_queries(
    client: Client, root: User, model: type[Model], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(root)

    def fill() -> None:
        Activity.objects.create(document=DocumentFactory(), action="import", by=UserFactory())

    fill()
    client.get(url(model, "changelist"))
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as queries:
        client.get(url(model, "changelist"))
    for _ in range(2):
        fill()
    with django_assert_num_queries(len(queries)):
        client.get(url(model, "changelist"))


def test_people_are_added_and_can_sign_in(client: Client, root: User) -> None:
    client.force_login(root)
    answer = client.post(
        url(User, "add"),
        {"username": "grace", "usable_password": "true", "password1": "hopper-1906", "password2": "hopper-1906"},
    )
    grace = User.objects.get(username="grace")
    assert answer["Location"] == url(User, "change", grace.pk)
    assert client.get(url(User, "change", grace.pk)).status_code == 200
    assert Client().login(username="grace", password="hopper-1906")


def test_somebody_whose_work_is_there_cannot_be_deleted(client: Client, root: User, data: Document) -> None:
    client.force_login(root)
    client.post(url(User, "delete", root.pk), {"post": "yes"})
    assert User.objects.filter(pk=root.pk).exists()


def test_settings_and_people_of_a_benchmark(client: Client, root: User, data: Document) -> None:
    client.force_login(root)
    benchmark, grace = data.benchmark, UserFactory()
    form = {
        "name": "Renamed",
        "slug": "changed",
        "overlap": "3",
        "description": "",
        "asks_reliable": "",
        "strategy": "offline",
        "corpus": "",
        "memberships-TOTAL_FORMS": "1",
        "memberships-INITIAL_FORMS": "0",
        "memberships-0-user": str(grace.pk),
        "memberships-0-role": "annotator",
        "memberships-0-active": "on",
    }
    assert client.post(url(Benchmark, "change", benchmark.pk), form).status_code == 302
    benchmark.refresh_from_db()
    assert (benchmark.name, benchmark.asks_reliable) == ("Renamed", False)
    assert (benchmark.slug, benchmark.overlap) == ("pilot", 1)  # addresses and the protocol stay
    assert Membership.objects.get(user=grace).role == Role.ANNOTATOR
    assert client.get(url(Benchmark, "add")).status_code == 403
    assert client.post(url(Benchmark, "delete", benchmark.pk), {"post": "yes"}).status_code == 403


def test_a_new_version_of_guidelines_goes_through_the_action(client: Client, root: User, data: Document) -> None:
    client.force_login(root)
    form = {"benchmark": str(data.benchmark.pk), "text": "# New"}
    assert client.post(url(Guidelines, "add"), form).status_code == 302
    newest = data.benchmark.guidelines.first()
    assert newest is not None
    assert (newest.number, newest.text, newest.created_by) == (2, "# New\n", root)
    assert Activity.objects.get(action="publish-guidelines").by == root
    assert client.post(url(Guidelines, "change", newest.pk), form).status_code == 403
    assert client.post(url(Guidelines, "delete", newest.pk), {"post": "yes"}).status_code == 403


def test_corpora_are_managed(client: Client, root: User, data: Document) -> None:
    client.force_login(root)
    assert client.post(url(Corpus, "add"), {"slug": "own", "name": "Own"}).status_code == 302
    made = Corpus.objects.get(slug="own")
    assert client.post(url(Corpus, "change", made.pk), {"slug": "own", "name": "Ours"}).status_code == 302
    made.refresh_from_db()
    assert made.name == "Ours"
    used = data.benchmark.corpus
    assert used is not None
    client.post(url(Corpus, "delete", used.pk), {"post": "yes"})
    assert not Corpus.objects.filter(pk=used.pk).exists()
