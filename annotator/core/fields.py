"""Every field that people label, declared once.

Saving, copies, the API, adjudication, agreement, the native format, tables, provenance, history and screens read these
declarations; the models hold the columns. This module doesn't depend on Django. How to add a label:
docs/how-to/add-a-label.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from annotator.core.vocabulary import (
    ClaimType,
    Confidence,
    EditKind,
    Factuality,
    Handling,
    Importance,
    Labelled,
    NotWorthReason,
    SentenceType,
    Stage,
    StanceLabel,
)

MAX_TEXT = 20_000
MAX_RESPONSE = 1_000_000


class Kind(StrEnum):
    """What a field holds."""

    TEXT = "text"
    LABEL = "label"  # one of ``words``; blank means not decided
    YES_NO = "yes-no"  # null means not answered
    FLAG = "flag"  # true or false, never undecided
    EDIT = "edit"  # typed operations, stored as rows of their own
    SPANS = "spans"  # parts of another text: [start, end] in code points, in order, not overlapping


@dataclass(frozen=True, slots=True)
class FieldQuestion:
    """What one or more fields ask. ``names``: the headings that define it in guidelines; the first is displayed.
    ``ours``: the definition if the guidelines have none. ``labels``: the choices with our definitions."""

    key: str
    names: tuple[str, ...]
    ours: str
    labels: Mapping[Labelled, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordKind:
    """A kind of record that has fields. ``item``: its name in adjudication; ``things``: its plural when counted."""

    name: str
    stage: Stage
    item: str
    things: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a record.

    Words: ``label`` stands next to the record, ``title`` where the record isn't visible, ``noun`` within a sentence,
    ``legend`` above the choices on the screen. ``has_origin``: the column ``<name>_origin`` says where the value came
    from. ``is_suggested``: the pipeline's suggestion has a column of this name. ``is_required``: needed before
    submitting. ``asked_when``: (field, value) that must hold for the question to be asked. ``reason_of``: the yes/no
    question whose "no" this label explains; the two are compared and adjudicated as one. ``is_compared``: adjudication
    shows a row for it; ``row``: that row's name if it differs. ``is_measured``: it has an inter-annotator agreement
    figure. ``column``: its name in the exported tables; blank means not exported. ``meaning`` describes that column.
    ``is_numbered``: keys 1 to 9 choose. ``is_legend_hidden``: the choices need no legend.
    """

    record: str
    name: str
    kind: Kind
    label: str
    words: type[Labelled] | None = None
    title: str = ""
    noun: str = ""
    legend: str = ""
    question: FieldQuestion | None = None
    has_origin: bool = False
    is_suggested: bool = False
    is_required: bool = False
    asked_when: tuple[str, str] | None = None
    reason_of: str = ""
    is_compared: bool = False
    row: str = ""
    is_measured: bool = False
    column: str = ""
    meaning: str = ""
    is_numbered: bool = False
    is_legend_hidden: bool = False
    may_be_blank: bool = True
    longest: int = MAX_TEXT

    def __post_init__(self) -> None:
        assert (self.words is not None) == (self.kind == Kind.LABEL), f"{self.key}: labels, and they alone, have words"

    @property
    def key(self) -> str:
        """The field's full name, unique across records: ``claim:type``."""
        return f"{self.record}:{self.name}"

    @property
    def is_choice(self) -> bool:
        """Is it answered by choosing rather than writing?"""
        return self.kind in (Kind.LABEL, Kind.YES_NO)

    @property
    def columns(self) -> tuple[str, ...]:
        """Its columns in the database."""
        if self.kind == Kind.EDIT:
            return ()
        return (self.name, f"{self.name}_origin") if self.has_origin else (self.name,)

    @property
    def open_value(self) -> Any:
        """The value of a field that hasn't been decided."""
        return {
            Kind.TEXT: "",
            Kind.LABEL: "",
            Kind.YES_NO: None,
            Kind.FLAG: False,
            Kind.EDIT: [],
            Kind.SPANS: [],
        }[self.kind]

    @property
    def in_text(self) -> str:
        """Its name within a sentence."""
        return self.noun or self.label.lower()

    def is_asked(self, record: Any) -> bool:
        """Is the question asked for this record?"""
        return self.asked_when is None or getattr(record, self.asked_when[0]) == self.asked_when[1]


