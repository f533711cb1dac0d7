"""A person's work in a study: the sheet of an item, the next item, and progress."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count, Q

from annotator.core.missing import Missing
from annotator.core.models import Benchmark, User
from annotator.core.protocol import ITEM, Asked, Evidence, Kind, Protocol, Question, asked, holds, is_answered
from annotator.studies.item_file import CANDIDATE, comparable
from annotator.studies.models import Study, StudyAnswer, StudyAssignment, StudyItem, StudyPart

TIE = "tie"
PASSAGE = "passage"


@dataclass(frozen=True, slots=True)
class Stored:
    """An answer as it is stored."""

    value: Any
    version: int
    origin: str
    changed_at: datetime


@dataclass(slots=True)
class Row:
    """The item itself (``part`` is None) or a part of it, with this person's answers. ``address`` identifies it in
    forms: a letter for a candidate, so that the page doesn't reveal which one it is; otherwise the public id."""

    address: str
    number: str
    kind: str
    part: StudyPart | None
    questions: Sequence[Question]
    answers: Mapping[str, Stored] = field(default_factory=dict)
    below: list[Row] = field(default_factory=list)
    asked: list[Question] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    evidence: str = ""
    only_here: set[int] = field(default_factory=set)

    @property
    def values(self) -> dict[str, Any]:
        """The answers by question."""
        return {key: answer.value for key, answer in self.answers.items()}

    @property
    def machine(self) -> dict[str, Any]:
        """The machine's answers by question."""
        found = self.part.data.get("machine") if self.part is not None else None
        return found if isinstance(found, dict) else {}

    @property
    def is_added(self) -> bool:
        """Was it added by this person?"""
        return self.part is not None and self.part.assignment_id is not None

    @property
    def is_complete(self) -> bool:
        """Is everything required answered?"""
        return all(is_answered(each, self.values.get(each.key)) for each in self.asked if each.required)

    @property
    def lines(self) -> list[tuple[str, bool]]:
        """The claims of a candidate, each with whether it is in no other candidate."""
        found = self.part.lines if self.part is not None else []
        return [(line, number in self.only_here) for number, line in enumerate(found)]


@dataclass(slots=True)
class Sheet:
    """An item as one person sees and answers it."""

    assignment: StudyAssignment
    protocol: Protocol
    item: StudyItem
    top: Row
    rows: list[Row]

    @property
    def candidates(self) -> list[Row]:
        return [row for row in self.rows if row.kind == CANDIDATE]

    @property
    def parts(self) -> list[Row]:
        """The rows directly below the item that aren't candidates."""
        return [row for row in self.rows if row.kind != CANDIDATE and row.part and row.part.parent_id is None]

    def row(self, address: str) -> Row | None:
        """The row with this address."""
        return next((row for row in (self.top, *self.rows) if row.address == address), None)

    def find(self, name: str) -> tuple[Row, Question] | None:
        """The row and question of a field such as "item.verdict" or "A.preferred"."""
        address, _, key = name.partition(".")
        row = self.row(address)
        question = next((each for each in row.questions if each.key == key), None) if row else None
        return (row, question) if row and question else None

    def as_sent(self, question: Question, value: Any) -> str:
        """A stored value as a form sends it."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if value is None:
            return ""
        if question.kind == Kind.SPAN:
            return ",".join(f"{start}-{end}" for start, end in value)
        if question.kind in (Kind.CANDIDATE, Kind.CANDIDATES):
            letters = {row.part.public_id: row.address for row in self.candidates if row.part}
            found = [str(letters.get(each, each)) for each in (value if isinstance(value, list) else [value])]
            return ",".join(sorted(found, key=lambda each: (len(each), each)))
        return ",".join(value) if isinstance(value, list) else str(value)

    def missing(self) -> list[Missing]:
        """The missing required answers, in reading order."""
        return [
            Missing(f"{self.name_of(row)}{question.ask}", row.address, f"q-{row.address}-{question.key}")
            for row in (*self.rows, self.top)
            for question in row.asked
            if question.required and not is_answered(question, row.values.get(question.key))
        ]

    def name_of(self, row: Row) -> str:
        """ "Claim 3: "; blank for the item."""
        record = self.protocol.record(row.kind)
        return f"{record.name} {row.number}: " if record and row.part else ""

    @property
    def version(self) -> int:
        """The number of changes to this sheet: each answer stores the number of its last change."""
        return max((each.version for row in (self.top, *self.rows) for each in row.answers.values()), default=0)

    @property
    def is_open(self) -> bool:
        return self.assignment.submitted_at is None


def assignment_of(person: User, public_id: str) -> StudyAssignment | None:
    """The person's own assignment; None if it is someone else's."""
    rows = StudyAssignment.objects.select_related("study__benchmark", "study__version", "item", "person")
    return rows.filter(public_id=public_id, person=person).first()


def sheet_of(assignment: StudyAssignment) -> Sheet:
    """The item with its parts and this person's answers. Two queries, independent of the number of parts."""
    questions = assignment.study.version.protocol.by_kind(assignment.round)
    parts = StudyPart.objects.filter(Q(assignment=None) | Q(assignment=assignment), item=assignment.item_id)
    answers: dict[int | None, dict[str, Stored]] = {}
    rows = StudyAnswer.objects.filter(assignment=assignment)
    columns = ("part", "question", "value", "version", "origin", "changed_at")
    for part_pk, question, value, version, origin, changed_at in rows.values_list(*columns):
        answers.setdefault(part_pk, {})[question] = Stored(value, version, origin, changed_at)
    given = [part for part in parts.order_by("order", "id") if not part.removed]
    return lay_out(assignment, questions, given, answers)


