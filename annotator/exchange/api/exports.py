"""Export: gold as a stream, in any of the formats."""

from __future__ import annotations

from typing import Any

from django.http import StreamingHttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.screens.document_filters import filter_written
from annotator.core.vocabulary import Scope
from annotator.exchange.actions.downloads import start_download, streamed
from annotator.exchange.exports.catalogue import FORMATS, Reading, UnknownFormatError, formats_named
from annotator.exchange.queries.export import INCLUDE, among_of
from annotator.integrations.api.base import ApiView
from annotator.integrations.api.fields import Input
from annotator.integrations.api.schema import operation
from annotator.integrations.api.streams import JSONL, ZIP, AnyForm, file_answer, file_operation

TAG = "exports"


class ExportFormatSerializer(serializers.Serializer):
    """A format. ``missing``: what must be installed before it can be written; blank for nothing."""

    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    description = serializers.CharField()
    suffix = serializers.CharField()
    media_type = serializers.CharField()
    tells_people = serializers.BooleanField()
    missing = serializers.SerializerMethodField()

    def get_missing(self, found: Any) -> str:
        return str(found.missing())


class ExportsSerializer(serializers.Serializer):
    """What can be exported."""

    formats = ExportFormatSerializer(many=True)
    gold = serializers.IntegerField(help_text="Documents adjudicated at all three stages.")
    all = serializers.IntegerField(help_text="Documents that are not discarded.")


class ExportInput(Input):
    """What to export: one format, or several as one ZIP."""

    format = serializers.CharField(max_length=60, default=next(iter(FORMATS)))
    formats = serializers.ListField(
        child=serializers.CharField(max_length=60, allow_blank=True),
        required=False,
        max_length=len(FORMATS),
        help_text="Several formats in one ZIP, a file each; `format` is then ignored.",
    )
    filter = serializers.CharField(
        max_length=2000,
        allow_blank=True,
        default="",
        help_text="Only some documents: the part after the question mark in the address of the filtered page Documents,"
        " such as stage=verify&model=alpha.",
    )
    include = serializers.ChoiceField([(each, each) for each in INCLUDE], default=INCLUDE[0])
    named = serializers.BooleanField(
        default=False, help_text="Use people's names instead of pseudonyms in formats that include people."
    )


class ExportsView(ApiView):
    scope = {"GET": Scope.EXPORT}

    @operation("exports_list", "List export formats", TAG, answer=ExportsSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """The formats, and the number of documents available."""
        benchmark = self.benchmark(slug)
        rules.check_export(self.person, benchmark)
        found: dict[str, Any] = {name: Reading(benchmark, include=name).count() for name in INCLUDE}
        return Response(ExportsSerializer(found | {"formats": list(FORMATS.values())}).data)


class ExportView(ApiView):
    scope = Scope.EXPORT
    content_negotiation_class = AnyForm

    @file_operation("export_download", "Export", TAG, forms=(JSONL, ZIP, "application/json"), body=ExportInput)
    def post(self, request: Request, slug: str) -> StreamingHttpResponse:
        """The file, as a stream. A POST, because exports are recorded."""
        benchmark, given = self.benchmark(slug), self.body(ExportInput)
        try:
            form = formats_named(given.get("formats") or [given["format"]])
        except UnknownFormatError as error:
            raise BadValueError(str(error)) from None
        narrowed = filter_written(given["filter"], manages=rules.can_manage(self.person, benchmark))
        among = among_of(benchmark, narrowed)
        download = start_download(
            benchmark=benchmark,
            format=form,
            include=given["include"],
            named=given["named"],
            by=self.person,
            among=among,
        )
        name = f"{benchmark.slug}-{form.in_file_name}-{timezone.localdate():%Y-%m-%d}{form.suffix}"
        return file_answer(streamed(download, form, among), form.media_type, name)
