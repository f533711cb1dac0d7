"""Notices by mail: one mail for many, to whom, when the server is down, and turning it off."""

from __future__ import annotations

import datetime as dt
import smtplib
from typing import Any

import pytest
from celery.exceptions import Retry
from django.core import mail
from django.core.mail import EmailMessage
from django.test import Client
from django.utils import timezone

from annotator import tasks
from annotator.core.actions.notices import left_behind, mail_notices, mark_read, tell
from annotator.core.models import Benchmark, Document, Notice, User
from annotator.core.vocabulary import NoticeKind, Phase, Stage
from annotator.stages.actions import documents as actions
from annotator.stages.actions.annotate import open_annotation
from tests.factories import BenchmarkFactory, DocumentFactory, member, prefill
from tests.teams import get

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


def test_ten_events_make_one_mail_with_sentences_and_links(
    benchmark: Benchmark, ada: User, ben: User, mailing: None, django_capture_on_commit_callbacks: Any
) -> None:
    documents = [DocumentFactory(benchmark=benchmark) for _ in range(10)]
    with django_capture_on_commit_callbacks(execute=True) as calls:
        for number, document in enumerate(documents):
            tell([ada], RETURNED, f"Event {number}:\nback.", document=document, by=ben)
        assert not mail.outbox
    assert len(calls) == 1
    (sent,) = mail.outbox
    assert (sent.to, sent.subject) == (["ada@example.org"], "10 notices from Touchstone")
    for number, document in enumerate(documents):
        assert f"Event {number}: back.\nhttps://touchstone.example/d/{document.public_id}/\n" in sent.body
    assert "https://touchstone.example/notices/" in sent.body
    assert documents[0].prompt not in sent.body and documents[0].response not in sent.body
    assert not ada.notices.filter(mailed_at=None).exists()
    mail_notices(ada.pk)
    assert len(mail.outbox) == 1


def test_a_mail_waits_a_little_for_what_follows(
    document: Document,
    ada: User,
    mailing: None,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    sent: list[tuple[Any, Any]] = []

    def order(args: Any, kwargs: Any, **options: Any) -> None:
        sent.append((args, options["countdown"]))

    monkeypatch.setattr(tasks.mail_notices, "apply_async", order)
    with django_capture_on_commit_callbacks(execute=True):
        tell([ada], RETURNED, "Back.", document=document)
    assert sent == [((ada.pk,), 120)]


def test_what_was_read_meanwhile_is_not_mailed(document: Document, ada: User, mailing: None) -> None:
    tell([ada], RETURNED, "Back.", document=document)
    mark_read(ada.notices.all(), by=ada)
    mail_notices(ada.pk)
    assert not mail.outbox


def test_a_renewed_notice_is_mailed_again_only_if_it_says_something_new(
    document: Document, ada: User, mailing: None
) -> None:
    for text in ("Finished.", "Finished.", "Can be agreed."):
        tell([ada], FINISHED, text, document=document, stage=Stage.DECOMPOSE)
        mail_notices(ada.pk)
    assert [sent.body.split("\n")[0] for sent in mail.outbox] == ["Finished.", "Can be agreed."]


def test_a_very_long_mail_is_cut_and_says_so(benchmark: Benchmark, ada: User, mailing: None) -> None:
    Notice.objects.bulk_create(
        Notice(to=ada, kind=RETURNED, text=f"Line {number}.", benchmark=benchmark) for number in range(53)
    )
    mail_notices(ada.pk)
    assert mail.outbox[0].body.count("Line ") == 50
    assert "There are 3 more." in mail.outbox[0].body


@pytest.mark.parametrize("why", ["no server", "no address", "turned off", "switched off"])
def test_nothing_is_mailed_to_who_cannot_be_or_does_not_want_to(
    why: str, document: Document, ada: User, mailing: None, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        tell([ada], RETURNED, "Back.", document=document)
        if why == "no server":
            settings.MAIL_IS_ON = False
        elif why == "no address":
            ada.email = ""
        elif why == "turned off":
            ada.preferences["mail"] = False
        else:
            ada.is_active = False
        ada.save()
    assert not mail.outbox
    assert ada.notices.get().mailed_at is None


def test_without_a_mail_server_no_mail_is_ordered(
    document: Document, ada: User, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks() as calls:
        tell([ada], RETURNED, "Back.", document=document)
    assert not calls


def test_a_broken_mail_server_breaks_no_action_and_is_asked_again(
    document: Document,
    owner: User,
    ada: User,
    mailing: None,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    def refuse(message: EmailMessage, fail_silently: bool = False) -> int:
        raise smtplib.SMTPServerDisconnected("gone")

    monkeypatch.setattr(EmailMessage, "send", refuse)
    open_annotation(document, Stage.DECOMPOSE, by=ada)
    with django_capture_on_commit_callbacks(execute=True):
        actions.discard(document, "Broken.", by=owner)
    document.refresh_from_db()
    assert document.phase == Phase.DISCARDED
    assert ada.notices.get().mailed_at is None
    with pytest.raises(Retry):
        tasks.mail_notices.apply((ada.pk,), throw=True, retries=0)
    monkeypatch.undo()


def test_an_error_in_our_own_code_is_not_tried_again(
    document: Document, ada: User, mailing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell([ada], RETURNED, "Back.", document=document)
    calls = []

    def fail(*args: Any) -> str:
        calls.append(args)
        raise KeyError("a slip")

    monkeypatch.setattr("annotator.core.actions.notices.render_to_string", fail)
    with pytest.raises(KeyError):
        tasks.mail_notices.apply((ada.pk,), throw=True)
    assert len(calls) == 1


def test_mail_that_was_lost_is_ordered_anew_within_a_day(
    document: Document, ada: User, ben: User, mailing: None, settings: Any
) -> None:
    tell([ada, ben], RETURNED, "Back.", document=document)
    assert left_behind() == []  # its mail may still be on the way
    ada.notices.update(created_at=timezone.now() - dt.timedelta(hours=2))
    ben.notices.update(created_at=timezone.now() - dt.timedelta(days=2))
    assert left_behind() == [ada.pk]
    tasks.mail_what_was_left()
    assert [sent.to for sent in mail.outbox] == [["ada@example.org"]]
    assert left_behind() == []
    settings.MAIL_IS_ON = False
    ada.notices.update(mailed_at=None)
    assert left_behind() == []


def test_a_person_turns_mail_off_and_on_and_other_preferences_stay(client: Client, ada: User, mailing: None) -> None:
    ada.preferences = {"keys": "off"}
    ada.save()
    box = get(client, ada, "/notices/").select_one("input[name=mail]")
    assert box is not None and box.has_attr("checked")
    client.post("/notices/mail/", {})
    ada.refresh_from_db()
    assert ada.preferences == {"keys": "off", "mail": False}
    box = get(client, ada, "/notices/").select_one("input[name=mail]")
    assert box is not None and not box.has_attr("checked")
    client.post("/notices/mail/", {"mail": "on"})
    ada.refresh_from_db()
    assert ada.preferences == {"keys": "off", "mail": True}


def test_the_page_says_why_nothing_is_mailed(client: Client, ada: User, owner: User, settings: Any) -> None:
    assert "doesn't send email" in get(client, ada, "/notices/").text
    settings.MAIL_IS_ON = True
    assert "You have no email address on file" in get(client, owner, "/notices/").text
