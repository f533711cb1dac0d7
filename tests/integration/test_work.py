"""My work: what comes next, for whom, and what is said when there is nothing."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotator.actions import documents as document_actions
from annotator.actions.annotate import open_annotation
from annotator.models import Annotation, Benchmark, Document, User
from annotator.queries.verification import claims_to_verify
from annotator.queries.work import my_work, next_task
from annotator.screens import work as screen
from annotator.vocabulary import Phase, Role, Stage
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


@pytest.fixture
def benchmark() -> Benchmark:
    benchmark = BenchmarkFactory()
    with_corpus(benchmark)
    return benchmark


@pytest.fixture
def ada(benchmark: Benchmark) -> User:
    return member(benchmark)


def page(client: Client, user: User) -> BeautifulSoup:
    client.force_login(user)
    answer = client.get("/")
    assert answer.status_code == 200
    return BeautifulSoup(answer.content, "html.parser")


def task_of(user: User) -> tuple[str, Stage, str]:
    task = next_task(user)
    assert task is not None
    return task.document.identity, task.stage, task.why


# --- what comes next ------------------------------------------------------------------------------


def test_begun_work_comes_before_anything_new(benchmark: Benchmark, ada: User) -> None:
    DocumentFactory(benchmark=benchmark, identity="first")
    begun = DocumentFactory(benchmark=benchmark, identity="begun")
    assert task_of(ada) == ("first", Stage.DECOMPOSE, "new")
    open_annotation(begun, Stage.DECOMPOSE, by=ada)
    assert task_of(ada) == ("begun", Stage.DECOMPOSE, "continue")


def test_repairs_come_before_ones_own_documents_and_those_before_new_ones(benchmark: Benchmark, ada: User) -> None:
    DocumentFactory(benchmark=benchmark, identity="new")
    followed = prefill(DocumentFactory(benchmark=benchmark, identity="followed"))
    decomposed(followed, ada)
    assert task_of(ada) == ("followed", Stage.VERIFY, "follow")
    returned = prefill(DocumentFactory(benchmark=benchmark, identity="returned"))
    decomposed(returned, ada)
    verify = open_annotation(returned, Stage.VERIFY, by=ada)
    document_actions.send_back(claims_to_verify(verify)[0].claim, "Two claims in one.", by=ada)
    assert task_of(ada) == ("returned", Stage.DECOMPOSE, "repair")


def test_the_later_of_ones_own_stages_comes_first(benchmark: Benchmark, ada: User) -> None:
    at_verify = prefill(DocumentFactory(benchmark=benchmark, identity="at verify"))
    decomposed(at_verify, ada)
    at_revise = prefill(DocumentFactory(benchmark=benchmark, identity="at revise"))
    decomposed(at_revise, ada)
    at_revise.refresh_from_db()
    verified(at_revise, ada)
    assert task_of(ada) == ("at revise", Stage.REVISE, "follow")


def test_later_stages_of_others_come_before_new_documents(benchmark: Benchmark, ada: User) -> None:
    DocumentFactory(benchmark=benchmark, identity="new")
    theirs = prefill(DocumentFactory(benchmark=benchmark, identity="theirs"))
    decomposed(theirs, member(benchmark))
    # Who has submitted nothing yet begins with the first stage.
    assert task_of(ada) == ("new", Stage.DECOMPOSE, "new")
    own = prefill(DocumentFactory(benchmark=benchmark, identity="own"))
    decomposed(own, ada)
    Document.objects.filter(pk=own.pk).update(phase=Phase.AGREED)
    assert task_of(ada) == ("theirs", Stage.VERIFY, "new")


def test_a_newcomer_is_offered_a_later_stage_where_there_is_no_other(benchmark: Benchmark, ada: User) -> None:
    theirs = prefill(DocumentFactory(benchmark=benchmark, identity="theirs"))
    decomposed(theirs, member(benchmark))
    assert task_of(ada) == ("theirs", Stage.VERIFY, "new")


def test_taken_flagged_discarded_and_prefilling_documents_are_not_offered(benchmark: Benchmark, ada: User) -> None:
    taken, flagged, discarded, prefilling = (DocumentFactory(benchmark=benchmark) for _ in range(4))
    open_annotation(taken, Stage.DECOMPOSE, by=member(benchmark))
    document_actions.flag(flagged, "distressing", by=ada)
    document_actions.discard(discarded, "Empty.", by=member(benchmark, Role.OWNER))
    Document.objects.filter(pk=prefilling.pk).update(phase=Phase.PREFILLING)
    assert next_task(ada) is None
    # Somebody else may take what Ada passed on.
    assert task_of(member(benchmark))[0] == flagged.identity


def test_with_two_places_a_second_person_is_offered_the_document_and_a_third_is_not(benchmark: Benchmark) -> None:
    benchmark.overlap = 2
    benchmark.save()
    document = DocumentFactory(benchmark=benchmark)
    open_annotation(document, Stage.DECOMPOSE, by=member(benchmark))
    second = member(benchmark)
    assert task_of(second) == (document.identity, Stage.DECOMPOSE, "join")
    open_annotation(document, Stage.DECOMPOSE, by=second)
    assert next_task(member(benchmark)) is None


def test_other_benchmarks_inactive_members_and_readers_get_nothing(benchmark: Benchmark, ada: User) -> None:
    DocumentFactory(benchmark=benchmark)
    assert next_task(member(BenchmarkFactory())) is None
    assert next_task(member(benchmark, Role.RESEARCHER)) is None
    ada.memberships.update(active=False)
    assert next_task(ada) is None


# --- the button -----------------------------------------------------------------------------------


def test_the_button_takes_a_place_and_leads_to_the_screen(client: Client, benchmark: Benchmark, ada: User) -> None:
    document = prefill(DocumentFactory(benchmark=benchmark))
    button = page(client, ada).select_one("#next form")
    assert button is not None and "Start" in button.get_text()
    answer = client.post(str(button["action"]))
    assert answer["Location"] == f"/d/{document.public_id}/decompose/"
    assert Annotation.objects.get().person == ada


def test_who_comes_second_for_a_last_place_gets_the_next_document(
    client: Client, benchmark: Benchmark, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have been offered the first document; the other person takes it while Ada's request is on its way."""
    first, second = DocumentFactory(benchmark=benchmark), DocumentFactory(benchmark=benchmark)
    other = member(benchmark)

    def slow(document: Document, stage: Stage, *, by: User) -> Annotation:
        if document.pk == first.pk:
            open_annotation(document, stage, by=other)
        return open_annotation(document, stage, by=by)

    monkeypatch.setattr(screen, "open_annotation", slow)
    client.force_login(ada)
    answer = client.post("/next/")
    assert answer["Location"] == f"/d/{second.public_id}/decompose/"
    assert [row.person for row in first.annotations.all()] == [other]


