"""The answers of a study as its figures count them, read as columns: there may be tens of thousands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.protocol import ITEM, Asked, Question, asked, chosen, is_answered
from annotator.studies.figures.judgements import Judged
from annotator.studies.models import Study, StudyAnswer, StudyPart
from annotator.studies.queries.answers import complete_items, numbers_of
from annotator.studies.queries.work import PASSAGE

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Record:
    """An item (``pk`` is None) or a part of it. ``assignment``: whose addition it is, None for given records."""

    pk: int | None
    parent: int | None
    kind: str
    rank: int
    assignment: int | None


_ITEM = _Record(None, None, ITEM, 0, None)


def judged_answers(study: Study, round_: str = "rate") -> list[Judged]:
    """The answers to questions that were asked, on items that everyone has submitted, in the order of items, raters (by
    number) and records. They are those of ``given_answers``, without building a sheet for each person."""
    complete = complete_items(study, round_)
    if not complete:
        return []
    questions = study.version.protocol.by_kind(round_)
    numbers = numbers_of(study)
    orders = dict(study.items.values_list("pk", "order"))
    records = _records(study)
    answers: dict[int, dict[int | None, dict[str, Any]]] = {}
    stored = StudyAnswer.objects.filter(assignment__study=study, assignment__round=round_)
    for assignment, part, key, value in stored.order_by().values_list("assignment", "part", "question", "value"):
        answers.setdefault(assignment, {}).setdefault(part, {})[key] = value
    rows = study.assignments.filter(round=round_).order_by().values_list("pk", "item", "person")
    found = [(orders[item], numbers[person], pk, item) for pk, item, person in rows if item in complete]
    judged = []
    for _, person, pk, item in sorted(found):
        own = [each for each in records.get(item, ()) if each.assignment in (None, pk)]
        given = answers.get(pk, {})
        for record, question, value in _given([_ITEM, *own], questions, given):
            judged.append(
                Judged(
                    question=question.name,
                    record=(item, record.pk or 0),
                    item=item,
                    rank=record.rank,
                    person=person,
                    value=" + ".join(sorted(chosen(value))),
                )
            )
    return judged


def _records(study: Study) -> dict[int, list[_Record]]:
    """The parts by item, each before those below it."""
    rows = StudyPart.objects.filter(item__study=study, removed=False).order_by("item", "order", "id")
    below: dict[int, dict[int | None, list[_Record]]] = {}
    for item, pk, parent, kind, order, assignment in rows.values_list(
        "item", "pk", "parent", "kind", "order", "assignment"
    ):
        below.setdefault(item, {}).setdefault(parent, []).append(_Record(pk, parent, kind, int(order), assignment))

    def walk(parts: Mapping[int | None, Sequence[_Record]], parent: int | None) -> Iterable[_Record]:
        for part in parts.get(parent, ()):
            yield part
            yield from walk(parts, part.pk)

    return {item: list(walk(parts, None)) for item, parts in below.items()}


def _given(
    records: Sequence[_Record],
    questions: Mapping[str, Sequence[Question]],
    answers: Mapping[int | None, Values],
) -> Iterable[tuple[_Record, Question, Any]]:
    """One person's answers on an item that count."""
    children: dict[int | None, list[_Record]] | None = None
    for record in records:
        values = answers.get(record.pk)
        if not values:
            continue
        coming = questions.get(record.kind, ())
        if any(each.when is not None for each in coming):
            if children is None:
                children = {}
                for each in records[1:]:
                    children.setdefault(each.parent, []).append(each)
            coming = asked(coming, _as_asked(record, records, children.get(record.pk, ()), answers))
        for question in coming:
            value = values.get(question.key)
            if is_answered(question, value):
                yield record, question, value


def _as_asked(
    record: _Record,
    records: Sequence[_Record],
    children: Sequence[_Record],
    answers: Mapping[int | None, Values],
) -> Asked:
    below: dict[str, list[Values]] = {}
    for each in records[1:] if record is _ITEM else children:
        below.setdefault(each.kind, []).append(answers.get(each.pk, {}))
    return Asked(
        answers.get(record.pk, {}),
        item=answers.get(None, {}),
        below=below,
        is_added=record.assignment is not None,
        has_passages=any(each.kind == PASSAGE for each in children),
    )
