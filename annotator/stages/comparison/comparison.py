"""The data structures for comparing two or more annotations of a stage: items with a text for each person and, in each
item, the fields in which people agree or differ.

People are numbered from 0 in the order of their seats. A key is made of the public ids of the compared rows, so it
stays the same while the annotations stay as submitted; decisions are found by it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from annotator.core.fields import Field, Kind, answers_of, reason_for
from annotator.core.models import Benchmark, Decision
from annotator.core.models.base import Record
from annotator.core.protocol import ASK, Question, compared, from_compared
from annotator.core.protocol import Kind as QuestionKind
from annotator.core.queries.protocols import added_questions, asked_of
from annotator.core.vocabulary import Labelled, Origin


class _NoAnswer:
    """The person has no value here: the row isn't in their version, or the question didn't apply to them."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _NoAnswer()


@dataclass(frozen=True, slots=True)
class Option:
    """A value that can be chosen. ``people``: whose it is (empty: nobody's, a new value)."""

    value: Any
    label: str
    people: tuple[int, ...] = ()

    @property
    def choice(self) -> int | None:
        """The number by which a decision chooses it; None if nobody has it."""
        return self.people[0] if self.people else None


@dataclass(slots=True)
class FieldRow:
    """One field of an item: each person's value, what follows automatically, and the decision.

    ``kind``: "label" (a value of a vocabulary), "text" (free text), "take" (include or exclude), "whole" (one person's
    version as a whole, such as a claim that the other has split). ``values`` are plain JSON or ABSENT; ``words`` are
    their wording for people. ``tied``: more than two people and no majority, so the adjudicator decides.
    """

    key: str
    name: str
    label: str
    kind: str
    values: list[Any]
    words: list[str]
    options: list[Option]
    auto: Any = ABSENT
    tied: bool = False
    decision: Decision | None = None
    is_active: bool = True

    @property
    def differs(self) -> bool:
        """Needs a decision: nothing follows automatically."""
        return self.is_active and self.auto is ABSENT

    @property
    def is_decided(self) -> bool:
        """Resolved by a decision that is still valid. It becomes invalid if people now agree, or if the chosen value is
        no longer that person's because their work was reopened."""
        decision = self.decision
        if decision is None or not decision.is_settled or self.auto is not ABSENT:
            return False
        choice = decision.choice
        return choice is None or (choice < len(self.values) and bool(self.values[choice] == decision.value))

    @property
    def is_open(self) -> bool:
        return self.differs and not self.is_decided

    @property
    def is_shared(self) -> bool:
        """At least two people have a value here."""
        return sum(1 for value in self.values if value is not ABSENT) > 1

    @property
    def is_answered(self) -> bool:
        """Someone has a value here."""
        return any(value is not ABSENT for value in self.values)

    @property
    def is_unanimous(self) -> bool:
        """Everyone who was asked has the same value."""
        present = [value for value in self.values if value is not ABSENT]
        return all(value == present[0] for value in present)

    @property
    def settled(self) -> Any:
        """The current value: decided, or what follows automatically; ABSENT while it is open."""
        if self.is_decided and self.decision is not None:
            choice = self.decision.choice
            return self.decision.value if choice is None else self.values[choice]
        return self.auto

    @property
    def settled_by(self) -> list[int]:
        """Whose value is current (several people's if they agree; nobody's if it is new)."""
        settled = self.settled
        if self.is_decided and self.decision is not None and self.decision.choice is not None and self.kind == "whole":
            return [self.decision.choice]
        return [number for number, value in enumerate(self.values) if value is not ABSENT and value == settled]

    @property
    def settled_words(self) -> str:
        """The current value in words."""
        settled = self.settled
        known = next((option.label for option in self.options if option.value == settled), None)
        if known is not None:
            return known
        return settled if isinstance(settled, str) else ""


@dataclass(slots=True)
class ComparedItem:
    """One thing that people looked at: a sentence, a claim, a passage, a rewrite. ``texts``: each person's text (empty:
    they don't have it). ``kind`` is the record's kind ("sentence", "claim", "evidence", "verdict", …)."""

    key: str
    kind: str
    number: str
    texts: list[list[str]]
    fields: list[FieldRow]
    heading: str = ""
    note: str = ""

    @property
    def active(self) -> list[FieldRow]:
        return [row for row in self.fields if row.is_active]

    @property
    def differs(self) -> bool:
        return any(row.differs for row in self.fields)

    @property
    def is_open(self) -> bool:
        return any(row.is_open for row in self.fields)


