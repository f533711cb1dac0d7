"""The one way in which records change: a list of field changes, written with its activity row (ADR 0002).

An ``Action`` collects changes to records of one annotation or document; ``write`` saves them, bumps each
record's version once, and writes the activity, all in the caller's transaction. History, undo and the check for
a stale save read nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.db.models import F

from annotator.core import rules
from annotator.core.actions import fields
from annotator.core.models import (
    Activity,
    Annotation,
    Benchmark,
    Claim,
    ClaimRevision,
    Document,
    EditOperation,
    Evidence,
    ResponseRevision,
    RestsOn,
    Sentence,
    SentenceRevision,
    Stance,
    User,
    Verdict,
)
from annotator.core.models.base import AskedRecord, Record
from annotator.core.protocol import ASK
from annotator.core.record_keys import key_of

# --- fields whose value is not one column --------------------------------------------------------


def operations_as_json(verdict: Verdict) -> list[dict[str, Any]]:
    """The edit of a verdict as plain data, in order."""
    return [
        {"id": op.public_id, "kind": op.kind, "start": op.start, "end": op.end, "replacement": op.replacement}
        for op in verdict.operations.all()
    ]


def write_operations(verdict: Verdict, value: list[dict[str, Any]]) -> None:
    """Replace the operations of a verdict; an operation without an id gets a new one."""
    verdict.operations.all().delete()
    EditOperation.objects.bulk_create(
        EditOperation(
            verdict=verdict,
            order=order,
            kind=item["kind"],
            start=item["start"],
            end=item["end"],
            replacement=item["replacement"],
            **({"public_id": item["id"]} if item.get("id") else {}),
        )
        for order, item in enumerate(value, start=1)
    )


def write_rests_on(verdict: Verdict, value: list[str]) -> None:
    """Replace the evidence used for a verdict, by public ids in order."""
    verdict.rests.all().delete()
    rows = {row.public_id: row for row in Evidence.objects.filter(public_id__in=value)}
    RestsOn.objects.bulk_create(
        RestsOn(verdict=verdict, evidence=rows[public_id], order=order)
        for order, public_id in enumerate(value, start=1)
        if public_id in rows
    )


def read_field(record: Record, name: str) -> Any:
    """A field's value as stored in the history (plain JSON)."""
    if isinstance(record, Verdict) and name == "operations":
        return operations_as_json(record)
    if isinstance(record, Verdict) and name == "rests_on":
        return [row.evidence.public_id for row in record.rests.select_related("evidence")]
    if isinstance(record, Claim) and name == "sentence":
        return record.sentence.public_id
    if isinstance(record, AskedRecord) and name.startswith(ASK):
        return record.answers.get(name.removeprefix(ASK))
    value = getattr(record, name)
    return value.isoformat() if hasattr(value, "isoformat") else value


def _put(record: Record, name: str, value: Any) -> None:
    if isinstance(record, Verdict) and name == "operations":
        write_operations(record, value)
        record._prefetched_objects_cache = {}  # type: ignore[attr-defined]
    elif isinstance(record, Verdict) and name == "rests_on":
        write_rests_on(record, value)
        record._prefetched_objects_cache = {}  # type: ignore[attr-defined]
    elif isinstance(record, Claim) and name == "sentence":
        record.sentence = Sentence.objects.get(public_id=value)
    elif isinstance(record, AskedRecord) and name.startswith(ASK):
        kept = {key: each for key, each in record.answers.items() if key != name.removeprefix(ASK)}
        record.answers = kept if value is None else kept | {name.removeprefix(ASK): value}
    else:
        setattr(record, name, value)


# --- the action ----------------------------------------------------------------------------------


@dataclass
class Action:
    """One action of a person (or of Touchstone itself, ``by=None``). Use inside ``transaction.atomic``."""

    name: str
    by: User | None
    benchmark: Benchmark | None = None
    document: Document | None = None
    annotation: Annotation | None = None
    reason: str = ""
    active_seconds: int = 0
    undoes: Activity | None = None
    # Records were changed only through ``set``, so only those columns are written.
    is_exact: bool = False
    changes: list[dict[str, Any]] = field(default_factory=list)
    _touched: dict[str, Record] = field(default_factory=dict)

    def set(self, record: Record, **fields: Any) -> bool:
        """Change fields of a record. Equal values are ignored. Returns whether anything changed."""
        key = key_of(record)
        record = self._touched.get(key, record)
        changed = False
        for name, value in fields.items():
            before = read_field(record, name)
            _put(record, name, value)
            after = read_field(record, name)
            if before != after:
                self.changes.append({"record": key, "field": name, "before": before, "after": after})
                changed = True
        if changed:
            self._touched[key] = record
        return changed

    def created(self, record: Record) -> None:
        """Record a new row. Undoing the action removes it (``removed = undone``)."""
        self.changes.append(
            {"record": key_of(record), "field": "removed", "before": "undone", "after": "", "created": True}
        )

    def flush(self) -> None:
        """Save the changes so far, because a later part of the same action reads them from the database."""
        for record in self._touched.values():
            record.save()

    def write(self) -> Activity | None:
        """Save the changes and write the activity row. Writes nothing if nothing changed and no reason was given."""
        for record in self._touched.values():
            record.version += 1
            record.save(update_fields=self._columns_of(record) if self.is_exact else None)
        versions = {key: record.version for key, record in self._touched.items()}
        for change in self.changes:
            change["version"] = versions.get(change["record"], 1)
        if self.annotation is not None and self.active_seconds:
            Annotation.objects.filter(pk=self.annotation.pk).update(
                active_seconds=F("active_seconds") + self.active_seconds
            )
        if not self.changes and not self.reason and not self.active_seconds:
            return None
        return Activity.objects.create(
            by=self.by,
            action=self.name,
            benchmark_id=self.benchmark.pk if self.benchmark else self.document.benchmark_id if self.document else None,
            document=self.document,
            annotation=self.annotation,
            changes=self.changes,
            reason=self.reason,
            active_seconds=self.active_seconds,
            undoes=self.undoes,
        )

    def _columns_of(self, record: Record) -> list[str]:
        key = key_of(record)
        names = (change["field"] for change in self.changes if change["record"] == key)
        return ["version", *("answers" if name.startswith(ASK) else name for name in names)]


def for_annotation(
    name: str, annotation: Annotation, *, by: User | None, reason: str = "", active_seconds: int = 0
) -> Action:
    """An action on the records of one annotation."""
    return Action(
        name=name,
        by=by,
        document=annotation.document,
        annotation=annotation,
        reason=reason,
        active_seconds=active_seconds,
    )


class NothingToUndoError(Exception):
    """The person has nothing left to undo, or it has been changed again since."""


def annotation_of(record: Record) -> Annotation:
    """The annotation that a record belongs to. Evidence without an annotation is shared and can't be changed."""
    if isinstance(record, Annotation):
        return record
    if isinstance(record, Claim):
        return record.sentence.annotation
    if isinstance(record, Evidence):
        if record.annotation is None:
            raise rules.NotAllowedError("Retrieved evidence is shared by everyone and can't be changed.")
        return record.annotation
    if isinstance(record, Sentence | Stance | Verdict | ClaimRevision | SentenceRevision | ResponseRevision):
        return record.annotation
    raise fields.BadValueError("This record is not part of an annotation.")