# --- the declarations -----------------------------------------------------------------------------

RECORDS: dict[str, RecordKind] = {
    record.name: record
    for record in (
        RecordKind("sentence", Stage.DECOMPOSE, "sentence", "sentences"),
        RecordKind("claim", Stage.DECOMPOSE, "claim", "claims"),
        RecordKind("evidence", Stage.VERIFY, "evidence", "passages"),
        RecordKind("stance", Stage.VERIFY, "stance", "passages"),
        RecordKind("verdict", Stage.VERIFY, "verdict", "claims"),
        RecordKind("sentence-revision", Stage.REVISE, "rewrite", "sentences"),
        RecordKind("claim-revision", Stage.REVISE, "handling", "claims"),
        RecordKind("response-revision", Stage.REVISE, "answer", "answers"),
    )
}

# fmt: off
_IMPORTANCE = FieldQuestion(
    "importance", ("Importance", "Importance for the response"), "What the response would lose without it.",
    {
        Importance.MOST: "It answers the prompt, or would mislead if it were wrong.",
        Importance.INTERMEDIATE: "It explains or completes the response.",
        Importance.LESS: "The response would be just as good without it.",
    },
)
_WORTH_CHECKING = FieldQuestion(
    "worth-checking", ("Check-worthy", "Check-worthiness", "Worth checking", "Not worth", "Not worth checking"),
    "For factual claims only. Usually yes; no for one of two reasons.",
    {
        NotWorthReason.COMMONSENSE: "Everyone knows it without looking it up.",
        NotWorthReason.NOT_PUBLIC: "It may be true, but no public source could confirm it.",
    },
)
_WITHOUT_EVIDENCE = FieldQuestion(
    "without-enough-evidence", ("Without enough evidence",),
    "Keep the statement, soften it or remove it. The default is to keep it.",
)
_SENTENCE = (
    Field(
        record="sentence", name="decontext", kind=Kind.TEXT, label="Decontextualized text",
        title="Decontextualized sentence",
        has_origin=True, is_suggested=True, asked_when=("type", SentenceType.CHECKWORTHY), is_compared=True,
        is_measured=True, column="decontext", meaning="the decontextualized sentence",
        question=FieldQuestion(
            "stand-alone", ("Decontextualized sentence", "Stand-alone", "Stands alone", "Decontextualised sentence"),
            "The sentence rewritten to be understood without context, with names in place of “it” and “he”.",
        ),
    ),
    Field(
        record="sentence", name="type", kind=Kind.LABEL, words=SentenceType, label="Type", title="Type of sentence",
        legend="Type of sentence", has_origin=True, is_suggested=True, is_required=True, is_compared=True,
        is_measured=True, column="type", meaning="checkworthiness", is_numbered=True,
        question=FieldQuestion(
            "sentence", ("Type of sentence", "Sentence type", "Sentence"),
            "Does the sentence contain a statement that can be checked?",
            {
                SentenceType.CHECKWORTHY: "At least one part states a fact that someone could look up.",
                SentenceType.OPINION: "Taste, advice or speculation that no source could settle.",
                SentenceType.NOT_A_CLAIM: "It makes no statement: a question, a greeting or a heading.",
                SentenceType.OTHER: "It makes a statement, but not about the subject.",
            },
        ),
    ),
    Field(
        record="sentence", name="importance", kind=Kind.LABEL, words=Importance, label="Importance",
        title="Importance of sentence", legend="Importance for the response", has_origin=True, is_suggested=True,
        is_required=True, is_compared=True, is_measured=True, column="importance", meaning="importance",
        question=_IMPORTANCE,
    ),
)
_CLAIM = (
    Field(
        record="claim", name="text", kind=Kind.TEXT, label="Text", title="Text of claim", has_origin=True,
        is_suggested=True, is_compared=True, is_measured=True, column="text", meaning="the claim",
        question=FieldQuestion(
            "atomic-claim", ("Atomic claim", "What a claim is"),
            "A single statement that can be checked on its own and understood without its source sentence.",
        ),
    ),
    Field(
        record="claim", name="type", kind=Kind.LABEL, words=ClaimType, label="Type", title="Type of claim",
        has_origin=True, is_suggested=True, is_required=True, is_compared=True, is_measured=True, column="type",
        meaning="category of the claim", is_numbered=True, is_legend_hidden=True,
        question=FieldQuestion(
            "claim", ("Type of claim", "Claim type", "Claim"), "What kind of statement the claim is.",
            {
                ClaimType.FACTUAL: "It is true or false regardless of who is asked. A wrong fact is factual too.",
                ClaimType.OPINION: "It depends on who is asked.",
                ClaimType.NOT_A_CLAIM: "Nothing is stated.",
                ClaimType.OTHER: "None of the three.",
            },
        ),
    ),
    Field(
        record="claim", name="worth_checking", kind=Kind.YES_NO, label="Check-worthy", has_origin=True,
        is_suggested=True, is_required=True, asked_when=("type", ClaimType.FACTUAL), is_compared=True,
        is_measured=True, column="worth_checking", meaning="whether it is check-worthy",
        question=_WORTH_CHECKING,
    ),
    Field(
        record="claim", name="not_worth_reason", kind=Kind.LABEL, words=NotWorthReason, label="Reason",
        legend="Because it is", is_suggested=True, reason_of="worth_checking",
        question=_WORTH_CHECKING,
    ),
    Field(
        record="claim", name="importance", kind=Kind.LABEL, words=Importance, label="Importance",
        title="Importance of claim", has_origin=True, is_suggested=True, is_required=True, is_compared=True,
        is_measured=True, column="importance", meaning="importance", is_legend_hidden=True,
        question=_IMPORTANCE,
    ),
)
# Where a passage comes from. Nobody labels these columns, but the tables place them among the labels.
_EVIDENCE = (
    Field(record="evidence", name="passage", kind=Kind.TEXT, label="Passage"),
    Field(record="evidence", name="url", kind=Kind.TEXT, label="Url"),
    Field(record="evidence", name="title", kind=Kind.TEXT, label="Title"),
    Field(record="evidence", name="query", kind=Kind.TEXT, label="Query"),
)
_STANCE = (
    Field(
        record="stance", name="label", kind=Kind.LABEL, words=StanceLabel, label="Stance", title="Stance of evidence",
        legend="Stance of this passage on the claim", has_origin=True, is_suggested=True, is_required=True,
        is_compared=True, is_measured=True, column="stance", meaning="evidence against claim", is_numbered=True,
        is_legend_hidden=True,
        question=FieldQuestion(
            "stance", ("Stance",),
            "What this passage alone says about the claim. Set aside your own knowledge and the other passages.",
            {
                StanceLabel.COMPLETELY_SUPPORT: "The passage alone supports the whole claim.",
                StanceLabel.PARTIALLY_SUPPORT: "It supports part of the claim and is silent about the rest.",
                StanceLabel.REFUTE: "The passage and the claim can't both be true, even if only one detail differs.",
                StanceLabel.IRRELEVANT: "It doesn't help decide the claim.",
            },
        ),
    ),
    Field(
        record="stance", name="reliable", kind=Kind.YES_NO, label="Reliable source", title="Source is reliable",
        noun="reliable", is_compared=True, is_measured=True,
        question=FieldQuestion(
            "reliable", ("Reliable", "Reliable source"), "Would you cite this source to a careful reader?",
        ),
    ),
    Field(
        record="stance", name="sufficient", kind=Kind.YES_NO, label="Sufficient on its own",
        title="Passage is sufficient on its own",
        noun="sufficient", is_compared=True, is_measured=True,
        question=FieldQuestion(
            "sufficient", ("Sufficient on its own", "Sufficient", "Enough alone"),
            "Does this passage on its own decide the whole claim, for or against?",
        ),
    ),
    Field(
        record="stance", name="rationale", kind=Kind.SPANS, label="Rationale", title="Words of the passage that decide",
        noun="rationale",
    ),
)
_VERDICT = (
    Field(
        record="verdict", name="evidence_sufficient", kind=Kind.YES_NO, label="Is the evidence sufficient?",
        title="Evidence is sufficient", noun="evidence is sufficient", has_origin=True, is_required=True,
        is_compared=True, is_measured=True, column="evidence_sufficient",
        meaning="whether the retrieved evidence alone can decide it",
        question=FieldQuestion(
            "evidence-decides",
            (
                "Evidence is sufficient", "Is the evidence sufficient?", "Evidence decides",
                "Can this evidence decide it?",
            ),
            "Can the retrieved passages settle the claim? If not, search further before you answer no.",
        ),
    ),
    Field(
        record="verdict", name="factuality", kind=Kind.LABEL, words=Factuality, label="Factuality", has_origin=True,
        is_required=True, is_compared=True, is_measured=True, column="factuality", meaning="the verdict",
        question=FieldQuestion(
            "factuality", ("Factuality",),
            "Ignore irrelevant passages and weigh the rest by number and reliability.",
            {
                Factuality.TRUE: "Evidence you would stand behind supports every part of the claim.",
                Factuality.FALSE: "Reliable evidence contradicts at least one part.",
                Factuality.NOT_ENOUGH_EVIDENCE: "You searched, and the evidence is silent or contradictory.",
            },
        ),
    ),
    Field(
        record="verdict", name="operations", kind=Kind.EDIT, label="Edit", title="Claim after the edit",
        asked_when=("factuality", Factuality.FALSE), is_compared=True, row="edit", is_measured=True,
        question=FieldQuestion(
            "edit", ("Minimal edits", "Minimal edit", "Edit", "Edits"),
            "Correct a false claim with as few changed words as possible, and add nothing.",
            {
                EditKind.REPLACE: "Replace the wrong words with the right ones. This is the usual edit.",
                EditKind.DELETE: "Delete the wrong words if the rest is true without them.",
                EditKind.DELETE_CLAIM: "Nothing in the claim can be kept.",
            },
        ),
    ),
    Field(
        record="verdict", name="reason", kind=Kind.TEXT, label="Reason", column="reason",
        meaning="why the annotator chose this verdict",
    ),
    Field(
        record="verdict", name="confidence", kind=Kind.LABEL, words=Confidence, label="Confidence",
    ),
)
_SENTENCE_REVISION = (
    Field(
        record="sentence-revision", name="text", kind=Kind.TEXT, label="Text", title="Sentence of the response",
        has_origin=True, is_compared=True, is_measured=True, column="revised",
        meaning="the revised sentence; a deleted one keeps its text",
        question=FieldQuestion(
            "revised-sentence", ("Revised sentence",),
            "The model's sentence with the edits to its claims applied. Keep what is true word for word.",
        ),
    ),
    Field(
        record="sentence-revision", name="deleted", kind=Kind.FLAG, label="Deleted", column="deleted",
        meaning="the sentence is left out of the revised response",
    ),
)
_CLAIM_REVISION = (
    Field(
        record="claim-revision", name="handling", kind=Kind.LABEL, words=Handling, label="Handling of the claim",
        title="Claims without enough evidence", noun="handling", legend="Not enough evidence: how to handle the claim?",
        is_compared=True, is_measured=True, column="handling",
        meaning="how the revise stage handles a claim without enough evidence", is_numbered=True, may_be_blank=False,
        question=_WITHOUT_EVIDENCE,
    ),
    Field(
        record="claim-revision", name="text", kind=Kind.TEXT, label="Text", title="Rewritten claim",
        asked_when=("handling", Handling.REWRITE), is_compared=True, is_measured=True, column="rewritten",
        meaning="the claim as rewritten at the revise stage",
        question=_WITHOUT_EVIDENCE,
    ),
)
_RESPONSE_REVISION = (
    Field(
        record="response-revision", name="text", kind=Kind.TEXT, label="Text", title="Whole response",
        has_origin=True, is_compared=True, is_measured=True, longest=MAX_RESPONSE,
        question=FieldQuestion(
            "revised-answer", ("Revised response", "Revised answer"),
            "The sentences in order: correct, fluent, with nothing repeated and nothing added.",
        ),
    ),
)
# fmt: on

