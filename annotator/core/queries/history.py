"""The history of a field and of a document, read from the activity rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q, QuerySet

from annotator.core import rules
from annotator.core.fields import find
from annotator.core.models import Activity, Annotation, Claim, Document, Flag, Sentence, User
from annotator.core.models.base import Record
from annotator.core.protocol import ASK
from annotator.core.record_keys import changes_of, key_of
from annotator.core.visibility import sees_annotation, sees_flags
from annotator.core.vocabulary import AnnotationKind, AnnotationState, DisagreementReason, Removal, Stage


@dataclass(frozen=True, slots=True)
class FieldVersion:
    """One state of a field: its value after an activity. ``first``: the value before any change."""

    activity: Activity
    value: Any
    before: Any


def versions_of(record: Record, annotation: Annotation, field: str) -> list[FieldVersion]:
    """Every version of one field, newest first."""
    activities = annotation.activities.select_related("by").order_by("-id")
    return [
        FieldVersion(activity, change["after"], change["before"])
        for activity, change in changes_of(activities, key_of(record), field)
    ]


def activities_of(document: Document) -> QuerySet[Activity]:
    """All activities of a document, newest first. The caller is responsible for blindness: filter through
    ``visibility``."""
    rows = document.activities.select_related("by", "annotation__guidelines")
    return rows.defer("annotation__guidelines__text").order_by("-id")


# --- what a person may see ------------------------------------------------------------------------


def visible_annotations(document: Document, user: User, annotations: Iterable[Annotation]) -> list[Annotation]:
    """Those annotations of a document that a member of its benchmark may see (``visibility`` decides)."""
    rows = list(annotations)
    submitted = [row for row in rows if row.state == AnnotationState.SUBMITTED]
    over = {row.stage for row in submitted if row.kind == AnnotationKind.CONSOLIDATED}
    people = {
        stage: sum(1 for row in submitted if row.stage == stage and row.kind == AnnotationKind.INDIVIDUAL)
        for stage in Stage
    }
    return [
        row
        for row in rows
        if sees_annotation(
            is_own=row.person_id == user.pk,
            phase=document.phase,
            stage_is_over=row.stage in over,
            everyone_submitted=people[Stage(row.stage)] >= document.people_needed,
            is_member=True,
        )
    ]


def visible_activities(document: Document, user: User, annotations: Iterable[Annotation]) -> QuerySet[Activity]:
    """The activities of a document that a member may see, newest first: events of the document as a whole, the member's
    own work, and others' work once visible.

    If an activity's annotation no longer exists (a returned assignment), it was one person's work, and only they see
    it.
    """
    seen = [row.pk for row in visible_annotations(document, user, annotations)]
    of_document = Q(annotation__isnull=True) & ~Q(action="open")
    if not _sees_others_flags(document, user):
        of_document &= ~Q(action__in=FLAGGING)
    return activities_of(document).filter(of_document | Q(by=user) | Q(annotation__in=seen))


FLAGGING = ("flag", "clear-flag")


def _sees_others_flags(document: Document, user: User) -> bool:
    phase = document.phase
    return sees_flags(is_own=False, manages=False, phase=phase) or rules.can_manage(user, document.benchmark)


def visible_flags(document: Document, user: User) -> list[Flag]:
    """The open flags of a document that a member may see, oldest first (``visibility`` decides)."""
    rows = document.flags.filter(cleared_at__isnull=True).select_related("by").order_by("pk")
    others = any(row.by_id != user.pk for row in rows) and _sees_others_flags(document, user)
    return [row for row in rows if sees_flags(is_own=row.by_id == user.pk, manages=others, phase=document.phase)]


# --- in words -------------------------------------------------------------------------------------

# What was done, as it reads after a name: "Ada Lovelace … the document".
DONE: dict[str, str] = {
    "open": "started",
    "submit": "submitted",
    "confirm-contradictions": "confirmed verdicts that contradict their stances",
    "save": "changed",
    "take-over": "accepted suggestions",
    "keep-text": "kept a sentence as it is",
    "add-claim": "added a claim",
    "remove-claim": "removed a claim",
    "restore-claim": "restored a claim",
    "split-claim": "split a claim",
    "merge-claims": "merged two claims",
    "move-claim": "moved a claim",
    "split-sentence": "split a sentence",
    "merge-sentences": "merged two sentences",
    "add-evidence": "added evidence",
    "remove-evidence": "removed evidence",
    "accept-stances": "accepted suggested stances",
    "rest-irrelevant": "marked the rest of the passages irrelevant",
    "add-edit": "added an edit",
    "remove-edit": "removed an edit",
    "rewrite-claim": "rewrote a claim",
    "take-correction": "accepted a correction",
    "search-again": "searched again for evidence",
    "rests-on": "changed the evidence used for a verdict",
    "confirm-sentence": "confirmed a sentence",
    "delete-sentence": "deleted a sentence",
    "restore-sentence": "restored a sentence",
    "take-answer": "accepted a suggested response",
    "merge-again": "rebuilt the response from its sentences",
    "undo": "undid a change",
    "redo": "redid a change",
    "restore": "restored an earlier version",
    "agree": "completed",
    "close-places": "removed unfilled additional annotator slots",
    "decide": "adjudicated a difference",
    "comment": "commented",
    "ask": "asked the adjudicator",
    "answer": "answered a question",
    "sign": "signed off",
    "unsign": "withdrew a sign-off",
    "claim-changed": "asked for a new verdict",
    "sentence-changed": "asked for a new sentence",
    "discard": "discarded the document",
    "bring-back": "restored the document",
    "reopen": "reopened a stage",
    "take-back": "unassigned work",
    "reopen-annotation": "reopened one annotator’s work",
    "move-document": "moved the document",
    "send-back": "sent a claim back",
    "flag": "flagged the document",
    "clear-flag": "cleared a flag",
    "prefilled": "stored suggestions",
    "prefill-failed": "failed to generate suggestions",
    "import": "imported the document",
}
# Fields derived from what people decide.
OTHER_FIELDS = {"rests_on": "evidence used", "follows_statements": "follows the sentences"}
# Already said by the line itself, or of no use to readers.
UNTOLD = {
    "removed_note",
    "order",
    "start",
    "end",
    "submitted_at",
    "only_sent_back",
    "seat",
    "independent",
    "state",
    "stage",
    "phase",
    "discard_reason",
    "suggestion_id",
}
LONGEST_VALUE = 90  # characters of a text in a history line


@dataclass(slots=True)
class HistoryLine:
    """One line of a document's history. Consecutive changes by one person are folded into one line."""

    at: dt.datetime
    who: str
    what: str
    reason: str = ""
    details: list[str] = field(default_factory=list)
    independent: bool = True


