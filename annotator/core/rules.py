"""Permissions: ``check_x`` raises an error with the message for the person, ``can_x`` returns a boolean.

Views never check roles themselves. Guard tests visit every URL as owner, peer and stranger.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from allauth.mfa.models import Authenticator
from django.db.models import QuerySet, Subquery

from annotator.core.models import (
    Annotation,
    Benchmark,
    GroupMember,
    Membership,
    User,
)
from annotator.core.vocabulary import AnnotationKind, Role, Seat, TwoStep

ADMIN_ROLES = (Role.OWNER, Role.ADMIN)
LABEL_ROLES = (Role.OWNER, Role.ADMIN, Role.ANNOTATOR)
READ_GOLD_ROLES = (Role.OWNER, Role.ADMIN, Role.RESEARCHER)

_SECOND_STEPS = Authenticator.objects.filter(type__in=(Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN))


class NotAllowedError(Exception):
    """The action isn't permitted. The message says why and who can help."""


def allowed(check: Callable[..., object], *args: Any, **kwargs: Any) -> bool:
    """Whether a rule allows something, as a boolean."""
    try:
        check(*args, **kwargs)
    except NotAllowedError:
        return False
    return True


def role_of(user: User, benchmark: Benchmark) -> Role | None:
    """The person's role in the benchmark; None without an active membership, or while the benchmark asks them for a
    second step that they do not have. Superusers count as owners."""
    if user.is_superuser:
        return Role.OWNER
    return role_read(user, benchmark, _roles(user, benchmark.pk).first())


def _roles(user: User, benchmark_pk: int) -> QuerySet[Membership, str]:
    """The role of the person's active membership."""
    return Membership.objects.filter(benchmark=benchmark_pk, user=user, active=True).values_list("role", flat=True)


def lacks_second_step(user: User, benchmark: Benchmark) -> bool:
    """Is the person a member who would see the benchmark if they had a second step at sign-in?"""
    role = _roles(user, benchmark.pk).first()
    return role is not None and _asks_second_step(benchmark, role) and not has_second_step(user)


def _asks_second_step(benchmark: Benchmark, role: str) -> bool:
    is_asked = {TwoStep.EVERYONE: True, TwoStep.MANAGERS: role in ADMIN_ROLES}
    return is_asked.get(TwoStep(benchmark.two_step), False)


def has_second_step(user: User) -> bool:
    """Has the person an authenticator app or a passkey? Recovery codes alone are none."""
    return bool(_SECOND_STEPS.filter(user=user).exists())


def check_create_benchmark(user: User) -> None:
    """Who may create a benchmark: staff and superusers. They become its owners."""
    if not (user.is_staff or user.is_superuser):
        raise NotAllowedError("Only staff can create benchmarks. Ask your administrator.")


def can_create_benchmark(user: User) -> bool:
    return allowed(check_create_benchmark, user)


def role_column(user: User, benchmark_pk: int) -> Subquery:
    """The role of the person's active membership as part of another query, which saves one; for ``role_read``."""
    return Subquery(_roles(user, benchmark_pk)[:1])


def role_read(user: User, benchmark: Benchmark, found: str | None) -> Role | None:
    """Like ``role_of``, from what ``role_column`` found. A query only where the benchmark asks for a second step."""
    if user.is_superuser:
        return Role.OWNER
    if not found or (_asks_second_step(benchmark, found) and not has_second_step(user)):
        return None
    return Role(found)


@dataclass(frozen=True, slots=True)
class Rights:
    """What a person's role gives them in a benchmark, for pages that ask for all of it: whether they manage it
    (``check_manage``), read its gold (``check_export``, ``check_see_agreement`` and their like), and own it."""

    manages: bool
    reads_gold: bool
    owns: bool


def rights_in(user: User, benchmark: Benchmark) -> Rights:
    """Looks up the role once."""
    role = role_of(user, benchmark)
    return Rights(role in ADMIN_ROLES, role in READ_GOLD_ROLES, role == Role.OWNER)


def check_see_benchmark(user: User, benchmark: Benchmark) -> None:
    """Members see their benchmark. To everyone else it doesn't exist."""
    if role_of(user, benchmark) is None:
        raise NotAllowedError("You are not a member of this benchmark. Its owner can invite you.")


def check_manage(user: User, benchmark: Benchmark) -> None:
    """Import, export settings, discard, reopen, team: owners and admins."""
    if role_of(user, benchmark) not in ADMIN_ROLES:
        raise NotAllowedError("Only the owner or an admin of this benchmark can do this.")


def can_manage(user: User, benchmark: Benchmark) -> bool:
    return allowed(check_manage, user, benchmark)


