"""Places on documents: work is taken back, and one person's submission is reopened."""

from __future__ import annotations

import datetime as dt

import pytest
from django.test import Client
from django.utils import timezone

from annotator.core.actions import recorder
from annotator.core.actions.append_only import history_unlocked
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Activity, Annotation, Benchmark, Decision, Document, Notice, SignOff, User
from annotator.core.queries.history import lines_of, visible_activities, visible_annotations
from annotator.core.rules import NotAllowedError
from annotator.core.vocabulary import AnnotationKind, AnnotationState, NoticeKind, Phase, Role, Stage
from annotator.stages.actions import documents as document_actions
from annotator.stages.actions import saving
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_sentence
from annotator.stages.actions.places import (
    close_extra_places,
    reopen_annotation,
    take_back,
    take_back_idle,
    take_back_of,
)
from annotator.stages.actions.submit import submit
from annotator.stages.queries.decomposition import sentences_of
from annotator.team.queries.work import next_task
from tests.factories import BenchmarkFactory, DocumentFactory, member, prefill, save
from tests.teams import get, words

pytestmark = pytest.mark.django_db

WHY = "On holiday."


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER)


@pytest.fixture
def ada(benchmark: Benchmark) -> User:
    return member(benchmark)


@pytest.fixture
def bea(benchmark: Benchmark) -> User:
    return member(benchmark)


@pytest.fixture
def document(benchmark: Benchmark) -> Document:
    return prefill(DocumentFactory(benchmark=benchmark))


def opened(document: Document, person: User) -> Annotation:
    return open_annotation(document, Stage.DECOMPOSE, by=person)


def submitted(document: Document, person: User) -> Annotation:
    annotation = opened(document, person)
    for sentence in sentences_of(annotation):
        accept_sentence(sentence, by=person)
    submit(annotation, by=person)
    document.refresh_from_db()
    return Annotation.objects.get(pk=annotation.pk)


def seen_by(document: Document, person: User) -> set[int | None]:
    """Whose individual work the person sees."""
    rows = visible_annotations(document, person, document.annotations.all())
    return {row.person_id for row in rows if row.kind == AnnotationKind.INDIVIDUAL}


# --- taking back ----------------------------------------------------------------------------------


def test_work_taken_back_keeps_its_rows_and_frees_its_place(
    document: Document, owner: User, ada: User, bea: User, benchmark: Benchmark
) -> None:
    annotation = opened(document, ada)
    opened(document, bea)
    sentence = save(sentences_of(annotation)[0], "type", "opinion", ada)
    third = member(benchmark)
    with pytest.raises(NotAllowedError, match="already has all its annotators"):
        opened(document, third)
    take_back(annotation, by=owner, reason=WHY)
    annotation.refresh_from_db()
    assert (annotation.state, annotation.seat) == (AnnotationState.TAKEN_BACK, None)
    sentence.refresh_from_db()
    assert sentence.type == "opinion"  # type: ignore[attr-defined]
    assert opened(document, third).seat == 1
    activity = Activity.objects.get(action="take-back")
    assert (activity.by, activity.reason, activity.annotation) == (owner, WHY, annotation)
    notice = Notice.objects.get(to=ada)
    assert notice.kind == NoticeKind.TAKEN_BACK and WHY in notice.text


def test_who_lost_their_place_cannot_save_and_goes_on_where_they_were_when_a_place_is_free(
    document: Document, owner: User, ada: User, bea: User, benchmark: Benchmark
) -> None:
    annotation = opened(document, ada)
    sentence = sentences_of(annotation)[0]
    save(sentence, "type", "opinion", ada)
    take_back(annotation, by=owner, reason=WHY)
    with pytest.raises(NotAllowedError, match="you can open it again and continue"):
        save(sentence, "type", "other", ada)
    task = next_task(ada)
    assert task is not None and task.document == document
    again = opened(document, ada)
    assert again.pk == annotation.pk and again.is_open and again.independent
    assert sentences_of(again)[0].type == "opinion"
    take_back(again, by=owner, reason=WHY)
    opened(document, bea)
    opened(document, member(benchmark))
    assert next_task(ada) is None
    with pytest.raises(NotAllowedError, match="already has all its annotators"):
        opened(document, ada)


def test_undo_does_not_reach_behind_what_an_admin_did(document: Document, owner: User) -> None:
    """An owner labels too: what they did as admin is no change of their labels."""
    annotation = opened(document, owner)
    save(sentences_of(annotation)[0], "type", "opinion", owner)
    take_back(annotation, by=owner, reason=WHY)
    opened(document, owner)
    with pytest.raises(recorder.NothingToUndoError):
        saving.undo(annotation, by=owner)
    annotation.refresh_from_db()
    assert annotation.is_open and annotation.seat == 1


def test_submitted_work_is_never_taken_back_and_twice_is_harmless(
    document: Document, owner: User, ada: User, bea: User
) -> None:
    done, begun = submitted(document, ada), opened(document, bea)
    with pytest.raises(NotAllowedError, match="never taken back"):
        take_back(done, by=owner, reason=WHY)
    take_back(begun, by=owner, reason=WHY)
    take_back(begun, by=owner, reason=WHY)
    assert Activity.objects.filter(action="take-back").count() == 1