def lay_out(
    assignment: StudyAssignment,
    questions: Mapping[str, Sequence[Question]],
    parts: list[StudyPart],
    answers: Mapping[int | None, Mapping[str, Stored]],
) -> Sheet:
    """Build the sheet of an item from its database rows. ``questions``: those of the round, by kind of record."""
    protocol = assignment.study.version.protocol
    top = Row(ITEM, "", ITEM, None, questions.get(ITEM, ()), answers.get(None, {}))
    rows: list[Row] = []
    below: dict[int | None, list[StudyPart]] = {}
    for part in parts:
        below.setdefault(part.parent_id, []).append(part)
    places = {pk: place for place, pk in enumerate(assignment.arrangement)}
    below.get(None, []).sort(key=lambda part: (part.kind == CANDIDATE, places.get(part.pk, part.order)))

    top.below = _lay(below, None, "", rows, questions, answers)
    sheet = Sheet(assignment, protocol, assignment.item, top, rows)
    _ask(sheet)
    _mark_differences(sheet.candidates)
    return sheet


def _lay(
    below: Mapping[int | None, Sequence[StudyPart]],
    parent: int | None,
    prefix: str,
    rows: list[Row],
    questions: Mapping[str, Sequence[Question]],
    answers: Mapping[int | None, Mapping[str, Stored]],
) -> list[Row]:
    """The rows below a part (None: the item). All rows below it are also appended to ``rows``, in reading order."""
    counts: dict[str, int] = {}
    found: list[Row] = []
    for part in below.get(parent, ()):
        counts[part.kind] = counts.get(part.kind, 0) + 1
        number = f"{prefix}{counts[part.kind]}"
        letter = letter_of(counts[part.kind] - 1)
        address = letter if part.kind == CANDIDATE else part.public_id
        shown = letter if part.kind == CANDIDATE else number
        row = Row(address, shown, part.kind, part, questions.get(part.kind, ()), answers.get(part.pk, {}))
        found.append(row)
        rows.append(row)
        row.below = _lay(below, part.pk, f"{number}.", rows, questions, answers)
    return found


