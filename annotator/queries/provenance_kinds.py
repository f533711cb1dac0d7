"""Which rows tell where a label came from, and how each kind of them is read (``annotator.queries.provenance``)."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.db.models import Model

from annotator.models import (
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
from annotator.vocabulary import Stage

# --- rows of annotations --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kind:
    """How a kind of row is read. ``work``: the way to its annotation; ``labels``: its fields, those that end in
    ``_origin`` say how the one before came about; ``parents``: what it is about; ``removed``: where a removed row says
    so; ``suggestion``: the kind of what it may have begun as."""

    name: str
    model: type[Model]
    work: str
    labels: tuple[str, ...]
    parents: dict[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    suggestion: str = ""


def _with_origin(*fields: str) -> tuple[str, ...]:
    return tuple(name for each in fields for name in (each, f"{each}_origin"))


KINDS = (
    Kind(
        "sentence",
        Sentence,
        "annotation",
        ("decontext_origin", *_with_origin("type", "importance"), "removed"),
        removed=("removed",),
        suggestion="sentence-suggestion",
    ),
    Kind(
        "claim",
        Claim,
        "sentence__annotation",
        ("text_origin", *_with_origin("type", "worth_checking", "importance"), "removed"),
        {"sentence": "sentence__public_id"},
        ("removed", "sentence__removed"),
        "claim-suggestion",
    ),
    Kind(
        "evidence",
        Evidence,
        "annotation",
        ("url", "content_hash", "retrieved_at", "removed"),
        {"claim": "claim__public_id"},
        ("removed", "claim__removed", "claim__sentence__removed"),
    ),
    Kind(
        "stance",
        Stance,
        "annotation",
        (*_with_origin("label"), "reliable", "sufficient"),
        {"evidence": "evidence__public_id"},
        ("evidence__removed", "evidence__claim__removed", "evidence__claim__sentence__removed"),
        "stance-suggestion",
    ),
    Kind(
        "verdict",
        Verdict,
        "annotation",
        (*_with_origin("factuality", "evidence_sufficient"), "confidence"),
        {"claim": "claim__public_id"},
        ("claim__removed", "claim__sentence__removed"),
        "verdict-suggestion",
    ),
    Kind(
        "claim-revision",
        ClaimRevision,
        "annotation",
        ("handling",),
        {"claim": "claim__public_id"},
        ("claim__removed", "claim__sentence__removed"),
    ),
    Kind(
        "sentence-revision",
        SentenceRevision,
        "annotation",
        ("text_origin", "deleted"),
        {"sentence": "sentence__public_id"},
        ("sentence__removed",),
    ),
    Kind(
        "response-revision",
        ResponseRevision,
        "annotation",
        ("text_origin", "follows_statements"),
        suggestion="revision-suggestion",
    ),
)


# --- suggestions ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Suggested:
    """How a kind of suggestion is read. ``agreed``: the way to the agreed annotation that it hangs on; where it hangs
    on the document itself, ``document`` says how. Read where ``stage`` is over."""

    name: str
    model: type[Model]
    run: str
    labels: tuple[str, ...]
    stage: Stage
    document: str = ""
    agreed: str = ""
    parents: dict[str, str] = field(default_factory=dict)


SUGGESTED = (
    Suggested(
        "sentence-suggestion", SentenceSuggestion, "run", ("type", "importance", "type_by"), Stage.DECOMPOSE, "document"
    ),
    Suggested(
        "claim-suggestion",
        ClaimSuggestion,
        "sentence__run",
        ("type", "worth_checking", "importance", "type_by"),
        Stage.DECOMPOSE,
        "sentence__document",
        parents={"sentence-suggestion": "sentence__public_id"},
    ),
    Suggested(
        "stance-suggestion",
        StanceSuggestion,
        "run",
        ("label", "by", "probability"),
        Stage.VERIFY,
        agreed="evidence__claim__sentence__annotation",
        parents={"evidence": "evidence__public_id"},
    ),
    Suggested(
        "verdict-suggestion",
        VerdictSuggestion,
        "run",
        ("label", "factuality", "probability"),
        Stage.VERIFY,
        agreed="claim__sentence__annotation",
        parents={"claim": "claim__public_id"},
    ),
    Suggested("revision-suggestion", RevisionSuggestion, "run", (), Stage.REVISE, "document"),
)

# What is a piece of the response, or the response mended: it has no parent but the document.
OF_RESPONSE = {"sentence", "response-revision"}
