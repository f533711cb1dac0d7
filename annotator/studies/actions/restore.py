"""A study comes back from its native file (annotator/studies/queries/native.py): protocol, items, answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, BinaryIO

from django.db import transaction
from django.utils.dateparse import parse_datetime

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.protocols import freeze
from annotator.core.actions.recorder import Action
from annotator.core.models import Benchmark, User
from annotator.core.protocol import Kind, Protocol
from annotator.core.protocol_file import ProtocolError, fingerprint, protocol_of
from annotator.core.vocabulary import Origin
from annotator.studies.actions.studies import ImportReport, create_study, import_items
from annotator.studies.models import Study, StudyAnswer, StudyAssignment, StudyItem, StudyPart, StudyRater
from annotator.studies.queries.native import in_reading_order
from annotator.studies.queries.work import TIE

PersonOf = Callable[[str], int]  # the primary key of the person whom the file names so


def is_study_file(stream: BinaryIO) -> bool:
    """Does the file begin with the head of a study? The stream is set back."""
    first = stream.readline(2_000_000)
    stream.seek(0)
    return first.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b'{"touchstone_study"')


def restore_study(
    benchmark: Benchmark, stream: BinaryIO, person_of: PersonOf, *, name: str = "", by: User | None
) -> tuple[Study | None, ImportReport]:
    """The study of a native file, with its answers; all of it or nothing. People become those whom ``person_of`` finds
    for the file's names, so that nobody's account gets work that they have not done.

    Raises BadValueError with the line, NotAllowedError.
    """
    if by is not None:
        rules.check_manage(by, benchmark)
    head = _head(stream.readline())
    stream.seek(0)
    protocol = _protocol(head)
    try:
        with transaction.atomic():
            seed = head.get("seed") if isinstance(head.get("seed"), int) else 0
            study = create_study(benchmark, protocol, name=name or str(head.get("study", "")), by=by, seed=seed or 0)
            report = import_items(study, stream, by=by)
            if report.problems:
                raise _Refused(report)
            stream.seek(0)
            _restore_work(study, protocol, stream, person_of, head)
    except _Refused as refusal:
        return None, refusal.report
    study.refresh_from_db()
    return study, report


class _Refused(Exception):
    """Ends the transaction."""

    def __init__(self, report: ImportReport) -> None:
        super().__init__()
        self.report = report


def _head(line: bytes) -> dict[str, Any]:
    try:
        head = json.loads(line)
    except ValueError:
        head = None
    if not isinstance(head, dict) or head.get("touchstone_study") != 1:
        raise BadValueError("line 1: this isn’t the head of a study file (touchstone_study 1).")
    return head


def _protocol(head: dict[str, Any]) -> Protocol:
    try:
        protocol = protocol_of(head.get("protocol"))
    except ProtocolError as refusal:
        raise BadValueError(f"line 1, protocol: {refusal}") from None
    if fingerprint(protocol) != head.get("sha256"):
        raise BadValueError("line 1, sha256: it is not the SHA-256 of the protocol.")
    return protocol


def _restore_work(
    study: Study, protocol: Protocol, stream: BinaryIO, person_of: PersonOf, head: dict[str, Any]
) -> None:
    items: dict[str, StudyItem] = {each.external_id: each for each in study.items.prefetch_related("parts")}
    kinds = {(each.on, each.key): each.kind for each in protocol.questions}
    numbers: dict[int, int] = {}
    for line, raw in enumerate(stream, start=1):
        if line == 1 or not raw.strip():
            continue
        row = json.loads(raw)
        item = items[str(row.get("id") or line)]
        for place, work in enumerate(row.get("work") or []):
            try:
                _restore_one(study, item, work, kinds, person_of, numbers)
            except (KeyError, TypeError, ValueError, IndexError, AttributeError):
                raise BadValueError(f"line {line}, work[{place}]: it doesn’t fit the item and the protocol.") from None
    started = _time(head.get("started_at"))
    if numbers or started is not None:
        StudyRater.objects.bulk_create(
            StudyRater(study=study, person_id=person, number=number) for person, number in numbers.items()
        )
        freeze(study.version)
        study.started_at = started or study.created_at
        study.save(update_fields=["started_at"])
    reason = f"{study.name}: work of {len(numbers)} people"
    Action(name="restore-study", by=None, benchmark=study.benchmark, reason=reason).write()


def _restore_one(
    study: Study,
    item: StudyItem,
    work: dict[str, Any],
    kinds: dict[tuple[str, str], Kind],
    person_of: PersonOf,
    numbers: dict[int, int],
) -> None:
    person = person_of(str(work["annotator"]))
    numbers.setdefault(person, len(numbers) + 1)
    places = in_reading_order([part for part in item.parts.all() if part.assignment_id is None])
    assignment = StudyAssignment.objects.create(
        study=study,
        item=item,
        person_id=person,
        round=str(work["round"]),
        position=int(work["position"]),
        arrangement=[places[number].pk for number in work["arrangement"]],
        submitted_at=_time(work["submitted_at"]),
        active_seconds=int(work["seconds"]),
    )
    for added in work["added"]:
        places.append(
            StudyPart.objects.create(
                item=item, assignment=assignment, kind=str(added["kind"]), order=float(added["order"])
            )
        )
    for number, question, value, origin, changed_at in work["answers"]:
        part = None if number is None else places[number]
        kind = kinds[part.kind if part else "item", question]
        if kind in (Kind.CANDIDATE, Kind.CANDIDATES) and value not in (None, TIE):
            ids = [places[each].public_id for each in (value if isinstance(value, list) else [value])]
            value = sorted(ids) if isinstance(value, list) else ids[0]
        answer = StudyAnswer.objects.create(
            assignment=assignment,
            part=part,
            question=question,
            value=value,
            origin=Origin(origin).value if origin else "",
        )
        StudyAnswer.objects.filter(pk=answer.pk).update(changed_at=_time(changed_at) or answer.changed_at)


def _time(value: Any) -> datetime | None:
    return parse_datetime(value) if isinstance(value, str) and value else None
