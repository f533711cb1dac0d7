"""My work: what comes next, for whom, and what is said when there is nothing."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotator.core import rules
from annotator.core.models import Annotation, Batch, Benchmark, Document, Flag, Question, SignOff, User
from annotator.core.vocabulary import AnnotationState, Phase, Role, Stage
from annotator.stages import rules as stages_rules
from annotator.stages.actions import documents as document_actions
from annotator.stages.actions.annotate import open_annotation, open_annotation_of
from annotator.stages.actions.places import take_back
from annotator.stages.queries.verification import claims_to_verify
from annotator.team.queries.awaiting_adjudication import to_agree_of
from annotator.team.queries.work import my_work, next_task
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
from tests.teams import at_once, batch_of, group_with

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


# --- groups, extra places, practice ---------------------------------------------------------------


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER)


def two(benchmark: Benchmark) -> None:
    benchmark.overlap = 2
    benchmark.save()


def test_a_batch_of_a_group_is_for_its_annotators_alone(benchmark: Benchmark, owner: User, ada: User) -> None:
    two(benchmark)
    third = member(benchmark)
    document = batch_of(group_with(benchmark, owner, ada, member(benchmark), third_rater=third), 1)[0]
    assert task_of(ada) == (document.identity, Stage.DECOMPOSE, "new")
    assert next_task(third) is None
    assert next_task(member(benchmark)) is None


def test_ones_own_batches_come_before_what_is_free_for_all(benchmark: Benchmark, owner: User, ada: User) -> None:
    DocumentFactory(benchmark=benchmark, identity="in no batch")
    DocumentFactory(benchmark=benchmark, identity="nobody's", batch=Batch.objects.create(benchmark=benchmark, name="N"))
    own = batch_of(group_with(benchmark, owner, ada), 2)
    for expected in (own[0].identity, own[1].identity, "nobody's", "in no batch"):
        assert task_of(ada)[0] == expected
        Document.objects.filter(identity=expected).update(phase=Phase.PREFILLING)
    assert next_task(ada) is None


def test_extra_places_are_for_people_from_outside_the_group(benchmark: Benchmark, owner: User, ada: User) -> None:
    document = batch_of(group_with(benchmark, owner, ada), 1)[0]
    Document.objects.update(extra_people=1)
    first, second = member(benchmark), member(benchmark)
    assert task_of(first) == (document.identity, Stage.DECOMPOSE, "new")
    annotation = open_annotation(document, Stage.DECOMPOSE, by=first)
    assert annotation.seat == 2
    assert next_task(second) is None  # the place that is left is the group's
    assert task_of(ada) == (document.identity, Stage.DECOMPOSE, "join")
    assert open_annotation(document, Stage.DECOMPOSE, by=ada).seat == 1


def test_a_practice_document_is_for_its_person_and_comes_before_real_work(benchmark: Benchmark, ada: User) -> None:
    real = DocumentFactory(benchmark=benchmark, identity="real")
    Document.objects.create(
        benchmark=benchmark, identity="practice", order=99, response="It rains.", twin_of=real, practice_for=ada
    )
    assert task_of(ada) == ("practice", Stage.DECOMPOSE, "practice")
    assert task_of(member(benchmark)) == ("real", Stage.DECOMPOSE, "new")


def test_the_queue_and_the_rule_say_the_same_of_every_document(benchmark: Benchmark, owner: User, ada: User) -> None:
    """Over all kinds of documents and people: what is offered can be taken, and what can be taken is offered."""
    two(benchmark)
    ben, third, outsider = member(benchmark), member(benchmark), member(benchmark)
    ours = batch_of(group_with(benchmark, owner, ada, ben, third_rater=third), 4)
    theirs = batch_of(group_with(benchmark, owner, member(benchmark)), 3)
    free = documents(3, benchmark=benchmark)
    for row in (ours[1], theirs[1], free[1]):
        Document.objects.filter(pk=row.pk).update(extra_people=1)
    Document.objects.filter(pk=free[2].pk).update(phase=Phase.CONSOLIDATING)
    for person in (ada, ben):
        open_annotation(ours[0], Stage.DECOMPOSE, by=person)
    take_back(open_annotation(ours[2], Stage.DECOMPOSE, by=ada), by=owner, reason="On holiday.")
    open_annotation(theirs[1], Stage.DECOMPOSE, by=outsider)
    open_annotation(free[0], Stage.DECOMPOSE, by=outsider)
    # Begun work would come before anything else: here it has been passed on, and keeps its place.
    for begun in Annotation.objects.filter(state=AnnotationState.OPEN):
        assert begun.person_id is not None
        Flag.objects.create(document_id=begun.document_id, by_id=begun.person_id, reason="broken")
    offers = {}
    for person in (owner, ada, ben, third, outsider, member(benchmark), member(benchmark, Role.RESEARCHER)):
        allowed = set()
        for document in Document.objects.select_related("batch", "benchmark"):
            places = document.annotations.filter(seat__isnull=False)
            seats = set(places.values_list("seat", flat=True))
            if not places.filter(person=person).exists() and rules.allowed(check_place, person, document, seats):
                allowed.add(document.pk)
        offered: set[int] = set()
        while (task := next_task(person, leave_out=offered)) is not None:
            assert task.document.pk not in offered
            offered.add(task.document.pk)
        assert offered == allowed
        offers[person.pk] = len(offered)
    # The group's own and what is free; with the extra places of others; what is free alone.
    assert [offers[each.pk] for each in (ada, ben, third, outsider, owner)] == [5, 5, 2, 2, 3]


def check_place(person: User, document: Document, seats: set[int]) -> None:
    stages_rules.check_take_place(person, document, Stage(document.stage), seats=seats)


@pytest.mark.django_db(transaction=True)
def test_people_who_ask_at_the_same_moment_never_get_one_place_twice(benchmark: Benchmark) -> None:
    two(benchmark)
    rows = documents(2, benchmark=benchmark)
    people = [member(benchmark) for _ in range(4)]

    def ask(person: User) -> None:
        client = Client()
        client.force_login(person)
        client.post("/next/")

    assert at_once(*[partial(ask, person) for person in people]) == [None] * 4
    assert Annotation.objects.count() == 4
    for row in rows:
        assert set(row.annotations.values_list("seat", flat=True)) == {1, 2}


# --- awaiting adjudication ---------------------------------------------------------------------------------


def both_submitted(benchmark: Benchmark, *people: User, **fields: Any) -> Document:
    document = prefill(DocumentFactory(benchmark=benchmark, **fields))
    for person in people:
        decomposed(document, person)
    document.refresh_from_db()
    assert document.phase == Phase.CONSOLIDATING
    return document


def consolidations(user: User) -> list[tuple[str, tuple[str, ...], bool]]:
    return [(row.document.identity, row.people, row.as_third_rater) for row in to_agree_of(user).rows]


def test_partners_settle_before_they_begin_anything_new(benchmark: Benchmark, ada: User) -> None:
    two(benchmark)
    ben = member(benchmark)
    document = both_submitted(benchmark, ada, ben, identity="both")
    new = DocumentFactory(benchmark=benchmark, identity="new")
    assert task_of(ada) == task_of(ben) == ("both", Stage.DECOMPOSE, "consolidate")
    assert consolidations(ada) == [("both", (str(ben),), False)]
    open_annotation(new, Stage.DECOMPOSE, by=ben)
    assert task_of(ben) == ("new", Stage.DECOMPOSE, "continue")
    SignOff.objects.create(annotation=document.annotations.get(kind="consolidated"), by=ada)
    assert consolidations(ada) == []
    assert [(row.document.identity, row.what_for) for row in my_work(ada).waiting] == [
        ("both", "you have signed off, others haven’t yet")
    ]
    assert consolidations(ben) == [("both", (str(ada),), False)]
    assert consolidations(member(benchmark, Role.RESEARCHER)) == []


def test_who_waits_for_a_partner_sees_it_among_what_waits(benchmark: Benchmark, ada: User) -> None:
    two(benchmark)
    document = prefill(DocumentFactory(benchmark=benchmark))
    decomposed(document, ada)
    work = my_work(ada)
    assert [(row.document, row.what_for) for row in work.waiting] == [(document, "others haven’t submitted yet")]
    assert work.to_agree == [] and work.to_agree_count == 0


@pytest.mark.parametrize("place", ["group", "benchmark", "admins"])
def test_the_third_rater_is_asked_and_nobody_else(benchmark: Benchmark, owner: User, ada: User, place: str) -> None:
    two(benchmark)
    ben, rater, of_group = member(benchmark), member(benchmark, Role.RESEARCHER), member(benchmark)
    if place != "admins":
        rater.memberships.update(role=Role.THIRD_RATER)
    if place == "group":
        document = batch_of(group_with(benchmark, owner, ada, ben, third_rater=of_group), 1)[0]
        for person in (ada, ben):
            decomposed(document, person)
    else:
        document = both_submitted(benchmark, ada, ben)
    expected = {"group": of_group, "benchmark": rater, "admins": owner}[place]
    everybody = (owner, rater, of_group)
    assert all(consolidations(person) == [] for person in everybody)
    version = document.annotations.get(kind="consolidated")
    question = Question.objects.create(annotation=version, key="k", by=ada)
    document.refresh_from_db()
    assert [each.pk for each in stages_rules.third_raters_of(document, Stage.DECOMPOSE)] == [expected.pk]
    for person in everybody:
        asked = [(document.identity, (str(ada), str(ben)), True)] if person == expected else []
        assert consolidations(person) == asked
    assert task_of(expected) == (document.identity, Stage.DECOMPOSE, "consolidate")
    question.answered_at, question.answered_by = timezone.now(), expected
    question.save()
    assert consolidations(expected) == []
    Question.objects.create(annotation=version, key="", by=ada, answered_at=timezone.now(), answered_by=expected)
    assert len(consolidations(expected)) == 1  # the whole stage was given to them: their signature closes it
    SignOff.objects.create(annotation=version, by=expected, as_third_rater=True)
    assert consolidations(expected) == []


def test_at_the_verify_stage_the_third_rater_signs_when_partners_have_settled_it(
    benchmark: Benchmark, ada: User
) -> None:
    two(benchmark)
    rater = member(benchmark, Role.THIRD_RATER)
    document = both_submitted(benchmark, ada, member(benchmark))
    version = document.annotations.get(kind="consolidated")
    signature = SignOff.objects.create(annotation=version, by=ada)
    assert consolidations(rater) == []
    # As if it were the verify stage: what follows depends on nothing but these columns.
    document.annotations.update(stage=Stage.VERIFY)
    Document.objects.update(stage=Stage.VERIFY)
    assert [row.stage for row in to_agree_of(rater).rows] == [Stage.VERIFY]
    signature.delete()
    assert consolidations(rater) == []
    SignOff.objects.create(annotation=version, by=ada)
    Benchmark.objects.update(third_rater_at_verify=False)
    assert consolidations(rater) == []


def test_without_any_partner_left_the_third_rater_settles_it(benchmark: Benchmark, ada: User) -> None:
    two(benchmark)
    rater, ben = member(benchmark, Role.THIRD_RATER), member(benchmark)
    both_submitted(benchmark, ada, ben)
    ada.memberships.update(active=False)
    assert consolidations(rater) == []
    ben.memberships.update(active=False)
    assert len(consolidations(rater)) == 1


def test_one_consolidation_and_three_take_the_same_number_of_queries(
    benchmark: Benchmark, ada: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    two(benchmark)
    for number in (1, 2):
        for _ in range(number):
            both_submitted(benchmark, ada, member(benchmark))
        with django_assert_num_queries(5):
            assert all(str(row.document.benchmark) for row in to_agree_of(ada).rows)


def test_the_queue_asks_as_often_with_many_groups_and_documents(benchmark: Benchmark, owner: User, ada: User) -> None:
    counts = []
    for number in (1, 3):
        for _ in range(number):
            batch_of(group_with(benchmark, owner, member(benchmark)), number)
            batch_of(group_with(benchmark, owner, ada), number)
        Document.objects.update(phase=Phase.PREFILLING)
        DocumentFactory(benchmark=benchmark, identity=f"last {number}")
        with CaptureQueriesContext(connection) as queries:
            assert task_of(ada)[0] == f"last {number}"
        counts.append(len(queries))
    assert counts[0] == counts[1]


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

    def slow(document_pk: int, stage: Stage, *, by: User) -> Annotation:
        if document_pk == first.pk:
            open_annotation(first, stage, by=other)
        return open_annotation_of(document_pk, stage, by=by)

    monkeypatch.setattr("annotator.team.actions.next_task.open_annotation_of", slow)
    client.force_login(ada)
    answer = client.post("/next/")
    assert answer["Location"] == f"/d/{second.public_id}/decompose/"
    assert [row.person for row in first.annotations.all()] == [other]


def test_when_the_last_one_has_just_gone_the_page_says_so(client: Client, ada: User) -> None:
    client.force_login(ada)
    answer = client.post("/next/", follow=True)
    assert answer.redirect_chain == [("/", 302)]
    assert "No documents are available right now." in answer.content.decode()


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
    assert "Older?" in lists["In progress"].get_text() and "Newer?" not in lists["In progress"].get_text()  # type: ignore[union-attr]
    assert "Which waits?" in lists["Waiting"].get_text()  # type: ignore[union-attr]
    assert "Which waits?" in lists["Completed by you: 1 document"].get_text()  # type: ignore[union-attr]


def test_newcomers_see_the_stages_and_a_worked_example_until_they_have_submitted(
    client: Client, benchmark: Benchmark, ada: User
) -> None:
    document = prefill(DocumentFactory(benchmark=benchmark, response="Ada Lovelace was an English mathematician."))
    shown = page(client, ada)
    assert [each.get_text(" ", strip=True) for each in shown.select(".three-stages h3")] == [
        "1 Decompose next for you",
        "2 Verify",
        "3 Revise",
    ]
    assert shown.select_one(".example")["open"] is not None  # type: ignore[index]
    assert document.response in shown.select_one("#next").get_text()  # type: ignore[union-attr]
    assert "0 stages submitted" in shown.select_one(".today").get_text()  # type: ignore[union-attr]
    decomposed(document, ada)
    shown = page(client, ada)
    assert shown.select_one(".example") is not None and not shown.select(".example[open]")
    assert "1 stage submitted" in shown.select_one(".today").get_text()  # type: ignore[union-attr]


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
        ("stranger", "Your username is sam.", None),
        ("staff", "No benchmark yet", "/benchmarks/new/"),
        ("owner", "Import language model responses", "/b/empty/import/"),
        ("annotator", "hasn’t imported any", None),
        ("researcher", "Your role can view gold", "/benchmarks/"),
        ("third_rater", "two annotators can’t agree", "/b/full/"),
        ("prefilling", "Generating suggestions for 2 documents.", "/b/full/"),
        ("done", "You’re all caught up", "/b/full/"),
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
        user = member(benchmark, Role(state) if state in set(Role) else Role.ANNOTATOR)
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
    assert "Generating suggestions" in page(client, ada).get_text()
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
    with django_assert_num_queries(8):
        assert len(read()) == 2
    fill(2)
    with django_assert_num_queries(8):
        assert len(read()) == 6
