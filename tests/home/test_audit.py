"""The audit log: who sees it, what stands in it, and that names in it are not run by spreadsheets."""

from __future__ import annotations

import csv
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.admin.models import CHANGE, LogEntry
from django.test import Client
from django.urls import reverse

from annotator.core.actions.recorder import Action
from annotator.core.models import Benchmark, SecurityEvent, User
from annotator.core.vocabulary import Role
from annotator.home.queries.audit import newest
from annotator.team.actions.team import change_role
from tests.factories import BenchmarkFactory, UserFactory, member

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark() -> Benchmark:
    found: Benchmark = BenchmarkFactory(slug="tikal", name="Tikal")
    return found


@pytest.fixture
def owner(benchmark: Benchmark, client: Client) -> User:
    person = member(benchmark, Role.OWNER, display_name="Ada")
    client.force_login(person)
    return person


def rows(answer: Any) -> list[list[str]]:
    return list(csv.reader(b"".join(answer.streaming_content).decode().splitlines()))


def test_sign_ins_exports_and_roles_stand_in_one_list(client: Client, benchmark: Benchmark, owner: User) -> None:
    ben = member(benchmark, display_name="=Ben")
    change_role(ben.memberships.get(), Role.ADMIN, by=owner)
    Action(name="export", by=owner, benchmark=benchmark, reason="csv, gold").write()
    Action(name="save", by=owner, benchmark=benchmark).write()
    SecurityEvent.objects.create(kind="failed", user=ben, address="192.0.2.7")
    SecurityEvent.objects.create(kind="failed", name="root", address="192.0.2.9")
    page = BeautifulSoup(client.get(reverse("audit", args=["tikal"])).content, "html.parser")
    found = [[cell.get_text(strip=True) for cell in row.select("td")] for row in page.select("tbody tr")]
    assert found[:3] == [
        ["=Ben", "Failed sign-in", "–", "192.0.2.7"],
        ["Ada", "Exported", "csv, gold", "–"],
        ["Ada", "Changed a role", "=Ben: Annotator to Admin", "–"],
    ]
    listed = [row[0] for row in found]
    assert "“root”" not in listed and "save" not in [row[1] for row in found]
    downloaded = rows(client.get(reverse("audit-download", args=["tikal"]), {"kind": "sign-ins"}))
    assert downloaded[0] == ["at", "who", "what", "detail", "benchmark", "address"]
    assert downloaded[1][1:] == ["'=Ben", "Failed sign-in", "", "", "192.0.2.7"]
    one = rows(client.get(reverse("audit-download", args=["tikal"]), {"name": ben.username}))
    assert {row[1] for row in one[1:]} == {"'=Ben"}


def test_settings_crowd_links_and_downloads_stand_in_it(client: Client, benchmark: Benchmark, owner: User) -> None:
    for name in ("change-settings", "archive-benchmark", "open-crowd-link", "close-crowd-link", "enter-by-crowd-link"):
        Action(name=name, by=owner, benchmark=benchmark, reason="Said").write()
    tables = [("people", {"format": "csv"}), ("agreement-download", {}), ("statistics-download", {})]
    for name, asked in tables:
        assert client.get(reverse(name, args=["tikal"]), asked).status_code == 200
    rows(client.get(reverse("audit-download", args=["tikal"])))
    assert [(each.what, each.detail) for each in newest(benchmark) if each.what != "Signed in"] == [
        ("Downloaded", "audit log"),
        ("Downloaded", "statistics, sizes"),
        ("Downloaded", "agreement, fields"),
        ("Downloaded", "people"),
        ("Joined by a crowd link", "Said"),
        ("Closed a crowd link", "Said"),
        ("Opened a crowd link", "Said"),
        ("Archived the benchmark", "Said"),
        ("Changed settings", "Said"),
    ]


def test_changes_in_the_django_admin_stand_in_that_of_the_installation(benchmark: Benchmark, owner: User) -> None:
    membership = owner.memberships.get()
    LogEntry.objects.log_actions(owner.pk, [membership], CHANGE, change_message=[{"changed": {"fields": ["Role"]}}])
    [entry] = newest(None, kind="permissions")
    assert (entry.who, entry.what) == ("Ada", "In the Django admin")
    assert str(membership) in entry.detail and "Changed Role" in entry.detail
    assert not newest(benchmark, kind="permissions") and not newest(None, kind="data")


def test_annotators_do_not_see_it(client: Client, benchmark: Benchmark, owner: User) -> None:
    client.force_login(member(benchmark))
    for name in ("audit", "audit-download"):
        assert client.get(reverse(name, args=["tikal"])).status_code == 403


def test_the_whole_installation_is_for_superusers(client: Client, benchmark: Benchmark, owner: User) -> None:
    SecurityEvent.objects.create(kind="failed", name="root", address="192.0.2.9")
    for name in ("audit-all", "audit-all-download"):
        assert client.get(reverse(name)).status_code == 403
    client.force_login(UserFactory(is_superuser=True))
    assert "“root”" in client.get(reverse("audit-all")).content.decode()
    assert any("“root”" in row for row in rows(client.get(reverse("audit-all-download"))))


def test_two_queries_whatever_the_length(benchmark: Benchmark, owner: User, django_assert_num_queries: Any) -> None:
    for number in range(50):
        Action(name="export", by=owner, benchmark=benchmark, reason=str(number)).write()
        SecurityEvent.objects.create(kind="sign-in", user=owner)
    with django_assert_num_queries(2):
        assert len(newest(benchmark)) >= 100
