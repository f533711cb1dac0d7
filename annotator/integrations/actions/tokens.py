"""API tokens: created by the person they act for, shown once, revoked for good.

A token is ``ts_PREFIX_SECRET``. The prefix identifies the row and may be shown. The secret (256 bits) leaves this
module once, in the result of ``create_token``; only its SHA-256 is stored. A plain hash is enough for a random secret,
because there is nothing to guess. Not REST framework's tokens: those are stored in plain text, one per person, without
scope or expiry.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import secrets
from collections.abc import Collection
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.formats import date_format
from django.views.decorators.debug import sensitive_variables

from annotator.core import rules
from annotator.core.actions.fields import BadValueError, clean_text
from annotator.core.actions.recorder import Action
from annotator.core.models import Benchmark, User
from annotator.core.models.base import new_public_id
from annotator.core.vocabulary import Scope
from annotator.integrations.models import ApiToken

MARK = "ts"
DAYS = 90  # how long a token is valid
MAX_DAYS = 365
MAX_TOKENS = 50  # valid tokens per person
USE_NOTED_EVERY = dt.timedelta(minutes=1)

# A wrong prefix is compared with this digest, so that it takes as long as a wrong secret.
_NO_DIGEST = hashlib.sha256(b"").hexdigest()


class TokenRefusedError(Exception):
    """The token was refused. The message says why and what to do and never contains the token."""


@dataclass(frozen=True, slots=True)
class NewToken:
    """A new token with its full text, which is shown only once."""

    token: ApiToken
    whole: str

    def __repr__(self) -> str:
        return f"NewToken({self.token.prefix})"


@sensitive_variables("secret")  # kept out of error reports
def create_token(
    *,
    by: User,
    name: str,
    scopes: Collection[str],
    days: int = DAYS,
    benchmark: Benchmark | None = None,
) -> NewToken:
    """Create a token that acts as ``by``, limited to ``scopes`` and, if given, one benchmark.

    Raises BadValueError for an invalid value, NotAllowedError for a benchmark the person isn't a member of.
    """
    name = clean_text(name, 100).strip()
    if not name:
        raise BadValueError("Give the token a name that identifies the program using it.")
    unknown = sorted(set(scopes) - set(Scope))
    if unknown:
        raise BadValueError(f"“{unknown[0]}” isn’t a valid scope; choose from {', '.join(Scope)}.")
    if not scopes:
        raise BadValueError("Choose at least one scope.")
    if not 1 <= days <= MAX_DAYS:
        raise BadValueError(f"A token is valid for between 1 and {MAX_DAYS} days.")
    with transaction.atomic():
        if benchmark is not None:
            rules.check_see_benchmark(by, benchmark)
        now = timezone.now()
        in_use = ApiToken.objects.filter(user=by, revoked_at__isnull=True, expires_at__gt=now)
        if in_use.count() >= MAX_TOKENS:
            raise BadValueError(f"You have {MAX_TOKENS} active tokens. Revoke the ones you no longer need.")
        secret = secrets.token_urlsafe(32)
        token = ApiToken.objects.create(
            user=by,
            name=name,
            prefix=new_public_id(),
            digest=_digest(secret),
            scopes=[scope.value for scope in Scope if scope in scopes],
            benchmark=benchmark,
            expires_at=now + dt.timedelta(days=days),
        )
        Action(name="create-token", by=by, benchmark=benchmark, reason=_on_record(token)).write()
    return NewToken(token, f"{MARK}_{token.prefix}_{secret}")


def revoke_token(token: ApiToken, *, by: User) -> None:
    """Revoke the token; the next request is refused. Revoking twice has no effect.

    Raises NotAllowedError for someone else's token.
    """
    with transaction.atomic():
        if token.user_id != by.pk:
            raise rules.NotAllowedError("This token belongs to someone else. Only they can revoke it.")
        token = ApiToken.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=token.pk)
        if token.revoked_at is None:
            token.revoked_at = timezone.now()
            token.save(update_fields=["revoked_at"])
            Action(name="revoke-token", by=by, benchmark=token.benchmark, reason=_on_record(token)).write()


def revoke_tokens_of(user: User) -> int:
    """Revoke all of a person's tokens, for example when others may know their password. Returns how many were in
    use."""
    in_use = ApiToken.objects.filter(user=user, revoked_at__isnull=True).select_related("benchmark")
    with transaction.atomic():
        tokens = list(in_use.order_by("pk"))
        for token in tokens:
            revoke_token(token, by=user)
    return len(tokens)


def _on_record(token: ApiToken) -> str:
    return f"{token.name} ({MARK}_{token.prefix}…): {', '.join(token.scopes)}"


@sensitive_variables("whole", "rest", "secret")
def token_for(whole: str) -> ApiToken:
    """The token that a request carries, with its person and benchmark. Raises TokenRefusedError.

    Only the holder of the secret learns whether a token has expired or was revoked. One query, and at most one write
    per minute.
    """
    mark, _, rest = whole.partition("_")
    prefix, _, secret = rest.partition("_")
    token = None
    if mark == MARK and prefix.isalnum() and len(prefix) <= 32:
        token = ApiToken.objects.select_related("user", "benchmark").filter(prefix=prefix).first()
    is_right = hmac.compare_digest(_digest(secret), token.digest if token else _NO_DIGEST)
    if token is None or not is_right:
        raise TokenRefusedError("Unknown token. Make sure you copied all of it, starting with “ts_”.")
    if not token.user.is_active:
        raise TokenRefusedError("The account this token belongs to is no longer active.")
    if token.revoked_at is not None:
        raise TokenRefusedError(f"This token was revoked on {_day(token.revoked_at)}. Create a new one.")
    now = timezone.now()
    if token.expires_at <= now:
        raise TokenRefusedError(f"This token expired on {_day(token.expires_at)}. Create a new one.")
    _note_use(token, now)
    return token


def _day(moment: dt.datetime) -> str:
    return date_format(timezone.localtime(moment), "j F Y")


def _note_use(token: ApiToken, now: dt.datetime) -> None:
    """Record the last use, to the minute, so that a busy program doesn't write at every request."""
    stale = now - USE_NOTED_EVERY
    if token.last_used_at is None or token.last_used_at <= stale:
        unnoted = Q(last_used_at__isnull=True) | Q(last_used_at__lte=stale)
        ApiToken.objects.filter(unnoted, pk=token.pk).update(last_used_at=now)


@sensitive_variables("secret")
def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
