"""Restores a study from its native file (annotator/studies/queries/native.py): protocol, items, people's work."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from io import BytesIO
from typing import Any, BinaryIO

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from annotator.core import rules
from annotator.core.actions.bulk import insert, reserve
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.protocols import freeze, store_protocol
from annotator.core.actions.recorder import Action
from annotator.core.file_problems import BadRow, Problem, RowError
from annotator.core.lines import json_value, read_lines
from annotator.core.models import Activity, Benchmark, ProtocolVersion, User
from annotator.core.models.base import ALPHABET, PUBLIC_ID_LENGTH, new_public_id, replacement_id
from annotator.core.protocol import Kind, Protocol
from annotator.core.protocol_file import ProtocolError, fingerprint, protocol_of
from annotator.core.released import storable_json
from annotator.core.vocabulary import Origin
from annotator.studies.actions.studies import ImportReport, add_items, create_study
from annotator.studies.item_file import ItemRow, read_items
from annotator.studies.models import (
    Study,
    StudyActivity,
    StudyAnswer,
    StudyAssignment,
    StudyItem,
    StudyPart,
    StudyRater,
)
from annotator.studies.queries.native import in_reading_order
from annotator.studies.queries.work import TIE

PersonOf = Callable[[str], int]  # the primary key of the person with this key in the file
Row = dict[str, Any]

_ID = re.compile(rf"(?<![a-z0-9])[{ALPHABET}]{{{PUBLIC_ID_LENGTH}}}(?![a-z0-9])")
_WRONG = (KeyError, TypeError, ValueError, IndexError, AttributeError)


def is_study_file(stream: BinaryIO) -> bool:
    """Does the file begin with the head of a study? Rewinds the stream."""
    first = stream.readline(2_000_000)
    stream.seek(0)
    return first.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b'{"touchstone_study"')


def is_restored(benchmark: Benchmark, raw: bytes) -> bool:
    """Does the benchmark have the study of this file already, under the file's ids or their replacements?"""
    head = _head(raw.partition(b"\n")[0], 1)
    given = str(head.get("id", ""))
    ids = [given, replacement_id(_scope(benchmark, str(head.get("study", ""))), given)]
    return Study.objects.filter(benchmark=benchmark, public_id__in=ids).exists()


def restore_study(
    benchmark: Benchmark, raw: bytes, person_of: PersonOf, *, name: str = "", by: User | None, first_line: int = 1
) -> tuple[Study | None, ImportReport]:
    """The study of a native file with everyone's work: all of it, or None and the bad lines. ``first_line``: where the
    study begins in the file, for messages. Ids stay as they are, unless this installation has the study already.

    ``person_of`` never names an existing account, so that nobody is credited with work they didn't do. Raises
    BadValueError with the line, NotAllowedError.
    """
    if by is not None:
        rules.check_manage(by, benchmark)
    head = _head(raw.partition(b"\n")[0], first_line)
    protocol = _protocol(head, first_line)
    name = name or str(head.get("study", ""))
    if head.get("id") and Study.objects.filter(public_id=head["id"]).exists():
        raw = _with_new_ids(raw, _scope(benchmark, name))
        head = _head(raw.partition(b"\n")[0], first_line)
    read = list(read_items(BytesIO(raw), protocol))
    problems = [problem for row in read if isinstance(row, BadRow) for problem in row.problems]
    if problems:
        return None, ImportReport(problems=[_moved(each, first_line) for each in problems])
    try:
        with transaction.atomic():
            version = _version(benchmark, protocol, head, by)
            seed = head.get("seed") if isinstance(head.get("seed"), int) else 0
            study = create_study(benchmark, version, name=name, by=by, seed=seed or 0)
            report = add_items(study, [row for row in read if isinstance(row, ItemRow)], by=by, keep_ids=True)
            raters = [person_of(str(key)) for key in head.get("raters") or []]
            work = _Work(study, protocol, person_of, first_line)
            work.read(raw)
            work.write(head, raters)
    except IntegrityError as error:
        what = " ".join(str(error).split())[:200]
        raise BadValueError(f"line {first_line}: the study violates a data constraint: {what}") from None
    study.refresh_from_db()
    return study, report


# --- the head -------------------------------------------------------------------------------------


