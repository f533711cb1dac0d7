"""Versions of protocols in the native format's header."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from annotator.core.file_problems import RowError, complain
from annotator.core.models import ProtocolVersion
from annotator.core.protocol import Protocol, Work
from annotator.core.protocol_file import ProtocolError, as_json, fingerprint, protocol_of
from annotator.exchange.native.touchstone import in_order


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A version as the file has it. ``created_at`` is None where the file doesn't say."""

    number: int
    sha256: str
    protocol: Protocol
    frozen_at: dt.datetime | None
    created_at: dt.datetime | None = None


def version_row(version: ProtocolVersion) -> dict[str, Any]:
    """A version for the file, with its times."""
    frozen = {"frozen_at": version.frozen_at.isoformat()} if version.frozen_at else {}
    return stage_row(version) | {"created_at": version.created_at.isoformat()} | frozen


def stage_row(version: ProtocolVersion) -> dict[str, Any]:
    """The version by which the stages ask. It is frozen."""
    return {"number": version.number, "sha256": version.sha256, "content": in_order(as_json(version.protocol))}


def read_stage_version(value: Any) -> StoredVersion:
    """Raises RowError for what is no protocol of the stages, or doesn't have this hash."""
    found = _read(value, "stage_protocol", {"number", "sha256", "content"})
    if found.protocol.work != Work.STAGES:
        complain([("stage_protocol.content.work", "it isn’t a protocol of the stages.")])
    return found


def read_versions(value: Any) -> list[StoredVersion]:
    """All other versions. Raises RowError with the place."""
    if not isinstance(value, list):
        raise RowError(("protocols", "a list is needed."))
    found = [
        _read(each, f"protocols[{place}]", {"number", "sha256", "content", "created_at", "frozen_at"})
        for place, each in enumerate(value, start=1)
    ]
    if len({(each.protocol.name, each.number) for each in found}) < len(found):
        raise RowError(("protocols", "two versions of a protocol have the same number."))
    return found


def _read(value: Any, place: str, names: set[str]) -> StoredVersion:
    needed = {"number", "sha256", "content"}
    if not isinstance(value, dict) or not needed <= set(value) <= names or type(value["number"]) is not int:
        complain([(place, f"required fields: number, sha256, content; known fields: {', '.join(sorted(names))}.")])
    try:
        protocol = protocol_of(value["content"])
    except ProtocolError as refusal:
        complain([(f"{place}.content.{where}", reason) for where, reason in refusal.problems[:20]])
        raise
    if fingerprint(protocol) != value["sha256"]:
        complain([(f"{place}.sha256", "it is not the SHA-256 of the content.")])
    if value["number"] < 1:
        complain([(f"{place}.number", "versions count from 1.")])
    if "created_at" not in names:
        return StoredVersion(value["number"], value["sha256"], protocol, timezone.now())
    times = [_time(value.get(name), f"{place}.{name}") for name in ("frozen_at", "created_at")]
    return StoredVersion(value["number"], value["sha256"], protocol, *times)


def _time(value: Any, place: str) -> dt.datetime | None:
    if value is None:
        return None
    try:
        found = parse_datetime(value) if isinstance(value, str) else None
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise RowError((place, "expected a time in ISO 8601 with a time zone."))
    return found
