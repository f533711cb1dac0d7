"""Suggesters of a benchmark: off until there is enough gold, trained, kept, switched, never asked about their own."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotator.core.actions.fields import BadValueError
from annotator.core.models import (
    Activity,
    Benchmark,
    Claim,
    ClaimSuggestion,
    Document,
    Evidence,
    PipelineRun,
    SentenceSuggestion,
    StanceSuggestion,
    User,
)
from annotator.core.rules import NotAllowedError
from annotator.core.vocabulary import Role, Stage, SuggesterKind
from annotator.exchange.actions.imports import import_gold
from annotator.suggestions.actions import suggesters as actions
from annotator.suggestions.actions.suggesters import ask_for_training, switch_learning
from annotator.suggestions.models import TrainedSuggester
from annotator.suggestions.queries import suggesters as queries
from annotator.suggestions.queries.suggesters import readiness_of
from pipeline import tasks
from pipeline.runs import suggesters
from tests.factories import BenchmarkFactory, DocumentFactory, member
from tests.released import released_claim, released_document, released_sentence

pytestmark = pytest.mark.django_db

TOWNS = [f"{name}{end}" for name in ("Tikal", "Petra", "Delft", "Ghent") for end in ("ton", "ville", "burg")]


def town(name: str) -> dict[str, Any]:
    """Gold on one town: a passage that says the claim, one with another year, one about nothing; and a judgement."""
    founded = released_claim(
        f"{name} was founded in 1850.",
        auto_evidence=[f"{name} was founded in 1850.", f"{name} was founded in 1910.", "Cookies help us. Sign in."],
        auto_evidence_url=["https://example.org/1", "https://example.org/2", "https://example.org/3"],
        stance_claim_autoEvid=["completely-support", "refute", "irrelevant"],
    )
    liked = released_claim(
        f"I think that {name} is beautiful.",
        claim_checkworthiness="opinion",
        if_automatic_evidence_enough_to_verify="NA",
        auto_evidence=[],
        auto_evidence_url=[],
        stance_claim_autoEvid=[],
        if_claim_needs_edit="NA",
        claims_factuality_label="unknown",
        usedEvidence_index_in_revision="NA",
    )
    text = f"{name} was founded in 1850."
    closing = "I hope that this helps you."
    return released_document(
        prompt=f"When was {name} founded?",
        response=f"{text} {closing}",
        revised_response=f"{text} {closing}",
        response_factuality=True,
        sentences={
            "sentence1": released_sentence(text, [founded, liked], truth=True),
            "sentence2": released_sentence(closing, truth="NA", sentence_checkworthiness="not_a_claim"),
        },
    )


def with_gold(benchmark: Benchmark, *names: str) -> Benchmark:
    lines = "".join(json.dumps(town(name)) + "\n" for name in names)
    import_gold(benchmark=benchmark, source=io.BytesIO(lines.encode()), strict=True)
    return benchmark


@pytest.fixture(autouse=True)
def little_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MIN_DOCUMENTS", 10)


@pytest.fixture
def benchmark() -> Benchmark:
    return with_gold(BenchmarkFactory(), *TOWNS[:10])


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER)


def verify_run(document: Document, *passages: str) -> PipelineRun:
    """A run that found these passages for the document's first claim, without a stance."""
    run = PipelineRun.objects.create(benchmark=document.benchmark, stage=Stage.VERIFY, strategy="offline")
    claim = Claim.objects.filter(sentence__annotation__document=document).order_by("pk").first()
    assert claim is not None
    for order, passage in enumerate(passages, start=10):
        Evidence.objects.create(claim=claim, run=run, order=order, passage=passage, url="https://example.org/new")
    return run


def decompose_run(document: Document, *sentences: str, kind: str = "") -> PipelineRun:
    run = PipelineRun.objects.create(benchmark=document.benchmark, stage=Stage.DECOMPOSE, strategy="offline")
    for order, text in enumerate(sentences, start=1):
        row = SentenceSuggestion.objects.create(
            run=run, document=document, order=order, text=text, decontext=text, type=kind
        )
        ClaimSuggestion.objects.create(sentence=row, order=1, text=text)
    return run


def fresh(benchmark: Benchmark, name: str) -> Document:
    """Agreed at decompose like gold, but not one that was learned from: its gold came later."""
    with_gold(benchmark, name)
    return Document.objects.get(benchmark=benchmark, prompt__contains=name)


# --- enough gold ----------------------------------------------------------------------------------


def test_below_the_least_number_of_documents_nothing_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark = with_gold(BenchmarkFactory(), *TOWNS[:9])
    assert "10 gold documents; there are 9" in readiness_of(benchmark)[SuggesterKind.STANCE].lacking
    assert suggesters.benchmarks_to_train() == []
    assert suggesters.train_suggesters(benchmark.pk) == 0