@dataclass(slots=True)
class Comparison:
    """A stage of a document side by side. ``matched`` and ``similarities`` are about claims (decompose only)."""

    people: int
    items: list[ComparedItem] = field(default_factory=list)

    @property
    def rows(self) -> list[FieldRow]:
        """What counts: the fields that at least two people answered, and those that need a decision."""
        return [row for item in self.items for row in item.active if row.differs or row.is_shared]

    @property
    def total(self) -> int:
        return len(self.rows)

    @property
    def agreeing(self) -> int:
        return sum(1 for row in self.rows if not row.differs)

    @property
    def decided(self) -> int:
        return sum(1 for row in self.rows if row.differs and row.is_decided)

    @property
    def open(self) -> int:
        return sum(1 for row in self.rows if row.is_open)

    def find(self, key: str) -> FieldRow | None:
        """The field with this key, whether or not it is asked now."""
        return next((row for item in self.items for row in item.fields if row.key == key), None)

    def item_of(self, key: str) -> ComparedItem | None:
        """The item with this key, or with a field of this key."""
        return next(
            (item for item in self.items if item.key == key or any(row.key == key for row in item.fields)), None
        )


# --- making rows ----------------------------------------------------------------------------------

Decisions = Mapping[str, Decision]


def key_for(kind: str, rows: Iterable[Record | None]) -> str:
    """A short key made of the public ids of the compared rows, in order; usable as an id in a page."""
    ids = "+".join(row.public_id if row else "-" for row in rows)
    return f"{kind}-{hashlib.blake2s(ids.encode(), digest_size=8).hexdigest()}"


def same_text(text: str) -> str:
    """A text as it is compared: without outer and repeated space."""
    return " ".join(text.split())


def voted(values: Sequence[Any]) -> tuple[Any, bool]:
    """What follows automatically, and whether people are tied: the value of all, and with more than two people the
    value of more than half. ABSENT if nothing follows; if nobody was asked, nothing follows."""
    present = [value for value in values if value is not ABSENT]
    if not present:
        return ABSENT, False
    if all(value == present[0] for value in present):
        return present[0], False
    if len(present) > 2:
        winner, votes = max(((value, present.count(value)) for value in present), key=lambda pair: pair[1])
        if votes * 2 > len(present):
            return winner, False
        return ABSENT, True
    return ABSENT, False


def label_row(
    key: str,
    name: str,
    label: str,
    values: Sequence[Any],
    words: Iterable[Labelled] | Mapping[Any, str],
    decisions: Decisions,
) -> FieldRow:
    """A field with a fixed set of values. Options: those that someone chose first, then the others."""
    spoken = words if isinstance(words, Mapping) else {word.value: word.label for word in words}
    counted = Counter(value for value in values if value is not ABSENT)
    order = [value for value, _ in counted.most_common()] + [value for value in spoken if value not in counted]
    options = [Option(value, spoken.get(value, "not answered"), _whose(values, value)) for value in order]
    auto, tied = voted(values)
    said = ["" if value is ABSENT else spoken.get(value, "not answered") for value in values]
    return FieldRow(key, name, label, "label", list(values), said, options, auto, tied, decisions.get(key))


def text_row(key: str, name: str, label: str, values: Sequence[Any], decisions: Decisions) -> FieldRow:
    """A field with free text; texts that differ only in space are the same."""
    plain = [ABSENT if value is ABSENT else same_text(value) for value in values]
    distinct = list(dict.fromkeys(value for value in plain if value is not ABSENT))
    options = [Option(value, value, _whose(plain, value)) for value in distinct]
    auto, tied = voted(plain)
    said = ["" if value is ABSENT else value for value in plain]
    return FieldRow(key, name, label, "text", plain, said, options, auto, tied, decisions.get(key))


def said(field: Field, record: Any) -> Any:
    """The value of a person's record in a field, as it is compared: a "no" with its reason is one value."""
    value = getattr(record, field.name)
    if not field.is_asked(record) or value is None:
        return ABSENT
    reason = reason_for(field)
    if reason is None:
        return value
    return "yes" if value else f"no: {getattr(record, reason.name)}"


def declared_row(field: Field, key: str, records: Sequence[Any], decisions: Decisions, *, blank: Any = "") -> FieldRow:
    """The row of a declared field; ``records`` are None for people without one. ``blank``: what a missing label counts
    as. Nothing is asked if nobody answered and nobody has to."""
    values = [ABSENT if record is None else said(field, record) for record in records]
    name, label = f"{key}-{field.name}", field.label
    if field.kind == Kind.TEXT:
        return text_row(name, field.name, label, values, decisions)
    words = answers_of(field)
    if reason_for(field) is not None:
        words["no: "] = f"Not {label.lower()}"  # only imported work lacks a reason
    row = label_row(name, field.name, label, [blank if each == "" else each for each in values], words, decisions)
    row.is_active = field.is_required or any(value is not ABSENT for value in row.values)
    return row


