"""Which rows carry provenance, and how each kind is read (``annotator.exchange.queries.provenance``)."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.db.models import Model

from annotator.core import fields
from annotator.core.fields import fields_of, suggested_fields
from annotator.core.models import (
    Claim,
    ClaimRevision,
    ClaimSuggestion,
    Evidence,
    ResponseRevision,
    RevisionSuggestion,
    Sentence,
    SentenceRevision,
    SentenceSuggestion,
    Stance,
    StanceSuggestion,
    Verdict,
    VerdictSuggestion,
)
from annotator.core.vocabulary import Stage

# --- rows of annotations --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProvenanceKind:
    """How a kind of row is read. ``work``: the path to its annotation, which belongs to ``stage``; ``labels``: its
    fields, where ``_origin`` says how the field before it was decided; ``parent``: the kind it describes, which is also
    the name of its foreign key; ``may_be_removed``: it has a field that says so; ``suggestion``: the kind it may have
    started as."""

    name: str
    model: type[Model]
    work: str
    stage: Stage
    labels: tuple[str, ...]
    parent: str = ""
    may_be_removed: bool = False
    suggestion: str = ""


def _labels(record: str, first: str = "") -> tuple[str, ...]:
    """What is decided about a record, and how; for texts only how. ``first`` comes before the others. Rationales are
    left out, because PROV has no list values."""
    found = [each for each in fields_of(record) if not each.reason_of and each.kind != fields.Kind.SPANS]
    found.sort(key=lambda each: each.name != first)
    return tuple(
        name for each in found for name in (each.columns[1:] if each.kind == fields.Kind.TEXT else each.columns)
    )


def _suggested(record: str) -> tuple[str, ...]:
    return tuple(each.name for each in suggested_fields(record) if each.is_choice and not each.reason_of)


# Parents come before children.
KINDS = (
    ProvenanceKind(
        "sentence",
        Sentence,
        "annotation",
        Stage.DECOMPOSE,
        (*_labels("sentence"), "removed"),
        may_be_removed=True,
        suggestion="sentence-suggestion",
    ),
    ProvenanceKind(
        "claim",
        Claim,
        "sentence__annotation",
        Stage.DECOMPOSE,
        (*_labels("claim"), "removed"),
        "sentence",
        may_be_removed=True,
        suggestion="claim-suggestion",
    ),
    ProvenanceKind(
        "evidence",
        Evidence,
        "annotation",
        Stage.VERIFY,
        ("url", "content_hash", "retrieved_at", "removed"),
        "claim",
        may_be_removed=True,
    ),
    ProvenanceKind(
        "stance",
        Stance,
        "annotation",
        Stage.VERIFY,
        _labels("stance"),
        "evidence",
        suggestion="stance-suggestion",
    ),
    ProvenanceKind(
        "verdict",
        Verdict,
        "annotation",
        Stage.VERIFY,
        _labels("verdict", first="factuality"),
        "claim",
        suggestion="verdict-suggestion",
    ),
    ProvenanceKind("claim-revision", ClaimRevision, "annotation", Stage.REVISE, _labels("claim-revision"), "claim"),
    ProvenanceKind(
        "sentence-revision", SentenceRevision, "annotation", Stage.REVISE, _labels("sentence-revision"), "sentence"
    ),
    ProvenanceKind(
        "response-revision",
        ResponseRevision,
        "annotation",
        Stage.REVISE,
        (*_labels("response-revision"), "follows_statements"),
        suggestion="revision-suggestion",
    ),
)


# --- suggestions ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SuggestedValue:
    """How a kind of suggestion is read. ``agreed``: the path to its adjudicated annotation. If it belongs to the
    document itself, ``document`` is the path. Read if ``stage`` is finished."""

    name: str
    model: type[Model]
    run: str
    labels: tuple[str, ...]
    stage: Stage
    document: str = ""
    adjudicated: str = ""
    parents: dict[str, str] = field(default_factory=dict)


SUGGESTED = (
    SuggestedValue(
        "sentence-suggestion",
        SentenceSuggestion,
        "run",
        (*_suggested("sentence"), "type_by"),
        Stage.DECOMPOSE,
        "document",
    ),
    SuggestedValue(
        "claim-suggestion",
        ClaimSuggestion,
        "sentence__run",
        (*_suggested("claim"), "type_by"),
        Stage.DECOMPOSE,
        "sentence__document",
        parents={"sentence-suggestion": "sentence__public_id"},
    ),
    SuggestedValue(
        "stance-suggestion",
        StanceSuggestion,
        "run",
        ("label", "by", "probability"),
        Stage.VERIFY,
        adjudicated="evidence__claim__sentence__annotation",
        parents={"evidence": "evidence__public_id"},
    ),
    SuggestedValue(
        "verdict-suggestion",
        VerdictSuggestion,
        "run",
        ("label", "factuality", "probability"),
        Stage.VERIFY,
        adjudicated="claim__sentence__annotation",
        parents={"claim": "claim__public_id"},
    ),
    SuggestedValue("revision-suggestion", RevisionSuggestion, "run", (), Stage.REVISE, "document"),
)

# A piece of the response, or the revised response: its only parent is the document.
OF_RESPONSE = {"sentence", "response-revision"}