def letter_of(number: int) -> str:
    """A, B, ... Z, AA, AB ..."""
    letters = string.ascii_uppercase
    return letters[number] if number < 26 else letter_of(number // 26 - 1) + letters[number % 26]


def _ask(sheet: Sheet) -> None:
    values = {row.address: row.values for row in (sheet.top, *sheet.rows)}
    on_item = values[ITEM]
    for row in (sheet.top, *sheet.rows):
        below: dict[str, list[dict[str, Any]]] = {}
        for each in sheet.rows if row is sheet.top else row.below:
            below.setdefault(each.kind, []).append(values[each.address])
        has_passages = PASSAGE in below if row is not sheet.top else any(each.kind == PASSAGE for each in row.below)
        record = Asked(values[row.address], item=on_item, below=below, is_added=row.is_added, has_passages=has_passages)
        row.asked = asked(row.questions, record)
        row.hints = [each.say for each in sheet.protocol.hints if each.on == row.kind and holds(each.when, record)]
        row.evidence = _evidence(sheet.protocol, row)


def _evidence(protocol: Protocol, row: Row) -> str:
    """Whether to decide about this record by given passages or by searching; "" if it is the same for all records."""
    if protocol.evidence != Evidence.BY_RECORD or not row.questions or row.kind in (ITEM, PASSAGE):
        return ""
    return Evidence.GIVEN if any(each.kind == PASSAGE for each in row.below) else Evidence.OWN_SEARCH


def _mark_differences(candidates: list[Row]) -> None:
    """Mark the claims of each list that are in no other list."""
    contents = [comparable("", row.part.lines) if row.part else () for row in candidates]
    for number, row in enumerate(candidates):
        others = {line for other, content in enumerate(contents) if other != number for line in content}
        row.only_here = {place for place, line in enumerate(contents[number]) if line not in others}


# --- the way through a study ----------------------------------------------------------------------


def next_assignment(study: Study, person: User) -> StudyAssignment | None:
    """The person's first item that isn't submitted. One query that uses an index."""
    rows = StudyAssignment.objects.filter(study=study, person=person, submitted_at__isnull=True)
    return rows.order_by("position").first()


@dataclass(frozen=True, slots=True)
class Progress:
    """How many items a person has submitted, and how many they have."""

    done: int
    total: int

    @property
    def left(self) -> int:
        return self.total - self.done


def progress_of(assignment: StudyAssignment) -> Progress:
    """The person's progress in the round of this assignment. Two queries that use an index."""
    rows = StudyAssignment.objects.filter(
        study=assignment.study_id, person=assignment.person_id, round=assignment.round
    )
    total = rows.count()
    return Progress(total - rows.filter(submitted_at__isnull=True).count(), total)


def neighbours(assignment: StudyAssignment) -> tuple[StudyAssignment | None, StudyAssignment | None]:
    """The person's assignments before and after this one, in the same round."""
    rows = StudyAssignment.objects.filter(
        study=assignment.study_id, person=assignment.person_id, round=assignment.round
    )
    before = rows.filter(position__lt=assignment.position).order_by("-position").first()
    return before, rows.filter(position__gt=assignment.position).order_by("position").first()


def open_studies(person: User) -> list[tuple[Study, int]]:
    """The studies in which a person has open items, each with their number."""
    pending = Q(assignments__person=person, assignments__submitted_at__isnull=True)
    rows = Study.objects.filter(pending, benchmark__memberships__user=person, benchmark__memberships__active=True)
    counted = rows.annotate(left=Count("assignments", distinct=True)).select_related("benchmark", "version")
    return [(study, study.left) for study in counted.order_by("id")]


@dataclass(frozen=True, slots=True)
class ListedStudy:
    """A study in the list: its items that are assigned, and the progress of the reader (0 of 0 without assignments)."""

    study: Study
    items: int
    mine: Progress


def studies_of(benchmark: Benchmark, person: User) -> list[ListedStudy]:
    """The benchmark's studies, the newest first. Three queries."""
    items = StudyItem.objects.filter(study__benchmark=benchmark, dropped="").order_by().values_list("study")
    counts = dict(items.annotate(Count("id")))
    rows = StudyAssignment.objects.filter(study__benchmark=benchmark, person=person).order_by().values_list("study")
    done = Count("id", filter=Q(submitted_at__isnull=False))
    mine = {study: Progress(finished, total) for study, total, finished in rows.annotate(total=Count("id"), done=done)}
    studies = Study.objects.filter(benchmark=benchmark).select_related("version").order_by("-id")
    return [ListedStudy(each, counts.get(each.pk, 0), mine.get(each.pk, Progress(0, 0))) for each in studies]
