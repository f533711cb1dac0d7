"""Qualification with the gold of another benchmark: who may choose it, what a newcomer gets, and what stays hidden."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core import rules
from annotator.core.actions.benchmarks import change_protocol
from annotator.core.gold_copies import check_see_document
from annotator.core.models import Benchmark, Document, Membership, SentenceSuggestion, User
from annotator.core.queries.documents import DocumentFilter, matching, shelf_for
from annotator.core.vocabulary import Role, Stage
from annotator.exchange.queries.export import count_documents
from annotator.home.actions.benchmark_settings import copy_benchmark
from annotator.measures.queries.practice import practice_of
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.submit import submit
from annotator.team.actions import gold_copies
from annotator.team.queries.work import next_task
from tests.api import Api
from tests.factories import (
    BenchmarkFactory,
    DocumentFactory,
    decomposed,
    member,
    prefill,
    retrieve,
    save,
    verified,
    with_corpus,
)

pytestmark = pytest.mark.django_db


def through_all_stages(document: Document, by: User) -> Document:
    decomposed(document, by)
    document.refresh_from_db()
    verified(document, by, false_claim="1825")
    annotation = open_annotation(document, Stage.REVISE, by=by)
    for row in annotation.sentence_revisions.filter(text_origin=""):
        save(row, "text", row.text, by)
    submit(annotation, by=by)
    document.refresh_from_db()
    return document


@pytest.fixture
def owner() -> User:
    return member(BenchmarkFactory(slug="elsewhere", name="Elsewhere"), Role.OWNER)


@pytest.fixture
def elsewhere(owner: User) -> Benchmark:
    """A benchmark with two gold documents."""
    benchmark = Benchmark.objects.get(slug="elsewhere")
    with_corpus(benchmark)
    for number in (1, 2):
        document = DocumentFactory(benchmark=benchmark, order=number, external_id=f"gold-{number}")
        through_all_stages(prefill(document), owner)
    return benchmark


@pytest.fixture
def here(owner: User, elsewhere: Benchmark) -> Benchmark:
    """A new benchmark without gold, whose newcomers practice on one document of the other."""
    benchmark = BenchmarkFactory(slug="here", name="Here")
    Membership.objects.create(benchmark=benchmark, user=owner, role=Role.OWNER)
    with_corpus(benchmark)
    change_protocol(
        benchmark, by=owner, overlap=1, third_rater_at_verify=False, practice_documents=1, practice_from=elsewhere
    )
    benchmark.refresh_from_db()
    return benchmark


def copy_for(benchmark: Benchmark, person: User) -> Document:
    (copy,) = gold_copies.make_practice(benchmark, person, by=person)
    return retrieve(copy)  # the run that it waits for


def test_a_newcomer_practises_on_gold_of_another_benchmark(here: Benchmark, elsewhere: Benchmark) -> None:
    ada = member(here)
    prefill(DocumentFactory(benchmark=here))
    task = next_task(ada)
    assert task is not None and task.why == "practice"
    gold = elsewhere.documents.get(external_id="gold-1")
    copy = copy_for(here, ada)
    assert (copy.benchmark, copy.twin_of, copy.response) == (here, gold, gold.response)
    assert rules.role_of(ada, elsewhere) is None
    check_see_document(ada, copy)
    with pytest.raises(rules.NotAllowedError):
        check_see_document(ada, gold)
    through_all_stages(copy, ada)
    (row,) = practice_of(here)
    assert (row.done, len(row.scored)) == (1, 3)
    labels = [label for each in row.scored for label in each.score.fields.values()]
    assert labels and all(label.right == label.total for label in labels)
    task = next_task(ada)
    assert task is not None and task.why != "practice"


def test_suggestions_and_their_costs_stay_in_their_benchmark(here: Benchmark) -> None:
    copy = copy_for(here, member(here))
    runs = {each.run.benchmark_id for each in SentenceSuggestion.objects.filter(document=copy)}
    assert runs == {here.pk}
    assert count_documents(here, include="all") == 0


def test_without_a_strategy_practice_begins_without_suggestions(here: Benchmark) -> None:
    Benchmark.objects.filter(pk=here.pk).update(strategy="")
    here.refresh_from_db()
    ada = member(here)
    (copy,) = gold_copies.make_practice(here, ada, by=ada)
    copy.refresh_from_db()
    assert open_annotation(copy, Stage.DECOMPOSE, by=ada).sentences.exists()


def test_gold_that_somebody_practises_on_stays_hidden_in_its_own_benchmark(
    here: Benchmark, elsewhere: Benchmark
) -> None:
    ada = member(here)
    Membership.objects.create(benchmark=elsewhere, user=ada, role=Role.ANNOTATOR)
    gold = elsewhere.documents.get(external_id="gold-1")
    check_see_document(ada, gold)
    copy = copy_for(here, ada)
    with pytest.raises(rules.NotAllowedError):
        check_see_document(ada, gold)
    listed = matching(elsewhere, DocumentFilter(), shelf_for(ada, elsewhere))
    assert gold not in listed
    through_all_stages(copy, ada)
    check_see_document(ada, gold)


def test_who_knows_a_gold_document_practises_on_another(here: Benchmark, elsewhere: Benchmark) -> None:
    ada = member(here)
    first, second = elsewhere.documents.order_by("order")
    first.annotations.filter(person__isnull=False).update(person=ada)
    assert copy_for(here, ada).twin_of == second


def test_only_gold_that_the_owner_may_export_can_be_chosen(
    here: Benchmark, elsewhere: Benchmark, owner: User, client: Client
) -> None:
    stranger = member(here, Role.OWNER)
    closed = BenchmarkFactory(slug="closed", name="Closed")
    asked: dict[str, Any] = {"overlap": 1, "third_rater_at_verify": False, "practice_documents": 1}
    with pytest.raises(rules.NotAllowedError, match="export gold"):
        change_protocol(here, by=stranger, practice_from=closed, **asked)
    client.force_login(owner)
    page = client.get(reverse("team", args=["here"])).content.decode()
    assert 'value="elsewhere" selected' in page
    assert 'value="closed"' not in page
    sent = {"overlap": "1", "practice_documents": "1", "practice_from": "closed"}
    assert client.post(reverse("team-protocol", args=["here"]), sent).status_code == 422
    assert client.post(reverse("team-protocol", args=["here"]), sent | {"practice_from": ""}).status_code == 302
    here.refresh_from_db()
    assert here.practice_from is None


def test_the_api_chooses_and_a_copy_keeps_the_gold_of_practice(
    here: Benchmark, elsewhere: Benchmark, owner: User
) -> None:
    api = Api(owner)
    for given in (None, "elsewhere"):
        answer = api.ask("PATCH", "/benchmarks/here/protocol/", {"practice_from": given})
        assert answer.status_code == 200, answer.content
        assert answer.json()["practice_from"] == given
    assert api.ask("PATCH", "/benchmarks/here/protocol/", {"practice_from": "nowhere"}).status_code == 404
    owner.is_staff = True
    owner.save()
    here.refresh_from_db()
    assert copy_benchmark(here, slug="copy", name="Copy", with_team=False, by=owner).practice_from == elsewhere
