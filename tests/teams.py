"""What the tests of teams share: members, groups with batches, two things at the same moment, pages."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from bs4 import BeautifulSoup, Tag
from django.db import close_old_connections, connections
from django.test import Client

from annotator.core.models import Batch, Benchmark, Document, Group, Membership, User
from annotator.core.vocabulary import Role, Seat
from annotator.team.actions import groups as group_actions
from tests.factories import documents, member, prefill


def ship(benchmark: Benchmark, person: User) -> Membership:
    """The membership as it stands."""
    return Membership.objects.select_related("benchmark", "user").get(benchmark=benchmark, user=person)


def newcomer(benchmark: Benchmark, role: Role = Role.ANNOTATOR) -> Membership:
    return ship(benchmark, member(benchmark, role))


def get(client: Client, user: User | None, url: str, status: int = 200) -> BeautifulSoup:
    if user is not None:
        client.force_login(user)
    answer = client.get(url)
    assert answer.status_code == status
    return BeautifulSoup(answer.content, "html.parser")


def words(tag: Tag | None) -> str:
    assert tag is not None
    return " ".join(tag.get_text(" ", strip=True).split())


def group_with(benchmark: Benchmark, owner: User, *annotators: User, third_rater: User | None = None) -> Group:
    group = group_actions.create_group(benchmark, by=owner)
    for person in annotators:
        group_actions.add_member(group, person, by=owner, seat=Seat.ANNOTATOR)
    if third_rater:
        group_actions.add_member(group, third_rater, by=owner, seat=Seat.THIRD_RATER)
    return group


def batch_of(group: Group, count: int) -> list[Document]:
    number = Batch.objects.count() + 1
    batch = Batch.objects.create(benchmark=group.benchmark, name=f"Batch {number}", group=group)
    return [prefill(row) for row in documents(count, benchmark=group.benchmark, batch=batch)]


def at_once(*calls: Callable[[], Any]) -> list[Exception | None]:
    """Call them in threads of their own at the same moment; what each raised."""
    gate = Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Exception | None:
        close_old_connections()
        gate.wait()
        try:
            call()
        except Exception as error:
            return error
        finally:
            connections.close_all()
        return None

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
