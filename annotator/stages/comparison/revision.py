"""Revisions side by side: the handling of undecided claims, sentence by sentence, and the response as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotator.core.models import Annotation, ClaimRevision, ResponseRevision, SentenceRevision
from annotator.core.models.base import Record
from annotator.core.vocabulary import Handling, Origin
from annotator.stages.comparison.comparison import (
    ABSENT,
    ComparedItem,
    Comparison,
    Decisions,
    FieldRow,
    Option,
    added_rows,
    key_for,
    label_row,
    same_text,
    settled_answers,
    settled_origin,
    text_row,
    voted,
)

DELETED = ""  # the adjudicated text of a deleted sentence
FOLLOWS = "follows"  # the adjudicated response is merged from the adjudicated sentences


@dataclass(slots=True)
class AdjudicatedRevision:
    """An adjudicated row of the revise stage: for which record, from which rows, with which values."""

    base: Record
    sources: list[Any]
    values: dict[str, Any]


@dataclass(slots=True)
class Revisions(Comparison):
    """``response_follows``: the adjudicated response is merged from the adjudicated sentences. ``answers``: each
    person's response as submitted, merged or written."""

    claims: list[AdjudicatedRevision] = field(default_factory=list)
    sentences: list[AdjudicatedRevision] = field(default_factory=list)
    response: AdjudicatedRevision | None = None
    response_follows: bool = True
    answers: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RevisionVersion:
    """One person's revise stage, rows by the adjudicated sentence or claim they are about."""

    annotation: Annotation
    sentences: Mapping[int, SentenceRevision]
    claims: Mapping[int, ClaimRevision]
    response: ResponseRevision


def compare(versions: Sequence[RevisionVersion], numbers: Mapping[int, str], decisions: Decisions) -> Revisions:
    """The revisions of several people. ``numbers``: the adjudicated sentences (primary keys) in order, with their
    number."""
    result = Revisions(people=len(versions))
    for claim_id in {key: None for version in versions for key in version.claims}:
        _compare_claim(result, [version.claims.get(claim_id) for version in versions], decisions)
    for sentence_id, number in numbers.items():
        rows = [version.sentences.get(sentence_id) for version in versions]
        if any(row is not None for row in rows):
            _compare_sentence(result, number, rows, decisions)
    _compare_response(result, [version.response for version in versions], decisions)
    return result


def _compare_claim(result: Revisions, rows: list[ClaimRevision | None], decisions: Decisions) -> None:
    present = [row for row in rows if row is not None]
    key = key_for("handling", rows)
    handling = label_row(
        f"{key}-handling", "handling", "Not enough evidence",
        [ABSENT if row is None else row.handling for row in rows], Handling, decisions,
    )  # fmt: skip
    text = text_row(
        f"{key}-text", "text", "Rewritten claim",
        [row.text if row and row.handling == Handling.REWRITE else ABSENT for row in rows], decisions,
    )  # fmt: skip
    text.is_active = handling.settled == Handling.REWRITE
    benchmark = present[0].annotation.document.benchmark
    asked = added_rows(benchmark, "claim-revision", key, rows, decisions)
    texts = [[] if row is None else [row.text if row.handling == Handling.REWRITE else ""] for row in rows]
    details = [handling, text, *asked.values()]
    result.items.append(ComparedItem(key, "handling", "", texts, details, heading=present[0].claim.text))
    settled = present[0].claim.text if not text.is_active or text.settled is ABSENT else text.settled
    values = {"handling": Handling.KEEP.value if handling.settled is ABSENT else handling.settled, "text": settled}
    values |= settled_answers(benchmark, "claim-revision", asked)
    result.claims.append(AdjudicatedRevision(present[0], present, values))


def _compare_sentence(
    result: Revisions, number: str, rows: list[SentenceRevision | None], decisions: Decisions
) -> None:
    present = [row for row in rows if row is not None]
    key = key_for("rewrite", rows)
    values: list[Any] = [ABSENT if row is None else _standing(row) for row in rows]
    row = text_row(f"{key}-text", "text", "Sentence", values, decisions)
    for option in row.options:
        if option.value == DELETED:
            row.options[row.options.index(option)] = Option(DELETED, "Delete the sentence", option.people)
    row.words = [
        each or "Delete the sentence" if value is not ABSENT else ""
        for each, value in zip(row.words, row.values, strict=True)
    ]
    texts = [[] if value is ABSENT else [value] for value in values]
    benchmark = present[0].annotation.document.benchmark
    asked = added_rows(benchmark, "sentence-revision", key, rows, decisions)
    details = [row, *asked.values()]
    result.items.append(ComparedItem(key, "rewrite", number, texts, details, heading=present[0].sentence.text))
    settled = present[0].text if row.settled is ABSENT else row.settled
    deleted = row.settled == DELETED
    base = next((each for each in present if same_text(_standing(each)) == settled), present[0])
    origin = settled_origin(row, ["" if each is None else each.text_origin for each in rows])
    text = base.text if deleted or same_text(base.text) == settled else settled
    values_of = {"text": text, "text_origin": origin, "deleted": deleted}
    values_of |= settled_answers(benchmark, "sentence-revision", asked)
    result.sentences.append(AdjudicatedRevision(base, present, values_of))


def _standing(row: SentenceRevision) -> str:
    """The text for this sentence in the response."""
    return DELETED if row.deleted else same_text(row.text)


def _compare_response(result: Revisions, rows: list[ResponseRevision], decisions: Decisions) -> None:
    """The response. If everyone lets it follow from the sentences, there is nothing to resolve; if someone has written
    it, one of the texts is chosen, or it is merged from the adjudicated sentences."""
    key = key_for("answer", rows)
    values: list[Any] = [FOLLOWS if row.follows_statements else row.text for row in rows]
    distinct = list(dict.fromkeys([*values, FOLLOWS]))
    options = [
        Option(value, "Merge from the adjudicated sentences" if value == FOLLOWS else value, _who(values, value))
        for value in distinct
    ]
    auto, tied = voted(values)
    words = ["Merged from the sentences" if value == FOLLOWS else value for value in values]
    row = FieldRow(f"{key}-text", "text", "Response", "text", values, words, options, auto, tied)
    row.decision = decisions.get(row.key)
    texts = [[each.text] if not each.follows_statements else [] for each in rows]
    benchmark = rows[0].annotation.document.benchmark
    asked = added_rows(benchmark, "response-revision", key, rows, decisions)
    details = [row, *asked.values()]
    result.items.append(ComparedItem(key, "answer", "", texts, details, heading="The response as a whole"))
    result.answers = [each.text for each in rows]
    result.response_follows = row.settled in (ABSENT, FOLLOWS)
    origin = (
        Origin.CONSOLIDATED.value if result.response_follows else settled_origin(row, [r.text_origin for r in rows])
    )
    base = next((rows[who] for who in row.settled_by), rows[0])
    text = "" if result.response_follows else row.settled
    values_of = {"text": text, "text_origin": origin, "follows_statements": result.response_follows}
    values_of |= settled_answers(benchmark, "response-revision", asked)
    result.response = AdjudicatedRevision(base, list(rows), values_of)


def _who(values: Sequence[Any], value: Any) -> tuple[int, ...]:
    return tuple(number for number, each in enumerate(values) if each == value)
