"""A protocol as the page "Edit protocol" changes it: from its JSON and the form's fields to its new JSON."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from annotator.core.protocol import ITEM
from annotator.studies.conditions import ConditionRow, choices_for, condition_of, condition_rows

Content = dict[str, Any]  # a protocol, or a part of one, as JSON
MAX_CONDITIONS = 20  # of one question


def question_rows(content: Content, declared: Collection[str] = (), optional: Collection[str] = ()) -> list[Content]:
    """What the form shows of each question. ``declared``: names of questions that the stages' screens ask as they are;
    ``optional``: those of them that can be left out."""
    rows = []
    for number, each in enumerate(content.get("questions", [])):
        is_declared = _name(each) in declared
        can_leave_out = not is_declared or _name(each) in optional
        row = _question_row(str(number), each, content)
        rows.append(row | {"is_declared": is_declared, "can_leave_out": can_leave_out})
    return rows


def new_question_row(content: Content) -> Content:
    """The empty row of a question to add."""
    return _question_row("new", {"on": ITEM, "key": ""}, content)


def named_problem(place: str, reason: str, content: Content) -> str:
    """A problem with the question's name in place of its number: "claim.label, when: ..."."""
    found = re.match(r"questions\[(\d+)\]\.?", place)
    questions = content.get("questions", [])
    if found and int(found[1]) < len(questions):
        rest = place[found.end() :]
        place = _name(questions[int(found[1])]) + (f", {rest}" if rest else "")
    return f"{place}: {reason}" if place else reason


def changed(content: Content, form: Mapping[str, str]) -> Content:
    """The protocol with the form's changes. What the form doesn't show stays as it is."""
    found = content | {"title": form.get("title", ""), "description": form.get("description", "").strip()}
    questions = []
    for number, question in enumerate([*content.get("questions", []), *_added(content, form)]):
        if f"ask-{number}" not in form or form.get(f"asked-{number}"):
            questions.append(_changed_question(question, form, number))
    if form.get("new-key"):
        new: Content = {
            "key": form["new-key"].strip(),
            "on": form.get("new-on", ITEM),
            "kind": form.get("new-kind", "label"),
            "ask": form.get("new-ask", "").strip(),
            "required": bool(form.get("new-required")),
        }
        if form.get("new-labels", "").strip():
            new["labels"] = _labels(form["new-labels"], [])
        questions.append(_with_condition(new, form, "new"))
    return found | {"questions": questions}


def _name(question: Content) -> str:
    return f"{question.get('on', ITEM)}.{question['key']}"


def _question_row(number: str, question: Content, content: Content) -> Content:
    labels = [
        " | ".join([each["value"], each["label"], each.get("key") or "", each.get("definition", "")]).rstrip(" |")
        for each in question.get("labels", [])
    ]
    shown = {"on": ITEM, "definition": "", "required": True, **question}
    conditions = condition_rows(question.get("when"))
    return {
        "number": number,
        "question": shown,
        "has_labels": shown.get("kind") in ("label", "labels"),
        "labels": "\n".join(labels),
        "join": conditions[0] if conditions else "",
        # One more than there are, for another condition.
        "conditions": [*conditions[1], ConditionRow()] if conditions else [],
        "is_nested": conditions is None,
        "choices": choices_for(shown, content),
    }


def _added(content: Content, form: Mapping[str, str]) -> list[Content]:
    """Questions that were added in the form and aren't saved yet. They follow the stored ones."""
    found: list[Content] = []
    number = len(content.get("questions", []))
    while f"key-{number}" in form:
        question: Content = {name: form.get(f"{name}-{number}", "") for name in ("key", "on", "kind")}
        found.append(question | ({"labels": []} if form.get(f"labels-{number}", "").strip() else {}))
        number += 1
    return found


def _changed_question(question: Content, form: Mapping[str, str], number: int) -> Content:
    if f"definition-{number}" not in form:
        return question
    found = question | {"ask": form.get(f"ask-{number}", "").strip(), "required": bool(form.get(f"required-{number}"))}
    found["definition"] = form.get(f"definition-{number}", "").strip()
    if "labels" in question:
        found["labels"] = _labels(form.get(f"labels-{number}", ""), question["labels"])
    return _with_condition(found, form, str(number))


def _with_condition(question: Content, form: Mapping[str, str], number: str) -> Content:
    if f"when-{number}-0" not in form:
        return question
    places = [place for place in range(MAX_CONDITIONS) if f"when-{number}-{place}" in form]
    rows = [
        ConditionRow(form[f"when-{number}-{place}"].strip(), form.get(f"is-{number}-{place}", "")) for place in places
    ]
    when = condition_of(form.get(f"join-{number}", "all"), rows)
    rest = {name: value for name, value in question.items() if name != "when"}
    return rest | ({"when": when} if when else {})


def _labels(text: str, before: list[Content]) -> list[Content]:
    """One label per line: value | words | key | definition. Glyph and tone stay with their value."""
    known = {each["value"]: each for each in before}
    found = []
    for line in text.splitlines():
        if line.strip():
            value, label, key, definition = ([part.strip() for part in line.split("|", 3)] + [""] * 4)[:4]
            kept = {name: known[value][name] for name in ("glyph", "tone") if name in known.get(value, {})}
            new: Content = {"value": value, "label": label or value, "definition": definition}
            found.append(kept | new | ({"key": key} if key else {}))
    return found