# --- reading them ---------------------------------------------------------------------------------

_declared: dict[str, dict[str, Field]] = {record: {} for record in RECORDS}


def declare(*fields: Field) -> None:
    """Add fields to their records, after those already declared. Call it before the models are loaded."""
    for each in fields:
        assert each.name not in _declared[each.record], f"{each.key} is declared twice"
        _declared[each.record][each.name] = each


declare(
    *_SENTENCE,
    *_CLAIM,
    *_EVIDENCE,
    *_STANCE,
    *_VERDICT,
    *_SENTENCE_REVISION,
    *_CLAIM_REVISION,
    *_RESPONSE_REVISION,
)


def fields_of(record: str) -> tuple[Field, ...]:
    """The fields of a kind of record, in order."""
    return tuple(_declared[record].values())


def all_fields() -> tuple[Field, ...]:
    """The fields of all records."""
    return tuple(each for fields in _declared.values() for each in fields.values())


def find(record: str, name: str) -> Field | None:
    """The field of that name, or None if the record has no such field or nobody labels it."""
    return _declared.get(record, {}).get(name)


def field_of(record: str, name: str) -> Field:
    """The field of that name. Raises KeyError."""
    return _declared[record][name]


def reason_for(question: Field) -> Field | None:
    """The label that explains a "no" to this question."""
    return next((each for each in fields_of(question.record) if each.reason_of == question.name), None)


