"""What a protocol declares: questions on kinds of record, evidence, sampling, rounds and figures, as plain data.

The models below are the schema: reading a file validates it against them, and `docs/formats/protocol.schema.json` is
made from them. Nothing here knows Django.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

FORMAT = 1
ASK = "ask_"  # what the name of a question begins with among the fields of a record of the stages
ITEM = "item"  # the kind of record that the study's item itself is
Key = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Words = Annotated[str, Field(min_length=1, max_length=400)]
Shortcut = Annotated[str, Field(pattern=r"^[0-9a-z]$")]


class Work(StrEnum):
    """What the people of a protocol do."""

    STAGES = "stages"  # the three stages of Factcheck-Bench
    COMPARISON = "comparison"  # masked candidates of one item
    JUDGEMENT = "judgement"  # questions on given items


class Kind(StrEnum):
    """What an answer is."""

    LABEL = "label"
    LABELS = "labels"  # several at once
    YES_NO = "yes_no"
    TEXT = "text"
    NUMBER = "number"
    SPAN = "span"  # pieces of the record's own text
    CANDIDATE = "candidate"  # one of the masked candidates, or the tie
    CANDIDATES = "candidates"  # several of them where they are identical


class Strict(BaseModel):
    """Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Label(Strict):
    """One answer that can be chosen."""

    value: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_ :.-]{0,59}$")]
    label: Words
    definition: str = ""
    glyph: Annotated[str, Field(max_length=2)] = ""
    tone: Literal["", "support", "partial", "refute", "neutral"] = ""
    key: Shortcut | None = None


class Condition(Strict):
    """When a question is asked. Exactly one form: an answer (``question`` and ``is``), whether the record was ``given``
    or ``added``, whether it has ``passages``, or several conditions (``all``, ``any``).

    ``question`` names a question on the same record, or on the item; with ``of`` on any record of that kind below it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    question: Key | None = None
    is_: tuple[str, ...] | None = Field(default=None, alias="is", min_length=1)
    of: Key | None = None
    record: Literal["given", "added"] | None = None
    passages: Literal["given", "none"] | None = None
    all: tuple[Condition, ...] | None = None
    any: tuple[Condition, ...] | None = None

    @property
    def forms(self) -> list[str]:
        """The forms that are used; exactly one is right."""
        return [name for name in ("question", "record", "passages", "all", "any") if getattr(self, name) is not None]

    def questions(self) -> Iterator[tuple[str | None, str]]:
        """The questions it looks at, each with the kind of record named by ``of``."""
        if self.question is not None:
            yield self.of, self.question
        for each in (*(self.all or ()), *(self.any or ())):
            yield from each.questions()


class Question(Strict):
    """What is asked of each record of a kind.

    ``round``: "rate" is the work itself, any other name a round afterward (see ``Round``). ``tie``: the words of the
    answer that no candidate is better, where there is one.
    """

    key: Key
    on: Key = ITEM
    kind: Kind
    ask: Words
    definition: str = ""
    labels: tuple[Label, ...] = ()
    tie: str = ""
    tie_key: Shortcut | None = None
    key_yes: Shortcut | None = None
    when: Condition | None = None
    required: bool = True
    suggestion: Literal["never", "before", "after"] = "never"
    round: Key = "rate"

    @property
    def name(self) -> str:
        """Its name among all questions: ``claim.label``."""
        return f"{self.on}.{self.key}"

    @property
    def values(self) -> tuple[str, ...]:
        """The values that can be chosen; empty for texts, numbers, spans and candidates."""
        return ("yes", "no") if self.kind == Kind.YES_NO else tuple(each.value for each in self.labels)

    def words_of(self, value: str) -> str:
        """What a person reads for a value."""
        named = {each.value: each.label for each in self.labels} | {"tie": self.tie}
        return named.get(value) or {"yes": "Yes", "no": "No"}.get(value, value)


def record_kind(question: Question) -> str:
    """The kind of record as `core/fields.py` calls it: a protocol's keys have no hyphens."""
    return question.on.replace("_", "-")


class Record(Strict):
    """A kind of record below an item. ``may_add``: people add records of this kind in place."""

    kind: Key
    name: Words
    plural: Words
    under: Key = ITEM
    may_add: bool = False


class Sampling(Strict):
    """Who gets which items. ``all``: ``people`` on every item. ``shares``: one person on each. ``core_and_shares``:
    everyone on the first ``core`` items, then a share of ``share`` items for each person alone. ``crossed``: one person
    on each, and ``people`` on the part ``crossed`` of them."""

    design: Literal["all", "shares", "core_and_shares", "crossed"] = "all"
    people: Annotated[int, Field(ge=1, le=50)] = 1
    core: Annotated[int, Field(ge=0)] = 0
    share: Annotated[int, Field(ge=0)] | None = None
    crossed: Annotated[float, Field(ge=0, le=1)] = 0.0


class Evidence(StrEnum):
    """What people may decide on."""

    GIVEN = "given"
    OWN_SEARCH = "own_search"
    NONE = "none"
    BY_RECORD = "by_record"  # given passages alone where there are some, own search elsewhere


class Hint(Strict):
    """A sentence shown on a record while the condition holds. It never prevents submitting."""

    on: Key = ITEM
    when: Condition
    say: Words


class Round(Strict):
    """Work after the rating, on some of the items: those on whose ``question`` people ``disagree``, or whose majority
    ``is`` one of these values. ``settles``: the question of this round whose answer becomes the item's final label, as
    adjudication."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    key: Key
    title: Words
    question: Key
    items: Literal["disagreed", "majority"] = "disagreed"
    settles: Key | None = None
    is_: tuple[str, ...] = Field(default=(), alias="is")


class Majority(Strict):
    """The label of an item by majority; ``otherwise`` where there is none."""

    question: Key
    otherwise: str


class Usefulness(Strict):
    """The share of records that got one of these labels, by rank."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    question: Key
    on: Key
    is_: tuple[str, ...] = Field(alias="is", min_length=1)