def check_change_services(user: User, benchmark: Benchmark | None) -> None:
    """Only owners manage a benchmark's models and searches and their keys. Others don't see that any exist. Those of
    the installation (None) belong to superusers."""
    if benchmark is None:
        if not user.is_superuser:
            raise NotAllowedError("Only superusers can see and change the services of the whole installation.")
    elif role_of(user, benchmark) != Role.OWNER:
        raise NotAllowedError("Only an owner can see and change the services of this benchmark.")


def can_change_services(user: User, benchmark: Benchmark) -> bool:
    return allowed(check_change_services, user, benchmark)


def check_export(user: User, benchmark: Benchmark) -> None:
    """Owners, admins and researchers may export gold."""
    if role_of(user, benchmark) not in READ_GOLD_ROLES:
        raise NotAllowedError("Only owners, admins and researchers can export gold. Ask the owner to change your role.")


def can_export(user: User, benchmark: Benchmark) -> bool:
    return allowed(check_export, user, benchmark)


def check_export_people(user: User, benchmark: Benchmark) -> None:
    """Only managers may export people's names and their work on documents that aren't gold yet."""
    if role_of(user, benchmark) not in ADMIN_ROLES:
        raise NotAllowedError(
            "Only owners and admins can see people’s names and their work on documents that aren’t gold yet."
        )


def can_export_people(user: User, benchmark: Benchmark) -> bool:
    return allowed(check_export_people, user, benchmark)


def check_see_agreement(user: User, benchmark: Benchmark) -> None:
    """Figures per pair reveal individuals, so owners, admins and researchers read them. Annotators see their own."""
    if role_of(user, benchmark) not in READ_GOLD_ROLES:
        raise NotAllowedError(
            "Only owners, admins and researchers can see inter-annotator agreement. Your own is linked from “My work”."
        )


def check_see_statistics(user: User, benchmark: Benchmark) -> None:
    """Anyone who may read gold may see its statistics: owners, admins and researchers."""
    if role_of(user, benchmark) not in READ_GOLD_ROLES:
        raise NotAllowedError(
            "Only owners, admins and researchers can see the statistics. Ask the owner to change your role."
        )


def check_score(user: User, benchmark: Benchmark) -> None:
    """Scores reveal the gold's labels one by one, so anyone who may read gold may submit and view scores."""
    if role_of(user, benchmark) not in READ_GOLD_ROLES:
        raise NotAllowedError(
            "Only owners, admins and researchers can score against the gold. Ask the owner to change your role."
        )


def check_see_agreement_of(user: User, benchmark: Benchmark, person: User) -> None:
    """A person's own agreement is visible to them, to owners and to admins."""
    if role_of(user, benchmark) is None:
        raise NotAllowedError("You are not a member of this benchmark. Its owner can invite you.")
    if person.pk != user.pk and role_of(user, benchmark) not in ADMIN_ROLES:
        raise NotAllowedError("Only the annotator, the owner and the admins can see these results.")


def seat_in_group(user: User, group_id: int) -> Seat | None:
    """The person's current role in the group; None if they aren't in it."""
    member = GroupMember.objects.filter(group_id=group_id, user=user, active=True).first()
    return Seat(member.seat) if member else None


# --- the team -------------------------------------------------------------------------------------


def check_change_protocol(user: User, benchmark: Benchmark) -> None:
    """Only owners decide on overlap, the adjudicator's part and practice."""
    if role_of(user, benchmark) != Role.OWNER:
        raise NotAllowedError("Only an owner can change the annotation protocol.")


def can_change_protocol(user: User, benchmark: Benchmark) -> bool:
    return allowed(check_change_protocol, user, benchmark)


def check_own(user: User, benchmark: Benchmark) -> None:
    """Archiving and deleting a benchmark is its owner's decision."""
    if role_of(user, benchmark) != Role.OWNER:
        raise NotAllowedError("Only an owner can archive or delete this benchmark.")


def can_own(user: User, benchmark: Benchmark) -> bool:
    return allowed(check_own, user, benchmark)


def check_change_overlap(benchmark: Benchmark) -> None:
    """The number of annotators per document determines what submitting means, so it can't change once a document has
    been started."""
    begun = Annotation.objects.filter(
        document__benchmark=benchmark, document__practice_for__isnull=True, kind=AnnotationKind.INDIVIDUAL
    )
    if begun.exists():
        raise NotAllowedError(
            "Someone has already started a document, so the number of people per document can’t change. "
            "Create another benchmark if you need a different number."
        )


def can_change_overlap(benchmark: Benchmark) -> bool:
    return allowed(check_change_overlap, benchmark)
