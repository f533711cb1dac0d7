"""The document list as a table: columns, sorting, filters in the address, saved views, changes of many documents."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, DjangoCaptureOnCommitCallbacks

from annotator.core.actions.search_entries import index_outdated
from annotator.core.models import Batch, Benchmark, Document, DocumentChange, DocumentView, Flag, SearchEntry, User
from annotator.core.queries.documents import SORTS, DocumentFilter, page_of
from annotator.core.vocabulary import DiscardReason, DocumentStep, Phase, Role, Stage
from annotator.home.actions import document_changes as changes
from annotator.stages.actions import documents as actions
from annotator.stages.actions.annotate import open_annotation
from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, documents, member, prefill, with_corpus

pytestmark = pytest.mark.django_db

URL = "/b/pilot/documents/"


@pytest.fixture
def benchmark() -> Benchmark:
    benchmark = BenchmarkFactory(slug="pilot")
    with_corpus(benchmark)
    return benchmark


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER, display_name="Olga Owner")


@pytest.fixture
def ada(benchmark: Benchmark) -> User:
    return member(benchmark, username="ada", display_name="Ada")


def soup(client: Client, user: User, **query: Any) -> BeautifulSoup:
    client.force_login(user)
    answer = client.get(URL, query)
    assert answer.status_code == 200
    return BeautifulSoup(answer.content, "html.parser")


def listed(client: Client, user: User, **query: Any) -> list[str]:
    return [th.get_text(strip=True) for th in soup(client, user, **query).select("tbody th")]


def cells(page: BeautifulSoup, column: str) -> list[str]:
    return [td.get_text(" ", strip=True) for td in page.select(f'td[data-label="{column}"]')]


# --- columns and order ----------------------------------------------------------------------------


def test_columns_are_chosen_in_the_address_and_sorted_by(client: Client, benchmark: Benchmark, owner: User) -> None:
    for name, source in (("a", "dolly"), ("b", "own"), ("c", "dolly")):
        DocumentFactory(benchmark=benchmark, identity=name, source=source)
    page = soup(client, owner, column=["source", "claims"], sort="-source")
    assert [th.get_text(strip=True) for th in page.select("thead th:not(.tick)")] == [
        "Document",
        "Prompt",
        "Source▾",
        "Claims",
    ]
    assert cells(page, "Source") == ["own", "dolly", "dolly"]
    assert page.select_one('th[aria-sort="descending"]') is not None
    assert listed(client, owner, sort="source") == ["a", "c", "b"]
    assert listed(client, owner, sort="nonsense") == ["a", "b", "c"]
    for name, person in (("c", "Ada"), ("a", "Ben")):
        open_annotation(
            benchmark.documents.get(identity=name), Stage.DECOMPOSE, by=member(benchmark, display_name=person)
        )
    assert listed(client, owner, column=["people"], sort="people") == ["b", "c", "a"]
    researcher = member(benchmark, Role.RESEARCHER)
    assert listed(client, researcher, sort="-people") == ["a", "b", "c"], "who labels what isn't for them"


def test_claims_people_batch_and_last_change_are_shown(
    client: Client, benchmark: Benchmark, owner: User, ada: User
) -> None:
    batch = Batch.objects.create(benchmark=benchmark, name="Batch 7")
    document = prefill(DocumentFactory(benchmark=benchmark, batch=batch, response="Ada Lovelace was born in 1825."))
    decomposed(document, ada)
    index_outdated()
    page = soup(client, owner, column=["batch", "people", "claims", "false", "changed"])
    assert (cells(page, "Batch"), cells(page, "People")) == (["Batch 7"], ["Ada"])
    assert (cells(page, "Claims"), cells(page, "False")) == (["1"], ["–"])
    assert cells(page, "Last change")[0] == "just now"


def test_annotators_are_shown_nothing_of_people_and_their_pace(client: Client, benchmark: Benchmark, ada: User) -> None:
    eve = member(benchmark, username="eve", display_name="Eve")
    open_annotation(prefill(DocumentFactory(benchmark=benchmark)), Stage.DECOMPOSE, by=eve)
    page = soup(client, ada, column=["people", "changed", "batch"], person="eve", sort="changed")
    assert "Eve" not in page.get_text() and not cells(page, "Last change") and not cells(page, "Batch")
    assert not page.select("input[name=document]")
    assert listed(client, ada, person="nobody") == listed(client, ada)


@pytest.mark.database
@pytest.mark.parametrize("sort", [sign + name for name in SORTS for sign in ("", "-")])
def test_pages_of_a_sorted_list_show_every_document_once(benchmark: Benchmark, sort: str) -> None:
    made = [
        DocumentFactory(
            benchmark=benchmark,
            identity=f"d{number}",
            source=f"s{number % 2}",
            prompt=f"p{number % 3}",
            phase=(Phase.INDEPENDENT, Phase.CONSOLIDATING)[number % 2],
        )
        for number in range(7)
    ]
    for number, document in enumerate(made[:5]):
        SearchEntry.objects.create(document=document, version=1, body="x", claims=number % 2, false_claims=None)
    whole = [row.pk for row in page_of(benchmark, DocumentFilter(), sort=sort).rows]
    assert sorted(whole) == [row.pk for row in made]
    forth, page = [], page_of(benchmark, DocumentFilter(), size=3, sort=sort)
    while True:
        forth += [row.pk for row in page.rows]
        if not page.after:
            break
        page = page_of(benchmark, DocumentFilter(), size=3, after=page.after, sort=sort)
    assert forth == whole
    back = page_of(benchmark, DocumentFilter(), size=3, before=page.before, sort=sort)
    assert [row.pk for row in back.rows] == whole[3:6]


# --- filters --------------------------------------------------------------------------------------


def test_each_filter_narrows_and_is_a_chip_that_removes_it(
    client: Client, benchmark: Benchmark, owner: User, ada: User
) -> None:
    batch = Batch.objects.create(benchmark=benchmark, name="Batch 1")
    DocumentFactory(benchmark=benchmark, identity="batch", batch=batch, model="m1", source="s1")
    DocumentFactory(benchmark=benchmark, identity="german", metadata={"language": "de"})
    gone = DocumentFactory(benchmark=benchmark, identity="gone")
    actions.discard(gone, "Not a fact at all", by=owner, code=DiscardReason.RIDDLE)
    flagged = DocumentFactory(benchmark=benchmark, identity="flagged")
    Flag.objects.create(document=flagged, by=ada, reason="broken")
    hers = prefill(DocumentFactory(benchmark=benchmark, identity="hers"))
    open_annotation(hers, Stage.DECOMPOSE, by=ada)
    false = DocumentFactory(benchmark=benchmark, identity="false")
    SearchEntry.objects.create(document=false, version=1, body="x", claims=3, false_claims=2)
    for query, expected in (
        ({"batch": batch.public_id}, ["batch"]),
        ({"batch": "none"}, ["german", "gone", "flagged", "hers", "false"]),
        ({"model": "m1"}, ["batch"]),
        ({"source": "s1"}, ["batch"]),
        ({"language": "de"}, ["german"]),
        ({"discarded": "not a FACT"}, ["gone"]),
        ({"discarded": "riddle"}, ["gone"]),
        ({"flag": "broken"}, ["flagged"]),
        ({"person": "ada"}, ["hers"]),
        ({"false": "2"}, ["false"]),
        ({"false": "3"}, []),
        ({"ids": f"{gone.public_id},{false.public_id}"}, ["gone", "false"]),
    ):
        page = soup(client, owner, **query, sort="document")
        assert sorted(th.get_text(strip=True) for th in page.select("tbody th")) == sorted(expected), query
        (chip,) = page.select(".filter-chip")
        assert chip["href"] == "?sort=document"


def test_the_form_of_filters_comes_when_it_is_opened(client: Client, benchmark: Benchmark, owner: User) -> None:
    DocumentFactory(benchmark=benchmark, source="dolly", model="m1")
    client.force_login(owner)
    answer = client.get(URL, {"part": "filters", "source": "dolly"}, headers={"hx-request": "true"})
    form = BeautifulSoup(answer.content, "html.parser")
    names = {each["name"] for each in form.select("[name]")}
    assert {"stage", "phase", "source", "model", "language", "false", "person", "flag", "discarded", "flagged"} <= names
    assert form.select_one("option[selected]").get_text() == "dolly"  # type: ignore[union-attr]
    assert not form.select("html")


# --- saved views ----------------------------------------------------------------------------------


def test_a_view_is_saved_found_and_deleted(client: Client, benchmark: Benchmark, owner: User) -> None:
    DocumentFactory(benchmark=benchmark)
    client.force_login(owner)
    answer = client.post(f"{URL}views/", {"name": "False claims", "query": "false=1&sort=-claims"})
    assert answer["Location"] == f"{URL}?false=1&sort=-claims"
    assert soup(client, owner).select_one('a[href="?false=1&sort=-claims"]').get_text() == "False claims"  # type: ignore[union-attr]
    other = member(benchmark, Role.ADMIN)
    assert "False claims" not in soup(client, other).get_text()
    view = DocumentView.objects.get()
    assert client.post(f"{URL}views/", {"delete": view.public_id}).status_code == 404  # it is the owner's
    client.force_login(owner)
    client.post(f"{URL}views/", {"delete": view.public_id})
    assert not DocumentView.objects.exists()
    assert client.post(f"{URL}views/", {"name": " "}).status_code == 422


# --- many documents at once -----------------------------------------------------------------------


def post(client: Client, user: User, what: str, **data: Any) -> Any:
    client.force_login(user)
    return client.post(f"{URL}do/{what}/", data)


def test_selected_documents_are_discarded_and_restored(client: Client, benchmark: Benchmark, owner: User) -> None:
    first, _, third = documents(3, benchmark=benchmark)
    actions.discard(third, "before", by=owner)
    ids = [first.public_id, third.public_id]
    answer = post(client, owner, "discard", document=ids, discard_code="riddle", query="sort=document")
    assert answer["Location"] == f"{URL}?sort=document"
    page = soup(client, owner).get_text(" ", strip=True)
    assert "1 document was discarded. 1 was not: Already discarded (1)." in page
    assert [row.phase == Phase.DISCARDED for row in Document.objects.order_by("pk")] == [True, False, True]
    assert [row.discarded_because for row in Document.objects.order_by("pk")] == ["Riddle", "", "before"]
    post(client, owner, "restore", document=ids)
    assert not Document.objects.filter(phase=Phase.DISCARDED).exists()
    assert not DocumentChange.objects.exists()


def test_what_is_missing_is_said_and_changes_nothing(client: Client, benchmark: Benchmark, owner: User) -> None:
    (document,) = documents(1, benchmark=benchmark)
    for what, data, words in (
        ("discard", {}, "Select at least one document"),
        ("discard", {"document": document.public_id}, "reason"),
        ("reopen", {"document": document.public_id, "reopen_reason": "x"}, "Choose a stage"),
        ("move", {"document": document.public_id}, "Choose a batch"),
        ("discard", {"document": "gone", "discard_reason": "x"}, "No document matches"),
    ):
        answer = post(client, owner, what, **data)
        assert answer.status_code == 422 and words in answer.content.decode(), what
    assert post(client, owner, "explode", document=document.public_id).status_code == 404
    assert not DocumentChange.objects.exists()


def test_only_managers_change_many_documents(client: Client, benchmark: Benchmark, ada: User) -> None:
    (document,) = documents(1, benchmark=benchmark)
    answer = post(client, ada, "discard", document=document.public_id, discard_reason="x")
    assert answer.status_code == 403
    other = DocumentFactory()
    owner = member(benchmark, Role.OWNER)
    assert post(client, owner, "discard", document=other.public_id, discard_reason="x").status_code == 422


def test_all_that_match_are_left_to_a_worker_with_progress(
    client: Client,
    benchmark: Benchmark,
    owner: User,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    batch = Batch.objects.create(benchmark=benchmark, name="Batch 1")
    documents(12, benchmark=benchmark, source="s1")
    documents(2, benchmark=benchmark, source="s2")
    data = {"query": "source=s1", "all": "yes", "batch": batch.public_id}
    with django_capture_on_commit_callbacks() as callbacks:
        post(client, owner, "move", **data)
    assert batch.documents.count() == 0
    page = soup(client, owner)
    assert "Moving documents: 0 of 12" in page.get_text(" ", strip=True)
    assert page.select_one("#changes[hx-get]") is not None
    for callback in callbacks:
        callback()
    assert set(batch.documents.values_list("source", flat=True)) == {"s1"}
    page = soup(client, owner)
    assert "12 documents were moved." in page.get_text(" ", strip=True) and not page.select("#changes[hx-get]")
    change = DocumentChange.objects.get()
    assert not hasattr(change, "rows")
    post(client, owner, "dismiss", change=change.public_id)
    assert not DocumentChange.objects.exists()


def test_a_change_that_was_cut_off_goes_on_where_it_stopped(benchmark: Benchmark, owner: User) -> None:
    documents(12, benchmark=benchmark)
    change = changes.change_documents(benchmark, DocumentFilter(), DocumentStep.DISCARD, by=owner, reason="x")
    DocumentChange.objects.update(done=5, seen_at=timezone.now())
    assert changes.unfinished() == []  # a worker is at it
    changes.work_off(change.pk)
    assert not Document.objects.filter(phase=Phase.DISCARDED).exists()
    DocumentChange.objects.update(seen_at=timezone.now() - dt.timedelta(minutes=1))
    assert changes.unfinished() == [change.pk]
    changes.work_off(change.pk)
    assert Document.objects.filter(phase=Phase.DISCARDED).count() == 7


def test_reopening_says_what_could_not_be(benchmark: Benchmark, owner: User, ada: User) -> None:
    document = prefill(DocumentFactory(benchmark=benchmark))
    decomposed(document, ada)
    DocumentFactory(benchmark=benchmark)
    change = changes.change_documents(
        benchmark, DocumentFilter(), DocumentStep.REOPEN, by=owner, reason="x", stage=Stage.DECOMPOSE
    )
    document.refresh_from_db()
    assert document.stage == Stage.DECOMPOSE
    assert changes.outcome_of(change).startswith("1 document was reopened. 1 was not: Decompose has not been adj")


def test_suggestions_are_asked_for_what_is_selected_alone(client: Client, benchmark: Benchmark, owner: User) -> None:
    _, second = documents(2, benchmark=benchmark)
    post(client, owner, "suggest", document=second.public_id)
    (run,) = benchmark.runs.all()
    assert [item.document_id for item in run.items.all()] == [second.pk]


def test_export_takes_the_selection_along(client: Client, benchmark: Benchmark, owner: User) -> None:
    _, second = documents(2, benchmark=benchmark, source="s1")
    DocumentFactory(benchmark=benchmark)
    answer = post(client, owner, "export", document=second.public_id)
    assert answer["Location"] == f"/b/pilot/export/?ids={second.public_id}"
    page = BeautifulSoup(client.get(answer["Location"]).content, "html.parser")
    chosen = page.select_one("input[name=filter]")
    assert chosen is not None and "All: 1" in page.get_text()
    for format in ("factcheck-bench", "touchstone", "prov"):
        data = {"format": format, "include": "all", "filter": "source=s1"}
        lines = b"".join(client.post("/b/pilot/export/download/", data).streaming_content)  # type: ignore[attr-defined]
        head = 1 if format == "touchstone" else 0
        assert len(lines.splitlines()) == 2 + head, format


def test_the_list_takes_as_many_queries_for_one_document_as_for_many(
    client: Client, benchmark: Benchmark, owner: User, ada: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(owner)
    for number in (1, 4):
        for _ in range(number):
            open_annotation(prefill(DocumentFactory(benchmark=benchmark)), Stage.DECOMPOSE, by=ada)
        with django_assert_num_queries(14):
            client.get(URL, {"column": ["people", "changed", "batch"], "sort": "-changed"})
