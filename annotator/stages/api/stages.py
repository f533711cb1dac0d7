"""Operations common to all three stages: annotations, saving a field, undo, history, submit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core.actions import recorder
from annotator.core.actions.fields import BadValueError, saved_fields
from annotator.core.actions.recorder import read_field
from annotator.core.fields import RECORDS, Field, Kind
from annotator.core.models import Activity, Annotation
from annotator.core.models.base import Record
from annotator.core.protocol import ASK
from annotator.core.queries.history import versions_of, visible_annotations
from annotator.core.queries.protocols import added_questions
from annotator.core.record_keys import KINDS
from annotator.core.texts import spans
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Scope, Stage
from annotator.integrations.api.base import ApiView, versioned
from annotator.integrations.api.fields import ActiveInput, AnyValue, Input, PersonSerializer, word
from annotator.integrations.api.problems import StaleVersionError
from annotator.integrations.api.schema import operation
from annotator.stages import rules
from annotator.stages.actions import saving, submit
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.api.documents import DocumentAnswer, DocumentSerializer

TAG = "annotations"
NO_WORK = (
    "You have no annotation of this document at this stage. Name one with ?annotation=; the document's annotations/ "
    "lists those you may see."
)


class AnnotationSerializer(serializers.Serializer):
    """One person's work on a document at a stage, or the adjudicated version (person is null)."""

    id = serializers.CharField(source="public_id")
    version = serializers.IntegerField()
    document = serializers.CharField(source="document.public_id")
    stage = word(Stage)
    kind = word(AnnotationKind)
    person = PersonSerializer(allow_null=True)
    state = word(AnnotationState)
    independent = serializers.BooleanField(help_text="Made before anyone else's work could be seen.")
    only_sent_back = serializers.BooleanField(help_text="Open only for claims that were sent back.")
    submitted_at = serializers.DateTimeField(allow_null=True)


class MissingSerializer(serializers.Serializer):
    """A missing label or text, and its sentence or claim."""

    text = serializers.CharField()
    row = serializers.CharField()


class AnnotationQuery(Input):
    """Which annotation; yours by default."""

    annotation = serializers.CharField(
        max_length=32,
        allow_blank=True,
        default="",
        help_text="The id of an annotation you may see (annotations_list).",
    )


class AnnotationsView(ApiView):
    @operation("annotations_list", "Annotations of a document", TAG, answer=AnnotationSerializer(many=True))
    def get(self, request: Request, public_id: str) -> Response:
        """Those you may see: your own; others' and the adjudicated versions once everyone has submitted."""
        document = self.document(public_id)
        rows = list(document.annotations.select_related("person", "document").order_by("pk"))
        return Response(AnnotationSerializer(visible_annotations(document, self.person, rows), many=True).data)


class StageView(ApiView, ABC):
    """A stage of a document as one annotation has it. Subclasses say what it is made of (``tree``)."""

    stage: ClassVar[Stage]
    scope = {"POST": Scope.ANNOTATE, "PUT": Scope.ANNOTATE, "DELETE": Scope.ANNOTATE}

    def annotation(self, public_id: str) -> Annotation:
        """One's own annotation with rows added since, or the one that the URL names."""
        document = self.document(public_id)
        chosen = self.asked(AnnotationQuery)["annotation"]
        if not chosen:
            own = document.annotations.filter(stage=self.stage, kind=AnnotationKind.INDIVIDUAL, person=self.person)
            if not own.exclude(state=AnnotationState.TAKEN_BACK).exists():
                raise NotFound(NO_WORK)
            open_annotation(document, self.stage, by=self.person)
            return self.own_annotation(document, self.stage)
        rows = list(document.annotations.select_related("person", "document__benchmark"))
        for row in visible_annotations(document, self.person, rows):
            if row.public_id == chosen and row.stage == self.stage:
                return row
        raise Http404

    @abstractmethod
    def tree(self, annotation: Annotation) -> dict[str, Any]:
        """What the stage is made of."""

    @abstractmethod
    def answer(self, annotation: Annotation, status: int = 200) -> Response:
        """The stage as it now stands."""

    def fresh(self, annotation: Annotation, status: int = 200) -> Response:
        """The stage after a change."""
        rows = Annotation.objects.select_related("document__benchmark", "person")
        return self.answer(rows.get(pk=annotation.pk), status)


# --- one field of one record ----------------------------------------------------------------------


SPANS = serializers.ListField(
    child=serializers.ListField(child=serializers.IntegerField(min_value=0), min_length=2, max_length=2)
)
_SPAN = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2}