def settled_values(field: Field, row: FieldRow, records: Sequence[Any]) -> dict[str, Any]:
    """The columns of a chosen field, as its row was resolved; blank if it isn't asked."""
    is_open = not row.is_active or row.settled is ABSENT or row.settled == ""
    reason = reason_for(field)
    value = field.open_value if is_open else row.settled
    values = {field.name: value}
    if reason is not None:
        values[field.name] = value if is_open else value == "yes"
        values[reason.name] = "" if is_open or value == "yes" else value.removeprefix("no: ")
    if field.has_origin:
        values[f"{field.name}_origin"] = "" if is_open else settled_origin(row, origins_of(field, records))
    return values


def added_rows(
    benchmark: Benchmark, kind: str, key: str, records: Sequence[Any], decisions: Decisions
) -> dict[str, FieldRow]:
    """The rows of what the benchmark's protocol asks beyond the declared fields, by the question's key; ``records`` are
    None for people without one. What applied to nobody isn't asked."""
    rows = {}
    for question in added_questions(benchmark, kind):
        values: list[Any] = [_answer(question, record, kind, benchmark) for record in records]
        name = f"{ASK}{question.key}"
        if question.kind == QuestionKind.TEXT:
            row = text_row(f"{key}-{name}", name, question.ask, values, decisions)
        else:
            given = [value for value in values if value is not ABSENT]
            known = dict.fromkeys([*(question.values if question.kind != QuestionKind.LABELS else ()), *given])
            words = {value: f"{question.ask}: {answer_words(question, value)}" for value in known}
            row = label_row(f"{key}-{name}", name, question.ask, values, words, decisions)
        row.is_active = any(value is not ABSENT for value in values)
        rows[question.key] = row
    return rows


def answer_words(question: Question, value: str) -> str:
    """A compared answer as people read it; several labels are separated by commas."""
    return ", ".join(question.words_of(each) for each in value.split(",")).lower() if question.values else value


def _answer(question: Question, record: Any, kind: str, benchmark: Benchmark) -> Any:
    """The value of a person's record, as it is compared: a text, "yes", "one,other", "5"."""
    if record is None or question not in asked_of(record, kind, benchmark):
        return ABSENT
    value = compared(question, record.answers.get(question.key))
    return ABSENT if value is None else value


def settled_answers(benchmark: Benchmark, kind: str, rows: Mapping[str, FieldRow]) -> dict[str, Any]:
    """The column of an adjudicated record's answers, as the rows were resolved."""
    found: dict[str, Any] = {}
    for question in added_questions(benchmark, kind):
        row = rows[question.key]
        if row.is_active and row.settled is not ABSENT:
            found[question.key] = from_compared(question, str(row.settled))
    return {"answers": found}


def origins_of(field: Field, records: Sequence[Any]) -> list[str]:
    """How each person arrived at their value."""
    return ["" if record is None else getattr(record, f"{field.name}_origin") for record in records]


def take_row(key: str, label: str, has_it: Sequence[bool], decisions: Decisions) -> FieldRow:
    """Is the item part of the adjudicated version at all?"""
    words = {True: "Include", False: "Exclude"}
    row = label_row(key, "take", label, list(has_it), words, decisions)
    row.kind = "take"
    return row


def whole_row(key: str, name: str, label: str, words: Sequence[str], decisions: Decisions) -> FieldRow:
    """One person's version as a whole. Versions are never the same automatically, which is why it is asked."""
    values: list[Any] = list(range(len(words)))
    options = [Option(number, said, (number,)) for number, said in enumerate(words)]
    return FieldRow(key, name, label, "whole", values, list(words), options, ABSENT, len(words) > 2, decisions.get(key))


def _whose(values: Sequence[Any], value: Any) -> tuple[int, ...]:
    return tuple(number for number, each in enumerate(values) if each is not ABSENT and each == value)


def settled_origin(row: FieldRow, origins: Sequence[str]) -> str:
    """The origin of an adjudicated value: the people's own if it is the same for all, otherwise "agreed"."""
    took = {origins[number] for number in row.settled_by} if row.is_unanimous and not row.is_decided else set()
    return took.pop() if len(took) == 1 and "" not in took else Origin.CONSOLIDATED.value