def test_when_the_last_one_has_just_gone_the_page_says_so(client: Client, ada: User) -> None:
    client.force_login(ada)
    answer = client.post("/next/", follow=True)
    assert answer.redirect_chain == [("/", 302)]
    assert "Nothing is free for you at the moment." in answer.content.decode()


# --- the page -------------------------------------------------------------------------------------


def test_lists_show_what_is_begun_waiting_and_done(client: Client, benchmark: Benchmark, ada: User) -> None:
    waits = prefill(DocumentFactory(benchmark=benchmark, prompt="Which waits?"))
    decomposed(waits, ada)
    Document.objects.filter(pk=waits.pk).update(phase=Phase.PREFILLING)
    for prompt in ("Older?", "Newer?"):
        open_annotation(DocumentFactory(benchmark=benchmark, prompt=prompt), Stage.DECOMPOSE, by=ada)
    shown = page(client, ada)
    next_panel = shown.select_one("#next")
    assert next_panel is not None and "Newer?" in next_panel.get_text()
    lists = {h2.get_text(): h2.find_next("ul") for h2 in shown.select("main h2") if h2.find_next("ul")}
    assert "Older?" in lists["Begun"].get_text() and "Newer?" not in lists["Begun"].get_text()  # type: ignore[union-attr]
    assert "Which waits?" in lists["Waiting"].get_text()  # type: ignore[union-attr]
    assert "Which waits?" in lists["Done by you: 1 document"].get_text()  # type: ignore[union-attr]