def _values_of(each: Field) -> str:
    """What a field accepts, in a few words."""
    if each.words is not None:
        return " | ".join(word.value for word in each.words)
    return {
        Kind.TEXT: "text",
        Kind.YES_NO: "true | false | null",
        Kind.FLAG: "true | false",
        Kind.SPANS: "[[start, end], …]",
    }[each.kind]


def _fields_described() -> str:
    """Every field of every kind of record with its values, for the description of the API."""
    lines = []
    for kind in RECORDS:
        named = "; ".join(f"`{name}` ({_values_of(each)})" for name, each in saved_fields(kind).items())
        lines.append(f"- {kind}: {named}")
    return "\n".join(
        [
            "The field’s name, by the kind of record in the address, with its values:",
            "",
            *lines,
            "",
            f"Questions that the protocol adds are fields of the record that they ask about: `{ASK}` and the "
            "question’s key. A label may also be spelled with hyphens, as in released files. An empty text or null "
            "clears a label or an answer.",
        ]
    )


@extend_schema_field({"type": ["string", "boolean", "array", "null"], "items": _SPAN})
class ValueField(serializers.JSONField):
    """A text or a label; yes/no labels as true, false and null; several labels joined by commas; a rationale as
    [start, end] of each selection."""

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        return (True, "") if data is None else super().validate_empty_values(data)

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, bool):
            return "yes" if data else "no"
        if isinstance(data, list):
            return spans.written(SPANS.run_validation(data))
        if not isinstance(data, str):
            raise serializers.ValidationError("Expected text, true, false, a list of [start, end], or null.")
        return data


class FieldInput(ActiveInput):
    """A field of a record and its new value."""

    field = serializers.CharField(max_length=40, help_text=_fields_described())
    value = ValueField(
        help_text="A text or a label; a yes/no answer as true, false or null; several labels joined by commas; a "
        "rationale as [start, end] of each selection, in code points of the passage."
    )


class RestoreInput(Input):
    """The activity whose value is restored; with ``before``, the value before it."""

    field = serializers.CharField(max_length=40)
    activity = serializers.CharField(max_length=32)
    before = serializers.BooleanField(default=False)


class RecordSerializer(serializers.Serializer):
    """A record of your work with its editable fields and the origin of each value. Questions that the protocol adds
    are fields, too: ask_ and the question's key."""

    id = serializers.CharField()
    kind = serializers.CharField()
    version = serializers.IntegerField()
    values = serializers.DictField()
    origins = serializers.DictField(child=serializers.CharField(allow_blank=True))


class FieldVersionSerializer(serializers.Serializer):
    """A version of a field: who set it, when, and the previous value."""

    activity = serializers.CharField(source="activity.public_id")
    at = serializers.DateTimeField(source="activity.at")
    by = PersonSerializer(source="activity.by", allow_null=True)
    value = AnyValue()
    before = AnyValue()


def _added(record: Record) -> list[str]:
    """The questions that the benchmark's protocol adds, as fields: "ask_vital"."""
    benchmark = recorder.annotation_of(record).document.benchmark
    return [f"{ASK}{each.key}" for each in added_questions(benchmark, KINDS[type(record)])]


class RecordAnswer(ApiView):
    scope = {"PATCH": Scope.ANNOTATE, "POST": Scope.ANNOTATE}

    def shown(self, record: Record) -> Response:
        kind = KINDS[type(record)]
        saved = saved_fields(kind)
        found = {
            "id": record.public_id,
            "kind": kind,
            "version": record.version,
            "values": {name: read_field(record, name) for name in (*saved, *_added(record))},
            "origins": {name: getattr(record, f"{name}_origin") for name, each in saved.items() if each.has_origin},
        }
        return versioned(RecordSerializer(found).data, record.version)

    def field(self, record: Record, name: str) -> str:
        """A field that the record has. Raises BadValueError."""
        kind = KINDS[type(record)]
        saved = saved_fields(kind)
        if name not in saved and name not in _added(record):
            fields = ", ".join([*saved, *_added(record)])
            raise BadValueError(f"A {kind} has no field “{name}”. Its fields are: {fields}.")
        return name


