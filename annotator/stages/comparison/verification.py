"""Verifications side by side: stances passage by passage, verdicts and edits claim by claim.

Evidence is the union of what people added. If someone hasn't given a stance because another person found the passage,
it is asked for (design: Evidence).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from annotator.core.fields import compared_fields
from annotator.core.models import Claim, Evidence, Stance, Verdict
from annotator.core.texts import edits, spans
from annotator.core.vocabulary import EditKind, Factuality
from annotator.stages.comparison.comparison import (
    ABSENT,
    ComparedItem,
    Comparison,
    Decisions,
    FieldRow,
    Option,
    added_rows,
    declared_row,
    key_for,
    same_text,
    settled_answers,
    settled_values,
    voted,
)

if TYPE_CHECKING:
    from annotator.stages.queries.verification import Card, ClaimWork


@dataclass(slots=True)
class AdjudicatedStance:
    """A passage with its adjudicated stance. ``evidence``: the row that is kept, of those who added the same
    passage."""

    evidence: Evidence
    added: list[Evidence]
    sources: list[Stance]
    values: dict[str, Any]


@dataclass(slots=True)
class AdjudicatedVerdict:
    """``operations``: the edit as plain data; ``rests_on``: the evidence used, in order."""

    claim: Claim
    sources: list[Verdict]
    values: dict[str, Any]
    operations: list[dict[str, Any]] = field(default_factory=list)
    rests_on: list[Evidence] = field(default_factory=list)


@dataclass(slots=True)
class Verifications(Comparison):
    stances: list[AdjudicatedStance] = field(default_factory=list)
    verdicts: list[AdjudicatedVerdict] = field(default_factory=list)


def compare(
    versions: Sequence[Sequence[ClaimWork]], unjudged: Sequence[Sequence[Evidence]], decisions: Decisions
) -> Verifications:
    """The verifications of several people, claim by claim in the adjudicated order, with the decisions.

    Everyone labels the same adjudicated claims, so versions are matched by the claim itself. ``unjudged``: each
    person's passages without a stance. Released gold has such passages, so whoever starts from it has them, too; they
    stay, and nothing is asked.
    """
    result = Verifications(people=len(versions))
    by_claim = [{work.claim.pk: work for work in works} for works in versions]
    for first in versions[0] if versions else ():
        works = [mine.get(first.claim.pk) for mine in by_claim]
        present = [work for work in works if work is not None]
        _compare_stances(result, first.number, works, decisions)
        _compare_verdict(result, first, present, works, decisions)
    joined: dict[Any, list[Evidence]] = {}
    for rows in unjudged:
        times: Counter[Any] = Counter()
        for evidence in rows:
            joined.setdefault((evidence.claim_id, *_passage_of(evidence, times)), []).append(evidence)
    result.stances += [AdjudicatedStance(added[0], added, [], {}) for added in joined.values()]
    return result


def _passage_of(evidence: Evidence, times: Counter[Any]) -> tuple[str, str, int]:
    """Which added passages are the same. Released data repeats some within a claim, with different stances: the second
    occurrence is another row. ``times``: one person's counts so far."""
    passage = (evidence.url, same_text(evidence.passage))
    times[evidence.claim_id, *passage] += 1
    return (*passage, times[evidence.claim_id, *passage])


# --- stances --------------------------------------------------------------------------------------


def _compare_stances(
    result: Verifications, number: str, works: Sequence[ClaimWork | None], decisions: Decisions
) -> None:
    passages: dict[Any, list[Card | None]] = {}
    for who, work in enumerate(works):
        times: Counter[Any] = Counter()
        for card in sorted(work.cards if work else (), key=lambda card: card.number):
            evidence = card.evidence
            same = evidence.pk if evidence.annotation_id is None else _passage_of(evidence, times)
            passages.setdefault(same, [None] * len(works))[who] = card
    for position, cards in enumerate(passages.values(), start=1):
        _compare_stance(result, f"{number}, evidence {position}", cards, decisions)


def _compare_stance(result: Verifications, number: str, cards: list[Card | None], decisions: Decisions) -> None:
    present = [card for card in cards if card is not None]
    stances = [None if card is None else card.stance for card in cards]
    key = key_for("stance", stances)
    rows = {each.name: declared_row(each, key, stances, decisions, blank=ABSENT) for each in compared_fields("stance")}
    benchmark = present[0].stance.annotation.document.benchmark
    asked = added_rows(benchmark, "stance", key, stances, decisions)
    added = present[0].evidence.annotation_id is not None
    note = ""
    if added and len(present) < len(cards):
        # One person found it; the other hasn't labeled it yet.
        rows["label"].auto = ABSENT
        note = "Found by one annotator: what is its stance?"
    shown = present[0].evidence
    item = ComparedItem(
        key,
        "stance",
        number,
        [[shown.passage or shown.url] if card else [] for card in cards],
        [*rows.values(), *asked.values()],
        heading=shown.title or present[0].site or shown.url,
        note=note,
    )
    result.items.append(item)
    values = settled_answers(benchmark, "stance", asked)
    for declared in compared_fields("stance"):
        values |= settled_values(declared, rows[declared.name], stances)
    agreeing = [
        card.stance
        for card in present
        if card.stance.label == rows["label"].settled and card.evidence.passage == shown.passage
    ]
    values["rationale"] = spans.joined(span for each in agreeing for span in each.rationale)
    result.stances.append(
        AdjudicatedStance(
            shown,
            [card.evidence for card in present if card.evidence.annotation_id is not None],
            [card.stance for card in present],
            values,
        )
    )


