"""Contradictions that somebody confirmed with a reason: on the document's page, in the list's filter, in statistics."""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse

from annotator.core.models import Activity, Annotation, Document, User
from annotator.core.vocabulary import Role, Stage
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.submit import submit
from annotator.stages.queries.verification import claims_to_verify
from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, member, prefill, save, with_corpus

pytestmark = pytest.mark.django_db

WHY = "Claim 1.1 is true, but no passage supports it; known from the encyclopedia"


@pytest.fixture
def person() -> User:
    return member(BenchmarkFactory(), display_name="Ada")


@pytest.fixture
def owner(person: User) -> User:
    return member(person.memberships.get().benchmark, Role.OWNER)


@pytest.fixture
def document(person: User) -> Document:
    """At verify, with every answer given but not submitted."""
    benchmark = person.memberships.get().benchmark
    with_corpus(benchmark)
    document = prefill(DocumentFactory(benchmark=benchmark))
    decomposed(document, person)
    document.refresh_from_db()
    for work in claims_to_verify(open_annotation(document, Stage.VERIFY, by=person)):
        for card in work.cards:
            save(card.stance, "label", "irrelevant", person)
        save(work.verdict, "factuality", "true", person)
    return document


def verify_submitted(document: Document, person: User) -> None:
    submit(Annotation.objects.get(document=document, stage=Stage.VERIFY, person=person), by=person, confirmed=WHY)
    document.refresh_from_db()


def listed(client: Client, document: Document) -> bool:
    page = client.get(reverse("documents", args=[document.benchmark.slug]), {"confirmed": "yes"}).content.decode()
    return reverse("document", args=[document.public_id]) in page


def test_managers_find_the_document_and_read_why(client: Client, document: Document, person: User, owner: User) -> None:
    other = prefill(DocumentFactory(benchmark=document.benchmark))
    client.force_login(owner)
    with transaction.atomic():
        Activity.objects.create(document=document, by=person, action="confirm-contradictions", reason=WHY)
        assert not listed(client, document), "nothing is told before the stage is adjudicated"
        transaction.set_rollback(True)  # history is never deleted
    verify_submitted(document, person)
    assert listed(client, document)
    assert not listed(client, other)
    page = client.get(reverse("document", args=[document.public_id])).content.decode()
    assert f"Confirmed contradictions: {WHY}" in page
    assert page.count(WHY) == 2, "at the annotator, and in the history"


def test_annotators_cannot_filter_by_it(client: Client, document: Document, person: User) -> None:
    verify_submitted(document, person)
    client.force_login(person)
    page = client.get(reverse("documents", args=[document.benchmark.slug]), {"confirmed": "yes"}).content.decode()
    assert "Contradiction confirmed" not in page


def test_statistics_count_the_documents(document: Document, person: User, capsys: pytest.CaptureFixture[str]) -> None:
    verify_submitted(document, person)
    submit(open_annotation(document, Stage.REVISE, by=person), by=person)
    call_command("statistics", benchmark=document.benchmark.slug, json=True)
    assert json.loads(capsys.readouterr().out)["counted"]["contradictions_confirmed"] == 1
