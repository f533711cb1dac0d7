"""Answering a study's questions: one answer a save, undo, parts added in place, submit."""

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
    """The assignment, locked until the transaction ends. All of a person's changes of an item go through it."""
    rows = StudyAssignment.objects.select_for_update(of=("self",))
    return rows.select_related("study__benchmark", "study__version", "item", "person").get(pk=assignment.pk)


def save_answer(
    assignment: StudyAssignment, field: str, raw: str, *, by: User, version: int, active_seconds: int = 0
) -> StudyAnswer:
    """Save one answer. ``field`` is the question's place on the sheet, such as "item.preferred", and ``version`` the
    sheet's version that the sender saw. ``raw`` is the value as a form sends it: a label, yes or no, a text, the letter
    of a candidate, several joined by commas.

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
    """The value of a question as it was sent; blank takes the answer back. Raises BadValueError."""
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
    """The candidates by their letters on this person's sheet. Stored by public id, which no order tells."""
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
    """Add an empty record after the row of that letter ("" for the first place). Raises BadValueError where the
    protocol does not let people add this kind."""
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
    """Take back one's own last change of this item, or bring it back. Raises NothingToUndoError."""
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
            return  # the answer to the first attempt was lost
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
    """Open one's own submitted item again, while not everyone has submitted it."""
    with transaction.atomic():
        # The item's row: two people who submit and reopen at once see each other.
        StudyItem.objects.select_for_update(of=("self",)).get(pk=assignment.item_id)
        assignment = _lock(assignment)
        rules.check_reopen(by, assignment)
        if assignment.submitted_at is None:
            return
        assignment.submitted_at = None
        assignment.save(update_fields=["submitted_at"])
        reason = f"{assignment.study.name}: {assignment.item.external_id}"
        _write(Action("reopen-item", by, benchmark=assignment.study.benchmark, reason=reason), assignment)
