"""Answering the questions of a study: saving one answer at a time, undo, parts added in place, submitting."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from annotator.core.actions.answers import read_answer
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.recorder import Action, NothingToUndoError
from annotator.core.missing import IncompleteError
from annotator.core.models import Activity, User
from annotator.core.protocol import Kind, Question
from annotator.core.record_keys import find_record
from annotator.core.vocabulary import Origin
from annotator.studies import rules
from annotator.studies.item_file import comparable
from annotator.studies.models import StudyActivity, StudyAnswer, StudyAssignment, StudyItem, StudyPart
from annotator.studies.queries.work import TIE, Sheet, sheet_of


class StaleAnswerError(Exception):
    """The answer was changed since the sender saw it; nothing was written."""

    def __init__(self, question: Question, version: int, *, mine: Any, theirs: Any) -> None:
        super().__init__("This was changed elsewhere. Compare both versions and choose one.")
        self.question = question
        self.version = version
        self.mine = mine
        self.theirs = theirs


def _lock(assignment: StudyAssignment) -> StudyAssignment:
    """The assignment, locked until the transaction ends. Every change that a person makes to an item locks it first."""
    rows = StudyAssignment.objects.select_for_update(of=("self",))
    return rows.select_related("study__benchmark", "study__version", "item", "person").get(pk=assignment.pk)


def save_answer(
    assignment: StudyAssignment, field: str, raw: str, *, by: User, version: int, active_seconds: int = 0
) -> StudyAnswer:
    """Save one answer. ``field`` names the question on the sheet, such as "item.preferred"; ``version`` is the version
    of the sheet that the sender saw. ``raw`` is the value as a form sends it: a label, yes or no, a text, or the letter
    of a candidate; several values are joined by commas.

    Raises BadValueError, NotAllowedError, StaleAnswerError.
    """
    with transaction.atomic():
        assignment = _lock(assignment)
        rules.check_answer(by, assignment)
        sheet = sheet_of(assignment)
        found = sheet.find(field)
        if found is None:
            raise BadValueError(f"There is no question “{field}” on this item. Reload the page.")
        row, question = found
        value = read_value(sheet, question, raw, row.part)
        stored = StudyAnswer.objects.filter(assignment=assignment, part=row.part, question=question.key)
        answer = stored.first() if question.key in row.answers else None
        if answer is None:
            answer = StudyAnswer.objects.create(assignment=assignment, part=row.part, question=question.key, version=0)
        if answer.version > version and answer.value != value:
            raise StaleAnswerError(question, sheet.version, mine=raw, theirs=sheet.as_sent(question, answer.value))
        machine = row.machine.get(question.key)
        origin = "" if value is None else Origin.ACCEPTED if machine == value else Origin.HUMAN
        action = Action("answer", by, benchmark=assignment.study.benchmark, active_seconds=active_seconds)
        if action.set(answer, value=value, origin=origin):
            answer.version = sheet.version  # writing counts one up
        _write(action, assignment)
        return answer


def _write(action: Action, assignment: StudyAssignment) -> Activity | None:
    activity = action.write()
    if activity is not None:
        StudyActivity.objects.create(assignment=assignment, activity=activity)
    if action.active_seconds:
        StudyAssignment.objects.filter(pk=assignment.pk).update(
            active_seconds=F("active_seconds") + action.active_seconds
        )
    return activity


# --- values ---------------------------------------------------------------------------------------


def read_value(sheet: Sheet, question: Question, raw: str, part: StudyPart | None = None) -> Any:
    """Read a value as it was sent. A blank value removes the answer. Raises BadValueError."""
    raw = raw.replace("\x00", "")
    if question.kind == Kind.SPAN and raw.strip():
        return _spans(raw, part.text if part else sheet.item.text)
    if question.kind in (Kind.CANDIDATE, Kind.CANDIDATES) and raw.strip():
        return _candidates(sheet, question, raw)
    return read_answer(question, raw)


def _spans(raw: str, text: str) -> list[list[int]]:
    """ "3-10,15-20": pieces of the text by character offsets."""
    found = []
    for each in raw.split(","):
        start, dash, end = each.partition("-")
        if not (dash and start.strip().isdecimal() and end.strip().isdecimal()):
            raise BadValueError("A span is two offsets, such as 3-10.")
        if not int(start) < int(end) <= len(text):
            raise BadValueError(f"The text has {len(text)} characters; {each} isn’t a piece of it.")
        found.append([int(start), int(end)])
    return sorted(found)


def _candidates(sheet: Sheet, question: Question, raw: str) -> Any:
    """Read the letters of candidates on this person's sheet. Public ids are stored, because the order differs between
    people."""
    if raw == TIE:
        if not question.tie:
            raise BadValueError("This question has no tie; choose a candidate.")
        return TIE
    letters = [each.strip() for each in raw.split(",") if each.strip()]
    by_letter = {row.address: row.part for row in sheet.candidates if row.part}
    unknown = [each for each in letters if each not in by_letter]
    if unknown:
        raise BadValueError(f"There is no candidate {unknown[0]}; choose from {', '.join(by_letter)}.")
    parts = [by_letter[letter] for letter in dict.fromkeys(letters)]
    if question.kind == Kind.CANDIDATE:
        if len(parts) != 1:
            raise BadValueError("Choose one candidate.")
        return parts[0].public_id
    if len({comparable(part.text, part.data.get("lines")) for part in parts}) > 1:
        raise BadValueError("Choose several only where their texts are identical.")
    return sorted(part.public_id for part in parts)


# --- parts added in place -------------------------------------------------------------------------


def add_part(assignment: StudyAssignment, kind: str, *, after: str, by: User) -> StudyPart:
    """Add an empty record after the row with this address ("" for the first place). Raises BadValueError if the
    protocol doesn't allow people to add this kind of record."""
    with transaction.atomic():
        assignment = _lock(assignment)
        rules.check_answer(by, assignment)
        sheet = sheet_of(assignment)
        record = sheet.protocol.record(kind)
        if record is None or not record.may_add:
            raise BadValueError("Nothing of this kind can be added here.")
        rows = [(row.address, row.part) for row in sheet.parts if row.part and row.kind == kind]
        at = next((number for number, (address, _) in enumerate(rows, start=1) if address == after), 0)
        if after and not at:
            raise BadValueError("The row after which to add is gone. Reload the page.")
        before = rows[at - 1][1].order if at else 0.0
        following = rows[at][1].order if at < len(rows) else before + 2
        return StudyPart.objects.create(
            item=assignment.item, assignment=assignment, kind=kind, order=(before + following) / 2
        )


