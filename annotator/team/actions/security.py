"""Record security events from the signals of Django and allauth. Connected in ``annotator.apps``."""

from __future__ import annotations

import datetime as dt
from typing import Any

from allauth.account import signals as accounts
from allauth.account.adapter import get_adapter
from allauth.mfa import signals as second_steps
from django.conf import settings
from django.contrib.auth import signals as sign_ins
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils import timezone

from annotator.core.models import SecurityEvent, User
from annotator.core.vocabulary import SecurityEventKind as Kind

BATCH = 1_000  # rows deleted at a time


def note(
    kind: Kind, *, request: HttpRequest | None = None, user: User | None = None, name: str = "", detail: str = ""
) -> None:
    """Record one event."""
    SecurityEvent.objects.create(kind=kind, user=user, name=name[:150], address=_address(request), detail=detail[:200])


def _address(request: HttpRequest | None) -> str | None:
    if request is None:
        return None
    try:
        return str(get_adapter().get_client_ip(request))
    except PermissionDenied:
        return None


def connect() -> None:
    """Listen to every signal that the audit log needs."""
    sign_ins.user_logged_in.connect(_signed_in, dispatch_uid="security-in")
    sign_ins.user_logged_out.connect(_signed_out, dispatch_uid="security-out")
    sign_ins.user_login_failed.connect(_failed, dispatch_uid="security-failed")
    for signal, kind in (
        (accounts.password_set, Kind.PASSWORD),
        (accounts.password_changed, Kind.PASSWORD),
        (accounts.password_reset, Kind.RESET),
        (accounts.email_confirmed, Kind.EMAIL),
        (accounts.email_changed, Kind.EMAIL),
        (second_steps.authenticator_added, Kind.STEP_ADDED),
        (second_steps.authenticator_reset, Kind.STEP_ADDED),
        (second_steps.authenticator_removed, Kind.STEP_REMOVED),
        (second_steps.authentication_failed, Kind.STEP_FAILED),
    ):
        signal.connect(_noted(kind), weak=False, dispatch_uid=f"security-{kind}-{id(signal)}")


def _signed_in(request: HttpRequest, user: User, **_: Any) -> None:
    note(Kind.SIGN_IN, request=request, user=user)


def _signed_out(request: HttpRequest, user: User | None, **_: Any) -> None:
    if user is not None:
        note(Kind.SIGN_OUT, request=request, user=user)


def _failed(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    typed = str(credentials.get("username") or credentials.get("email") or "")
    user = User.objects.filter(username=typed).first()
    note(Kind.FAILED, request=request, user=user, name="" if user else typed)


def _noted(kind: Kind) -> Any:
    def receiver(request: HttpRequest, **given: Any) -> None:
        user = given.get("user") or getattr(given.get("email_address"), "user", None)
        authenticator = given.get("authenticator")
        detail = authenticator.get_type_display() if authenticator is not None else ""
        note(kind, request=request, user=user, detail=str(detail))

    return receiver


def forget_old_events() -> int:
    """Delete events older than ``SECURITY_EVENTS_DAYS``, a thousand at a time. Returns how many; 0 days keeps all."""
    if not settings.SECURITY_EVENTS_DAYS:
        return 0
    before = timezone.now() - dt.timedelta(days=settings.SECURITY_EVENTS_DAYS)
    forgotten = 0
    while old := list(SecurityEvent.objects.filter(at__lt=before).order_by("pk").values_list("pk", flat=True)[:BATCH]):
        forgotten += SecurityEvent.objects.filter(pk__in=old).delete()[0]
    return forgotten
