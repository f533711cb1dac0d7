"""Reading a protocol file: JSON, checked by the schema and then for what a schema can't say. Every problem is named
with its place in the file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from pydantic import ValidationError

from annotator.core.file_problems import RowError
from annotator.core.lines import json_value
from annotator.core.protocol import ITEM, Condition, Kind, Protocol, Question, Work

MAX_BYTES = 1_000_000
# Keys that the screens themselves use (templates/studies).
RESERVED = {"j", "k", "z", "n"}
_CHOICES = (Kind.LABEL, Kind.LABELS)
_CANDIDATES = (Kind.CANDIDATE, Kind.CANDIDATES)


class ProtocolError(ValueError):
    """The protocol can't be used. ``problems``: pairs of a place such as ``questions[2].when`` and what is wrong."""

    def __init__(self, problems: Iterable[tuple[str, str]]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(f"{place}: {reason}" if place else reason for place, reason in self.problems))


def read_protocol(raw: bytes) -> Protocol:
    """The protocol of a file. Raises ProtocolError that names every problem with its place."""
    if len(raw) > MAX_BYTES:
        raise ProtocolError([("", f"The file has {len(raw):,} bytes; a protocol may have {MAX_BYTES:,}.")])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProtocolError([("", f"Byte {error.start + 1} isn’t UTF-8. Save the file as UTF-8.")]) from None
    try:
        content = json_value(text)
    except RowError as error:
        raise ProtocolError([("", str(error.complaints[0][1]))]) from None
    return protocol_of(content)


def protocol_of(content: Any) -> Protocol:
    """The protocol of a JSON value. Raises ProtocolError."""
    try:
        # From JSON, so that a list stays a list and "3" is no number.
        found = Protocol.model_validate_json(json.dumps(content), strict=True)
    except ValidationError as error:
        raise ProtocolError((_place(each["loc"]), _reason(each)) for each in error.errors()) from None
    problems = list(_problems(found))
    if problems:
        raise ProtocolError(problems)
    return found


@cache
def parsed(canonical_text: str) -> Protocol:
    """The protocol of a stored text, read once."""
    return Protocol.model_validate_json(canonical_text)


def as_json(protocol: Protocol) -> dict[str, Any]:
    """The protocol as a file holds it: what has its default is left out."""
    found: dict[str, Any] = protocol.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return found


