"""Everything that Touchstone keeps about one person, to give to them (GDPR, article 15)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.db.models import QuerySet

from annotator.core.models import (
    Activity,
    Annotation,
    Comment,
    CrowdWorker,
    GroupMember,
    Invitation,
    Membership,
    Notice,
    SecurityEvent,
    User,
)
from annotator.integrations.models import ApiToken


def personal_data(user: User) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Pairs of a heading and its rows, as JSON can hold them. Secrets (passwords, keys) are left out.

    The work itself, the labels and texts, is in the benchmark's exports; here stands when and where it was done.
    """
    profile = {name: getattr(user, name) for name in ("username", "display_name", "first_name", "last_name", "email")}
    yield "profile", [profile | {"joined": user.date_joined, "last_sign_in": user.last_login, **user.preferences}]
    for name, rows, columns in _tables(user):
        yield name, list(rows.order_by("pk").values(*columns))


def _tables(user: User) -> Iterator[tuple[str, QuerySet[Any], tuple[str, ...]]]:
    yield "email_addresses", EmailAddress.objects.filter(user=user), ("email", "verified", "primary")
    yield "second_steps", Authenticator.objects.filter(user=user), ("type", "created_at", "last_used_at")
    yield "single_sign_on", SocialAccount.objects.filter(user=user), ("provider", "uid", "last_login", "extra_data")
    yield "sessions", UserSession.objects.filter(user=user), ("ip", "user_agent", "created_at", "last_seen_at")
    yield "security_events", SecurityEvent.objects.filter(user=user), ("at", "kind", "address", "detail")
    yield "api_tokens", ApiToken.objects.filter(user=user), ("name", "prefix", "scopes", "expires_at", "last_used_at")
    yield "memberships", Membership.objects.filter(user=user), ("benchmark__slug", "role", "active", "created_at")
    yield "groups", GroupMember.objects.filter(user=user), ("group__name", "seat", "active", "created_at")
    yield "invitations", Invitation.objects.filter(created_by=user), ("benchmark__slug", "email", "created_at")
    yield (
        "crowd_work",
        CrowdWorker.objects.filter(user=user),
        ("link__benchmark__slug", "worker_id", "study_id", "session_id", "consented_at"),
    )
    yield "notices", Notice.objects.filter(to=user), ("kind", "text", "created_at", "read_at")
    yield (
        "annotations",
        Annotation.objects.filter(person=user),
        ("document__public_id", "stage", "state", "submitted_at", "note"),
    )
    yield "comments", Comment.objects.filter(by=user), ("annotation__document__public_id", "text", "created_at")
    yield (
        "activities",
        Activity.objects.filter(by=user),
        ("at", "action", "benchmark__slug", "document__public_id", "reason", "active_seconds"),
    )
