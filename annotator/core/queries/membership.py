"""A person's benchmarks and roles."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from annotator.core.models import Benchmark, Corpus, GroupMember, Membership, User
from annotator.core.rules import ADMIN_ROLES, LABEL_ROLES, READ_GOLD_ROLES, can_create_benchmark
from annotator.core.vocabulary import Role


def benchmarks_of(user: User, roles: Collection[str] | None = None) -> QuerySet[Benchmark]:
    """The benchmarks of a person, optionally only with these roles. Superusers see all."""
    if user.is_superuser:
        return Benchmark.objects.filter(deleting_at__isnull=True)
    memberships = Membership.objects.filter(user=user, active=True)
    if roles is not None:
        memberships = memberships.filter(role__in=roles)
    return Benchmark.objects.filter(pk__in=memberships.values("benchmark"))


def corpora_for(user: User) -> QuerySet[Corpus]:
    """The corpora that a person may let a benchmark search: all for those who can make benchmarks, else their own and
    those of the benchmarks that they manage."""
    if can_create_benchmark(user):
        return Corpus.objects.order_by("name", "pk")
    mine = benchmarks_of(user, ADMIN_ROLES).filter(corpus__isnull=False)
    return Corpus.objects.filter(Q(pk__in=mine.values("corpus")) | Q(created_by=user)).order_by("name", "pk")


def practice_sources(user: User, benchmark: Benchmark) -> QuerySet[Benchmark]:
    """The benchmarks whose gold an owner may let new annotators of this one practice on: those whose gold they can
    export, and the present choice."""
    readable = benchmarks_of(user, READ_GOLD_ROLES).exclude(pk=benchmark.pk)
    chosen = Q(pk__in=readable.values("pk")) | Q(pk=benchmark.practice_from_id)
    return Benchmark.objects.filter(chosen).order_by("name", "pk")


def managers_of(benchmark: Benchmark) -> list[User]:
    """Owners and admins. One query."""
    rows = Membership.objects.filter(benchmark=benchmark, active=True, role__in=ADMIN_ROLES)
    return [row.user for row in rows.select_related("user").order_by("pk")]


@dataclass(frozen=True, slots=True)
class Memberships:
    """Where a person is, in primary keys: the role in each benchmark of which they are a member and the seat in each
    group, the benchmarks that they see and those in which they may label (a superuser all; none that are archived), and
    whether one of those in which they are annotator wants newcomers to practice."""

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
        .values_list("benchmark", "role", "benchmark__practice_documents", "benchmark__archived_at")
    )
    seats = GroupMember.objects.filter(user=user, active=True).order_by("pk").values_list("group", "seat")
    if user.is_superuser:
        every = list(benchmarks_of(user).order_by("pk").values_list("pk", "archived_at"))
        sees = [benchmark for benchmark, _ in every]
        labels_in = [benchmark for benchmark, archived in every if archived is None]
    else:
        sees = [benchmark for benchmark, *_ in rows]
        labels_in = [benchmark for benchmark, role, _, archived in rows if role in LABEL_ROLES and archived is None]
    return Memberships(
        roles={benchmark: role for benchmark, role, *_ in rows},
        seats=dict(seats),
        sees=sees,
        labels_in=labels_in,
        may_have_to_practise=any(role == Role.ANNOTATOR and wanted for _, role, wanted, _ in rows),
    )
