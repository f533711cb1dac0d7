"""Versions of protocols: stored, frozen when the first person starts, and replaced by recorded migrations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, Model, OuterRef
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.locking import lock_benchmark
from annotator.core.actions.recorder import Action
from annotator.core.fields import Kind as FieldKind
from annotator.core.fields import find
from annotator.core.models import (
    Annotation,
    Benchmark,
    Claim,
    ClaimRevision,
    ProtocolVersion,
    ResponseRevision,
    Sentence,
    SentenceRevision,
    Stance,
    User,
    Verdict,
)
from annotator.core.protocol import Condition, Kind, Protocol, Question, Work, chosen, record_kind
from annotator.core.protocol_file import canonical, fingerprint, removed_answers
from annotator.core.queries.protocols import DEFAULT, shipped_protocols, stage_protocol

COLUMNS = {Kind.LABEL: FieldKind.LABEL, Kind.YES_NO: FieldKind.YES_NO, Kind.TEXT: FieldKind.TEXT}
# What can be asked on the stages' screens beyond the declared fields.
ASKABLE = (Kind.LABEL, Kind.LABELS, Kind.YES_NO, Kind.TEXT, Kind.NUMBER)
FREE_KEYS = "bcdeilopq"  # that no screen of the stages uses
# Questions that a benchmark may leave out, with the setting that shows them.
OPTIONAL = {"stance.reliable": "asks_reliable", "stance.sufficient": "asks_sufficient"}
# The records that have answers, and the way from each to its benchmark.
ASKED: dict[str, tuple[type[Model], str]] = {
    "sentence": (Sentence, "annotation__document__benchmark"),
    "claim": (Claim, "sentence__annotation__document__benchmark"),
    "stance": (Stance, "annotation__document__benchmark"),
    "verdict": (Verdict, "annotation__document__benchmark"),
    "claim-revision": (ClaimRevision, "annotation__document__benchmark"),
    "sentence-revision": (SentenceRevision, "annotation__document__benchmark"),
    "response-revision": (ResponseRevision, "annotation__document__benchmark"),
}


def store_protocol(benchmark: Benchmark, protocol: Protocol, *, by: User | None) -> ProtocolVersion:
    """The protocol as a version of the benchmark's: the newest one where it equals it, the newest one changed where
    nobody has started with it, else a new version.

    Raises NotAllowedError for others than owners and admins, BadValueError for a protocol of the stages that asks what
    their screens can't.
    """
    if by is not None:
        rules.check_manage(by, benchmark)
    if protocol.work == Work.STAGES:
        check_stages(protocol)
    text, sha256 = canonical(protocol), fingerprint(protocol)
    with transaction.atomic():
        benchmark = lock_benchmark(benchmark.pk)
        versions = ProtocolVersion.objects.filter(benchmark=benchmark, name=protocol.name)
        newest = versions.order_by("-number").first()
        if newest is not None and newest.sha256 == sha256:
            return newest
        is_used = newest is not None and newest.sha256 == benchmark.protocol_sha256
        if newest is not None and newest.frozen_at is None and not is_used:
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


def freeze(version: ProtocolVersion) -> None:
    """From now on the version never changes. Call it in the transaction of what starts."""
    if version.frozen_at is None:
        version.frozen_at = timezone.now()
        version.save(update_fields=["frozen_at"])


# --- the protocol of the stages -------------------------------------------------------------------


def check_stages(protocol: Protocol) -> None:
    """The stages ask their declared fields (core/fields.py) as they are, and other questions besides. Raises
    BadValueError with the place."""
    for place, problem in _stage_problems(protocol):
        raise BadValueError(f"{place}: {problem}")


def _stage_problems(protocol: Protocol) -> Iterator[tuple[str, str]]:
    names = {each.name for each in protocol.questions}
    for question in shipped_protocols()[DEFAULT].questions:
        if question.name not in names and question.name not in OPTIONAL:
            yield "questions", f"“{question.name}” is missing: the stages always ask it."
    for number, question in enumerate(protocol.questions):
        place, kind = f"questions[{number}]", record_kind(question)
        if find(kind, question.key) is not None:
            problem = _unlike_its_column(question)
            if problem:
                yield place, problem
            continue
        if kind not in ASKED:
            yield f"{place}.on", f"the stages have no record “{question.on}”; choose from {', '.join(sorted(ASKED))}."
        if question.kind not in ASKABLE:
            yield f"{place}.kind", f"the stages’ screens ask {', '.join(ASKABLE)}."
        if question.suggestion != "never":
            yield f"{place}.suggestion", "no machine answers added questions, so there is nothing to show."
        if question.round != "rate":
            yield f"{place}.round", "the stages have no rounds; adjudication follows automatically."
        yield from _keys(question, place)
        if question.when is not None and (wrong := _unknown_form(question.when)):
            yield f"{place}.when", f"a condition of the stages can’t use {wrong}."


def _keys(question: Question, place: str) -> Iterator[tuple[str, str]]:
    given = [(f"{place}.labels[{n}].key", each.key) for n, each in enumerate(question.labels)]
    for where, key in [*given, (f"{place}.key_yes", question.key_yes)]:
        if key and key not in FREE_KEYS:
            yield where, f"the key “{key}” is used by the screens. These are free: {', '.join(FREE_KEYS)}."


def _unknown_form(condition: Condition) -> str:
    for each in (*(condition.all or ()), *(condition.any or ())):
        if found := _unknown_form(each):
            return found
    return "“of”" if condition.of else "“record”" if condition.record else "“passages”" if condition.passages else ""


def _unlike_its_column(question: Question) -> str:
    field = find(record_kind(question), question.key)
    assert field is not None
    if COLUMNS.get(question.kind) != field.kind:
        return f"“{question.key}” is a {field.kind} on the stages’ screens."
    words = [each.value for each in field.words] if field.words else []
    if question.labels and [each.value for each in question.labels] != words:
        return f"the labels of “{question.key}” are {', '.join(words)}."
    return ""


def freeze_before_start(document_pk: int) -> None:
    """Freeze the protocol by which the document's benchmark asks, with its hash on record, since somebody starts. One
    query where it is frozen already. Call it before the document is locked: it locks the benchmark."""
    frozen = ProtocolVersion.objects.filter(
        benchmark=OuterRef("pk"), sha256=OuterRef("protocol_sha256"), frozen_at__isnull=False
    )
    benchmark = Benchmark.objects.filter(~Exists(frozen), documents=document_pk).first()
    if benchmark is None:
        return
    with transaction.atomic():
        benchmark = lock_benchmark(benchmark.pk)
        versions = ProtocolVersion.objects.filter(benchmark=benchmark, sha256=benchmark.protocol_sha256)
        version = versions.first() or store_protocol(benchmark, shipped_protocols()[DEFAULT], by=None)
        if version.frozen_at is not None and benchmark.protocol_sha256 == version.sha256:
            return
        Benchmark.objects.filter(pk=benchmark.pk).update(protocol_sha256=version.sha256)
        freeze(version)
        reason = f"{version.name}, version {version.number}, {version.sha256}"
        Action(name="freeze-protocol", by=None, benchmark=benchmark, reason=reason).write()


def use_stage_protocol(benchmark: Benchmark, version: ProtocolVersion, *, by: User) -> None:
    """The stages ask by this version from now on, on record. Answers are kept.

    Raises BadValueError for a protocol of studies, and where people have given answers that it no longer offers.
    """
    rules.check_manage(by, benchmark)
    new = version.protocol
    if version.benchmark_id != benchmark.pk or new.work != Work.STAGES:
        raise BadValueError("Choose a protocol of the stages that belongs to this benchmark.")
    check_stages(new)
    with transaction.atomic():
        benchmark = lock_benchmark(benchmark.pk)
        old = stage_protocol(benchmark)
        for name, values in removed_answers(old, new).items():
            used = _answers_in_use(benchmark, old, name, values)
            if used:
                raise BadValueError(f"{name}: {listed(used)} can’t be removed, because people have used it.")
        before = benchmark.protocol_sha256
        if before == version.sha256:
            return
        names = {each.name for each in new.questions}
        benchmark.protocol_sha256 = version.sha256
        for name, setting in OPTIONAL.items():
            setattr(benchmark, setting, name in names)
        benchmark.save(update_fields=["protocol_sha256", *OPTIONAL.values()])
        if Annotation.objects.filter(document__benchmark=benchmark).exists():
            freeze(version)
        reason = f"{old.name} ({before[:12] or 'as shipped'}) to {new.name}, version {version.number} "
        reason += f"({version.sha256[:12]})"
        Action(name="migrate-protocol", by=by, benchmark=benchmark, reason=reason).write()


def listed(used: dict[str, int]) -> str:
    """ "“vital” (3 answers)"."""
    return ", ".join(f"“{value}” ({count:,} answers)" for value, count in sorted(used.items()))


def _answers_in_use(benchmark: Benchmark, protocol: Protocol, name: str, values: set[str]) -> dict[str, int]:
    """How often people have given these values to an added question; "*" stands for any."""
    on, _, key = name.partition(".")
    question = protocol.question(key, on)
    if question is None or record_kind(question) not in ASKED or find(record_kind(question), key) is not None:
        return {}
    model, path = ASKED[record_kind(question)]
    rows: Any = model._default_manager.filter(**{path: benchmark, "answers__has_key": key})
    found: dict[str, int] = {}
    for value, count in rows.values_list(f"answers__{key}").annotate(count=Count("id")).order_by():
        for each in chosen(value) if question.values else {"*"} if chosen(value) else ():
            if "*" in values or each in values:
                found[each] = found.get(each, 0) + count
    return found