def test_each_kind_is_trained_with_its_documents_and_scores(benchmark: Benchmark) -> None:
    assert suggesters.benchmarks_to_train() == [benchmark.pk]
    assert tasks.train_suggesters(benchmark.pk) == 3
    for version in TrainedSuggester.objects.all():
        assert version.number == 1
        assert version.documents.count() == 10
        assert version.scores["all"]["f1"] > version.scores["all"]["constant_f1"]
    assert "three" in TrainedSuggester.objects.get(kind=SuggesterKind.STANCE).scores
    assert Activity.objects.filter(action="train-suggester", benchmark=benchmark).count() == 3


def test_a_message_delivered_twice_trains_once(benchmark: Benchmark) -> None:
    tasks.train_suggesters(benchmark.pk)
    assert tasks.train_suggesters(benchmark.pk) == 0
    assert suggesters.benchmarks_to_train() == []


def test_it_is_trained_anew_when_a_fifth_more_is_gold(benchmark: Benchmark) -> None:
    tasks.train_suggesters(benchmark.pk)
    with_gold(benchmark, TOWNS[10])
    assert suggesters.benchmarks_to_train() == []
    with_gold(benchmark, TOWNS[11])
    assert tasks.learn_where_gold_has_grown() == 1
    newest = suggesters.newest_version(benchmark, SuggesterKind.STANCE)
    assert newest is not None
    assert (newest.number, newest.documents.count()) == (2, 12)


