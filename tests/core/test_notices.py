"""Notices: who is told what and who is not, what a notice never says, and what is not doubled."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.core.actions.fields import BadValueError
from annotator.core.actions.notices import mail_notices, mark_read, tell
from annotator.core.models import Benchmark, Document, Flag, Notice, User
from annotator.core.queries.notices import place_of, unread_count
from annotator.core.vocabulary import FlagReason, NoticeKind, Role, Stage
from annotator.stages.actions import documents as actions
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.submit import submit
from annotator.team.actions.team import deactivate
from tests.agreeing import begun, settle
from tests.factories import BenchmarkFactory, DocumentFactory, UserFactory, decomposed, member, prefill, retrieve
from tests.teams import batch_of, get, group_with, ship, words

pytestmark = pytest.mark.django_db

FINISHED = NoticeKind.PARTNER_FINISHED
RETURNED = NoticeKind.RETURNED


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(name="Tikal", slug="tikal", overlap=2, third_rater_at_verify=False)


@pytest.fixture
def ada(benchmark: Benchmark) -> User:
    return member(benchmark, display_name="Ada", email="ada@example.org")


@pytest.fixture
def ben(benchmark: Benchmark) -> User:
    return member(benchmark, display_name="Ben", email="ben@example.org")


@pytest.fixture
def document(benchmark: Benchmark) -> Document:
    return prefill(DocumentFactory(benchmark=benchmark, external_id="erebus"))


@pytest.fixture
def mailing(settings: Any) -> None:
    settings.MAIL_IS_ON = True
    settings.SITE_URL = "https://touchstone.example"


def told(person: User) -> list[str]:
    """What a person's notices say, the newest first."""
    return [row.text for row in person.notices.all()]


def adjudicated(document: Document, ada: User, ben: User) -> Document:
    """The document with decompose agreed, and nothing to read."""
    for person in (ada, ben):
        submit(begun(document, person), by=person)
    document.refresh_from_db()
    settle(document, [ada, ben], [])
    retrieve(document)
    Notice.objects.all().delete()
    return document


# --- partners -------------------------------------------------------------------------------------


def test_a_partner_who_is_at_work_is_told_that_the_other_has_finished(document: Document, ada: User, ben: User) -> None:
    open_annotation(document, Stage.DECOMPOSE, by=ben)
    submit(begun(document, ada), by=ada)
    notice = ben.notices.get()
    assert notice.kind == FINISHED
    assert notice.text == "Your partner has finished decompose of erebus: it is waiting for you."
    assert not told(ada)


def test_when_everyone_has_submitted_the_others_are_told_that_it_can_be_agreed(
    document: Document, owner: User, ada: User, ben: User
) -> None:
    for person in (ada, ben):
        submit(begun(document, person), by=person)
    assert told(ada) == ["Decompose of erebus is ready for adjudication."]
    assert not told(ben)
    assert not told(owner)


def test_the_group_of_a_document_is_told_before_it_has_begun(benchmark: Benchmark, owner: User) -> None:
    ada, ben, cleo, stranger = (member(benchmark) for _ in range(4))
    (document,) = batch_of(group_with(benchmark, owner, ada, ben, third_rater=cleo), 1)
    decomposed(document, ada)
    assert len(told(ben)) == 1
    assert not told(cleo) and not told(stranger)


def test_who_of_the_group_has_no_place_is_not_told(benchmark: Benchmark, owner: User) -> None:
    ada, ben, late = (member(benchmark) for _ in range(3))
    (document,) = batch_of(group_with(benchmark, owner, ada, ben, late), 1)
    open_annotation(document, Stage.DECOMPOSE, by=ben)
    decomposed(document, ada)
    assert told(ben) and not told(late)


def test_who_has_passed_the_document_on_is_not_told(benchmark: Benchmark, owner: User) -> None:
    ada, ben = member(benchmark), member(benchmark)
    (document,) = batch_of(group_with(benchmark, owner, ada, ben), 1)
    actions.flag(document, FlagReason.CONFLICT_OF_INTEREST, by=ben)
    decomposed(document, ada)
    assert not told(ben)


