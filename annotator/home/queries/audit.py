"""The audit log: sign-ins and failures, downloads, and permission changes. From the history and the security events,
newest first."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import islice

from django.contrib.admin.models import LogEntry
from django.db.models import QuerySet

from annotator.core.models import Activity, Benchmark, Membership, SecurityEvent

SIGN_INS, DATA, PERMISSIONS = "sign-ins", "data", "permissions"
KINDS = {SIGN_INS: "Sign-ins and accounts", DATA: "Data in and out", PERMISSIONS: "Permissions and settings"}
SHOWN = 200

# Names in the history, and names in the log.
_DATA = {
    "export": "Exported",
    "download": "Downloaded",
    "take-release": "Downloaded a release",
    "start-release": "Created a release",
    "import": "Imported",
    "start-import": "Started an import",
    "import-study": "Imported a study",
    "import-corpus": "Imported a corpus",
}
_PERMISSIONS = {
    "create-benchmark": "Created the benchmark",
    "change-settings": "Changed settings",
    "archive-benchmark": "Archived the benchmark",
    "unarchive-benchmark": "Took the benchmark out of the archive",
    "delete-benchmark": "Deleted a benchmark",
    "open-crowd-link": "Opened a crowd link",
    "close-crowd-link": "Closed a crowd link",
    "enter-by-crowd-link": "Joined by a crowd link",
    "invite": "Invited",
    "withdraw-invitation": "Withdrew an invitation",
    "register": "Created an account",
    "join": "Joined",
    "change-role": "Changed a role",
    "deactivate-member": "Deactivated a member",
    "reactivate-member": "Reactivated a member",
    "add-to-group": "Added to a group",
    "remove-from-group": "Removed from a group",
    "create-token": "Created an API token",
    "revoke-token": "Revoked an API token",
    "change-protocol": "Changed the protocol",
    "change-two-step": "Changed two-step sign-in",
    "change-service": "Changed a service",
    "remove-service": "Removed a service",
    "erase-person": "Erased a person",
}
_OF_KIND = {DATA: _DATA, PERMISSIONS: _PERMISSIONS}


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. ``who`` is a person's name, or what was typed, in quotation marks; ``address`` is set for sign-ins
    only."""

    at: dt.datetime
    who: str
    what: str
    detail: str
    benchmark: str
    address: str


def entries(benchmark: Benchmark | None, *, kind: str = "", name: str = "") -> Iterator[Entry]:
    """The log of a benchmark with the sign-ins of its members, or of the whole installation, as a stream.

    ``kind`` is one of ``KINDS`` or "" for all; ``name`` is a username or "" for everyone.
    """
    streams: list[Iterator[Entry]] = []
    if kind in ("", DATA, PERMISSIONS):
        streams.append(_history(benchmark, kind, name))
    if kind in ("", PERMISSIONS) and benchmark is None:
        streams.append(_django_admin(name))
    if kind in ("", SIGN_INS):
        streams.append(_door(benchmark, name))
    return merge(*streams, key=lambda entry: entry.at, reverse=True)


def newest(benchmark: Benchmark | None, *, kind: str = "", name: str = "") -> list[Entry]:
    """The first ``SHOWN`` entries. Two queries."""
    return list(islice(entries(benchmark, kind=kind, name=name), SHOWN))


def _history(benchmark: Benchmark | None, kind: str, name: str) -> Iterator[Entry]:
    words = _OF_KIND.get(kind) or {**_DATA, **_PERMISSIONS}
    rows: QuerySet[Activity] = Activity.objects.filter(action__in=words)
    if benchmark is not None:
        rows = rows.filter(benchmark=benchmark)
    if name:
        rows = rows.filter(by__username=name)
    for row in rows.select_related("by", "benchmark").order_by("-id").iterator(chunk_size=SHOWN):
        who = str(row.by) if row.by else "Touchstone"
        yield Entry(row.at, who, words[row.action], row.reason, str(row.benchmark or ""), "")


def _django_admin(name: str) -> Iterator[Entry]:
    """Changes that superusers made at /admin/, which bypass the actions: roles, accounts, settings."""
    rows = LogEntry.objects.select_related("user", "content_type").order_by("-action_time")
    if name:
        rows = rows.filter(user__username=name)
    for row in rows.iterator(chunk_size=SHOWN):
        detail = f"{row.content_type}: {row.object_repr}. {row.get_change_message()}".strip()
        yield Entry(row.action_time, str(row.user), "In the Django admin", detail, "", "")


def _door(benchmark: Benchmark | None, name: str) -> Iterator[Entry]:
    rows: QuerySet[SecurityEvent] = SecurityEvent.objects.all()
    if benchmark is not None:
        rows = rows.filter(user__in=Membership.objects.filter(benchmark=benchmark).values("user"))
    if name:
        rows = rows.filter(user__username=name)
    for row in rows.select_related("user").order_by("-id").iterator(chunk_size=SHOWN):
        who = str(row.user) if row.user else f"“{row.name}”"
        yield Entry(row.at, who, row.get_kind_display(), row.detail, "", row.address or "")
