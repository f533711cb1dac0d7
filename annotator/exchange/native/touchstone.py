"""The native format: a benchmark with its complete history, as JSON lines (docs/formats/touchstone.md).

The first line is the header: protocol, guidelines, people, groups, batches. Each further line is a document: its own
fields, and for each table a list of rows. Rows are identified by ``id``, the public id, and refer to each other by it.
People are identified by a key, a pseudonym or a user name. Blank values are left out.

``TABLES`` is the only definition, used by the writer (``annotator.exchange.queries.native``), the reader
(``touchstone_reader``), the import (``annotator.exchange.actions.native_rows``) and the schema. It lists tables in the
order of their dependencies.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson
from django.db.models import DateField, Field, JSONField, Model

from annotator.core import models
from annotator.core.fields import columns_of, suggested_fields

NAME = "touchstone"
VERSION = 1
BLANK: tuple[Any, ...] = ("", None, [], {})


@dataclass(frozen=True, eq=False)
class NativeTable:
    """Rows of one model that belong to a document. ``fields`` are columns; ``links`` foreign keys to rows of a table of
    the same line; ``people`` foreign keys to persons; ``lists`` many-to-many fields to rows of a table.

    ``annotation`` is the path to the annotation that a row is part of, which decides who sees it; None if the writer
    has its own rule.
    """

    name: str
    model: type[Model]
    annotation: str | None
    fields: tuple[str, ...]
    links: dict[str, str] = field(default_factory=dict)
    people: tuple[str, ...] = ()
    lists: dict[str, str] = field(default_factory=dict)

    @cached_property
    def has_id(self) -> bool:
        return any(each.name == "public_id" for each in self.model._meta.fields)

    def column(self, name: str) -> Field[Any, Any]:
        found = self.model._meta.get_field(name)
        assert isinstance(found, Field)
        return found

    @cached_property
    def always(self) -> frozenset[str]:
        """Fields that are written even if blank: they are required, or their default isn't blank."""
        return frozenset(name for name in self.fields if not _may_be_left_out(self.column(name)))

    @cached_property
    def converters(self) -> dict[int, Callable[[Any], Any]]:
        """How values become JSON, by type. Types not listed are JSON already."""
        converters = {place: _as_json(self.column(name)) for place, name in enumerate(self.fields)}
        return {place: convert for place, convert in converters.items() if convert}


def _as_json(column: Field[Any, Any]) -> Callable[[Any], Any] | None:
    """Dates and times in ISO 8601, objects with sorted keys; None for JSON values."""
    if isinstance(column, DateField):
        return lambda value: value and value.isoformat()
    return in_order if isinstance(column, JSONField) else None


def _may_be_left_out(column: Field[Any, Any]) -> bool:
    """Is a missing column read as blank?"""
    default = column.get_default()
    if default is None:
        return column.null
    return default in BLANK and (default != "" or column.blank)


def _suggested(record: str) -> tuple[str, ...]:
    """The columns of a suggestion."""
    return tuple(each.name for each in suggested_fields(record))


DOCUMENT = NativeTable(
    "documents",
    models.Document,
    None,
    (
        *("identity", "external_id", "content_hash", "prompt", "response", "source", "model", "metadata"),
        *("reference_date", "stage", "phase", "extra_people", "blind_first", "released", "version", "created_at"),
    ),
)
_RUN_FIELDS = (
    *("stage", "strategy", "plan", "state", "halted", "budget_tokens", "budget_money"),
    *("spent_tokens", "spent_money", "created_at", "started_at", "finished_at"),
)
# In the header.
GUIDELINES = NativeTable(
    "guidelines", models.Guidelines, None, ("number", "text", "created_at"), people=("created_by",)
)
PROMPTS = NativeTable(
    "prompts", models.PromptVersion, None, ("name", "number", "text", "created_at"), people=("created_by",)
)
GROUPS = NativeTable("groups", models.Group, None, ("name", "created_at"))
SEATS = NativeTable(
    "seats", models.GroupMember, None, ("seat", "active", "created_at"), links={"group": "groups"}, people=("user",)
)
BATCHES = NativeTable(
    "batches",
    models.Batch,
    None,
    ("name", "cut", "created_at"),
    links={"group": "groups"},
    people=("created_by",),
)
HEADER_TABLES = (GUIDELINES, PROMPTS, GROUPS, SEATS, BATCHES)

