"""A person's benchmarks and roles."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import QuerySet

from annotator.core.models import Benchmark, GroupMember, Membership, User
from annotator.core.rules import ADMIN_ROLES, LABEL_ROLES
from annotator.core.vocabulary import Role


def benchmarks_of(user: User, roles: Collection[str] | None = None) -> QuerySet[Benchmark]:
    """The benchmarks of a person, optionally only with these roles. Superusers see all."""
    if user.is_superuser:
        return Benchmark.objects.all()
    memberships = Membership.objects.filter(user=user, active=True)
    if roles is not None:
        memberships = memberships.filter(role__in=roles)
    return Benchmark.objects.filter(pk__in=memberships.values("benchmark"))


def managers_of(benchmark: Benchmark) -> list[User]:
    """Owners and admins. One query."""
    rows = Membership.objects.filter(benchmark=benchmark, active=True, role__in=ADMIN_ROLES)
    return [row.user for row in rows.select_related("user").order_by("pk")]


@dataclass(frozen=True, slots=True)
class Memberships:
    """A person's memberships, as primary keys: the role in each benchmark, the seat in each group, the benchmarks they
    see and those they may label (all, for a superuser), and whether a benchmark they annotate requires practice."""

    roles: dict[int, str]
    seats: dict[int, str]
    sees: list[int]
    labels_in: list[int]
    may_have_to_practise: bool


def memberships_of(user: User) -> Memberships:
    """All memberships, read once for several questions (two queries; three for a superuser)."""
    rows = list(
        Membership.objects.filter(user=user, active=True)
        .order_by("benchmark")
        .values_list("benchmark", "role", "benchmark__practice_documents")
    )
    seats = GroupMember.objects.filter(user=user, active=True).order_by("pk").values_list("group", "seat")
    if user.is_superuser:
        sees = labels_in = list(Benchmark.objects.order_by("pk").values_list("pk", flat=True))
    else:
        sees = [benchmark for benchmark, _, _ in rows]
        labels_in = [benchmark for benchmark, role, _ in rows if role in LABEL_ROLES]
    return Memberships(
        roles={benchmark: role for benchmark, role, _ in rows},
        seats=dict(seats),
        sees=sees,
        labels_in=labels_in,
        may_have_to_practise=any(role == Role.ANNOTATOR and wanted for _, role, wanted in rows),
    )