def test_only_admins_take_back_and_they_say_why(document: Document, owner: User, ada: User, bea: User) -> None:
    annotation = opened(document, ada)
    with pytest.raises(NotAllowedError):
        take_back(annotation, by=bea, reason=WHY)
    with pytest.raises(NotAllowedError):
        take_back_of(ada, document.benchmark, by=bea, reason=WHY)
    with pytest.raises(NotAllowedError):
        take_back_idle(document.benchmark, days=1, by=bea)
    with pytest.raises(BadValueError, match="why"):
        take_back(annotation, by=owner, reason="  ")
    annotation.refresh_from_db()
    assert annotation.is_open


def test_all_of_one_person_is_taken_back_with_one_notice(
    benchmark: Benchmark, owner: User, ada: User, bea: User
) -> None:
    own = [prefill(DocumentFactory(benchmark=benchmark)) for _ in range(3)]
    elsewhere = prefill(DocumentFactory(benchmark=BenchmarkFactory()))
    elsewhere.benchmark.memberships.create(user=ada, role=Role.ANNOTATOR)
    for each in (*own, elsewhere):
        opened(each, ada)
    opened(own[0], bea)
    assert take_back_of(ada, benchmark, by=owner, reason=WHY, documents=own[:1]) == 1
    assert take_back_of(ada, benchmark, by=owner, reason=WHY) == 2
    assert take_back_of(ada, benchmark, by=owner, reason=WHY) == 0
    still = Annotation.objects.filter(state=AnnotationState.OPEN)
    assert {(row.person, row.document) for row in still} == {(ada, elsewhere), (bea, own[0])}
    assert sorted(Notice.objects.filter(to=ada).values_list("text", flat=True))[0].startswith("2 pieces of your work")


def test_only_what_was_left_idle_is_taken_back(benchmark: Benchmark, owner: User, ada: User, bea: User) -> None:
    left, touched, waits = (prefill(DocumentFactory(benchmark=benchmark)) for _ in range(3))
    rows = {each.pk: opened(each, ada) for each in (left, touched, waits)}
    long_ago = timezone.now() - dt.timedelta(days=20)
    Annotation.objects.update(created_at=long_ago)
    with history_unlocked():
        Activity.objects.update(at=long_ago)
    save(sentences_of(rows[touched.pk])[0], "type", "opinion", ada)
    Document.objects.filter(pk=waits.pk).update(phase=Phase.PREFILLING)  # nobody could have worked on it
    opened(left, bea)
    assert take_back_idle(benchmark, days=30, by=owner) == 0
    assert take_back_idle(benchmark, days=14, by=owner, person=bea) == 0
    assert take_back_idle(benchmark, days=14, by=owner) == 1
    assert Annotation.objects.get(state=AnnotationState.TAKEN_BACK) == rows[left.pk]
    with pytest.raises(BadValueError, match="number of idle days"):
        take_back_idle(benchmark, days=0, by=owner)


# --- reopening one person's work ------------------------------------------------------------------


def test_before_the_partner_has_submitted_reopened_work_stays_independent(
    document: Document, owner: User, ada: User, bea: User
) -> None:
    annotation = submitted(document, ada)
    reopen_annotation(annotation, "A slip.", by=owner)
    annotation.refresh_from_db()
    assert annotation.is_open and annotation.independent and annotation.submitted_at is None
    save(sentences_of(annotation)[0], "type", "opinion", ada)
    activity = Activity.objects.get(action="reopen-annotation")
    assert (activity.by, activity.reason) == (owner, "A slip.")
    notice = Notice.objects.get(to=ada, kind=NoticeKind.RETURNED)
    assert (notice.document, notice.stage) == (document, Stage.DECOMPOSE)
    # Ada reads who and why; the partner, who is blind, reads nothing of it.
    lines = lines_of(visible_activities(document, ada, document.annotations.all()))
    assert any("reopened" in line.what and line.reason == "A slip." for line in lines)
    opened(document, bea)
    assert not visible_activities(document, bea, document.annotations.all()).filter(pk=activity.pk).exists()


def test_reopening_while_partners_settle_hides_all_again_and_keeps_decisions_without_signatures(
    document: Document, owner: User, ada: User, bea: User
) -> None:
    first, second = submitted(document, ada), submitted(document, bea)
    assert document.phase == Phase.CONSOLIDATING
    assert seen_by(document, bea) == {ada.pk, bea.pk}
    version = document.annotations.get(kind=AnnotationKind.CONSOLIDATED)
    Decision.objects.create(annotation=version, key="k", choice=0, by=ada)
    SignOff.objects.create(annotation=version, by=ada)
    reopen_annotation(first, "Wrong document.", by=owner)
    document.refresh_from_db()
    first.refresh_from_db()
    second.refresh_from_db()
    assert document.phase == Phase.INDEPENDENT
    assert seen_by(document, bea) == {bea.pk} and seen_by(document, ada) == {ada.pk}
    assert (first.independent, second.independent) == (False, True)
    assert not SignOff.objects.exists() and Decision.objects.count() == 1
    # Both had been seen: the second one reopened afterwards is no more independent than the first.
    reopen_annotation(second, "This one too.", by=owner)
    second.refresh_from_db()
    assert not second.independent
    for row, person in ((first, ada), (second, bea)):
        submit(row, by=person)
    document.refresh_from_db()
    assert document.phase == Phase.CONSOLIDATING