# --- verdicts -------------------------------------------------------------------------------------


def _compare_verdict(
    result: Verifications,
    first: ClaimWork,
    present: list[ClaimWork],
    works: Sequence[ClaimWork | None],
    decisions: Decisions,
) -> None:
    verdicts = [None if work is None else work.verdict for work in works]
    key = key_for("verdict", verdicts)

    chosen = {
        each.name: declared_row(each, key, verdicts, decisions, blank=ABSENT)
        for each in compared_fields("verdict")
        if each.is_choice
    }
    factuality = chosen["factuality"]
    benchmark = present[0].verdict.annotation.document.benchmark
    asked = added_rows(benchmark, "verdict", key, verdicts, decisions)
    others = [*(row for row in chosen.values() if row is not factuality), *asked.values()]
    edit = _edit_row(f"{key}-edit", first.claim, verdicts, decisions)
    edit.is_active = factuality.settled == Factuality.FALSE
    texts = [[] if verdict is None else [verdict.reason] if verdict.reason else [] for verdict in verdicts]
    result.items.append(
        ComparedItem(key, "verdict", first.number, texts, [factuality, *others, edit], heading=first.claim.text)
    )
    standing = [verdict for verdict in verdicts if verdict and verdict.factuality == factuality.settled]
    values: dict[str, Any] = settled_answers(benchmark, "verdict", asked) | {
        "reason": next((verdict.reason for verdict in standing if verdict.reason), ""),
        "confidence": standing[0].confidence if len({verdict.confidence for verdict in standing}) == 1 else "",
    }
    for declared in compared_fields("verdict"):
        if declared.is_choice:
            values |= settled_values(declared, chosen[declared.name], verdicts)
    is_false = edit.is_active and edit.settled is not ABSENT
    result.verdicts.append(
        AdjudicatedVerdict(
            first.claim,
            [work.verdict for work in present],
            values,
            _operations(first.claim.text, edit.settled, verdicts) if is_false else [],
            _rests_on([verdicts[who] for who in edit.settled_by] if is_false else standing, standing),
        )
    )


def _edit_row(key: str, claim: Claim, verdicts: Sequence[Verdict | None], decisions: Decisions) -> FieldRow:
    """The edits of those who labeled the claim false, compared by the resulting claim ("": deleted)."""
    values: list[Any] = [
        same_text(verdict.revised_claim()) if verdict is not None and verdict.factuality == Factuality.FALSE else ABSENT
        for verdict in verdicts
    ]
    distinct = list(dict.fromkeys(value for value in values if value is not ABSENT))
    options = [
        Option(value, value or "Delete the claim", tuple(who for who, each in enumerate(values) if each == value))
        # Deleting is always possible, even if nobody labeled the claim false.
        for value in dict.fromkeys([*distinct, ""])
    ]
    auto, tied = voted(values)
    words = ["" if value is ABSENT else value or "Delete the claim" for value in values]
    return FieldRow(key, "edit", "Edit", "text", values, words, options, auto, tied, decisions.get(key))


def _operations(text: str, revised: str, verdicts: Sequence[Verdict | None]) -> list[dict[str, Any]]:
    """The typed operations that produce the adjudicated text: someone's own if they do, otherwise the smallest ones."""
    for verdict in verdicts:
        is_false = verdict is not None and verdict.factuality == Factuality.FALSE
        if verdict is not None and is_false and same_text(verdict.revised_claim()) == revised and verdict.edit():
            return [_as_json(operation) for operation in verdict.edit()]
    if not revised:
        return [_as_json(edits.Operation(EditKind.DELETE_CLAIM, 0, len(text)))]
    return [_as_json(operation) for operation in edits.from_texts(text, revised)]


def _as_json(operation: edits.Operation) -> dict[str, Any]:
    return {
        "id": "",
        "kind": operation.kind.value,
        "start": operation.start,
        "end": operation.end,
        "replacement": operation.replacement,
    }


def _rests_on(chosen: Sequence[Verdict | None], standing: Sequence[Verdict]) -> list[Evidence]:
    """The evidence used for the adjudicated verdict: the passages of those whose edit (otherwise whose verdict) was
    chosen, each once."""
    found: dict[int, Evidence] = {}
    for verdict in chosen or standing:
        if verdict is not None:
            found |= {rest.evidence_id: rest.evidence for rest in verdict.rests.all() if rest.evidence_id not in found}
    return list(found.values())
