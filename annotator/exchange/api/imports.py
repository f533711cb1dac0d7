"""Import: documents in a JSON body, or a file that a worker imports."""

from __future__ import annotations

import io
import json
from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core.actions.fields import BadValueError
from annotator.core.vocabulary import RunState, Scope
from annotator.exchange.actions import import_jobs
from annotator.exchange.actions.imports import import_documents
from annotator.exchange.formats import documents
from annotator.exchange.formats.gold_readers import GOLD_READERS
from annotator.exchange.formats.incoming import FIELDS
from annotator.exchange.models import ImportJob
from annotator.exchange.native import touchstone
from annotator.exchange.queries.imports import pace_of
from annotator.integrations.api.base import ApiView
from annotator.integrations.api.fields import ExternalId, Input, PersonSerializer, Upload, text, word
from annotator.integrations.api.paging import CursorPages, PageInput, paged
from annotator.integrations.api.schema import operation
from annotator.suggestions.actions import get_suggestions

TAG = "imports"
FORMATS = (*documents.FORMATS, touchstone.NAME, *GOLD_READERS)
MAX_AT_ONCE = 500  # documents per body: a request should take seconds


class ProblemRowSerializer(serializers.Serializer):
    """A problem in a row. Lines count from 1."""

    line = serializers.IntegerField(allow_null=True)
    field = serializers.CharField(allow_blank=True)
    reason = serializers.CharField()


class NewDocumentInput(Input):
    """A prompt, and the response to be checked."""

    id = ExternalId(required=False, help_text="Your own identifier: a text or a whole number; 5 is the same as “5”.")
    prompt = text(most=1_000_000, allow_blank=True, required=False)
    response = text(most=1_000_000)
    source = serializers.CharField(max_length=200, allow_blank=True, required=False)  # type: ignore[assignment]
    model = serializers.CharField(max_length=200, allow_blank=True, required=False)
    metadata = serializers.DictField(required=False)
    reference_date = serializers.DateField(required=False)


class DocumentsInput(Input):
    """At most 500 documents. Strict: if one is invalid, none is imported."""

    documents = serializers.ListField(child=NewDocumentInput(), min_length=1, max_length=MAX_AT_ONCE)
    strict = serializers.BooleanField(default=False)


class ImportReportSerializer(serializers.Serializer):
    """The result of an import. ``unchanged``: already there with the same content."""

    read = serializers.IntegerField()
    imported = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    bad = serializers.IntegerField()
    written = serializers.BooleanField()
    problems = ProblemRowSerializer(many=True)


class UploadInput(Input):
    """A file, and how to read it."""

    file = Upload()
    format = serializers.ChoiceField([(each, each) for each in FORMATS], allow_blank=True, default="auto")
    mapping = serializers.CharField(
        required=False,
        max_length=2000,
        help_text=f"jsonl and csv: which column holds what, as a JSON object with keys of {', '.join(FIELDS)}.",
    )
    strict = serializers.BooleanField(default=False)


def mapping_of(raw: str) -> dict[str, str]:
    """A form's mapping of fields to columns. Raises BadValueError."""
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise BadValueError('The mapping must be a JSON object such as {"response": "answer"}.')
    if set(found) - set(FIELDS):
        raise BadValueError(f"You can map only these fields: {', '.join(FIELDS)}.")
    return found


class ImportJobSerializer(serializers.Serializer):
    """The import of a file."""

    id = serializers.CharField(source="public_id")
    filename = serializers.CharField()
    format = serializers.CharField()
    strict = serializers.BooleanField()
    state = word(RunState)
    share = serializers.FloatField(help_text="The share of the file read so far, from 0 to 1.")
    read = serializers.IntegerField()
    imported = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    bad = serializers.IntegerField()
    problems = ProblemRowSerializer(many=True, help_text="The first problems.")
    message = serializers.CharField()
    seconds_left = serializers.SerializerMethodField()
    by = PersonSerializer()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_seconds_left(self, job: Any) -> float | None:
        return pace_of(job).seconds_left


class DocumentsImportView(ApiView):
    scope = Scope.MANAGE

    @operation("documents_import", "Import documents", TAG, body=DocumentsInput, answer=ImportReportSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """Imports a few documents at once. Suggestions follow as after any import."""
        benchmark, given = self.managed(slug), self.body(DocumentsInput)
        lines = "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in given["documents"])
        new: list[int] = []
        report = import_documents(
            benchmark=benchmark,
            source=io.BytesIO(lines.encode()),
            format="jsonl",
            filename="API",
            by=self.person,
            strict=given["strict"],
            on_imported=new.extend,
        )
        get_suggestions.prefill_after_import(benchmark=benchmark, ids=new, by=self.person)
        return Response(ImportReportSerializer(report).data)


class ImportsView(ApiView):
    scope = {"POST": Scope.MANAGE}
    parser_classes = (MultiPartParser,)

    @operation("imports_list", "List imports", TAG, query=PageInput, answer=paged(ImportJobSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """Newest first."""
        benchmark = self.managed(slug)
        self.asked(PageInput)
        pages = CursorPages()
        rows = pages.cut(ImportJob.objects.filter(benchmark=benchmark).select_related("by"), request, self)
        return pages.answer(ImportJobSerializer(rows, many=True).data)

    @operation("import_start", "Import a file", TAG, body=UploadInput, answer=ImportJobSerializer, status=202)
    def post(self, request: Request, slug: str) -> Response:
        """A worker imports the file. Poll the import until its state is final."""
        benchmark, given = self.managed(slug), self.body(UploadInput)
        upload, mapping = given["file"], mapping_of(given["mapping"]) if "mapping" in given else None
        job = import_jobs.start_import(
            benchmark=benchmark,
            by=self.person,
            file=import_jobs.keep_upload(upload),
            filename=upload.name or "file",
            format=given["format"] or "auto",
            mapping=mapping,
            strict=given["strict"],
        )
        job.refresh_from_db()
        return Response(ImportJobSerializer(job).data, status=202)


class ImportView(ApiView):
    @operation("import_read", "Read an import", TAG, answer=ImportJobSerializer)
    def get(self, request: Request, slug: str, job_id: str) -> Response:
        """Progress and problems."""
        return Response(ImportJobSerializer(self._job(slug, job_id)).data)

    def _job(self, slug: str, job_id: str) -> ImportJob:
        rows = ImportJob.objects.select_related("by")
        return get_object_or_404(rows, benchmark=self.managed(slug), public_id=job_id)


class ImportCancelView(ImportView):
    scope = Scope.MANAGE
    http_method_names = ["post", "options"]

    @operation("import_cancel", "Cancel an import", TAG, answer=ImportJobSerializer)
    def post(self, request: Request, slug: str, job_id: str) -> Response:
        """Stops after the current batch. Imported rows stay."""
        job = self._job(slug, job_id)
        import_jobs.cancel_import(job, by=self.person)
        job.refresh_from_db()
        return Response(ImportJobSerializer(job).data)