def remove_part(assignment: StudyAssignment, address: str, *, by: User) -> None:
    """Remove a record that this person added."""
    with transaction.atomic():
        assignment = _lock(assignment)
        rules.check_answer(by, assignment)
        row = next((row for row in sheet_of(assignment).rows if row.address == address), None)
        if row is None or row.part is None or not row.is_added:
            raise BadValueError("Only what you added yourself can be removed like this.")
        row.part.removed = True
        row.part.save(update_fields=["removed"])


# --- undo -----------------------------------------------------------------------------------------


def undo(assignment: StudyAssignment, *, by: User, redo: bool = False) -> None:
    """Undo the person's last change to this item, or redo it. Raises NothingToUndoError."""
    name = "redo" if redo else "undo"
    with transaction.atomic():
        assignment = _lock(assignment)
        rules.check_answer(by, assignment)
        to_undo, to_redo = _stacks(assignment)
        stack = to_redo if redo else to_undo
        if not stack:
            raise NothingToUndoError(f"There is nothing to {name} in this item.")
        last = Activity.objects.get(pk=stack[-1])
        version = sheet_of(assignment).version
        action = Action(name, by, benchmark=assignment.study.benchmark, undoes=last)
        for change in reversed(last.changes):
            record = find_record(change["record"])
            if action.set(record, **{change["field"]: change["before"]}):
                record.version = version
        _write(action, assignment)


def _stacks(assignment: StudyAssignment) -> tuple[list[int], list[int]]:
    undo: list[int] = []
    redo: list[int] = []
    rows = assignment.activities.order_by("activity_id").values_list(
        "activity", "activity__action", "activity__changes"
    )
    for pk, action, changes in rows:
        if action in ("submit-item", "reopen-item"):
            undo, redo = [], []
        elif action == "undo":
            undo.pop()
            redo.append(pk)
        elif action == "redo":
            redo.pop()
            undo.append(pk)
        elif changes:
            undo.append(pk)
            redo.clear()
    return undo, redo


# --- submit ---------------------------------------------------------------------------------------


def submit_item(assignment: StudyAssignment, *, by: User, active_seconds: int = 0) -> None:
    """Lock the answers. Raises IncompleteError with what is missing, NotAllowedError."""
    with transaction.atomic():
        assignment = _lock(assignment)
        if assignment.submitted_at is not None and assignment.person_id == by.pk:
            return  # repeated, because the response to the first attempt was lost
        rules.check_answer(by, assignment)
        missing = sheet_of(assignment).missing()
        if missing:
            raise IncompleteError(missing)
        assignment.submitted_at = timezone.now()
        assignment.save(update_fields=["submitted_at"])
        reason = f"{assignment.study.name}: {assignment.item.external_id}"
        action = Action(
            "submit-item", by, benchmark=assignment.study.benchmark, reason=reason, active_seconds=active_seconds
        )
        _write(action, assignment)


def reopen_item(assignment: StudyAssignment, *, by: User) -> None:
    """Reopen the person's own submitted item, as long as not everyone has submitted it."""
    with transaction.atomic():
        # Locks the item, so that one person's submission and another's reopening can't overlap.
        StudyItem.objects.select_for_update(of=("self",)).get(pk=assignment.item_id)
        assignment = _lock(assignment)
        rules.check_reopen(by, assignment)
        if assignment.submitted_at is None:
            return
        assignment.submitted_at = None
        assignment.save(update_fields=["submitted_at"])
        reason = f"{assignment.study.name}: {assignment.item.external_id}"
        _write(Action("reopen-item", by, benchmark=assignment.study.benchmark, reason=reason), assignment)