# In a document's line. A run over many documents appears in each of their lines. The parts of plans that runs share
# (SHARED) are written once, in the header's "configurations", under their hash.
RUNS = NativeTable("runs", models.PipelineRun, None, _RUN_FIELDS, people=("requested_by",))
SHARED = ("parameters", "corpus_revision", "services", "model", "seed", "temperature", "prompts")
RUN_ITEMS = NativeTable(
    "run_items",
    models.RunItem,
    None,
    ("state", "attempts", "error", "notes", "counts", "started_at", "finished_at"),
    links={"run": "runs"},
)
STEP_USES = NativeTable(
    "step_uses",
    models.StepUse,
    None,
    (
        *("step", "chats", "searches", "pages", "rankings", "cached"),
        *("prompt_tokens", "answer_tokens", "money", "seconds"),
    ),
    links={"item": "run_items"},  # identified by its run
)
SENTENCE_SUGGESTIONS = NativeTable(
    "sentence_suggestions",
    models.SentenceSuggestion,
    None,
    ("order", "text", "start", "end", *_suggested("sentence"), "type_by"),
    links={"run": "runs"},
)
CLAIM_SUGGESTIONS = NativeTable(
    "claim_suggestions",
    models.ClaimSuggestion,
    None,
    ("order", *_suggested("claim"), "type_by", "prejudgement"),
    links={"sentence": "sentence_suggestions"},
)
REVISION_SUGGESTIONS = NativeTable(
    "revision_suggestions",
    models.RevisionSuggestion,
    None,
    ("with_prompt", "without_prompt"),
    links={"run": "runs"},
)
ANNOTATIONS = NativeTable(
    "annotations",
    models.Annotation,
    "",
    (
        *("stage", "kind", "state", "seat", "independent", "only_sent_back"),
        *("submitted_at", "active_seconds", "version", "created_at"),
    ),
    people=("person",),
)
_ANNOTATION = {"annotation": "annotations"}
SENTENCES = NativeTable(
    "sentences",
    models.Sentence,
    "annotation",
    ("order", "text", "start", "end", *columns_of("sentence"), "answers", "removed", "released", "version"),
    links={**_ANNOTATION, "suggestion": "sentence_suggestions"},
    lists={"sources": "sentences"},
)
CLAIMS = NativeTable(
    "claims",
    models.Claim,
    "sentence__annotation",
    ("order", *columns_of("claim"), "answers", "removed", "removed_note", "released", "version"),
    links={"sentence": "sentences", "suggestion": "claim_suggestions"},
    lists={"sources": "claims"},
)
PAGES = NativeTable(
    "pages",
    models.PageSnapshot,
    None,
    ("url", "title", "site", "published", "text", "content_hash", "retrieved_at"),
)
EVIDENCE = NativeTable(
    "evidence",
    models.Evidence,
    None,
    (
        *("order", "passage", "url", "title", "site", "published", "query", "retrieved_at", "content_hash", "score"),
        *("page_problem", "removed", "released", "version"),
    ),
    links={"claim": "claims", **_ANNOTATION, "run": "runs", "snapshot": "pages"},
    lists={"sources": "evidence"},
)
STANCE_SUGGESTIONS = NativeTable(
    "stance_suggestions",
    models.StanceSuggestion,
    None,
    ("label", "reason", "by", "probability"),
    links={"run": "runs", "evidence": "evidence"},
)
VERDICT_SUGGESTIONS = NativeTable(
    "verdict_suggestions",
    models.VerdictSuggestion,
    None,
    ("label", "factuality", "reason", "correction", "probability", "chain"),
    links={"run": "runs", "claim": "claims"},
)
STANCES = NativeTable(
    "stances",
    models.Stance,
    "annotation",
    (*columns_of("stance"), "answers", "version"),
    links={**_ANNOTATION, "evidence": "evidence", "suggestion": "stance_suggestions"},
    lists={"sources": "stances"},
)
VERDICTS = NativeTable(
    "verdicts",
    models.Verdict,
    "annotation",
    (*columns_of("verdict"), "answers", "version"),
    links={**_ANNOTATION, "claim": "claims", "suggestion": "verdict_suggestions"},
    lists={"sources": "verdicts"},
)
EDITS = NativeTable(
    "edits",
    models.EditOperation,
    "verdict__annotation",
    ("order", "kind", "start", "end", "replacement"),
    links={"verdict": "verdicts"},
)
RESTS_ON = NativeTable(
    "rests_on",
    models.RestsOn,
    "verdict__annotation",
    ("order",),
    links={"verdict": "verdicts", "evidence": "evidence"},
)
CLAIM_REVISIONS = NativeTable(
    "claim_revisions",
    models.ClaimRevision,
    "annotation",
    (*columns_of("claim-revision"), "answers", "version"),
    links={**_ANNOTATION, "claim": "claims"},
    lists={"sources": "claim_revisions"},
)
SENTENCE_REVISIONS = NativeTable(
    "sentence_revisions",
    models.SentenceRevision,
    "annotation",
    (*columns_of("sentence-revision"), "answers", "version"),
    links={**_ANNOTATION, "sentence": "sentences"},
    lists={"sources": "sentence_revisions"},
)
RESPONSE_REVISIONS = NativeTable(
    "response_revisions",
    models.ResponseRevision,
    "annotation",
    (*columns_of("response-revision"), "answers", "follows_statements", "version"),
    links={**_ANNOTATION, "suggestion": "revision_suggestions"},
    lists={"sources": "response_revisions"},
)
DECISIONS = NativeTable(
    "decisions",
    models.Decision,
    "annotation",
    ("key", "choice", "value", "reason", "is_settled", "is_final", "version", "created_at"),
    links=_ANNOTATION,
    people=("by",),
)
COMMENTS = NativeTable(
    "comments", models.Comment, "annotation", ("key", "text", "created_at"), links=_ANNOTATION, people=("by",)
)
QUESTIONS = NativeTable(
    "questions",
    models.Question,
    "annotation",
    ("key", "text", "created_at", "answered_at"),
    links=_ANNOTATION,
    people=("by", "answered_by"),
)
SIGN_OFFS = NativeTable(
    "sign_offs", models.SignOff, "annotation", ("as_third_rater", "created_at"), links=_ANNOTATION, people=("by",)
)
TALLIES = NativeTable("tallies", models.Tally, "annotation", ("people", "data", "created_at"), links=_ANNOTATION)
FLAGS = NativeTable("flags", models.Flag, None, ("reason", "note", "created_at", "cleared_at"), people=("by",))
SENT_BACK = NativeTable(
    "sent_back",
    models.SentBack,
    None,
    ("reason", "created_at", "settled_at"),
    links={"claim": "claims"},
    people=("by",),
)
ACTIVITIES = NativeTable(
    "activities",
    models.Activity,
    None,
    ("at", "action", "changes", "reason", "active_seconds"),
    links={**_ANNOTATION, "undoes": "activities"},
    people=("by",),
)

