"""A person's tokens for the API."""

from __future__ import annotations

import datetime as dt

from django.db.models import Case, IntegerField, Value, When

from annotator.core.models import User
from annotator.integrations.models import ApiToken

SOON = dt.timedelta(days=14)


def tokens_of(user: User, now: dt.datetime) -> list[ApiToken]:
    """All tokens of a person, valid ones first, newest first. One query."""
    in_use = Case(
        When(revoked_at__isnull=True, expires_at__gt=now, then=Value(0)), default=Value(1), output_field=IntegerField()
    )
    return list(ApiToken.objects.filter(user=user).select_related("benchmark").order_by(in_use, "-pk"))


def state_of(token: ApiToken, now: dt.datetime) -> str:
    """One of "revoked", "expired", "ending" (within two weeks) and "in use"."""
    if token.revoked_at is not None:
        return "revoked"
    if token.expires_at <= now:
        return "expired"
    return "ending" if token.expires_at <= now + SOON else "in use"
