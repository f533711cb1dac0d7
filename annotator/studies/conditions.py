"""Conditions of questions ("when") as sentences for readers and as rows of the protocol form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.protocol import ITEM, Condition, Protocol, Question

# The conditions that need no answers: as the form names them, and what people read.
PLAIN: dict[str, str] = {
    "record=given": "the record was given",
    "record=added": "the annotator added the record",
    "passages=given": "passages are given",
    "passages=none": "no passages are given",
}


@dataclass(frozen=True, slots=True)
class ConditionRow:
    """One simple condition in the form. ``on``: "key" for a question on the same record or the item, "kind.key" for one
    on the records below, or a name of ``PLAIN``. ``answers``: values separated by commas."""

    on: str = ""
    answers: str = ""


# --- words ----------------------------------------------------------------------------------------


def in_words(protocol: Protocol, question: Question) -> str:
    """The condition of a question as a clause: "“The machine’s label” is Disagree". Empty if it is always asked."""
    return _words(protocol, question.on, question.when) if question.when else ""


def _words(protocol: Protocol, on: str, condition: Condition) -> str:
    for name, word in (("all", " and "), ("any", " or ")):
        parts: Sequence[Condition] | None = getattr(condition, name)
        if parts is not None:
            said = [_words(protocol, on, each) for each in parts]
            nested = [f"({each})" if part.all or part.any else each for part, each in zip(parts, said, strict=True)]
            return word.join(nested)
    if condition.record is not None:
        return PLAIN[f"record={condition.record}"]
    if condition.passages is not None:
        return PLAIN[f"passages={condition.passages}"]
    assert condition.question is not None
    about = protocol.question(condition.question, condition.of or on) or protocol.question(condition.question, ITEM)
    ask = about.ask if about else condition.question
    answers = " or ".join(about.words_of(each) if about else each for each in condition.is_ or ())
    record = protocol.record(condition.of) if condition.of else None
    where = f" on any {(record.name if record else condition.of).lower()}" if condition.of else ""
    return f"“{ask}”{where} is {answers}"


# --- the form -------------------------------------------------------------------------------------


def condition_rows(when: Mapping[str, Any] | None) -> tuple[str, list[ConditionRow]] | None:
    """How the rows are joined ("all" or "any"), and the rows of a condition as JSON. None for nested conditions, which
    the form can't show."""
    if not when:
        return "all", []
    for join in ("all", "any"):
        if join in when:
            found = [_row(each) for each in when[join]]
            return None if None in found else (join, [each for each in found if each is not None])
    row = _row(when)
    return None if row is None else ("all", [row])


def _row(when: Mapping[str, Any]) -> ConditionRow | None:
    if "all" in when or "any" in when:
        return None
    for name in ("record", "passages"):
        if name in when:
            return ConditionRow(f"{name}={when[name]}")
    prefix = f"{when['of']}." if when.get("of") else ""
    return ConditionRow(f"{prefix}{when.get('question', '')}", ", ".join(when.get("is") or []))


def condition_of(join: str, rows: Sequence[ConditionRow]) -> dict[str, Any] | None:
    """The condition of these rows as JSON; rows without a question count for nothing. None if it is always asked."""
    found = [_of_row(row) for row in rows if row.on]
    if len(found) < 2:
        return found[0] if found else None
    return {"any" if join == "any" else "all": found}


def _of_row(row: ConditionRow) -> dict[str, Any]:
    if row.on in PLAIN:
        name, _, value = row.on.partition("=")
        return {name: value}
    of, _, key = row.on.rpartition(".")
    answers = [each.strip() for each in row.answers.split(",") if each.strip()]
    return {"question": key} | ({"of": of} if of else {}) | ({"is": answers} if answers else {})


def choices_for(question: Mapping[str, Any], content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the condition of a question can be about: value in the form and words. ``content``: the protocol as JSON."""
    on, key = question.get("on", ITEM), question.get("key")
    under = {each["kind"]: each.get("under", ITEM) for each in content.get("records", [])}
    found: dict[str, str] = {}
    for each in content.get("questions", []):
        kind = each.get("on", ITEM)
        if (kind, each["key"]) == (on, key):
            continue
        if kind in (on, ITEM):
            found.setdefault(each["key"], f"{kind}.{each['key']}")
        elif under.get(kind) == on or (on == ITEM and kind in under):
            found[f"{kind}.{each['key']}"] = f"any {kind}.{each['key']}"
    if content.get("work") != "stages":
        found |= PLAIN
    return list(found.items())