def _head(line: bytes, number: int) -> Row:
    try:
        head = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        head = None
    if not isinstance(head, dict) or head.get("touchstone_study") != 1:
        raise BadValueError(f"line {number}: this isn’t the head of a study file (touchstone_study 1).")
    return head


def _protocol(head: Row, number: int) -> Protocol:
    try:
        protocol = protocol_of(head.get("protocol"))
    except ProtocolError as refusal:
        raise BadValueError(f"line {number}, protocol: {refusal}") from None
    if fingerprint(protocol) != head.get("sha256"):
        raise BadValueError(f"line {number}, sha256: it is not the SHA-256 of the protocol.")
    return protocol


def _version(benchmark: Benchmark, protocol: Protocol, head: Row, by: User | None) -> ProtocolVersion:
    """The benchmark's version with this hash, if possible with the file's number; a new one where it has none."""
    known = benchmark.protocols.filter(name=protocol.name, sha256=head["sha256"])
    return known.filter(number=head.get("version") or 0).first() or known.first() or store_protocol(
        benchmark, protocol, by=by
    )  # fmt: skip


def _moved(problem: Problem, first_line: int) -> Problem:
    return Problem(problem.line + first_line - 1, problem.field, problem.reason)


# --- ids ------------------------------------------------------------------------------------------


def _scope(benchmark: Benchmark, name: str) -> str:
    return f"{benchmark.public_id}:{name}"


def _with_new_ids(raw: bytes, scope: str) -> bytes:
    """The file with new ids wherever one of its own occurs (in the history, too)."""
    text = raw.decode("utf-8", errors="replace")
    own: set[str] = set()
    for _, row in _rows(raw, 1):
        own.add(str(row.get("id", "")) if "touchstone_study" in row else "")
        for each in (row, *(row.get("work") or [])):
            own.update(str(found) for found in each.get("ids") or [])
            own.add(str(each.get("id", "")) if each is not row else "")
            own.update(str(found.get("id", "")) for name in ("added", "history") for found in each.get(name) or [])
            own.update(str(found[5]) for found in each.get("answers") or [] if len(found) > 5)
    return _ID.sub(lambda found: replacement_id(scope, found[0]) if found[0] in own else found[0], text).encode()


def _rows(raw: bytes, first_line: int) -> Iterator[tuple[int, Row]]:
    """The lines with their numbers. Raises BadValueError for a line that is no object."""
    for line in read_lines(BytesIO(raw)):
        number = (line.line if isinstance(line, BadRow) else line.number) + first_line - 1
        try:
            row = None if isinstance(line, BadRow) else storable_json(json_value(line.text()))
        except RowError:
            row = None
        if not isinstance(row, dict):
            raise BadValueError(f"line {number}: each line should be a JSON object.")
        yield number, row


# --- people's work --------------------------------------------------------------------------------


