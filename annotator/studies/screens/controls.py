"""The controls with which a question is answered on the screens. The browser's outbox saves them."""

from __future__ import annotations

import re
from typing import Any

from annotator.core.protocol import Kind, Question
from annotator.core.screens.questions import Control, Option, fixed_options, form_of
from annotator.studies.item_file import comparable
from annotator.studies.queries.work import TIE, Row, Sheet


def controls_of(sheet: Sheet, row: Row) -> list[Control]:
    """The controls of the questions that are asked about a row, in order."""
    numbered = next((each.key for each in row.asked if _is_choice(each) and not _has_keys(each)), "")
    return [_control(sheet, row, question, is_numbered=question.key == numbered) for question in row.asked]


def _is_choice(question: Question) -> bool:
    return question.kind == Kind.LABEL or (question.kind == Kind.YES_NO and question.required)


def _has_keys(question: Question) -> bool:
    return any(each.key for each in question.labels)


def _control(sheet: Sheet, row: Row, question: Question, *, is_numbered: bool) -> Control:
    answer = row.answers.get(question.key)
    value = sheet.as_sent(question, answer.value if answer else None)
    form = form_of(question)
    machine = row.machine.get(question.key) if question.suggestion == "before" else None
    return Control(
        question=question,
        row=row,
        form=form,
        field=f"{row.address}.{question.key}",
        value=value,
        options=_options(sheet, row, question),
        suggested=sheet.as_sent(question, machine),
        is_numbered=is_numbered,
        # Moves focus to the next row if this is the row's only question.
        advances=is_numbered and len(row.questions) == 1,
        values=frozenset(value.split(",")) if form in ("checks", "words") else frozenset(),
    )


def _options(sheet: Sheet, row: Row, question: Question) -> tuple[Option, ...]:
    if question.kind in (Kind.CANDIDATE, Kind.CANDIDATES):
        return _candidates(sheet, question)
    if question.kind == Kind.SPAN:
        text = row.part.text if row.part else sheet.item.text
        return tuple(Option(f"{each.start()}-{each.end()}", each.group()) for each in re.finditer(r"\S+", text))
    return fixed_options(question)


def _candidates(sheet: Sheet, question: Question) -> tuple[Option, ...]:
    """The candidates by letter, with the keys 1, 2, 3 ... If several may be chosen, identical ones share an option."""
    groups: dict[Any, list[str]] = {}
    for row in sheet.candidates:
        content: Any = comparable(row.part.text, row.part.data.get("lines")) if row.part else row.address
        groups.setdefault(content if question.kind == Kind.CANDIDATES else row.address, []).append(row.address)
    found = [
        Option(",".join(letters), " and ".join(letters) + (" (identical)" if len(letters) > 1 else ""), key=str(number))
        for number, letters in enumerate(groups.values(), start=1)
    ]
    if question.tie:
        found.append(Option(TIE, question.tie, key=question.tie_key or ""))
    return tuple(found)
