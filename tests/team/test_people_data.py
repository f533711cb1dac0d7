"""Everything about a person as a file, erasing a person while gold stays as it is, and what is forgotten in time."""

from __future__ import annotations

import datetime as dt
import io
import json
from pathlib import Path
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.core.models import Activity, Annotation, Notice, SecurityEvent, User
from annotator.core.queries.pseudonyms import pseudonym
from annotator.core.rules import NotAllowedError
from annotator.core.vocabulary import NoticeKind, Role
from annotator.integrations.actions.tokens import TokenRefusedError, create_token, token_for
from annotator.team.actions.erase import erase
from annotator.team.actions.retention import forget_what_is_old
from annotator.team.actions.team import change_role
from tests.factories import BenchmarkFactory, DocumentFactory, UserFactory, decomposed, member, prefill

pytestmark = pytest.mark.django_db
NAMES = ("ada.lovelace", "Ada Lovelace", "ada@example.org")


@pytest.fixture
def root() -> User:
    person: User = UserFactory(is_superuser=True)
    return person


@pytest.fixture
def ada(client: Client) -> User:
    """Has labeled, was given a role, has signed in, and is named in the list of somebody else."""
    benchmark = BenchmarkFactory(slug="tikal")
    owner = member(benchmark, Role.OWNER)
    person = member(benchmark, username=NAMES[0], display_name=NAMES[1], email=NAMES[2])
    decomposed(prefill(DocumentFactory(benchmark=benchmark)), person)
    annotation = Annotation.objects.filter(person=person).latest("pk")
    Annotation.objects.filter(pk=annotation.pk).update(note="Call Ben about this")
    change_role(person.memberships.get(), Role.ADMIN, by=owner)
    Notice.objects.create(to=owner, kind=NoticeKind.RETURNED, text=f"{NAMES[1]} asks a question.")
    EmailAddress.objects.create(user=person, email=NAMES[2], verified=True, primary=True)
    person.set_password("quetzal over Tikal 7")
    person.save()
    answer = client.post(reverse("login"), {"login": NAMES[0], "password": "quetzal over Tikal 7"})
    assert answer.status_code == 302
    return person


def stored() -> str:
    """Every text column of every table that says who people are."""
    rows: list[Any] = [*User.objects.values_list("username", "display_name", "email", "preferences")]
    rows += [*Activity.objects.values_list("reason", "changes"), *Notice.objects.values_list("text")]
    rows += [*SecurityEvent.objects.values_list("name", "detail"), *EmailAddress.objects.values_list("email")]
    return str(rows)


def test_a_person_downloads_everything_about_them(client: Client, ada: User) -> None:
    assert "Download my data" in client.get(reverse("privacy")).content.decode()
    data = json.loads(client.get(reverse("privacy-download")).content)
    assert data["profile"][0]["email"] == NAMES[2]
    assert [row["kind"] for row in data["security_events"]] == ["sign-in"]
    assert data["sessions"][0]["ip"] == "127.0.0.1"
    assert data["memberships"][0]["role"] == "admin"
    assert data["annotations"][0]["note"] == "Call Ben about this"
    assert {"submit"} <= {row["action"] for row in data["activities"]}
    assert "password" not in json.dumps(data).replace("Password", "")


def test_erasing_takes_the_name_and_leaves_the_labels(client: Client, ada: User, root: User) -> None:
    token = create_token(by=ada, name="Script", scopes=["read"]).whole
    benchmark = ada.memberships.get().benchmark
    before = pseudonym(benchmark, ada.pk)
    labels = list(Annotation.objects.filter(person=ada).values_list("pk", "state", "submitted_at"))
    claims = list(Annotation.objects.get(person=ada).sentences.values_list("text", "type"))
    LogEntry.objects.log_actions(root.pk, [ada], CHANGE, change_message=f"Changed role of {ada}.")
    assert all(name in stored() for name in NAMES)
    new = erase(ada, by=root)
    assert not [name for name in NAMES if name in stored()]
    ada.refresh_from_db()
    assert (ada.username, str(ada), ada.email, ada.is_active) == (new, "Erased person", "", False)
    assert not ada.has_usable_password() and pseudonym(benchmark, ada.pk) == before
    assert list(Annotation.objects.filter(person=ada).values_list("pk", "state", "submitted_at")) == labels
    assert list(Annotation.objects.get(person=ada).sentences.values_list("text", "type")) == claims
    assert Annotation.objects.get(person=ada).note == ""
    assert Activity.objects.filter(by=ada, action="submit").exists()
    assert client.get(reverse("privacy")).status_code == 302 and not UserSession.objects.exists()
    with pytest.raises(TokenRefusedError):
        token_for(token)


def test_words_that_merely_contain_a_name_are_left_alone(root: User) -> None:
    benchmark = BenchmarkFactory()
    person = member(benchmark, username="ben", display_name="Ben", email="")
    Activity.objects.create(action="export", benchmark=benchmark, reason="Benchmark of Ben, ben-1")
    new = erase(person, by=root)
    assert Activity.objects.get(action="export").reason == f"Benchmark of {new}, {new}-1"


def test_only_superusers_erase_and_no_benchmark_loses_its_only_owner(ada: User, root: User) -> None:
    owner = User.objects.get(memberships__role=Role.OWNER)
    with pytest.raises(NotAllowedError, match="Only a superuser"):
        erase(ada, by=owner)
    with pytest.raises(NotAllowedError, match="only owner"):
        erase(owner, by=root)
    owner.refresh_from_db()
    assert owner.is_active and ada.memberships.get().active


def test_the_command_exports_and_erases(ada: User, root: User, tmp_path: Path) -> None:
    file = tmp_path / "ada.json"
    call_command("person", "export", NAMES[0], "--output", str(file))
    assert json.loads(file.read_text())["profile"][0]["username"] == NAMES[0] and file.stat().st_mode & 0o077 == 0
    said = io.StringIO()
    call_command("person", "erase", NAMES[0], "--by", root.username, "--yes", stdout=said)
    assert "Erased. The account is now called erased-" in said.getvalue()
    with pytest.raises(CommandError, match="Nobody has the user name"):
        call_command("person", "export", NAMES[0])


def test_what_is_old_is_forgotten(ada: User, settings: Any) -> None:
    long_ago = timezone.now() - dt.timedelta(days=400)
    SecurityEvent.objects.update(at=long_ago)
    Notice.objects.update(read_at=long_ago)
    Session.objects.update(expire_date=long_ago)
    unread = Notice.objects.create(to=ada, kind=NoticeKind.RETURNED, text="Unread")
    assert forget_what_is_old() == {"security events": 1, "notices": 1, "sessions": 1}
    assert list(Notice.objects.all()) == [unread]
    settings.NOTICES_DAYS = settings.SECURITY_EVENTS_DAYS = 0
    Notice.objects.update(read_at=long_ago)
    assert forget_what_is_old() == {"security events": 0, "notices": 0, "sessions": 0}