@dataclass
class _Work:
    """The work in a file, collected row by row and written at once."""

    study: Study
    protocol: Protocol
    person_of: PersonOf
    first_line: int
    assignments: list[Row] = field(default_factory=list)
    parts: list[Row] = field(default_factory=list)
    answers: list[Row] = field(default_factory=list)
    history: list[Row] = field(default_factory=list)
    people: dict[int, None] = field(default_factory=dict)  # in the order of their first work

    def read(self, raw: bytes) -> None:
        """Collect everything. Raises BadValueError with the place of work that doesn't fit its item."""
        items = {each.external_id: each for each in self.study.items.prefetch_related("parts")}
        kinds = {(each.on, each.key): each.kind for each in self.protocol.questions}
        found: list[tuple[str, StudyItem, Row]] = []
        for number, row in _rows(raw, self.first_line):
            if "touchstone_study" in row:
                continue
            item = items[str(row.get("id") or number - self.first_line + 1)]
            for place, work in enumerate(row.get("work") or []):
                found.append((f"line {number}, work[{place}]", item, work))
        for key, (where, item, work) in zip(reserve(StudyAssignment, len(found)), found, strict=True):
            try:
                self._read_one(key, item, work, kinds)
            except _WRONG:
                raise BadValueError(f"{where}: it doesn’t fit the item and the protocol.") from None

    def _read_one(self, key: int, item: StudyItem, work: Row, kinds: dict[tuple[str, str], Kind]) -> None:
        person = self.person_of(str(work["annotator"]))
        self.people[person] = None
        given = in_reading_order([part for part in item.parts.all() if part.assignment_id is None])
        places = [(part.pk, part.public_id, part.kind) for part in given]
        keys = reserve(StudyPart, len(work["added"])) if work["added"] else []
        for pk, added in zip(keys, work["added"], strict=True):
            row = {"public_id": added.get("id") or new_public_id(), "kind": str(added["kind"])}
            self.parts.append(
                row | {"id": pk, "item_id": item.pk, "assignment_id": key, "order": float(added["order"])}
            )
            places.append((pk, row["public_id"], row["kind"]))
        self.assignments.append(
            {
                "id": key,
                "public_id": work.get("id") or new_public_id(),
                "study_id": self.study.pk,
                "item_id": item.pk,
                "person_id": person,
                "round": str(work["round"]),
                "position": int(work["position"]),
                "arrangement": [places[number][0] for number in work["arrangement"]],
                "submitted_at": _time(work["submitted_at"]),
                "active_seconds": int(work["seconds"]),
            }
        )
        for number, question, value, origin, changed_at, *more in work["answers"]:
            part = None if number is None else places[number]
            kind = kinds[part[2] if part else "item", question]
            if kind in (Kind.CANDIDATE, Kind.CANDIDATES) and value not in (None, TIE):
                ids = [places[each][1] for each in (value if isinstance(value, list) else [value])]
                value = sorted(ids) if isinstance(value, list) else ids[0]
            public_id, version, created_at = more or (new_public_id(), 1, changed_at)
            self.answers.append(
                {
                    "public_id": str(public_id),
                    "version": int(version),
                    "created_at": _time(created_at) or timezone.now(),
                    "assignment_id": key,
                    "part_id": part[0] if part else None,
                    "question": str(question),
                    "value": value,
                    "origin": Origin(origin).value if origin else "",
                    "changed_at": _time(changed_at) or timezone.now(),
                }
            )
        for each in work.get("history") or []:
            if not all(isinstance(change["record"] + change["field"], str) for change in each["changes"]):
                raise ValueError("changes")
            self.history.append(each | {"assignment": key, "person": person})

    def write(self, head: Row, raters: list[int]) -> None:
        """Write everything, and start the study where the file's has started. ``raters`` in their order; without them,
        everyone who has work."""
        study = self.study
        for model, rows in ((StudyAssignment, self.assignments), (StudyPart, self.parts), (StudyAnswer, self.answers)):
            if rows:
                insert(model, list(rows[0]), [tuple(row.values()) for row in rows])
        self._write_history()
        StudyRater.objects.bulk_create(
            StudyRater(study=study, person_id=person, number=number)
            for number, person in enumerate(raters or self.people, start=1)
        )
        started = _time(head.get("started_at"))
        if self.people or started is not None:
            freeze(study.version)
            study.started_at = started or study.created_at
        study.created_at = _time(head.get("created_at")) or study.created_at
        if isinstance(head.get("id"), str) and re.fullmatch(r"[a-z0-9]{4,32}", head["id"]):
            study.public_id = head["id"]
        study.save(update_fields=["started_at", "created_at", "public_id"])
        reason = f"{study.name}: work of {len(self.people)} people"
        Action(name="restore-study", by=None, benchmark=study.benchmark, reason=reason).write()

    def _write_history(self) -> None:
        keys = reserve(Activity, len(self.history))
        key_of = {each["id"]: key for each, key in zip(self.history, keys, strict=True)}
        columns = [
            *("id", "public_id", "at", "action", "changes", "reason"),
            *("active_seconds", "undoes_id", "by_id", "benchmark_id"),
        ]
        rows = [
            (
                *(key, str(each["id"]), _time(each["at"]) or timezone.now(), str(each["action"])[:40], each["changes"]),
                *(str(each.get("reason", "")), int(each["seconds"]), key_of.get(each.get("undoes"))),
                *(each["person"], self.study.benchmark_id),
            )
            for each, key in zip(self.history, keys, strict=True)
        ]
        insert(Activity, columns, rows)
        links = [(each["assignment"], key) for each, key in zip(self.history, keys, strict=True)]
        insert(StudyActivity, ["assignment_id", "activity_id"], links)


def _time(value: Any) -> datetime | None:
    return parse_datetime(value) if isinstance(value, str) and value else None
