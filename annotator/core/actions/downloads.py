"""Records downloads other than exports and releases for the audit log."""

from __future__ import annotations

from django.db import transaction

from annotator.core.actions.recorder import Action
from annotator.core.models import Benchmark, User


def note_download(what: str, *, by: User, benchmark: Benchmark | None = None) -> None:
    """Record that someone downloaded a table or their own data; ``what`` names it for the audit log."""
    with transaction.atomic():
        Action(name="download", by=by, benchmark=benchmark, reason=what).write()