TABLES: tuple[NativeTable, ...] = (
    RUNS,
    RUN_ITEMS,
    STEP_USES,
    SENTENCE_SUGGESTIONS,
    CLAIM_SUGGESTIONS,
    REVISION_SUGGESTIONS,
    ANNOTATIONS,
    SENTENCES,
    CLAIMS,
    PAGES,
    EVIDENCE,
    STANCE_SUGGESTIONS,
    VERDICT_SUGGESTIONS,
    STANCES,
    VERDICTS,
    EDITS,
    RESTS_ON,
    CLAIM_REVISIONS,
    SENTENCE_REVISIONS,
    RESPONSE_REVISIONS,
    DECISIONS,
    COMMENTS,
    QUESTIONS,
    SIGN_OFFS,
    TALLIES,
    FLAGS,
    SENT_BACK,
    ACTIVITIES,
)

# The protocol: the benchmark's columns in the header.
PROTOCOL = (
    *("description", "overlap", "third_rater_at_verify", "practice_documents", "asks_reliable", "asks_sufficient"),
    *("strategy", "parameters", "budget_tokens", "budget_money", "learns"),
)


def line(value: dict[str, Any]) -> bytes:
    """One line of the file, with its line break, in UTF-8."""
    try:
        return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:  # a number of more than 64 bits, in metadata or a plan
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def in_order(value: Any) -> Any:
    """A JSON value with sorted keys, because databases keep them in an order of their own."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [in_order(each) for each in value]
    return value