def test_what_a_partner_is_told_says_neither_who_nor_how_much_nor_when(
    document: Document, ada: User, ben: User, client: Client
) -> None:
    ada.display_name = "Quetzal"
    ada.save()
    open_annotation(document, Stage.DECOMPOSE, by=ben)
    submit(begun(document, ada), by=ada, active_seconds=417)
    Notice.objects.update(created_at=timezone.now().replace(hour=13, minute=46))
    page = get(client, ben, "/notices/")
    line = words(page.select_one(".notice"))
    assert line == "New Your partner has finished decompose of erebus: it is waiting for you. Tikal"
    everything = page.find("main")
    assert not re.search(r"Quetzal|417|13:46|1:46", str(everything))


def test_with_one_person_a_document_nobody_is_told_about_what_they_do_themselves(owner: User) -> None:
    benchmark = BenchmarkFactory(overlap=1)
    ada = member(benchmark, Role.OWNER)
    document = prefill(DocumentFactory(benchmark=benchmark))
    decomposed(document, ada)
    actions.reopen(document, Stage.DECOMPOSE, "a slip", by=ada)
    actions.discard(document, "broken", by=ada)
    actions.bring_back(document, by=ada)
    assert not Notice.objects.exists()


# --- what admins do -------------------------------------------------------------------------------


def test_a_reopened_stage_is_told_with_the_reason_to_those_whose_work_it_is(
    document: Document, benchmark: Benchmark, owner: User, ada: User, ben: User
) -> None:
    bystander = member(benchmark)
    adjudicated(document, ada, ben)
    actions.reopen(document, Stage.DECOMPOSE, "Claim two is two claims.", by=owner)
    for person in (ada, ben):
        notice = person.notices.get()
        assert (notice.kind, notice.stage) == (RETURNED, Stage.DECOMPOSE)
        assert notice.text == "Decompose of erebus was reopened: Claim two is two claims."
    assert not told(bystander) and not told(owner)


def test_who_worked_on_a_later_stage_alone_is_led_to_the_document(
    document: Document, benchmark: Benchmark, owner: User, ada: User, ben: User
) -> None:
    adjudicated(document, ada, ben)
    cleo = member(benchmark)
    open_annotation(document, Stage.VERIFY, by=cleo)
    actions.reopen(document, Stage.DECOMPOSE, "a slip", by=owner)
    assert place_of(cleo.notices.get()) == f"/d/{document.public_id}/"
    assert place_of(ada.notices.get()) == f"/d/{document.public_id}/decompose/"


def test_discarding_and_bringing_back_is_told_to_those_at_work(
    document: Document, owner: User, ada: User, ben: User
) -> None:
    open_annotation(document, Stage.DECOMPOSE, by=ada)
    actions.discard(document, "Distressing.", by=owner)
    assert told(ada) == ["erebus was discarded: Distressing."]
    actions.bring_back(document, by=owner)
    assert told(ada)[0] == "erebus was discarded and has been brought back. Work on it continues."
    assert not told(ben)


def test_a_claim_that_is_sent_back_is_told_to_those_who_decomposed_it(
    document: Document, benchmark: Benchmark, ada: User, ben: User
) -> None:
    adjudicated(document, ada, ben)
    cleo = member(benchmark)
    claim = open_annotation(document, Stage.VERIFY, by=cleo).verdicts.all()[0].claim
    actions.send_back(claim, "Two claims in one.", by=cleo)
    expected = "A claim in erebus was sent back from verify for correction: Two claims in one."
    assert told(ada) == told(ben) == [expected]
    assert claim.text not in expected
    assert not told(cleo)


