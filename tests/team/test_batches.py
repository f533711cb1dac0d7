"""Batches: cut, given to groups, moved, dissolved, and their page."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.core.actions.append_only import history_unlocked
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Activity, Annotation, Batch, BatchChange, Benchmark, Document, Group, Notice, User
from annotator.core.queries.documents import DocumentFilter
from annotator.core.rules import NotAllowedError
from annotator.core.vocabulary import AnnotationState, NoticeKind, Phase, Role, Seat, Stage
from annotator.stages.actions import documents as document_actions
from annotator.stages.actions.annotate import open_annotation
from annotator.team.actions import batch_changes, batches
from annotator.team.actions import groups as group_actions
from annotator.team.actions.batches import How, cut_batch
from annotator.team.queries.batches import batches_of, load_of
from annotator.team.queries.team import team_of
from tests.factories import (
    BenchmarkFactory,
    DocumentFactory,
    decomposed,
    documents,
    member,
    prefill,
    verified,
    with_corpus,
)
from tests.teams import at_once, get, group_with, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark() -> Benchmark:
    benchmark = BenchmarkFactory(slug="pilot", overlap=2)
    with_corpus(benchmark)
    return benchmark


@pytest.fixture
def bea(benchmark: Benchmark) -> User:
    return member(benchmark, display_name="Bea")


@pytest.fixture
def group(benchmark: Benchmark, owner: User, ada: User, bea: User) -> Group:
    return group_with(benchmark, owner, ada, bea)


def cut(benchmark: Benchmark, owner: User, how: How | None = None, **more: Any) -> Batch:
    return cut_batch(benchmark, by=owner, name=more.pop("name", ""), how=how or How(), **more)


def names(batch: Batch) -> list[str]:
    return list(batch.documents.order_by("order").values_list("identity", flat=True))


def opened(document: Document, person: User) -> Annotation:
    return open_annotation(Document.objects.get(pk=document.pk), Stage.DECOMPOSE, by=person)


# --- cutting --------------------------------------------------------------------------------------


def test_the_next_ones_in_order_are_cut_and_the_rest_is_left_for_the_next_batch(
    benchmark: Benchmark, owner: User
) -> None:
    rows = documents(5, benchmark=benchmark)
    first = cut(benchmark, owner, How(number=2))
    second = cut(benchmark, owner, How(number=2))
    assert [first.name, second.name] == ["Batch 1", "Batch 2"]
    assert names(first) == [row.identity for row in rows[:2]]
    assert names(second) == [row.identity for row in rows[2:4]]
    assert names(cut(benchmark, owner)) == [rows[4].identity]
    with pytest.raises(BadValueError, match="No documents match, so no batch was created"):
        cut(benchmark, owner)
    assert Batch.objects.count() == 3
    assert first.cut["documents"] == 2 and first.cut["number"] == 2


def test_only_documents_that_nobody_has_anything_to_do_with_fit(benchmark: Benchmark, owner: User, ada: User) -> None:
    free, prefilling, begun, submitted, discarded, gold, twin = (
        prefill(DocumentFactory(benchmark=benchmark, identity=name))
        for name in ("free", "prefilling", "begun", "submitted", "discarded", "gold", "twin")
    )
    Document.objects.filter(pk=prefilling.pk).update(phase=Phase.PREFILLING)
    Document.objects.filter(pk=gold.pk).update(stage=Stage.REVISE, phase=Phase.AGREED)
    Document.objects.filter(pk=twin.pk).update(twin_of=gold)
    opened(begun, ada)
    decomposed(submitted, ada)
    document_actions.discard(discarded, "Empty.", by=owner)
    assert names(cut(benchmark, owner)) == [free.identity, prefilling.identity]


def test_a_filter_narrows_what_is_cut(benchmark: Benchmark, owner: User) -> None:
    DocumentFactory(benchmark=benchmark, identity="web", source="web", model="one", prompt="Who was Ada?")
    DocumentFactory(benchmark=benchmark, identity="book", source="book", model="two", prompt="Who was Bea?")
    DocumentFactory(benchmark=benchmark, identity="later", stage=Stage.VERIFY, prompt="Where?")
    for narrowed, expected in (
        (DocumentFilter(source="web"), "web"),
        (DocumentFilter(model="two"), "book"),
        (DocumentFilter(stage=Stage.VERIFY), "later"),
    ):
        batch = cut(benchmark, owner, How(narrowed=narrowed))
        assert names(batch) == [expected]
        batches.dissolve(batch, by=owner)
    batch = cut(benchmark, owner, How(narrowed=DocumentFilter(search='"was bea"')))
    assert names(batch) == ["book"]
    assert batch.cut["filter"] == {"search": '"was bea"'}


def test_the_seed_decides_whatever_the_order_in_the_database(benchmark: Benchmark, owner: User) -> None:
    rows = documents(20, benchmark=benchmark)
    for number, row in enumerate(rows):
        Document.objects.filter(pk=row.pk).update(public_id=f"public{number:02}", order=100 - number)
    ids = [f"public{number:02}" for number in range(20)]
    generator = random.Random(7)
    chosen = sorted(generator.sample(ids, 10))
    crossed, blind = generator.sample(chosen, 3), generator.sample(chosen, 5)
    how = How(number=10, at_random=True)
    shares = {"cross_share": 0.25, "cross_people": 2, "blind_first_share": 0.5}
    for _ in range(2):  # the same again after it was dissolved
        batch = cut(benchmark, owner, how, seed=7, **shares)
        found = {row.public_id: (row.extra_people, row.blind_first) for row in batch.documents.all()}
        assert found == {each: (2 if each in crossed else 0, each in blind) for each in chosen}
        assert (batch.cut["seed"], batch.cut["crossed"], batch.cut["blind_first"]) == (7, 3, 5)
        batches.dissolve(batch, by=owner)
    assert set(cut(benchmark, owner, how, seed=8).documents.values_list("public_id", flat=True)) != set(chosen)


@pytest.mark.parametrize(
    ("number", "share", "expected"),
    [(10, 0, 0), (0, 0.5, 0), (10, 0.25, 3), (10, 0.24, 2), (10, 0.01, 1), (3, 1, 3), (100, 0.1, 10)],
)
def test_a_share_is_rounded_and_is_at_least_one(number: int, share: float, expected: int) -> None:
    assert batches.share_of(number, share) == expected


def test_impossible_numbers_names_groups_and_people_are_refused(
    benchmark: Benchmark, owner: User, ada: User, group: Group
) -> None:
    documents(2, benchmark=benchmark)
    elsewhere = BenchmarkFactory()
    foreign = group_with(elsewhere, member(elsewhere, Role.OWNER))
    cut(benchmark, owner, How(number=1), name="First")
    for more, sentence in (
        ({"how": How(number=0)}, "one or more"),
        ({"cross_share": 1.5}, "between 0 and 100"),
        ({"blind_first_share": -0.1}, "between 0 and 100"),
        ({"cross_share": 0.5, "cross_people": 0}, "out of range"),
        ({"name": " first "}, "already"),
        ({"name": "x" * 121}, "at most 120"),
        ({"group": foreign}, "another benchmark"),
    ):
        with pytest.raises(BadValueError, match=sentence):
            cut(benchmark, owner, **more)
    with pytest.raises(NotAllowedError):
        cut(benchmark, ada)
    assert Batch.objects.count() == 1


def test_the_group_is_told_and_the_cut_is_on_record(benchmark: Benchmark, owner: User, group: Group, ada: User) -> None:
    documents(2, benchmark=benchmark)
    batch = cut(benchmark, owner, group=group, name="Pilot")
    assert Notice.objects.filter(kind=NoticeKind.ASSIGNED).count() == 2
    assert Notice.objects.get(to=ada).text == f"2 documents of {benchmark} are yours now: Pilot."
    activity = Activity.objects.get(action="cut-batch")
    assert (activity.by, activity.benchmark, activity.reason) == (owner, benchmark, f"Pilot: 2 documents for {group}")
    assert batch.created_by == owner


def test_a_cut_takes_few_queries_however_many_documents(benchmark: Benchmark, owner: User) -> None:
    counts = []
    for number in (1, 60):
        documents(number, benchmark=benchmark)
        with CaptureQueriesContext(connection) as queries:
            cut(benchmark, owner, cross_share=0.1, blind_first_share=0.1)
        counts.append(len(queries))
    assert counts[0] == counts[1]


@pytest.mark.django_db(transaction=True)
def test_two_admins_at_once_never_cut_one_document_twice(benchmark: Benchmark, owner: User) -> None:
    documents(6, benchmark=benchmark)
    errors = at_once(*[lambda: cut(benchmark, owner, How(number=3))] * 2)
    assert errors == [None, None]
    assert sorted(Document.objects.values_list("batch__name", flat=True)) == ["Batch 1"] * 3 + ["Batch 2"] * 3


@pytest.mark.django_db(transaction=True)
def test_a_place_taken_while_the_batch_is_cut_is_kept_or_refused_never_misplaced(
    benchmark: Benchmark, owner: User, group: Group
) -> None:
    outsider, document = member(benchmark), prefill(DocumentFactory(benchmark=benchmark))
    for _ in range(4):
        at_once(lambda: opened(document, outsider), lambda: cut(benchmark, owner, group=group))
        document.refresh_from_db()
        assert (document.batch is None) == document.annotations.exists()
        Document.objects.update(batch=None)
        Annotation.objects.all().delete()  # and once more from the beginning


# --- giving, moving, dissolving -------------------------------------------------------------------


def test_a_batch_given_to_another_group_is_taken_back_from_who_is_not_in_it(
    benchmark: Benchmark, owner: User, group: Group, ada: User, bea: User
) -> None:
    kept, lost, done = (prefill(DocumentFactory(benchmark=benchmark)) for _ in range(3))
    batch = cut(benchmark, owner, group=group)
    cleo = member(benchmark)
    other = group_with(benchmark, owner, ada, cleo)
    opened(kept, ada)
    opened(lost, bea)
    decomposed(done, bea)
    batches.assign_batch(batch, other, by=owner)
    assert opened(kept, ada).seat == 1  # Ada is in both groups
    assert lost.annotations.get().state == AnnotationState.TAKEN_BACK
    finished = done.annotations.get()
    assert (finished.state, finished.seat) == (AnnotationState.SUBMITTED, 1)
    with pytest.raises(NotAllowedError, match="group that you are not in"):
        opened(lost, bea)
    assert opened(lost, cleo).seat == 1 and opened(done, cleo).seat == 2
    assert Notice.objects.filter(to=cleo, kind=NoticeKind.ASSIGNED).exists()
    assert Notice.objects.filter(to=bea, kind=NoticeKind.TAKEN_BACK).exists()
    batches.assign_batch(batch, None, by=owner)
    assert opened(kept, bea).seat == 2


def test_extra_places_keep_who_is_from_outside(benchmark: Benchmark, owner: User, group: Group, ada: User) -> None:
    document = prefill(DocumentFactory(benchmark=benchmark))
    batch = cut(benchmark, owner, group=group, cross_share=1.0)
    outsider = member(benchmark)
    assert opened(document, outsider).seat == 3
    assert opened(document, ada).seat == 1
    other = group_with(benchmark, owner, member(benchmark), member(benchmark))
    batches.assign_batch(batch, other, by=owner)
    states = dict(document.annotations.values_list("person", "state"))
    assert states == {outsider.pk: AnnotationState.OPEN, ada.pk: AnnotationState.TAKEN_BACK}


def test_documents_are_moved_with_their_work(benchmark: Benchmark, owner: User, group: Group, ada: User) -> None:
    first, second = (prefill(DocumentFactory(benchmark=benchmark)) for _ in range(2))
    batch = cut(benchmark, owner, group=group)
    opened(first, ada)
    other = Batch.objects.create(
        benchmark=benchmark, name="Other", group=group_with(benchmark, owner, member(benchmark), member(benchmark))
    )
    assert batches.move_documents([first, second], other, by=owner) == 2
    assert batches.move_documents([first, second], other, by=owner) == 0
    assert first.annotations.get().state == AnnotationState.TAKEN_BACK
    moved = Activity.objects.filter(action="move-document")
    assert {(row.document, row.reason) for row in moved} == {(first, "to Other"), (second, "to Other")}
    assert batches.move_documents([first], None, by=owner) == 1
    assert opened(first, ada).is_open
    assert (names(batch), names(other)) == ([], [second.identity])
    elsewhere = DocumentFactory()
    with pytest.raises(BadValueError, match="within one benchmark"):
        batches.move_documents([first, elsewhere], other, by=owner)
    with pytest.raises(NotAllowedError):
        batches.move_documents([first], other, by=ada)
    assert batches.move_documents([], other, by=owner) == 0


def test_dissolving_frees_the_documents_and_leaves_work_as_it_is(
    benchmark: Benchmark, owner: User, group: Group, ada: User
) -> None:
    begun, untouched = (prefill(DocumentFactory(benchmark=benchmark)) for _ in range(2))
    batch = cut(benchmark, owner, group=group, cross_share=1.0, blind_first_share=1.0)
    opened(begun, ada)
    batches.dissolve(batch, by=owner)
    rows = {row.pk: (row.batch, row.extra_people, row.blind_first) for row in Document.objects.all()}
    assert rows == {begun.pk: (None, 1, True), untouched.pk: (None, 0, False)}
    assert begun.annotations.get().is_open
    assert not Batch.objects.exists()
    assert opened(untouched, member(benchmark)).seat == 1


def test_a_batch_is_renamed_once_a_name(benchmark: Benchmark, owner: User, ada: User) -> None:
    documents(2, benchmark=benchmark)
    first, second = cut(benchmark, owner, How(number=1)), cut(benchmark, owner, How(number=1))
    batches.rename(first, "  Pilot  one ", by=owner)
    first.refresh_from_db()
    assert first.name == "Pilot one"
    for name, sentence in (("", "needs a name"), ("PILOT ONE", "already"), ("x" * 121, "at most")):
        with pytest.raises(BadValueError, match=sentence):
            batches.rename(second, name, by=owner)
    for forbidden in (
        lambda: batches.rename(second, "Mine", by=ada),
        lambda: batches.assign_batch(second, None, by=ada),
        lambda: batches.dissolve(second, by=ada),
    ):
        with pytest.raises(NotAllowedError):
            forbidden()


# --- figures --------------------------------------------------------------------------------------


def test_batches_are_counted_by_how_far_their_documents_are(
    benchmark: Benchmark, owner: User, group: Group, ada: User, bea: User
) -> None:
    rows = [prefill(DocumentFactory(benchmark=benchmark)) for _ in range(5)]
    batch = cut(benchmark, owner, group=group, cross_share=0.2)
    Document.objects.update(extra_people=0)
    Document.objects.filter(pk=rows[4].pk).update(extra_people=1)
    opened(rows[0], ada)
    for person in (ada, bea):
        decomposed(rows[1], person)
    document_actions.discard(rows[2], "Empty.", by=owner)
    Document.objects.filter(pk=rows[3].pk).update(stage=Stage.REVISE, phase=Phase.AGREED)
    (row,) = batches_of(benchmark)
    assert row.batch == batch
    assert (row.gold, row.to_agree, row.in_work, row.not_begun, row.discarded) == (1, 1, 1, 1, 1)
    assert (row.total, row.extra) == (5, 1)
    assert row.words == "1 gold, 1 awaiting adjudication, 1 in progress, 1 not started, 1 discarded"
    assert [(part["kind"], part["width"]) for part in row.parts] == [("agreed", 25), ("work", 50), ("waiting", 25)]


def test_load_says_what_each_has_open_to_agree_finished_and_left(
    benchmark: Benchmark, owner: User, ada: User, bea: User
) -> None:
    left, both = (prefill(DocumentFactory(benchmark=benchmark)) for _ in range(2))
    opened(left, ada)
    for person in (ada, bea):
        decomposed(both, person)
    long_ago = timezone.now() - dt.timedelta(days=5, hours=1)
    with history_unlocked():
        Activity.objects.filter(document=left).update(at=long_ago)
    load = {str(row.person): row for row in load_of(benchmark, timezone.now())}
    assert (load["Ada"].open, load["Ada"].to_agree, load["Ada"].finished, load["Ada"].idle_days) == (1, 1, 1, 5)
    assert (load["Bea"].open, load["Bea"].to_agree, load["Bea"].finished, load["Bea"].idle_days) == (0, 1, 1, 0)
    assert load["Olga"].open == 0


def test_finished_counts_documents_on_both_pages() -> None:
    benchmark = BenchmarkFactory(overlap=1)
    with_corpus(benchmark)
    ada = member(benchmark)
    document = prefill(DocumentFactory(benchmark=benchmark))
    decomposed(document, ada)
    document.refresh_from_db()
    verified(document, ada)
    assert document.annotations.filter(person=ada, state=AnnotationState.SUBMITTED).count() == 2, "two stages"
    (on_batches,) = (row.finished for row in load_of(benchmark, timezone.now()) if row.person == ada)
    team = team_of(benchmark, with_load=True).people
    (on_team,) = (row.finished for row in team if row.membership.user == ada)
    assert (on_batches, on_team) == (1, 1)


# --- the page -------------------------------------------------------------------------------------

URL = "/b/pilot/batches/"


def filled(page: BeautifulSoup, **values: str) -> dict[str, str]:
    """The cut form as the page shows it, with these values typed over."""
    data: dict[str, str] = {}
    for tag in page.select("#cut [name]"):
        if tag.name == "select":
            chosen = tag.select_one("option[selected]") or tag.select_one("option")
            data[str(tag["name"])] = str(chosen["value"]) if chosen else ""
        else:
            data[str(tag["name"])] = str(tag.get("value", ""))
    return data | values


def test_an_admin_previews_and_cuts_a_batch(client: Client, benchmark: Benchmark, owner: User, group: Group) -> None:
    documents(12, benchmark=benchmark, source="web")
    page = get(client, owner, URL)
    assert "12 documents fit, 12 would be added." in words(page.select_one("#preview"))
    data = filled(page, number="5", cross="20", blind_first="40", source="web", group=str(group.pk), name="Pilot")
    shown = client.get(URL, data | {"part": "preview"}, headers={"hx-request": "true"}).content.decode()
    assert "12 documents fit, 5 would be added, 1 of them for 1 more, 2 blind first." in shown and "<html" not in shown
    warned = " 1 document would wait for one person from outside Group 1"
    assert f"{warned}, so owners and admins have to annotate too." in shown
    assert warned not in client.get(URL, data | {"group": "", "part": "preview"}).content.decode()
    group_actions.add_member(group, owner, by=owner, seat=Seat.ANNOTATOR)
    shown = client.get(URL, data | {"part": "preview"}, headers={"hx-request": "true"}).content.decode()
    assert f"{warned}, but there is nobody." in shown
    member(benchmark)
    shown = client.get(URL, data | {"part": "preview"}, headers={"hx-request": "true"}).content.decode()
    assert "blind first." in shown and "would wait" not in shown
    answer = client.post(f"{URL}cut/", data, follow=True)
    assert "Pilot was created" in answer.content.decode()
    batch = Batch.objects.get()
    assert (batch.group, batch.documents.count()) == (group, 5)
    assert batch.documents.filter(blind_first=True).count() == 2
    assert "5 not started" in words(get(client, owner, URL).select_one(f"#batch-{batch.public_id}"))


def test_the_rare_fields_of_a_batch_are_folded_unless_one_is_wrong(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    def folds(page: BeautifulSoup) -> tuple[list[str], bool]:
        details = page.select_one("#cut details")
        assert details is not None
        return [
            str(each["name"]) for each in page.select("#cut [name]") if each not in details.select("[name]")
        ], details.has_attr("open")

    names, is_open = folds(get(client, owner, URL))
    assert names == ["csrfmiddlewaretoken", "name", "group", "number", "stage"] and not is_open
    wrong = client.post(f"{URL}cut/", {"order": "next", "cross": 101, "cross_people": 1, "blind_first": 0, "seed": 1})
    assert folds(BeautifulSoup(wrong.content, "html.parser"))[1]


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({"number": "0"}, "greater than or equal to 1"),
        ({"cross": "101"}, "less than or equal to 100"),
        ({"source": "nowhere"}, "Select a valid choice"),
        ({"search": "nothing has these words"}, "No documents match, so no batch was created."),
    ],
)
def test_what_cannot_be_cut_is_said_beside_what_was_typed(
    client: Client, benchmark: Benchmark, owner: User, typed: dict[str, str], sentence: str
) -> None:
    documents(2, benchmark=benchmark)
    data = filled(get(client, owner, URL), name="Kept as typed", **typed)
    answer = client.post(f"{URL}cut/", data)
    assert answer.status_code == 422
    page = BeautifulSoup(answer.content, "html.parser")
    assert sentence in words(page.select_one("main"))
    assert page.select_one("#cut_name")["value"] == "Kept as typed"  # type: ignore[index]
    assert not Batch.objects.exists()


def test_a_batch_is_changed_and_idle_work_taken_back_from_the_page(
    client: Client, benchmark: Benchmark, owner: User, group: Group, ada: User
) -> None:
    document = prefill(DocumentFactory(benchmark=benchmark))
    batch = cut(benchmark, owner)
    opened(document, ada)
    Annotation.objects.update(created_at=timezone.now() - dt.timedelta(days=9))
    with history_unlocked():
        Activity.objects.update(at=timezone.now() - dt.timedelta(days=9))
    page = get(client, owner, URL)
    form = page.select_one(f"form:has([value='{ada.username}'])")
    assert form is not None and "9 days" in words(form)
    data = {str(tag["name"]): str(tag["value"]) for tag in form.select("input[name]")}
    assert "1 idle piece of work unassigned" in client.post(str(form["action"]), data, follow=True).content.decode()
    assert document.annotations.get().state == AnnotationState.TAKEN_BACK
    assert "Nothing was unassigned" in client.post(str(form["action"]), data, follow=True).content.decode()
    for what, sent, said in (
        ("assign", {"group": group.public_id}, "is now assigned to Group 1"),
        ("rename", {"name": "Pilot"}, "The batch was renamed to Pilot"),
        ("dissolve", {}, "Pilot was deleted"),
    ):
        answer = client.post(f"{URL}{batch.public_id}/{what}/", sent, follow=True)
        assert said in answer.content.decode()
    assert client.post(f"{URL}{batch.public_id}/rename/", {"name": "Gone"}).status_code == 404


def test_a_document_is_moved_from_its_page(client: Client, benchmark: Benchmark, owner: User) -> None:
    document = DocumentFactory(benchmark=benchmark)
    batch = cut(benchmark, owner, name="Pilot")
    page = get(client, owner, f"/d/{document.public_id}/")
    assert "In Pilot. Move to" in words(page.select_one("#places"))
    client.post(f"/d/{document.public_id}/do/move/", {"batch": ""})
    document.refresh_from_db()
    assert document.batch is None
    client.post(f"/d/{document.public_id}/do/move/", {"batch": batch.public_id})
    document.refresh_from_db()
    assert document.batch == batch
    assert client.post(f"/d/{document.public_id}/do/move/", {"batch": "nowhere"}).status_code == 404


def test_annotators_have_neither_tab_nor_page(client: Client, benchmark: Benchmark, ada: User) -> None:
    page = get(client, ada, URL, status=403)
    assert "Only the owner or an admin" in words(page.select_one("main"))
    assert not get(client, ada, "/b/pilot/").select(f"a[href='{URL}']")


def test_one_batch_and_three_take_the_same_number_of_queries(
    client: Client, benchmark: Benchmark, owner: User, ada: User
) -> None:
    client.force_login(owner)
    counts = []
    for _ in range(3):
        rows = [prefill(DocumentFactory(benchmark=benchmark)) for _ in range(2)]
        cut(benchmark, owner, group=group_with(benchmark, owner, ada, member(benchmark)))
        opened(rows[0], ada)
        with CaptureQueriesContext(connection) as queries:
            client.get(URL)
        counts.append(len(queries))
    assert counts[0] == counts[1] == counts[2]


# --- large batches --------------------------------------------------------------------------------


def crowd(benchmark: Benchmark, count: int) -> None:
    """So many documents at once: more than a request changes itself."""
    for_one = documents(1, benchmark=benchmark)[0]
    Document.objects.bulk_create(
        Document(
            benchmark=benchmark,
            order=for_one.order + number,
            identity=f"many-{number}",
            content_hash=f"{number:064}",
            prompt="Who?",
            response="She.",
        )
        for number in range(1, count)
    )


def test_a_large_batch_is_filled_changed_and_dissolved_by_a_worker(
    client: Client, benchmark: Benchmark, owner: User, group: Group, ada: User
) -> None:
    count = batch_changes.AT_ONCE + 5
    crowd(benchmark, count)
    client.force_login(owner)
    batch = cut(benchmark, owner, cross_share=0.1, blind_first_share=0.1, seed=3, group=group)
    assert (batch.documents.count(), batch.change.total) == (0, count)
    page = client.get(f"/b/{benchmark.slug}/batches/").content.decode()
    assert "Adding documents: 0" in page
    assert f"of {count}" in page
    assert 'hx-trigger="every 2s"' in page
    for refused in (lambda: batches.dissolve(batch, by=owner), lambda: batches.assign_batch(batch, None, by=owner)):
        with pytest.raises(BadValueError, match="still being changed"):
            refused()
    begun = Document.objects.order_by("-order").first()
    assert begun is not None
    Document.objects.filter(pk=begun.pk).update(batch=None, phase=Phase.INDEPENDENT)
    opened(begun, owner)
    batch_changes.work_off(batch.change.pk)
    batch.refresh_from_db()
    # What somebody began meanwhile is left out; the shares were drawn before.
    assert batch.documents.count() == batch.cut["documents"] == count - 1
    assert batch.documents.filter(extra_people=1).count() in {20, 21}
    assert batch.documents.filter(blind_first=True).count() in {20, 21}
    assert not BatchChange.objects.exists()
    assert Notice.objects.get(to=ada, kind=NoticeKind.ASSIGNED).text.startswith(f"{count - 1} documents")

    batches.dissolve(batch, by=owner)
    change = BatchChange.objects.get()
    assert batch_changes.unfinished() == [change.pk]
    batch_changes.work_off(change.pk)
    assert not Batch.objects.filter(pk=batch.pk).exists()
    assert not Document.objects.filter(batch__isnull=False).exists()
    assert not Document.objects.filter(blind_first=True).exists()


def test_a_change_that_was_cut_off_goes_on_where_it_stopped(
    benchmark: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd(benchmark, batch_changes.AT_ONCE + 5)
    batch = cut(benchmark, owner)
    change = batch.change
    seen: list[int] = []
    whole = batch_changes.add

    def dies(batch: Batch, keys: Sequence[int], **plan: Any) -> None:
        if len(seen) > 20:
            raise KeyboardInterrupt
        seen.extend(keys)
        whole(batch, keys, **plan)

    with monkeypatch.context() as broken:
        broken.setattr(batch_changes, "add", dies)
        with pytest.raises(KeyboardInterrupt):
            batch_changes.work_off(change.pk)
    change.refresh_from_db()
    assert change.done == batch.documents.count() == len(seen)
    assert batch_changes.unfinished() == []  # its worker may still be at it
    batch_changes.work_off(change.pk)
    assert batch.documents.count() == len(seen)
    BatchChange.objects.update(seen_at=timezone.now() - batch_changes.LOST_AFTER * 2)
    assert batch_changes.unfinished() == [change.pk]
    batch_changes.work_off(change.pk)
    assert batch.documents.count() == change.total


def test_much_open_work_is_taken_back_by_a_worker(benchmark: Benchmark, owner: User, group: Group, ada: User) -> None:
    made = documents(batch_changes.OPEN_AT_ONCE + 2, benchmark=benchmark)
    batch = cut(benchmark, owner, group=group)
    for document in made:
        opened(document, ada)
    other = group_with(benchmark, owner, member(benchmark))
    batches.assign_batch(batch, other, by=owner)
    assert Annotation.objects.filter(state=AnnotationState.OPEN).count() == len(made)
    batch_changes.work_off(BatchChange.objects.get().pk)
    assert not Annotation.objects.filter(state=AnnotationState.OPEN).exists()
    assert not BatchChange.objects.exists()
