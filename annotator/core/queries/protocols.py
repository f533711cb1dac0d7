"""The protocols of a benchmark: its own versions, and the files that come with Touchstone."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

from annotator.core.fields import fields_of, find
from annotator.core.models import Benchmark, ProtocolVersion
from annotator.core.protocol import ASK, Asked, Protocol, Question, Work, asked, is_answered, record_kind
from annotator.core.protocol_file import fingerprint, read_protocol

FOLDER = Path("fixtures") / "protocols"
DEFAULT = "factcheck-bench"  # the protocol of the stages where a benchmark has chosen none


@cache
def shipped_protocols() -> dict[str, Protocol]:
    """The protocols that come with Touchstone, by name."""
    files = sorted((Path(settings.BASE_DIR) / FOLDER).glob("*.json"))
    return {path.stem: read_protocol(path.read_bytes()) for path in files}


def versions_of(benchmark: Benchmark, name: str) -> list[ProtocolVersion]:
    """The benchmark's versions of a protocol, newest first."""
    return list(ProtocolVersion.objects.filter(benchmark=benchmark, name=name).order_by("-number"))


def newest_versions(benchmark: Benchmark) -> dict[str, ProtocolVersion]:
    """The newest version of each protocol of the benchmark, by name. One query."""
    found: dict[str, ProtocolVersion] = {}
    for version in ProtocolVersion.objects.filter(benchmark=benchmark).order_by("name", "number"):
        found[version.name] = version
    return found


def protocol_named(benchmark: Benchmark, name: str) -> Protocol | None:
    """The protocol that a new study of this name starts from: the benchmark's newest version, else the shipped one."""
    version = ProtocolVersion.objects.filter(benchmark=benchmark, name=name).order_by("-number").first()
    return version.protocol if version else shipped_protocols().get(name)


def known_names(benchmark: Benchmark) -> list[str]:
    """All names that ``protocol_named`` finds."""
    return sorted({*shipped_protocols(), *newest_versions(benchmark)})


# --- the stages -----------------------------------------------------------------------------------


def stage_protocol(benchmark: Benchmark) -> Protocol:
    """The protocol by which the stages ask."""
    return _by_hash(benchmark.protocol_sha256) if benchmark.protocol_sha256 else shipped_protocols()[DEFAULT]


def declared_names() -> set[str]:
    """The names of the questions that the stages' screens ask by their declared fields."""
    return {each.name for each in shipped_protocols()[DEFAULT].questions}


@cache
def _by_hash(sha256: str) -> Protocol:
    """What a hash stands for never changes, so each is read once, and a shipped protocol not at all."""
    for shipped in shipped_protocols().values():
        if fingerprint(shipped) == sha256:
            return shipped
    return ProtocolVersion.objects.filter(sha256=sha256).first().protocol  # type: ignore[union-attr]


def added_questions(benchmark: Benchmark, kind: str = "") -> list[Question]:
    """What the benchmark asks at the stages beyond the declared fields, of one kind of record or of all. No query but
    the first time."""
    if not benchmark.protocol_sha256:
        return []
    return [
        each
        for each in _by_hash(benchmark.protocol_sha256).questions
        if find(record_kind(each), each.key) is None and kind in ("", record_kind(each))
    ]


def added_question(benchmark: Benchmark, kind: str, name: str) -> Question | None:
    """The question of a field's name: "ask_vital". None for what is no added question."""
    key = name.removeprefix(ASK)
    return next((each for each in added_questions(benchmark, kind) if name != key and each.key == key), None)


def asked_of(record: Any, kind: str, benchmark: Benchmark) -> list[Question]:
    """The added questions that come up for a record. Conditions see the record's answers and its declared fields."""
    questions = added_questions(benchmark, kind)
    if not questions or record is None:
        return []
    declared = {each.name: getattr(record, each.name) for each in fields_of(kind) if each.columns}
    return asked(questions, Asked({**declared, **record.answers}))


def unanswered(record: Any, kind: str, benchmark: Benchmark) -> list[Question]:
    """The added questions that come up, must be answered and are not."""
    return [
        each
        for each in asked_of(record, kind, benchmark)
        if each.required and not is_answered(each, record.answers.get(each.key))
    ]


def stage_versions(benchmark: Benchmark) -> list[ProtocolVersion]:
    """The benchmark's newest protocols of the stages, by name."""
    return [each for each in newest_versions(benchmark).values() if each.protocol.work == Work.STAGES]