class RecordView(RecordAnswer):
    @operation("record_read", "One record of your work", TAG, answer=RecordSerializer)
    def get(self, request: Request, kind: str, record_id: str) -> Response:
        """A sentence, claim, passage, stance, verdict or revision, with its version as ETag."""
        return self.shown(self.own_record(kind, record_id))

    @operation("record_save", "Save a field", TAG, body=FieldInput, answer=RecordSerializer, needs_version=True)
    def patch(self, request: Request, kind: str, record_id: str) -> Response:
        """Fails with 412 only if this field has changed since the version you saw; other changes are kept."""
        record = self.own_record(kind, record_id)
        seen, given = self.seen_version(), self.body(FieldInput)
        try:
            saved = saving.save_field(
                record,
                self.field(record, given["field"]),
                given["value"],
                by=self.person,
                version=seen,
                active_seconds=given["active_seconds"],
            )
        except saving.StaleSaveError as stale:
            raise StaleVersionError(
                str(stale), current=stale.theirs, yours=stale.mine, version=stale.record.version
            ) from None
        return self.shown(saved.record)


class FieldHistoryView(RecordAnswer):
    @operation("field_history", "Every version of a field", TAG, answer=FieldVersionSerializer(many=True))
    def get(self, request: Request, kind: str, record_id: str, field: str) -> Response:
        """Newest first."""
        record = self.own_record(kind, record_id)
        rows = versions_of(record, recorder.annotation_of(record), self.field(record, field))
        return Response(FieldVersionSerializer(rows, many=True).data)


class RestoreView(RecordAnswer):
    @operation("field_restore", "Restore an earlier version", TAG, body=RestoreInput, answer=RecordSerializer)
    def post(self, request: Request, kind: str, record_id: str) -> Response:
        """Restores an earlier version as a new version."""
        record, given = self.own_record(kind, record_id), self.body(RestoreInput)
        rows = Activity.objects.filter(annotation=recorder.annotation_of(record))
        activity = get_object_or_404(rows, public_id=given["activity"])
        name = self.field(record, given["field"])
        return self.shown(saving.restore(record, name, activity, by=self.person, original=given["before"]).record)


# --- undo, submit ---------------------------------------------------------------------------------


class ChangeSerializer(serializers.Serializer):
    """A field of a record that changed."""

    record = serializers.CharField(help_text="Kind and id: claim:ab12cd34ef56.")
    field = serializers.CharField()
    version = serializers.IntegerField()
    before = AnyValue()
    after = AnyValue()


class ActivitySerializer(serializers.Serializer):
    """What was done."""

    id = serializers.CharField(source="public_id")
    action = serializers.CharField()
    at = serializers.DateTimeField()
    changes = ChangeSerializer(many=True)


class UndoView(ApiView):
    scope = Scope.ANNOTATE

    @operation("stage_undo", "Undo", TAG, answer=ActivitySerializer)
    def post(self, request: Request, public_id: str, stage: str) -> Response:
        """Undoes your last change in this stage. 409 if there is none."""
        annotation = self.own_annotation(self.document(public_id), stage)
        return Response(ActivitySerializer(saving.undo(annotation, by=self.person)).data)


class RedoView(ApiView):
    scope = Scope.ANNOTATE

    @operation("stage_redo", "Redo", TAG, answer=ActivitySerializer)
    def post(self, request: Request, public_id: str, stage: str) -> Response:
        """Reverts the last undo. 409 if there is none."""
        annotation = self.own_annotation(self.document(public_id), stage)
        return Response(ActivitySerializer(saving.redo(annotation, by=self.person)).data)


class SubmitView(DocumentAnswer):
    scope = Scope.ANNOTATE

    @operation("stage_submit", "Submit", TAG, body=ActiveInput, answer=DocumentSerializer)
    def post(self, request: Request, public_id: str, stage: str) -> Response:
        """Locks your work. 422 with ``missing`` if it is incomplete."""
        annotation = self.own_annotation(self.document(public_id), stage)
        submit.submit(annotation, by=self.person, active_seconds=self.body(ActiveInput)["active_seconds"])
        return self.shown(public_id)


class StartView(ApiView):
    scope = Scope.ANNOTATE

    @operation("stage_start", "Start a document", TAG, answer=AnnotationSerializer)
    def post(self, request: Request, public_id: str, stage: str) -> Response:
        """Your annotation of this stage, created if a place is free. Repeating has no further effect."""
        document = self.document(public_id)
        open_annotation(document, Stage(stage), by=self.person)
        return Response(AnnotationSerializer(self.own_annotation(document, stage)).data)


def can_edit(view: ApiView, annotation: Annotation) -> bool:
    """May the requester change this annotation now?"""
    return rules.can_edit(view.person, annotation)
