"""Delete data whose retention period is over (docs/operating.md has the table)."""

from __future__ import annotations

import datetime as dt

from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from annotator.core.models import Notice
from annotator.team.actions.security import forget_old_events

BATCH = 1_000  # rows deleted at a time, so that nobody has to wait


def forget_what_is_old() -> dict[str, int]:
    """Delete old sign-ins and failures, notices that were read, and sessions that have ended. Returns how many of
    each."""
    return {
        "security events": forget_old_events(),
        "notices": _forget_notices(),
        "sessions": Session.objects.filter(expire_date__lt=timezone.now()).delete()[0],
    }


def _forget_notices() -> int:
    if not settings.NOTICES_DAYS:
        return 0
    before = timezone.now() - dt.timedelta(days=settings.NOTICES_DAYS)
    forgotten = 0
    read = Notice.objects.filter(read_at__lt=before).order_by("pk").values_list("pk", flat=True)
    while old := list(read[:BATCH]):
        forgotten += Notice.objects.filter(pk__in=old).delete()[0]
    return forgotten