def test_where_it_is_off_or_the_library_is_missing_nothing_is_trained(
    benchmark: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch_learning(benchmark, on=False, by=owner)
    assert suggesters.benchmarks_to_train() == []
    switch_learning(benchmark, on=True, by=owner)
    monkeypatch.setattr(actions, "find_spec", lambda name: None)
    assert suggesters.benchmarks_to_train() == []


# --- suggesting -----------------------------------------------------------------------------------


def test_evidence_without_a_stance_gets_one_with_its_origin(benchmark: Benchmark) -> None:
    tasks.train_suggesters(benchmark.pk)
    document = fresh(benchmark, TOWNS[10])
    said, other = f"{TOWNS[10]} was founded in 1850.", "Cookies help us. Sign in."
    run = verify_run(document, said, other, said)
    first = run.evidence_set.order_by("order")[0]
    StanceSuggestion.objects.create(run=run, evidence=first, label="partially_support")
    assert suggesters.suggest_stances(run, document) == 2
    rows = list(run.stances.order_by("evidence__order"))
    assert [row.label for row in rows] == ["partially_support", "irrelevant", "completely_support"]
    assert [row.by for row in rows] == ["", *["Learned from this benchmark's gold, version 1"] * 2]
    assert all(0 < row.probability <= 1 for row in rows[1:] if row.probability is not None)
    assert rows[1].probability is not None
    assert suggesters.suggest_stances(run, document) == 0


def test_a_document_that_was_learned_from_gets_none(benchmark: Benchmark) -> None:
    tasks.train_suggesters(benchmark.pk)
    document = Document.objects.get(benchmark=benchmark, prompt__contains=TOWNS[0])
    run = verify_run(document, "Cookies help us.")
    assert suggesters.suggest_stances(run, document) == 0
    copy = DocumentFactory(benchmark=benchmark, twin_of=document)
    assert suggesters.suggester_for(benchmark, SuggesterKind.STANCE, copy) is None


def test_switched_off_or_no_better_than_a_constant_it_is_silent(benchmark: Benchmark, owner: User) -> None:
    tasks.train_suggesters(benchmark.pk)
    document = fresh(benchmark, TOWNS[10])
    run = verify_run(document, "Cookies help us.")
    version = TrainedSuggester.objects.get(kind=SuggesterKind.STANCE)
    version.scores["all"]["f1"] = version.scores["all"]["constant_f1"]
    version.save()
    assert suggesters.suggest_stances(run, document) == 0
    version.scores["all"]["f1"] = 0.9
    version.save()
    switch_learning(benchmark, on=False, by=owner)
    run.benchmark.refresh_from_db()
    assert suggesters.suggest_stances(run, document) == 0


def test_sentences_and_claims_without_a_type_get_one(benchmark: Benchmark) -> None:
    tasks.train_suggesters(benchmark.pk)
    document = DocumentFactory(benchmark=benchmark, prompt="When was Oslo founded?")
    run = decompose_run(document, "Oslo was founded in 1850.", "I hope that this helps you.")
    assert suggesters.suggest_types(run, document) == 4
    rows = list(run.sentences.order_by("order"))
    assert [row.type for row in rows] == ["checkworthy", "not_a_claim"]
    assert rows[0].type_by == "Learned from this benchmark's gold, version 1"
    assert rows[0].claims.get().type == "factual"


def test_a_type_that_the_strategy_gave_stays(benchmark: Benchmark) -> None:
    tasks.train_suggesters(benchmark.pk)
    document = DocumentFactory(benchmark=benchmark)
    run = decompose_run(document, "Oslo was founded in 1850.", kind="opinion")
    ClaimSuggestion.objects.update(type="other")
    assert suggesters.suggest_types(run, document) == 0
    assert run.sentences.get().type_by == ""


def test_queries_do_not_depend_on_what_is_judged(
    benchmark: Benchmark, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    tasks.train_suggesters(benchmark.pk)
    document = fresh(benchmark, TOWNS[10])
    suggesters.suggest_stances(verify_run(document, "One."), document)
    for passages in (["Two."], [f"Passage {number}." for number in range(9)]):
        run = verify_run(document, *passages)
        with django_assert_num_queries(8):
            assert suggesters.suggest_stances(run, document) == len(passages)


# --- the page -------------------------------------------------------------------------------------


def page(client: Client, benchmark: Benchmark, person: User) -> BeautifulSoup:
    client.force_login(person)
    response = client.get(reverse("suggesters", args=[benchmark.slug]))
    assert response.status_code == 200
    return BeautifulSoup(response.content, "html.parser")


def test_the_page_says_what_is_lacking(client: Client) -> None:
    benchmark = BenchmarkFactory()
    soup = page(client, benchmark, member(benchmark, Role.OWNER))
    assert "10 gold documents; there are 0" in soup.text
    assert "Train now" not in soup.text


def test_one_trains_by_a_button_and_reads_how_good_it_is(
    client: Client, benchmark: Benchmark, owner: User, django_capture_on_commit_callbacks: Any
) -> None:
    soup = page(client, benchmark, owner)
    form = soup.find("form", action=reverse("suggesters-change", args=[benchmark.slug, "train"]))
    assert form is not None
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(str(form["action"])).status_code == 302
    soup = page(client, benchmark, owner)
    assert "Version 1" in soup.text
    assert "Paper: ChatGPT" in soup.text
    assert "0.332" in soup.text
    for table in soup.select("section[aria-labelledby=kind-stance] table.grid"):
        ours, trivial, *papers = [row.text for row in table.select("tbody tr")]
        assert papers and "Trivial baseline" in trivial
        assert " to " in ours and " to " in trivial, "accuracies have intervals"
    assert [cell.text for cell in soup.select("#kind-stance")] == ["Stance of evidence"]
    assert len(soup.select("table.heat")) == 3


def test_one_switches_it_off_and_on_on_record(client: Client, benchmark: Benchmark, owner: User) -> None:
    client.force_login(owner)
    for what, learns in (("off", False), ("off", False), ("on", True)):
        client.post(reverse("suggesters-change", args=[benchmark.slug, what]))
        benchmark.refresh_from_db()
        assert benchmark.learns is learns
    changed = Activity.objects.filter(action="switch-learning").order_by("pk")
    assert [row.changes[0]["after"] for row in changed] == [False, True]


def test_only_those_who_manage_see_and_change_it(client: Client, benchmark: Benchmark) -> None:
    ada = member(benchmark)
    client.force_login(ada)
    assert client.get(reverse("suggesters", args=[benchmark.slug])).status_code == 403
    assert client.post(reverse("suggesters-change", args=[benchmark.slug, "off"])).status_code == 403
    with pytest.raises(NotAllowedError):
        ask_for_training(benchmark, by=ada)
    client.force_login(member(BenchmarkFactory(), Role.OWNER))
    assert client.get(reverse("suggesters", args=[benchmark.slug])).status_code == 404


def test_asking_in_vain_is_refused_in_words(benchmark: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = BenchmarkFactory()
    with pytest.raises(BadValueError, match="there are 0"):
        ask_for_training(bare, by=member(bare, Role.OWNER))
    monkeypatch.setattr(actions, "find_spec", lambda name: None)
    with pytest.raises(BadValueError, match=r"requirements-science\.txt"):
        ask_for_training(benchmark, by=owner)


def test_the_page_asks_as_often_however_many_versions(client: Client, benchmark: Benchmark, owner: User) -> None:
    numbers = []
    for more in (TOWNS[10:], ["Oslo", "Turin", "Lyon"]):
        tasks.train_suggesters(benchmark.pk)
        page(client, benchmark, owner)  # what is asked once is asked here
        with CaptureQueriesContext(connection) as queries:
            page(client, benchmark, owner)
        numbers.append(len(queries))
        with_gold(benchmark, *more)
    assert TrainedSuggester.objects.filter(kind=SuggesterKind.STANCE).count() == 2
    assert numbers[0] == numbers[1]