def lines_of(activities: Iterable[Activity]) -> list[HistoryLine]:
    """A page of activities in words. Always two queries for the texts that the changes concern."""
    rows = list(activities)
    subjects = _subjects(rows)
    lines: list[HistoryLine] = []
    before: Activity | None = None
    for row in rows:
        details = _details(row, subjects)
        folds = row.action == "save" and before is not None and before.action == "save"
        if folds and before and (before.by_id, before.annotation_id) == (row.by_id, row.annotation_id):
            lines[-1].details += details
        else:
            stage = Stage(row.annotation.stage).label.lower() if row.annotation else ""
            lines.append(
                HistoryLine(
                    at=row.at,
                    who=str(row.by) if row.by else "Touchstone",
                    what=_what(row, stage),
                    reason=row.reason if _says_why(row) else "",
                    details=details,
                    independent=row.annotation.independent if row.annotation else True,
                )
            )
        before = row
    for line in lines:
        if line.what.startswith("changed"):
            number = len(line.details)
            line.what = line.what.replace("changed", f"changed {number} answer{'s' if number != 1 else ''}", 1)
    return lines


def _says_why(row: Activity) -> bool:
    """Is the reason a person's own text, meant for others?"""
    if row.annotation_id:
        return row.action in ("take-back", "reopen-annotation", "confirm-contradictions")
    return row.action not in ("open", "bring-back")


def _what(row: Activity, stage: str) -> str:
    done = DONE.get(row.action, row.action.replace("-", " "))
    if row.action == "open" and row.annotation and row.annotation.guidelines:
        return f"{done} {stage} with version {row.annotation.guidelines.number} of the guidelines"
    if row.action in ("open", "submit", "agree"):
        return f"{done} {stage or row.reason.lower()}"
    return f"{done} in {stage}" if stage else done


def _subjects(rows: Iterable[Activity]) -> dict[str, str]:
    """The first words of the sentences and claims named by changes, by record key."""
    wanted: dict[str, set[str]] = {"sentence": set(), "claim": set()}
    for row in rows:
        for change in row.changes:
            kind, _, public_id = change["record"].partition(":")
            if kind in wanted:
                wanted[kind].add(public_id)
    found: dict[str, str] = {}
    for kind, model in (("sentence", Sentence), ("claim", Claim)):
        texts = model.objects.filter(public_id__in=wanted[kind]).values_list("public_id", "text")
        found |= {f"{kind}:{public_id}": _short(text, 50) for public_id, text in texts}
    return found


def _details(row: Activity, subjects: dict[str, str]) -> list[str]:
    details = []
    for change in row.changes:
        name = change["field"]
        if name in UNTOLD or name.endswith("_origin"):
            continue
        kind = change["record"].partition(":")[0]
        if kind == "decision":
            details += _settled(name, change["after"], row.reason)
            continue
        subject = subjects.get(change["record"], "")
        of = f" of {kind} “{subject}”" if subject else f" of the {kind.replace('-', ' ')}"
        if name == "removed":
            value = Removal(change["after"]).label.lower() if change["after"] else ""
            details.append(f"{kind} “{subject}”: " + (f"removed ({value})" if change["after"] else "restored"))
        elif name in ("operations", "rests_on", "sentence"):
            details.append(f"{_name(kind, name)}{of}")
        else:
            details.append(f"{_name(kind, name)}{of}: {_value(kind, name, change['after'])}")
    return details


def _settled(name: str, value: Any, label: str) -> list[str]:
    """How a difference was resolved and why it came up. Choosing a whole version has no words."""
    if name == "reason" and value:
        return [f"because: {DisagreementReason(value).label.lower()}"]
    if name != "value" or (isinstance(value, int) and not isinstance(value, bool)):
        return []
    return [f"{label.lower()}: {_value('decision', name, '; '.join(value) if isinstance(value, list) else value)}"]


def _name(kind: str, name: str) -> str:
    declared = find(kind, name)
    if name.startswith(ASK):  # a question that the benchmark's protocol adds
        return f"“{name.removeprefix(ASK).replace('_', ' ')}”"
    return declared.in_text if declared else OTHER_FIELDS.get(name, name)


def _value(kind: str, name: str, value: Any) -> str:
    """A stored value as people read it."""
    if value is None or value == "":
        return "cleared"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):  # a rationale: its words are in the passage
        return f"{len(value)} selection{'s' if len(value) != 1 else ''}" if value else "cleared"
    text = str(value)
    declared = find(kind, name)
    words = {word.value: word.label.lower() for word in (declared and declared.words) or ()}
    return words.get(text) or f"“{_short(text, LONGEST_VALUE)}”"


def _short(text: str, length: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
