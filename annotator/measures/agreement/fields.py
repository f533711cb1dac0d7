"""What agreement is computed of: the fields of a tally (``annotator.stages.comparison.tally``) with their words and
labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from annotator.core import fields
from annotator.core.protocol import ASK, Kind, Question, record_kind
from annotator.core.vocabulary import Stage
from annotator.stages.comparison.decomposition import MAX_COUNT


@dataclass(frozen=True, slots=True)
class AgreementField:
    """A field of a stage. ``words``: all labels that can be chosen, in order, as people read them; empty for a free
    text. ``thing``: what is counted, in the plural."""

    name: str
    stage: Stage
    label: str
    thing: str
    words: Mapping[str, str]

    @property
    def scale(self) -> tuple[str, ...]:
        return tuple(self.words)


def _measured(declared: fields.Field) -> AgreementField:
    record = fields.RECORDS[declared.record]
    answers = fields.answers_of(declared) if declared.is_choice else {}
    return AgreementField(
        f"{record.item}.{declared.row or declared.name}",
        record.stage,
        declared.title or declared.label,
        record.things,
        {label_of(value): words for value, words in answers.items()},
    )


def label_of(value: Any) -> str:
    """A value of a tally as a label; "" where the person was not asked or has not answered."""
    if value is None:
        return ""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


# How people divide the text, beside what they say of its parts.
UNIT_FIELDS = (
    AgreementField(
        "sentence.cut", Stage.DECOMPOSE, "Sentence boundaries", "word gaps", {"yes": "Boundary", "no": "No boundary"}
    ),
    AgreementField(
        "claim.count",
        Stage.DECOMPOSE,
        "Claims per sentence",
        "sentences",
        {str(number): str(number) for number in range(MAX_COUNT)} | {str(MAX_COUNT): f"{MAX_COUNT} or more"},
    ),
)
_MEASURED = [each for each in fields.all_fields() if each.is_measured]
LABEL_FIELDS: tuple[AgreementField, ...] = (
    *UNIT_FIELDS,
    *(_measured(each) for each in _MEASURED if each.is_choice),
)
TEXT_FIELDS: tuple[AgreementField, ...] = tuple(_measured(each) for each in _MEASURED if not each.is_choice)


def added_fields(questions: Iterable[Question]) -> tuple[AgreementField, ...]:
    """The fields that a benchmark's protocol adds to the stages. Several labels at once are compared as one."""
    found = []
    for question in questions:
        record = fields.RECORDS[record_kind(question)]
        if question.kind in (Kind.LABEL, Kind.LABELS, Kind.YES_NO):
            words = {each: question.words_of(each) for each in question.values if question.kind != Kind.LABELS}
            name = f"{record.item}.{ASK}{question.key}"
            found.append(AgreementField(name, record.stage, question.ask, record.things, words))
    return tuple(found)


# Rows of a comparison that are settled but are no label: whole versions, whether a claim is taken in.
OTHER_ROWS: dict[str, str] = {
    "cut.whole": "Sentence segmentation",
    "split.whole": "Claim splitting",
    "claim.take": "Claim present",
}

FIELD_WORDS: dict[str, str] = {each.name: each.label for each in (*LABEL_FIELDS, *TEXT_FIELDS)} | OTHER_ROWS


def field_of_key(key: str) -> str:
    """The field that a decision is about, from its key: "claim-0a1b-type" is "claim.type"."""
    kind, _, rest = key.partition("-")
    return f"{kind}.{rest.rpartition('-')[2]}"