def test_what_is_done_is_listed_document_by_document(benchmark: Benchmark, ada: User) -> None:
    first, second = (prefill(DocumentFactory(benchmark=benchmark)) for _ in range(2))
    decomposed(first, ada)
    decomposed(second, ada)
    first.refresh_from_db()
    annotation = open_annotation(first, Stage.VERIFY, by=ada)
    Annotation.objects.filter(pk=annotation.pk).update(state="submitted", submitted_at=timezone.now())
    work = my_work(ada)
    assert [(done.document, done.words) for done in work.done] == [(first, "Decompose, Verify"), (second, "Decompose")]
    assert work.done_count == 2


def test_a_partners_work_is_on_nobody_elses_lists(client: Client, benchmark: Benchmark, ada: User) -> None:
    document = DocumentFactory(benchmark=benchmark, prompt="Whose is it?")
    open_annotation(document, Stage.DECOMPOSE, by=member(benchmark))
    assert "Whose is it?" not in page(client, ada).get_text()


@pytest.mark.parametrize(
    ("state", "words", "link"),
    [
        ("stranger", "tell them your user name, sam.", None),
        ("staff", "No benchmark yet", "/benchmarks/new/"),
        ("owner", "Import answers of a language model", "/b/empty/import/"),
        ("annotator", "has not imported any", None),
        ("researcher", "Your role reads gold", "/b/full/"),
        ("prefilling", "2 documents get suggestions now", "/b/full/"),
        ("done", "All done", "/b/full/"),
    ],
)
def test_when_there_is_nothing_to_do_the_page_says_what_helps(
    client: Client, state: str, words: str, link: str | None
) -> None:
    if state in ("stranger", "staff"):
        user = UserFactory(username="sam", is_staff=state == "staff")
    elif state in ("owner", "annotator"):
        user = member(BenchmarkFactory(slug="empty"), Role(state))
    else:
        benchmark = BenchmarkFactory(slug="full")
        user = member(benchmark, Role.RESEARCHER if state == "researcher" else Role.ANNOTATOR)
        phase = Phase.PREFILLING if state == "prefilling" else Phase.CONSOLIDATING
        documents(2, benchmark=benchmark, phase=phase)
    panel = page(client, user).select_one("#next")
    assert panel is not None and words in panel.get_text()
    found = panel.select_one("a.btn.main")
    assert (found["href"] if found else None) == link
    # One button, and only the page that waits for suggestions looks again by itself.
    assert len(panel.select(".btn.main")) == (1 if link else 0)
    assert panel.has_attr("hx-trigger") == (state == "prefilling")


def test_the_panel_that_looks_again_equals_the_one_of_a_fresh_page(
    client: Client, benchmark: Benchmark, ada: User
) -> None:
    document = DocumentFactory(benchmark=benchmark, phase=Phase.PREFILLING)
    assert "on the way" in page(client, ada).get_text()
    prefill(Document.objects.get(pk=document.pk))
    Document.objects.update(phase=Phase.INDEPENDENT)
    part = client.get("/", {"part": "next"}, headers={"hx-request": "true"})
    fragment = BeautifulSoup(part.content, "html.parser").select_one("#next")
    fresh = page(client, ada).select_one("#next")
    assert fragment is not None and fresh is not None
    for token in (*fragment.select("[name=csrfmiddlewaretoken]"), *fresh.select("[name=csrfmiddlewaretoken]")):
        token.decompose()
    assert str(fragment) == str(fresh)
    assert "<html" not in part.content.decode()


def test_one_document_and_three_take_the_same_number_of_queries(
    benchmark: Benchmark, ada: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    def fill(number: int) -> None:
        for _ in range(number):
            document = prefill(DocumentFactory(benchmark=benchmark))
            decomposed(document, ada)
            DocumentFactory(benchmark=benchmark)
            open_annotation(DocumentFactory(benchmark=benchmark), Stage.DECOMPOSE, by=ada)

    def read() -> list[Any]:
        work = my_work(ada)
        return [
            *(str(row.document.benchmark) for row in work.in_work),
            *(str(row.document.benchmark) for row in work.done),
        ]

    fill(1)
    with django_assert_num_queries(5):
        assert len(read()) == 2
    fill(2)
    with django_assert_num_queries(5):
        assert len(read()) == 6
