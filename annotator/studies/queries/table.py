"""All answers of a study as one long table with a row per answer, for CSV and Parquet; and FastFact's file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from annotator.core.protocol import Kind, chosen
from annotator.core.queries.pseudonyms import Keys
from annotator.studies.models import Study
from annotator.studies.queries.answers import given_answers, sheets_of
from annotator.studies.queries.figures import labeled_claim
from annotator.studies.queries.work import Sheet

# Name, meaning.
COLUMNS: tuple[tuple[str, str], ...] = (
    ("study", "the study's name"),
    ("protocol", "name and version of the protocol"),
    ("round", "rate, or the round after the rating"),
    ("item", "the item's id in the file"),
    ("stratum", "the item's stratum"),
    ("record", "kind of record: item, claim, passage ..."),
    ("record_id", "public id of the record"),
    ("record_source", "the record's id or source in the file"),
    ("rank", "place of the record among its kind in the file, from 1"),
    ("annotator", "user name, or pseudonym"),
    ("question", "key of the question"),
    ("value", "the answer: a label, yes or no, a text, a number; several joined by “; ”; a candidate by its source"),
    ("value_label", "the answer as people read it"),
    ("shown_order", "sources of the candidates in the order in which this person saw them, joined by “; ”"),
    ("origin", "human, or accepted where it equals the machine's label"),
    ("changed_at", "when it was last changed, ISO 8601"),
    ("submitted_at", "when the item was submitted, ISO 8601"),
    ("seconds", "active seconds of this person on the item"),
)


def long_rows(study: Study, *, named: bool) -> Iterator[dict[str, Any]]:
    """Every answer that counts, on items that everyone has submitted. ``named``: user names instead of pseudonyms."""
    version = study.version
    protocol = version.protocol
    keys = Keys(study.benchmark, named=named)
    for round_ in ("rate", *(each.key for each in protocol.rounds)):
        for sheet in sheets_of(study, round_):
            sources = {row.part.public_id: row.part.source for row in sheet.candidates if row.part}
            name = keys.key(sheet.assignment.person_id)
            for each in given_answers(iter([sheet])):
                values = _values(each.question.kind, each.answer.value, sources)
                yield {
                    "study": study.name,
                    "protocol": f"{version.name} {version.number}",
                    "round": round_,
                    "item": sheet.item.external_id,
                    "stratum": sheet.item.stratum,
                    "record": each.question.on,
                    "record_id": each.part.public_id if each.part else sheet.item.public_id,
                    "record_source": each.part.source if each.part else sheet.item.external_id,
                    "rank": int(each.part.order) if each.part else 0,
                    "annotator": name,
                    "question": each.question.key,
                    "value": "; ".join(values),
                    "value_label": "; ".join(each.question.words_of(value) for value in values),
                    "shown_order": "; ".join(sources[row.part.public_id] for row in sheet.candidates if row.part),
                    "origin": each.answer.origin,
                    "changed_at": each.answer.changed_at.isoformat(),
                    "submitted_at": sheet.assignment.submitted_at.isoformat() if sheet.assignment.submitted_at else "",
                    "seconds": sheet.assignment.active_seconds,
                }


def _values(kind: str, value: Any, sources: dict[str, str]) -> list[str]:
    if kind in (Kind.CANDIDATE, Kind.CANDIDATES):
        return sorted(str(sources.get(each, each)) for each in (value if isinstance(value, list) else [value]))
    if kind == Kind.SPAN:
        return [f"{start}-{end}" for start, end in value]
    return [str(value)] if kind in (Kind.TEXT, Kind.NUMBER) else sorted(chosen(value))


def fastfact_lines(study: Study) -> Iterator[str]:
    """FastFact's annotation file: the input with people's decisions added to each claim, one line per response and
    annotator. Claims keep the fields of the input."""
    keys = Keys(study.benchmark, named=False)
    for sheet in sheets_of(study):
        yield json.dumps(
            {
                "question": sheet.item.prompt,
                "prompt_source": sheet.item.stratum,
                "response": sheet.item.text,
                **sheet.item.data,
                "annotator": keys.key(sheet.assignment.person_id),
                "no_verifiable_claim": sheet.top.values.get("no_claim") is True,
                "claims_lst": _fastfact_claims(sheet),
            },
            ensure_ascii=False,
        )


def _fastfact_claims(sheet: Sheet) -> list[dict[str, Any]]:
    found = []
    for row in sheet.rows:
        if row.kind != "claim" or row.part is None:
            continue
        claim = labeled_claim(row)
        values = {each.key: row.values.get(each.key) for each in row.asked}
        given = dict(row.part.data.get("given") or {})
        given.setdefault("claim_id", row.part.source or row.part.public_id)
        given.setdefault("claim", values.get("text") or row.part.text)
        found.append(
            given
            | {
                "operation": claim.operation,
                "reason": claim.reason or "; ".join(values.get("revision") or []),
                "revised_claim": values.get("text") or "",
                "agreement": {True: "agreed", False: "disagreed_corrected", None: ""}[claim.agrees],
                "annotator_label": claim.label or claim.reason,
                "failures": list(claim.failures),
            }
        )
    return found