def questions_of(stage: Stage) -> list[tuple[FieldQuestion, tuple[str, ...]]]:
    """What a stage asks, in order, with the keys of the fields concerned."""
    found: dict[str, tuple[FieldQuestion, tuple[str, ...]]] = {}
    for each in all_fields():
        if each.question is not None and RECORDS[each.record].stage == stage:
            _, keys = found.pop(each.question.key, (None, ()))
            found[each.question.key] = (each.question, (*keys, each.key))
    return list(found.values())


def answers_of(question: Field) -> dict[Any, str]:
    """The choices as people read them. A "no" that needs a reason becomes one choice for each reason."""
    if question.words is not None:
        return {word.value: word.label for word in question.words}
    reason = reason_for(question)
    if reason is None or reason.words is None:
        return {True: "Yes", False: "No"}
    return {"yes": question.label} | {f"no: {word.value}": f"No: {word.label.lower()}" for word in reason.words}


def compared_fields(record: str) -> tuple[Field, ...]:
    """The fields of a record that adjudication shows side by side."""
    return tuple(each for each in fields_of(record) if each.is_compared)


def suggested_fields(record: str) -> tuple[Field, ...]:
    """The fields that a suggestion of this kind of record has."""
    return tuple(each for each in fields_of(record) if each.is_suggested)


def exported_fields(record: str) -> tuple[Field, ...]:
    """The fields of a record that have a column in the exported tables."""
    return tuple(each for each in fields_of(record) if each.column)


def columns_of(record: str) -> tuple[str, ...]:
    """The columns of all fields, each with its origin's column."""
    return columns(fields_of(record))


def columns(fields: Iterable[Field]) -> tuple[str, ...]:
    """The columns of some fields, each with its origin's column."""
    return tuple(column for each in fields for column in each.columns)
