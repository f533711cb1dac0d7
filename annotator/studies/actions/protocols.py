"""Versions of protocols: stored, frozen when the first person starts, and replaced by recorded migrations."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.locking import lock_benchmark
from annotator.core.actions.recorder import Action
from annotator.core.fields import Kind as FieldKind
from annotator.core.fields import find
from annotator.core.models import Benchmark, User
from annotator.studies.models import ProtocolVersion, Study, StudyAnswer
from annotator.studies.protocol import Kind, Protocol, Question, Work, chosen
from annotator.studies.protocol_file import canonical, fingerprint, removed_answers

COLUMNS = {Kind.LABEL: FieldKind.LABEL, Kind.YES_NO: FieldKind.YES_NO, Kind.TEXT: FieldKind.TEXT}


def store_protocol(benchmark: Benchmark, protocol: Protocol, *, by: User | None) -> ProtocolVersion:
    """The protocol as a version of the benchmark's: the newest one where it equals it, the newest one changed where
    nobody has started with it, else a new version.

    Raises NotAllowedError for others than owners and admins, BadValueError for a protocol of the stages that asks what
    their screens do not.
    """
    if by is not None:
        rules.check_manage(by, benchmark)
    if protocol.work == Work.STAGES:
        check_columns(protocol)
    text, sha256 = canonical(protocol), fingerprint(protocol)
    with transaction.atomic():
        lock_benchmark(benchmark.pk)
        versions = ProtocolVersion.objects.filter(benchmark=benchmark, name=protocol.name)
        newest = versions.order_by("-number").first()
        if newest is not None and newest.sha256 == sha256:
            return newest
        if newest is not None and newest.frozen_at is None:
            newest.content, newest.sha256 = text, sha256
            newest.save(update_fields=["content", "sha256"])
        else:
            number = newest.number + 1 if newest else 1
            newest = ProtocolVersion.objects.create(
                benchmark=benchmark, name=protocol.name, number=number, content=text, sha256=sha256, created_by=by
            )
        reason = f"{protocol.name}, version {newest.number}, {sha256[:12]}"
        Action(name="store-protocol", by=by, benchmark=benchmark, reason=reason).write()
    return newest


def check_columns(protocol: Protocol) -> None:
    """The stages' screens ask the declared fields of core/fields.py. Raises BadValueError for any other question."""
    for number, question in enumerate(protocol.questions):
        problem = _unlike_its_column(question)
        if problem:
            raise BadValueError(f"questions[{number}]: {problem}")


def _unlike_its_column(question: Question) -> str:
    field = find(question.on.replace("_", "-"), question.key)
    if field is None:
        return (
            f"the stages have no question “{question.key}” on {question.on}. Ask it in a judgment study of the "
            "benchmark’s claims (docs/protocols.md)."
        )
    if COLUMNS.get(question.kind) != field.kind:
        return f"“{question.key}” is a {field.kind} on the stages’ screens."
    words = [each.value for each in field.words] if field.words else []
    if question.labels and [each.value for each in question.labels] != words:
        return f"the labels of “{question.key}” are {', '.join(words)}."
    return ""


def freeze(version: ProtocolVersion) -> None:
    """From now on the version never changes. Call it in the transaction of what starts."""
    if version.frozen_at is None:
        version.frozen_at = timezone.now()
        version.save(update_fields=["frozen_at"])


def migrate_study(study: Study, version: ProtocolVersion, *, by: User) -> None:
    """Move a study to another version of its protocol, on record. Answers are kept.

    Raises BadValueError where people have given answers that the version no longer offers.
    """
    rules.check_manage(by, study.benchmark)
    old, new = study.version.protocol, version.protocol
    if version.benchmark_id != study.benchmark_id or old.name != new.name:
        raise BadValueError("Choose a version of the study’s own protocol.")
    if (old.work, old.records, old.sampling) != (new.work, new.records, new.sampling):
        raise BadValueError("The kind of work, the records and the sampling can’t change in a study that exists.")
    for name, values in removed_answers(old, new).items():
        used = answers_in_use(study, old, name, values)
        if used:
            raise BadValueError(f"{name}: {_listed(used)} can’t be removed, because people have used it.")
    with transaction.atomic():
        reason = f"{old.name}: version {study.version.number} ({study.version.sha256[:12]}) to {version.number} "
        reason += f"({version.sha256[:12]})"
        study.version = version
        study.save(update_fields=["version"])
        if study.started_at is not None:
            freeze(version)
        Action(name="migrate-study", by=by, benchmark=study.benchmark, reason=f"{study.name}: {reason}").write()


def _listed(used: dict[str, int]) -> str:
    return ", ".join(f"“{value}” ({count:,} answers)" for value, count in sorted(used.items()))


def answers_in_use(study: Study, protocol: Protocol, name: str, values: set[str]) -> dict[str, int]:
    """How often people have given these values to a question; "*" stands for any."""
    on, _, key = name.partition(".")
    question = protocol.question(key, on)
    rows = StudyAnswer.objects.filter(assignment__study=study, question=key).exclude(value=None)
    rows = rows.filter(part__isnull=True) if on == "item" else rows.filter(part__kind=on)
    found: dict[str, int] = {}
    for value, count in rows.values_list("value").annotate(count=Count("id")).order_by():
        given = chosen(value) or set()
        for each in given if question is not None and question.values else {"*"} if given else set():
            if "*" in values or each in values:
                found[each] = found.get(each, 0) + count
    return found