def test_a_cleared_flag_is_told_to_the_one_who_passed_it_on_once(document: Document, owner: User, ada: User) -> None:
    actions.flag(document, FlagReason.NEEDS_EXPERTISE, by=ada)
    flag = Flag.objects.get()
    for _ in range(2):
        actions.clear_flag(flag, by=owner)
    assert told(ada) == ["erebus, which you flagged, is back in your queue."]
    assert not told(owner)


def test_an_action_that_is_refused_tells_nobody(document: Document, owner: User, ada: User) -> None:
    open_annotation(document, Stage.DECOMPOSE, by=ada)
    with pytest.raises(BadValueError):
        actions.reopen(document, Stage.DECOMPOSE, "a slip", by=owner)
    assert not Notice.objects.exists()


# --- who is never told ----------------------------------------------------------------------------


def test_neither_the_doer_nor_people_who_left_are_told(benchmark: Benchmark, owner: User, ada: User) -> None:
    former = member(benchmark)
    former.memberships.update(active=False)
    switched_off = member(benchmark, is_active=False)
    outsider = UserFactory()
    tell([owner, ada, former, switched_off, outsider, ada], RETURNED, "Back.", benchmark=benchmark, by=owner)
    assert [row.to for row in Notice.objects.all()] == [ada]


def test_a_document_alone_says_which_benchmark_a_notice_is_about(document: Document, ada: User) -> None:
    outsider = UserFactory()
    tell([ada, outsider], RETURNED, "Back.", document=document)
    assert Notice.objects.get().benchmark == document.benchmark


def test_a_former_member_reads_nothing_of_the_benchmark_any_more(
    client: Client, benchmark: Benchmark, owner: User, document: Document, ada: User, mailing: None
) -> None:
    tell([ada], RETURNED, "Back in Tikal.", document=document)
    notice = ada.notices.get()
    deactivate(ship(benchmark, ada), by=owner)
    assert unread_count(ada) == 0
    assert "Tikal" not in str(get(client, ada, "/notices/"))
    assert client.post(reverse("notice", args=[notice.public_id])).status_code == 404
    mail_notices(ada.pk)
    assert not mail.outbox


# --- doubling -------------------------------------------------------------------------------------


def test_an_unread_notice_about_the_same_is_renewed_and_comes_first(document: Document, ada: User) -> None:
    tell([ada], RETURNED, "First.", document=document, stage=Stage.DECOMPOSE)
    first = ada.notices.get()
    Notice.objects.update(created_at=timezone.now() - dt.timedelta(days=3))
    tell([ada], NoticeKind.DISCARDED, "Between.", document=document)
    tell([ada], RETURNED, "Second.", document=document, stage=Stage.DECOMPOSE)
    assert told(ada) == ["Second.", "Between."]
    renewed = ada.notices.get(text="Second.")
    assert renewed.public_id == first.public_id  # an open page still finds it
    assert timezone.now() - renewed.created_at < dt.timedelta(minutes=5)


def test_another_stage_kind_document_or_person_and_a_read_notice_are_not_the_same(
    document: Document, benchmark: Benchmark, ada: User, ben: User
) -> None:
    other = DocumentFactory(benchmark=benchmark)
    tell([ada], RETURNED, "1", document=document, stage=Stage.DECOMPOSE)
    tell([ada], RETURNED, "2", document=document, stage=Stage.VERIFY)
    tell([ada], NoticeKind.COMMENT, "3", document=document, stage=Stage.DECOMPOSE)
    tell([ada], RETURNED, "4", document=other, stage=Stage.DECOMPOSE)
    tell([ben], RETURNED, "5", document=document, stage=Stage.DECOMPOSE)
    tell([ada], RETURNED, "6", benchmark=benchmark)
    tell([ada], RETURNED, "7", benchmark=benchmark)
    assert Notice.objects.count() == 7
    mark_read(ada.notices.filter(text="1"), by=ada)
    tell([ada], RETURNED, "8", document=document, stage=Stage.DECOMPOSE)
    assert Notice.objects.count() == 8