def test_a_place_taken_up_again_after_all_was_seen_is_not_independent(
    document: Document, owner: User, ada: User, bea: User, benchmark: Benchmark
) -> None:
    begun = opened(document, ada)
    take_back(begun, by=owner, reason=WHY)
    first = submitted(document, bea)
    submitted(document, member(benchmark))
    reopen_annotation(first, "A slip.", by=owner)
    first.refresh_from_db()
    take_back(first, by=owner, reason=WHY)
    again = opened(document, ada)  # Ada is a member: the work of both could be seen
    assert again.pk == begun.pk and not again.independent


@pytest.mark.parametrize("state", ["open", "agreed", "discarded", "agreed version", "stranger", "no reason"])
def test_what_cannot_be_reopened_says_why(document: Document, owner: User, ada: User, bea: User, state: str) -> None:
    annotation = opened(document, ada) if state == "open" else submitted(document, ada)
    by, reason = owner, "A slip."
    expected: tuple[type[Exception], str] = (BadValueError, "submitted")
    if state in ("agreed", "agreed version"):
        submitted(document, bea)
        version = document.annotations.get(kind=AnnotationKind.CONSOLIDATED)
        Annotation.objects.filter(pk=version.pk).update(state=AnnotationState.SUBMITTED, submitted_at=timezone.now())
        if state == "agreed":
            expected = NotAllowedError, "reopen the whole stage"
        else:
            annotation = version
    elif state == "discarded":
        document_actions.discard(document, "Empty.", by=owner)
        expected = NotAllowedError, "Bring it back first"
    elif state == "stranger":
        by, expected = bea, (NotAllowedError, "Only the owner or an admin")
    elif state == "no reason":
        reason, expected = " ", (BadValueError, "why")
    with pytest.raises(expected[0], match=expected[1]):
        reopen_annotation(annotation, reason, by=by)


# --- the document's page --------------------------------------------------------------------------


def test_the_admin_sees_the_places_and_takes_back_and_reopens_from_there(
    client: Client, document: Document, owner: User, ada: User, bea: User
) -> None:
    submitted(document, ada)
    opened(document, bea)
    panel = get(client, owner, f"/d/{document.public_id}/").select_one("#places")
    assert panel is not None
    assert f"{ada} Decompose, slot 1: submitted" in words(panel)
    assert f"{bea} Decompose, slot 2: open" in words(panel)
    assert get(client, ada, f"/d/{document.public_id}/").select_one("#places") is None
    client.force_login(owner)
    for form in panel.select("form[action*='take-back'], form[action*='reopen-annotation']"):
        data = {str(tag["name"]): str(tag.get("value") or "Why not.") for tag in form.select("input[name]")}
        assert client.post(str(form["action"]), data).status_code == 302
    states = dict(document.annotations.filter(person__isnull=False).values_list("person", "state"))
    assert states == {ada.pk: AnnotationState.OPEN, bea.pk: AnnotationState.TAKEN_BACK}
    # Bea's screen offers the place again; a fragment that her open page still asks for leads there.
    page = get(client, bea, f"/d/{document.public_id}/decompose/")
    assert "unassigned from you" in words(page.select_one("main"))
    fragment = client.get(f"/d/{document.public_id}/decompose/", headers={"hx-request": "true"})
    assert fragment["HX-Redirect"] == f"/d/{document.public_id}/decompose/"


# --- extra places ---------------------------------------------------------------------------------


def test_a_document_goes_on_without_an_extra_place_that_nobody_takes(
    client: Client, document: Document, owner: User, ada: User, bea: User
) -> None:
    Document.objects.filter(pk=document.pk).update(extra_people=1)
    submitted(document, ada)
    submitted(document, bea)
    document.refresh_from_db()
    assert document.phase == Phase.INDEPENDENT
    client.force_login(owner)
    assert "without the additional annotator" in client.get(f"/d/{document.public_id}/").content.decode()
    client.post(f"/d/{document.public_id}/do/close-places/")
    document.refresh_from_db()
    assert (document.extra_people, document.phase) == (0, Phase.CONSOLIDATING)
    version = document.annotations.get(kind=AnnotationKind.CONSOLIDATED)
    assert version.tally.people == [ada.pk, bea.pk]
    with pytest.raises(BadValueError, match="no free extra place to give up"):
        close_extra_places(document, by=owner)
    with pytest.raises(NotAllowedError):
        close_extra_places(document, by=ada)
