"""Saving one field, undo, redo, and restoring an earlier version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Q

from annotator.core import rules
from annotator.core.actions import fields
from annotator.core.actions.answers import read_answer
from annotator.core.actions.locking import lock_document, lock_document_where
from annotator.core.actions.recorder import Action, NothingToUndoError, annotation_of, for_annotation, read_field
from annotator.core.fields import Field
from annotator.core.models import (
    Activity,
    Annotation,
    Claim,
    ClaimRevision,
    Document,
    Evidence,
    ResponseRevision,
    Sentence,
    SentenceRevision,
    Stance,
    User,
    Verdict,
)
from annotator.core.models.base import Record
from annotator.core.queries.protocols import added_question
from annotator.core.record_keys import KINDS, RECORDS, changes_of, find_record, key_of
from annotator.core.vocabulary import ClaimType, Factuality, Handling, NotWorthReason, Origin, Role, StanceLabel
from annotator.stages import rules as stages_rules
from annotator.stages.actions.blind_first import reveal
from annotator.stages.queries.decomposition import read_claims
from annotator.stages.queries.verification import has_searched, repeated_of


class StaleSaveError(Exception):
    """The same field has changed since the sender saw it. Both values are here; nothing was written."""

    def __init__(self, record: Record, field: str, *, mine: Any, theirs: Any, activity: Activity | None) -> None:
        super().__init__("This was changed elsewhere. Compare both versions and choose one.")
        self.record = record
        self.field = field
        self.mine = mine
        self.theirs = theirs
        self.activity = activity


@dataclass(frozen=True, slots=True)
class Saved:
    """The result of a save: the record as it is now, and the activity (None if nothing changed)."""

    record: Record
    activity: Activity | None
    beside: Sequence[Stance] = ()  # of a stance: all stances of its claim, including itself


class NotOwnWorkError(rules.NotAllowedError):
    """The record belongs to someone else."""


# The path from a record to its document.
_PATHS: dict[type[Record], str] = {
    Sentence: "annotations__sentences",
    Claim: "annotations__sentences__claims",
    Evidence: "annotations__added_evidence",
    Stance: "annotations__stances",
    Verdict: "annotations__verdicts",
    ClaimRevision: "annotations__claim_revisions",
    SentenceRevision: "annotations__sentence_revisions",
    ResponseRevision: "annotations__response_revision",
}
_RELATED: dict[type[Record], tuple[str, ...]] = {
    Sentence: ("annotation", "suggestion"),
    Evidence: ("annotation", "claim"),
    Stance: ("annotation", "suggestion", "evidence__claim"),
    Verdict: ("annotation", "claim"),
    ResponseRevision: ("annotation", "suggestion"),
}


@dataclass(frozen=True, slots=True)
class _Own:
    """A person's own record under its document's lock, and their role in the benchmark."""

    record: Record
    role: Role | None
    beside: Sequence[Stance] = ()


def _lock_own(key: str, by: User) -> _Own:
    """A person's own record, read under its document's lock. Two queries; for a sentence or claim one more, for all
    claims of the sentence.

    The first query waits for the lock. The others see what the previous holder of the lock wrote; read together with
    the first, the record would be the one from before the wait.

    Raises RecordGoneError if the record doesn't exist, NotOwnWorkError if it is someone else's.
    """
    kind, _, public_id = key.partition(":")
    model = RECORDS.get(kind)
    path = _PATHS.get(model) if model else None
    owned = {f"{path}__public_id": public_id, "annotations__person": by}
    document = lock_document_where(**owned) if path else None
    if model is None or document is None:
        annotation_of(find_record(key))
        raise NotOwnWorkError("This is someone else's work. Only they can change it.")
    of_claim = model is Claim
    rows: Any = Sentence.objects if of_claim else model._default_manager
    rows = rows.select_related(*_RELATED.get(Sentence if of_claim else model, ("annotation",)))
    rows = rows.annotate(role_of_person=rules.role_column(by, document.benchmark_id))
    if model is Stance:
        return _own_stance(rows, public_id, document, by)
    found = rows.get(**{"claims__public_id" if of_claim else "public_id": public_id})
    found.annotation.document = document
    if isinstance(found, Sentence):
        read_claims([found])
    record = next(each for each in found.claims.all() if each.public_id == public_id) if of_claim else found
    return _Own(record, rules.role_read(by, document.benchmark, found.role_of_person))


def _own_stance(rows: Any, public_id: str, document: Document, by: User) -> _Own:
    """A stance with all others of its claim, because what a save of one says about the claim depends on them."""
    own = Stance.objects.filter(public_id=public_id)
    of_claim = {"annotation": own.values("annotation")[:1], "evidence__claim": own.values("evidence__claim")[:1]}
    stances = list(rows.filter(**of_claim).order_by("evidence__order", "evidence_id"))
    record = next(each for each in stances if each.public_id == public_id)
    for each in stances:
        each.annotation = record.annotation
    record.annotation.document = document
    return _Own(record, rules.role_read(by, document.benchmark, record.role_of_person), stances)


def check_edit_record(user: User, role: Role | None, annotation: Annotation, record: Record) -> None:
    """The rule for changing this record; if only some sentences are open, by sentence."""
    if isinstance(record, Sentence):
        stages_rules.check_edit_sentence_as(user, role, annotation, record.pk)
    elif isinstance(record, Claim):
        stages_rules.check_edit_sentence_as(user, role, annotation, record.sentence_id)
    else:
        stages_rules.check_edit_as(user, role, annotation)
    if isinstance(record, Evidence) and record.run_id is not None:
        raise rules.NotAllowedError("A retrieved passage can’t be edited. Add your own passage instead.")


def change_since(annotation: Annotation, key: str, name: str, version: int) -> Activity | None:
    """The newest activity that changed this field of this record after the given version; None if there is none."""
    for activity in annotation.activities.select_related("by").order_by("-id").iterator(chunk_size=50):
        for change in activity.changes:
            if change["record"] != key:
                continue
            if change["version"] <= version:
                return None
            if change["field"] == name:
                return activity
    return None


def save_field(record: Record, name: str, raw: str, *, by: User, version: int, active_seconds: int = 0) -> Saved:
    """``save_named`` for a record that the caller has already read."""
    return save_named(key_of(record), name, raw, by=by, version=version, active_seconds=active_seconds)


def save_named(
    key: str, name: str, raw: str, *, by: User, version: int, active_seconds: int = 0, with_repeated: bool = False
) -> Saved:
    """Save one field of a record ("claim:ab12cd34ef56") that the sender saw at ``version``. Six queries for a label of
    a sentence or claim, which is read with all claims of the sentence.

    Raises StaleSaveError if the same field has changed since, BadValueError if the field can't have this value,
    NotAllowedError by the rules (NotOwnWorkError for others' work), RecordGoneError if there is no such record. If
    other fields changed in the meantime, both changes are kept. Someone who has seen both values and chosen one saves
    again with the newer version. ``with_repeated``: passages with the same words get the same stance, if theirs was the
    same before.
    """
    with transaction.atomic():
        own = _lock_own(key, by)
        record = own.record
        annotation = annotation_of(record)
        question = added_question(annotation.document.benchmark, KINDS[type(record)], name)
        spec = None if question else fields.field_of(KINDS[type(record)], name)
        value = read_answer(question, raw) if question else fields.read(spec, raw)  # type: ignore[arg-type]
        if question is None:
            fields.check_fits(record, name, value)
        check_edit_record(by, own.role, annotation, record)
        current = read_field(record, name)
        if record.version != version and current != value:
            # A version from the future is from before a backup was restored, so its sender hasn't seen the current
            # values.
            seen = version if version < record.version else 0
            clash = change_since(annotation, key_of(record), name, seen)
            if clash is not None:
                raise StaleSaveError(record, name, mine=value, theirs=current, activity=clash)
        action = for_annotation("save", annotation, by=by, active_seconds=active_seconds)
        action.is_exact = KINDS[type(record)] in ("sentence", "claim", "stance") and not annotation.document.blind_first
        action.set(record, **values_with_effects(record, name, value, spec))
        if isinstance(record, Evidence) and name == "passage" and value != current:
            _drop_rationale(action, record)
        if with_repeated and isinstance(record, Stance) and name == "label":
            set_repeated(action, record, before=current, among=own.beside)
        reveal(record, annotation.document)
        return Saved(record, action.write(), own.beside)


def _drop_rationale(action: Action, evidence: Evidence) -> None:
    """The passage has a new text, so the selected words are no longer where they were."""
    for stance in evidence.stances.filter(annotation=evidence.annotation_id):
        action.set(stance, rationale=[])


def set_repeated(action: Action, stance: Stance, *, before: str, among: Sequence[Stance] = ()) -> None:
    """Give the stance to passages with the same words whose stance was the same (``before``). ``among``: all stances of
    the claim in the order of their evidence, if the caller has read them."""
    spec = fields.field_of("stance", "label")
    for repeated in repeated_of(stance, among):
        if repeated.label == before:
            repeated.annotation = stance.annotation
            action.set(repeated, **values_with_effects(repeated, "label", stance.label, spec))


def values_with_effects(record: Record, name: str, value: Any, spec: Field | None) -> dict[str, Any]:
    """The field, its origin, and its immediate consequences. Each consequence is visible, and the same person can
    change it. ``spec`` is None for an added question of the protocol."""
    values: dict[str, Any] = {name: value}
    if spec is None:
        return values
    if spec.has_origin:
        shown = fields.shown_suggestion(record, name, value)
        values[f"{name}_origin"] = fields.origin_of(spec, value, shown)
    if isinstance(record, Claim):
        values |= _claim_effects(record, name, value)
    elif isinstance(record, Verdict):
        values |= _verdict_effects(record, name, value)
    elif isinstance(record, ClaimRevision) and name == "text":
        values["handling"] = Handling.REWRITE if value.strip() else Handling.DELETE
    elif isinstance(record, ResponseRevision) and name == "text":
        values["follows_statements"] = False
    return values


def _claim_effects(claim: Claim, name: str, value: Any) -> dict[str, Any]:
    if name == "type" and value == ClaimType.FACTUAL and claim.worth_checking is None:
        # The paper checks all factual claims (section 2, step 3), so the default is yes, one key away from no.
        return {"worth_checking": True, "worth_checking_origin": Origin.HUMAN}
    if name == "worth_checking" and value is not False:
        return {"not_worth_reason": ""}
    if name == "worth_checking" and not claim.not_worth_reason:
        suggested = claim.suggestion.not_worth_reason if claim.suggestion else ""
        return {"not_worth_reason": suggested or NotWorthReason.COMMONSENSE}
    if name == "not_worth_reason" and value:
        return {"worth_checking": False, "worth_checking_origin": Origin.HUMAN}
    return {}


def _verdict_effects(verdict: Verdict, name: str, value: Any) -> dict[str, Any]:
    if name != "factuality" or not value:
        return {}
    values: dict[str, Any] = {}
    if verdict.evidence_sufficient is None:
        # If it was left open, sufficiency follows from the verdict: true or false without evidence of one's own relies
        # on what was retrieved. The answer is shown and can be changed.
        own = verdict.annotation.added_evidence.filter(claim=verdict.claim, removed="").exists()
        if value != Factuality.NOT_ENOUGH_EVIDENCE:
            values |= {"evidence_sufficient": not own, "evidence_sufficient_origin": Origin.HUMAN}
        elif own or has_searched(verdict.annotation, verdict.claim):
            values |= {"evidence_sufficient": False, "evidence_sufficient_origin": Origin.HUMAN}
        # Otherwise it stays open: nobody else can say for the annotator that they searched.
    if value == Factuality.FALSE and not verdict.rests.exists():
        # A false verdict uses the refuting passages as evidence until the person changes that.
        refuting = verdict.annotation.stances.filter(
            evidence__claim=verdict.claim, evidence__removed="", label=StanceLabel.REFUTE
        ).order_by("evidence__order", "evidence_id")
        values["rests_on"] = list(refuting.values_list("evidence__public_id", flat=True))
    return values


# Undo stops at these: a submission, an admin's action on the annotation as a whole, and consequences of a change at an
# earlier stage.
UNDO_STOPS = ("submit", "take-back", "reopen-annotation", "claim-changed", "sentence-changed")

# --- undo, redo, restore -------------------------------------------------------------------------


def undo_stacks(annotation: Annotation, by: User) -> tuple[list[int], list[int]]:
    """What this person can undo and redo in this annotation: activity ids, newest last.

    An undo is itself an activity, so the stacks are replayed from the rows and survive a reload.
    """
    undo: list[int] = []
    redo: list[int] = []
    rows = annotation.activities.filter(Q(by=by) | Q(action__in=UNDO_STOPS)).order_by("id")
    for pk, action, changes in rows.values_list("id", "action", "changes"):
        if action in UNDO_STOPS:
            undo, redo = [], []
            continue
        if not changes:
            continue
        if action == "undo":
            undo.pop()
            redo.append(pk)
        elif action == "redo":
            redo.pop()
            undo.append(pk)
        else:
            undo.append(pk)
            redo.clear()
    return undo, redo


def undo(annotation: Annotation, *, by: User) -> Activity:
    """Undo one's own last change in this annotation. Raises NothingToUndoError."""
    return _reverse_last(annotation, "undo", by=by)


def redo(annotation: Annotation, *, by: User) -> Activity:
    """Redo what the last undo reverted. Raises NothingToUndoError."""
    return _reverse_last(annotation, "redo", by=by)


def _reverse_last(annotation: Annotation, name: str, *, by: User) -> Activity:
    with transaction.atomic():
        lock_document(annotation.document_id)
        annotation = Annotation.objects.select_related("document__benchmark").get(pk=annotation.pk)
        role = rules.role_of(by, annotation.document.benchmark)
        stages_rules.check_edit_as(by, role, annotation)
        to_undo, to_redo = undo_stacks(annotation, by)
        stack = to_undo if name == "undo" else to_redo
        if not stack:
            raise NothingToUndoError(f"There is nothing to {name} in this document.")
        last = Activity.objects.get(pk=stack[-1])
        action = for_annotation(name, annotation, by=by)
        action.undoes = last
        loaded: dict[str, Record] = {}
        for change in reversed(last.changes):
            key = change["record"]
            record = loaded[key] if key in loaded else loaded.setdefault(key, find_record(key))
            if change["field"] != "order":  # the order of the others changes along, even where they are closed
                check_edit_record(by, role, annotation, record)
            if read_field(record, change["field"]) != change["after"]:
                raise NothingToUndoError(
                    f"The last change can’t be undone: its {change['field']} has been changed since. "
                    "The history shows every version."
                )
            action.set(record, **{change["field"]: change["before"]})
        activity = action.write()
        assert activity is not None  # the stacks hold only activities with changes
        return activity


def restore(record: Record, name: str, activity: Activity, *, by: User, original: bool = False) -> Saved:
    """Set a field to its value after an activity, or with ``original``, before it."""
    key = key_of(record)
    found = next(iter(changes_of([activity], key, name)), None)
    if found is None:
        raise fields.BadValueError("That version does not belong to this field.")
    value = found[1]["before" if original else "after"]
    question = added_question(annotation_of(record).document.benchmark, KINDS[type(record)], name)
    spec = None if question else fields.field_of(KINDS[type(record)], name)
    with transaction.atomic():
        own = _lock_own(key_of(record), by)
        record = own.record
        fields.check_fits(record, name, value)
        annotation = annotation_of(record)
        check_edit_record(by, own.role, annotation, record)
        action = for_annotation("restore", annotation, by=by)
        if isinstance(record, Evidence) and name == "passage":
            _drop_rationale(action, record)
        action.set(record, **values_with_effects(record, name, value, spec))
        return Saved(record, action.write())
