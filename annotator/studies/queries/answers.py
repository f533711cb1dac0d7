"""The answers of a study, for figures and tables: only items that everyone has submitted, and only questions that were
asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Min

from annotator.core.models import User
from annotator.core.protocol import Kind, Protocol, Question, Round, chosen, is_answered
from annotator.studies.figures.comparisons import Chosen
from annotator.studies.item_file import CANDIDATE
from annotator.studies.models import Study, StudyAnswer, StudyAssignment, StudyItem, StudyPart
from annotator.studies.queries.work import Sheet, Stored, lay_out

ROWS = 2000  # per fetch


@dataclass(frozen=True, slots=True)
class Given:
    """One answer that counts. ``part`` is None for a question on the item."""

    item: StudyItem
    part: StudyPart | None
    person: int
    question: Question
    answer: Stored
    assignment: StudyAssignment


def complete_items(study: Study, round_: str = "rate") -> set[int]:
    """The items whose assignments in the round are all submitted. One query."""
    rows = study.assignments.filter(round=round_)
    open_ = rows.filter(submitted_at__isnull=True).values("item")
    return set(rows.exclude(item__in=open_).values_list("item", flat=True))


def sheets_of(study: Study, round_: str = "rate", items: set[int] | None = None) -> Iterator[Sheet]:
    """The sheets of complete items, in the order of items and raters. Each query reads a single table, because a join
    would read the text of an item once per person."""
    complete = complete_items(study, round_)
    if items is not None:
        complete &= items
    if not complete:
        return
    by_item = {each.pk: each for each in study.items.all()}
    people, numbers = names_of(study), numbers_of(study)
    questions = study.version.protocol.by_kind(round_)
    parts: dict[int, list[StudyPart]] = {}
    for part in StudyPart.objects.filter(item__study=study, removed=False).order_by("item", "order", "id"):
        parts.setdefault(part.item_id, []).append(part)
    answers: dict[int, dict[int | None, dict[str, Stored]]] = {}
    rows = StudyAnswer.objects.filter(assignment__study=study, assignment__round=round_)
    columns = ("assignment", "part", "question", "value", "version", "origin", "changed_at")
    for assignment_pk, part_pk, question, *stored in rows.values_list(*columns).iterator(ROWS):
        answers.setdefault(assignment_pk, {}).setdefault(part_pk, {})[question] = Stored(*stored)
    found = [each for each in study.assignments.filter(round=round_) if each.item_id in complete]
    for assignment in sorted(found, key=lambda each: (by_item[each.item_id].order, numbers[each.person_id])):
        assignment.study, assignment.item = study, by_item[assignment.item_id]
        assignment.person = people[assignment.person_id]
        own = [each for each in parts.get(assignment.item_id, []) if each.assignment_id in (None, assignment.pk)]
        yield lay_out(assignment, questions, own, answers.get(assignment.pk, {}))


def numbers_of(study: Study) -> dict[int, int]:
    """A number for everyone who has an assignment: raters in the order in which they were chosen, then people of later
    rounds by the first item they got. Unlike names and keys, this order survives an export and import. Two queries."""
    numbers = dict(study.raters.values_list("person", "number"))
    others = study.assignments.exclude(person__in=list(numbers)).order_by().values_list("person")
    counted = others.annotate(first=Min("item__order")).order_by("first", "person")
    for person, _ in counted:
        numbers[person] = len(numbers) + 1
    return numbers


def given_answers(sheets: Iterable[Sheet]) -> Iterator[Given]:
    """Every answer to a question that was asked."""
    for sheet in sheets:
        for row in (sheet.top, *sheet.rows):
            for question in row.asked:
                answer = row.answers.get(question.key)
                if answer is not None and is_answered(question, answer.value):
                    yield Given(sheet.item, row.part, sheet.assignment.person_id, question, answer, sheet.assignment)


def items_of_round(study: Study, declared: Round) -> list[StudyItem]:
    """The items for a round after the rating, in order."""
    votes: dict[int, tuple[StudyItem, list[str]]] = {}
    for each in given_answers(sheets_of(study)):
        if each.question.key == declared.question and each.part is None:
            votes.setdefault(each.item.pk, (each.item, []))[1].extend(chosen(each.answer.value))
    if declared.items == "disagreed":
        return [item for item, values in votes.values() if len(set(values)) > 1]
    return [item for item, values in votes.values() if majority(values, "") in declared.is_]


def majority(values: list[str], otherwise: str) -> str:
    """The value of more than half, else ``otherwise``."""
    top = max(set(values), key=values.count) if values else ""
    return top if values.count(top) * 2 > len(values) else otherwise


def choices_of(study: Study, complete: set[int]) -> list[Chosen]:
    """All choices on these complete items, with raters by number. Only columns are read, because there may be tens of
    thousands."""
    protocol = study.version.protocol
    figures = protocol.figures
    preference = figures.preference or next(
        each.key for each in protocol.questions if each.kind in (Kind.CANDIDATE, Kind.CANDIDATES)
    )
    parts = StudyPart.objects.filter(item__study=study, kind=CANDIDATE)
    sources: dict[int, str] = {}
    by_id: dict[str, str] = {}
    for pk, public_id, source in parts.values_list("pk", "public_id", "source"):
        sources[pk] = by_id[public_id] = source
    answers = StudyAnswer.objects.filter(assignment__study=study, part=None, question__in=[preference, figures.slight])
    values: dict[int, dict[str, Any]] = {}
    for assignment, question, value in answers.values_list("assignment", "question", "value"):
        values.setdefault(assignment, {})[question] = value
    strata = dict(study.items.values_list("pk", "stratum"))
    numbers = numbers_of(study)
    rows = (
        study.assignments.filter(round="rate").order_by().values_list("position", "person", "pk", "item", "arrangement")
    )
    found = []
    for _, person, pk, item, arrangement in sorted(rows, key=lambda each: (each[0], numbers[each[1]])):
        given = values.get(pk, {})
        value = given.get(preference)
        if item not in complete or value is None:
            continue
        ids = value if isinstance(value, list) else [value]
        found.append(
            Chosen(
                item,
                strata[item],
                numbers[person],
                tuple(sorted(by_id[each] for each in ids if each in by_id)),
                tuple(sources[each] for each in arrangement),
                given.get(figures.slight or "") is True,
            )
        )
    return found


def names_of(study: Study) -> dict[int, User]:
    """Everyone who has an assignment."""
    return User.objects.in_bulk(study.assignments.order_by().values_list("person", flat=True).distinct())


def is_comparison(protocol: Protocol) -> bool:
    """Does the study compare candidates?"""
    return any(each.kind in (Kind.CANDIDATE, Kind.CANDIDATES) for each in protocol.questions)