class Figures(Strict):
    """What is counted. ``preference`` is the question that chooses candidates; ``slight`` the yes/no question whose
    yes makes a preference slight. ``groups`` maps sources of candidates to what they are counted as, besides."""

    preference: Key | None = None
    slight: Key | None = None
    groups: dict[str, dict[str, str]] = {}
    majority: Majority | None = None
    usefulness: Usefulness | None = None
    alignment: Literal["fastfact"] | None = None


class Items(Strict):
    """How items are read from a file. ``cut_words``: texts are cut to so many words at the end of a sentence."""

    cut_words: Annotated[int, Field(ge=1)] | None = None
    drop_identical: bool = False
    candidate: Words = "Candidate"
    reader: Literal["touchstone", "fastfact"] = "touchstone"


class Protocol(Strict):
    """A protocol. ``maps`` names the fields of an export and the question that fills each."""

    touchstone_protocol: Literal[1]
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,59}$")]
    title: Words
    work: Work
    description: str = ""
    source: str = ""
    stages: tuple[Literal["decompose", "verify", "revise"], ...] = ()
    evidence: Evidence = Evidence.GIVEN
    sampling: Sampling = Sampling()
    items: Items = Items()
    records: tuple[Record, ...] = ()
    questions: tuple[Question, ...] = ()
    hints: tuple[Hint, ...] = ()
    rounds: tuple[Round, ...] = ()
    figures: Figures = Figures()
    maps: dict[str, dict[str, str]] = {}

    def on(self, kind: str, round_: str = "rate") -> list[Question]:
        """The questions on a kind of record in a round, in their order."""
        return [each for each in self.questions if each.on == kind and each.round == round_]

    def by_kind(self, round_: str = "rate") -> dict[str, list[Question]]:
        """The questions of a round by the kind of record that they are on."""
        found: dict[str, list[Question]] = {}
        for each in self.questions:
            if each.round == round_:
                found.setdefault(each.on, []).append(each)
        return found

    def question(self, key: str, on: str | None = None) -> Question | None:
        """The question of that key, on that kind of record if one is named."""
        return next((each for each in self.questions if each.key == key and on in (None, each.on)), None)

    def record(self, kind: str) -> Record | None:
        """The declaration of a kind of record below the item."""
        return next((each for each in self.records if each.kind == kind), None)


def compared(question: Question, value: Any) -> str | None:
    """An answer as one text, for comparing and for figures: "yes", "one,other", "5"; None where there is none."""
    if not is_answered(question, value):
        return None
    if question.values:
        return ",".join(each for each in question.values if each in chosen(value))
    return str(value)


def from_compared(question: Question, text: str) -> Any:
    """The answer of such a text."""
    if question.kind == Kind.LABELS:
        return text.split(",")
    if question.kind == Kind.YES_NO:
        return text == "yes"
    if question.kind == Kind.NUMBER:
        number = float(text)
        return int(number) if number.is_integer() else number
    return text


# --- which questions are asked --------------------------------------------------------------------

Values = Mapping[str, Any]  # answers of one record by question key


def chosen(value: Any) -> set[str]:
    """The labels in an answer: "yes" and "no" for booleans, all of several."""
    if isinstance(value, bool):
        return {"yes" if value else "no"}
    if isinstance(value, list):
        return {str(each) for each in value}
    return set() if value in (None, "") else {str(value)}


class Asked:
    """One record as conditions see it: its own answers, the item's, and those of the records below, by kind."""

    def __init__(
        self,
        own: Values,
        *,
        item: Values | None = None,
        below: Mapping[str, Sequence[Values]] | None = None,
        is_added: bool = False,
        has_passages: bool = False,
    ) -> None:
        self.own = own
        self.item = own if item is None else item
        self.below = below or {}
        self.is_added = is_added
        self.has_passages = has_passages


def holds(condition: Condition | None, record: Asked) -> bool:
    """Does the condition hold for the record? No condition holds always."""
    if condition is None:
        return True
    if condition.all is not None:
        return all(holds(each, record) for each in condition.all)
    if condition.any is not None:
        return any(holds(each, record) for each in condition.any)
    if condition.record is not None:
        return record.is_added == (condition.record == "added")
    if condition.passages is not None:
        return record.has_passages == (condition.passages == "given")
    assert condition.question is not None
    wanted = set(condition.is_ or ())
    if condition.of is not None:
        return any(wanted & chosen(each.get(condition.question)) for each in record.below.get(condition.of, []))
    own = record.own if condition.question in record.own else record.item
    return bool(wanted & chosen(own.get(condition.question)))


def asked(questions: Sequence[Question], record: Asked) -> list[Question]:
    """The questions that come up for a record, in their order. An answer that is kept from before, to a question that
    no longer comes up, counts for nothing."""
    found: list[Question] = []
    for question in questions:
        if question.when is None or holds(question.when, _without_dormant(questions, found, record)):
            found.append(question)
    return found


def _without_dormant(questions: Sequence[Question], found: list[Question], record: Asked) -> Asked:
    awake = {each.key for each in found}
    dormant = {each.key for each in questions} - awake
    own = {key: value for key, value in record.own.items() if key not in dormant}
    item = own if record.item is record.own else record.item
    return Asked(own, item=item, below=record.below, is_added=record.is_added, has_passages=record.has_passages)


def is_answered(question: Question, value: Any) -> bool:
    """Does the value answer the question? False is an answer, blank is none."""
    return isinstance(value, bool) or value not in (None, "", [])