def canonical(protocol: Protocol) -> str:
    """One spelling for each protocol: sorted keys, no spaces, defaults left out."""
    return json.dumps(as_json(protocol), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def fingerprint(protocol: Protocol) -> str:
    """SHA-256 of the canonical spelling, in hexadecimal."""
    return hashlib.sha256(canonical(protocol).encode()).hexdigest()


def schema() -> dict[str, Any]:
    """The JSON Schema of protocol files."""
    found: dict[str, Any] = Protocol.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Touchstone protocol"} | found


# --- what is wrong --------------------------------------------------------------------------------


def _place(path: Iterable[str | int]) -> str:
    found = ""
    for part in path:
        found += f"[{part}]" if isinstance(part, int) else f".{part}" if found else str(part)
    return found


def _reason(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return f"unknown key “{error['loc'][-1]}”. Check the spelling, or remove it."
    if error["type"] == "missing":
        return f"“{error['loc'][-1]}” is missing."
    return str(error["msg"])


def _problems(protocol: Protocol) -> Iterator[tuple[str, str]]:
    kinds = [each.kind for each in protocol.records]
    yield from _work(protocol)
    for number, record in enumerate(protocol.records):
        if record.kind == ITEM or kinds.index(record.kind) != number:
            yield f"records[{number}].kind", f"“{record.kind}” is declared already."
        if record.under != ITEM and record.under not in kinds[:number]:
            yield f"records[{number}].under", f"“{record.under}” isn’t declared above."
    names: set[str] = set()
    rounds = {"rate", *(each.key for each in protocol.rounds)}
    for number, question in enumerate(protocol.questions):
        place = f"questions[{number}]"
        if question.name in names:
            yield f"{place}.key", f"There are two questions “{question.key}” on {question.on}."
        names.add(question.name)
        if question.on not in {ITEM, *kinds} and protocol.work != Work.STAGES:
            yield f"{place}.on", f"“{question.on}” isn’t declared in records."
        if question.round not in rounds:
            yield f"{place}.round", f"“{question.round}” isn’t declared in rounds."
        yield from _choices(question, place)
        if question.when is not None:
            yield from _condition(protocol, question.on, question.when, f"{place}.when")
    for number, hint in enumerate(protocol.hints):
        yield from _condition(protocol, hint.on, hint.when, f"hints[{number}].when")
    yield from _shortcuts(protocol)
    yield from _cycles(protocol)
    yield from _figures(protocol)


def _work(protocol: Protocol) -> Iterator[tuple[str, str]]:
    if (protocol.work == Work.STAGES) != bool(protocol.stages):
        yield "stages", "Name the stages where “work” is “stages”, and only there."
    candidates = [each for each in protocol.questions if each.kind in _CANDIDATES]
    if protocol.work == Work.COMPARISON and not candidates:
        yield "questions", "A comparison needs a question of the kind “candidate” or “candidates”."
    if protocol.work != Work.COMPARISON and candidates:
        yield "questions", f"“{candidates[0].key}” chooses candidates, which only a comparison has."
    sampling = protocol.sampling
    if sampling.design in ("core_and_shares", "crossed") and sampling.people < 2:
        yield "sampling.people", "Shared items need two people or more."


def _choices(question: Question, place: str) -> Iterator[tuple[str, str]]:
    if (question.kind in _CHOICES) != bool(question.labels):
        yield f"{place}.labels", "Labels belong to the kinds “label” and “labels”, which need some."
    if question.tie and question.kind not in _CANDIDATES:
        yield f"{place}.tie", "Only a choice of candidates can end in a tie."
    values: set[str] = set()
    for number, label in enumerate(question.labels):
        if label.value in values:
            yield f"{place}.labels[{number}].value", f"There are two labels “{label.value}”."
        values.add(label.value)


def _condition(protocol: Protocol, on: str, condition: Condition, place: str) -> Iterator[tuple[str, str]]:
    if len(condition.forms) != 1:
        yield place, "A condition has exactly one form: question, record, passages, all or any."
        return
    for name in ("all", "any"):
        for number, each in enumerate(getattr(condition, name) or ()):
            yield from _condition(protocol, on, each, f"{place}.{name}[{number}]")
    if condition.question is None:
        return
    if condition.is_ is None:
        yield place, "“is” is missing: name the answers for which the condition holds."
        return
    found = protocol.question(condition.question, condition.of or on) or (
        None if condition.of else protocol.question(condition.question, ITEM)
    )
    if found is None:
        yield f"{place}.question", f"There is no question “{condition.question}” on {condition.of or on}."
        return
    wrong = [each for each in condition.is_ if found.values and each not in found.values]
    if wrong:
        yield f"{place}.is", f"“{wrong[0]}” isn’t an answer to “{found.key}”; choose from {', '.join(found.values)}."


def _keys(question: Question) -> list[tuple[str, str]]:
    """The shortcuts of a question with their places in it."""
    found = [(f".labels[{n}].key", label.key) for n, label in enumerate(question.labels) if label.key]
    found += [(f".{name}", getattr(question, name)) for name in ("tie_key", "key_yes") if getattr(question, name)]
    return found


def _shortcuts(protocol: Protocol) -> Iterator[tuple[str, str]]:
    """A key means one thing on a record. It may mean another on another kind, whose rows have their own focus."""
    taken: dict[tuple[str, str, str], str] = {}
    for number, question in enumerate(protocol.questions):
        for place, key in _keys(question):
            where = f"questions[{number}]{place}"
            if key in RESERVED:
                yield where, f"The key “{key}” is used by the screen itself. Choose another one."
            other = taken.setdefault((question.on, question.round, key), where)
            if other != where:
                yield where, f"The key “{key}” is taken by {other}. Choose another one."


def _cycles(protocol: Protocol) -> Iterator[tuple[str, str]]:
    graph: dict[str, list[str]] = {}
    for question in protocol.questions:
        found = question.when.questions() if question.when else ()
        targets = [protocol.question(key, of or question.on) or protocol.question(key, ITEM) for of, key in found]
        graph[question.name] = [each.name for each in targets if each is not None]
    for number, question in enumerate(protocol.questions):
        way = _way_back(graph, question.name)
        if way and question.name == min(way):
            yield f"questions[{number}].when", f"The conditions go round in a circle: {' → '.join(way)}."


def _way_back(graph: dict[str, list[str]], start: str) -> list[str]:
    ways, seen = [[start]], {start}
    while ways:
        way = ways.pop()
        for name in graph.get(way[-1], []):
            if name == start:
                return [*way, name]
            if name not in seen:
                seen.add(name)
                ways.append([*way, name])
    return []


def _figures(protocol: Protocol) -> Iterator[tuple[str, str]]:
    named = protocol.figures
    asked: list[tuple[str, str | None, str | None]] = []
    asked += [("preference", named.preference, None), ("slight", named.slight, None)]
    if named.majority:
        asked.append(("majority.question", named.majority.question, None))
    if named.usefulness:
        asked.append(("usefulness.question", named.usefulness.question, named.usefulness.on))
    for name, key, on in asked:
        if key is not None and protocol.question(key, on) is None:
            yield f"figures.{name}", f"There is no question “{key}”{f' on {on}' if on else ''}."
    for number, each in enumerate(protocol.rounds):
        if protocol.question(each.question, ITEM) is None:
            yield f"rounds[{number}].question", f"There is no question “{each.question}” on the item."
        if each.settles is not None:
            yield from _settles(protocol, number)
    for form, fields in protocol.maps.items():
        for field, name in fields.items():
            if name not in {each.name for each in protocol.questions}:
                yield f"maps.{form}.{field}", f"There is no question “{name}”."


def _settles(protocol: Protocol, number: int) -> Iterator[tuple[str, str]]:
    """An adjudicated label is one of those that people could choose."""
    declared = protocol.rounds[number]
    asked = next((each for each in protocol.on(ITEM, declared.key) if each.key == declared.settles), None)
    about = protocol.question(declared.question, ITEM)
    place = f"rounds[{number}].settles"
    if asked is None:
        yield place, f"There is no question “{declared.settles}” on the item in this round."
    elif about is not None and (set(asked.values) - set(about.values) or not asked.values):
        yield place, f"“{asked.key}” has other labels than “{about.key}”, whose answers it settles."


def removed_answers(old: Protocol, new: Protocol) -> dict[str, set[str]]:
    """What a newer version no longer offers: by name of question the values, or "*" where the question is gone or is of
    another kind."""
    found: dict[str, set[str]] = {}
    for question in old.questions:
        now = new.question(question.key, question.on)
        if now is None or now.kind != question.kind:
            found[question.name] = {"*"}
        elif gone := set(question.values) - set(now.values):
            found[question.name] = gone
    return found
