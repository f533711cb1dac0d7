"""A benchmark's guidelines: read, publish a new version, definitions by stage."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core.actions.guidelines import StaleGuidelinesError, mark_read, publish_guidelines
from annotator.core.definitions import topics
from annotator.core.models import Guidelines
from annotator.core.queries.guidelines import newest_of, versions_of
from annotator.core.vocabulary import Scope, Stage
from annotator.integrations.api.base import ApiView, versioned
from annotator.integrations.api.fields import Input, PersonSerializer
from annotator.integrations.api.problems import StaleVersionError
from annotator.integrations.api.schema import operation

TAG = "guidelines"
MAX_TEXT, MAX_NOTE = 200_000, 300  # characters, as on the page


class GuidelinesSerializer(serializers.Serializer):
    """A version with its Markdown text."""

    number = serializers.IntegerField()
    text = serializers.CharField()
    created_at = serializers.DateTimeField()
    by = PersonSerializer(source="created_by", allow_null=True)


class GuidelinesVersionSerializer(serializers.Serializer):
    """A version in the list."""

    number = serializers.IntegerField()
    note = serializers.CharField()
    created_at = serializers.DateTimeField(source="guidelines.created_at")
    by = PersonSerializer(source="guidelines.created_by", allow_null=True)


class VersionQuery(Input):
    """Which version; the newest by default."""

    version = serializers.IntegerField(required=False, min_value=1, max_value=10**8)


class GuidelinesInput(Input):
    """A new version: the whole text in Markdown, and one sentence on what changed."""

    text = serializers.CharField(max_length=MAX_TEXT, trim_whitespace=False)
    note = serializers.CharField(max_length=MAX_NOTE, allow_blank=True, default="")


class ReadInput(Input):
    """The version whose changes you have read."""

    number = serializers.IntegerField(min_value=1, max_value=10**8)


class DefinitionSerializer(serializers.Serializer):
    """A question or label, and the Markdown that defines it."""

    title = serializers.CharField()
    text = serializers.CharField()
    is_ours = serializers.BooleanField(
        help_text="Whether this is Touchstone's default, because the guidelines don't define it."
    )


class TopicSerializer(serializers.Serializer):
    """A question of a stage, with its labels."""

    key = serializers.CharField()
    fields_asked = serializers.ListField(child=serializers.CharField(), source="fields")
    definition = DefinitionSerializer()
    labels = DefinitionSerializer(many=True)


class GuidelinesView(ApiView):
    scope = {"POST": Scope.MANAGE}

    @operation("guidelines_read", "The guidelines", TAG, query=VersionQuery, answer=GuidelinesSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """The current version, or an earlier one. A new version is based on its ETag."""
        benchmark, number = self.benchmark(slug), self.asked(VersionQuery).get("version")
        rows = Guidelines.objects.filter(benchmark=benchmark).select_related("created_by").order_by("-number")
        if number is not None:
            rows = rows.filter(number=number)
        version = get_object_or_404(rows[:1])
        return versioned(GuidelinesSerializer(version).data, version.number)

    @operation(
        "guidelines_publish",
        "Publish a new version",
        TAG,
        body=GuidelinesInput,
        answer=GuidelinesSerializer,
        status=201,
        needs_version=True,
    )
    def post(self, request: Request, slug: str) -> Response:
        """For owners and admins. If-Match names the version that was edited, "0" if there was none."""
        benchmark = self.managed(slug)
        seen, given = self.seen_version(), self.body(GuidelinesInput)
        try:
            version = publish_guidelines(benchmark=benchmark, by=self.person, based_on=seen, **given)
        except StaleGuidelinesError as stale:
            raise StaleVersionError(
                str(stale), current=stale.newest.text, yours=given["text"], version=stale.newest.number
            ) from None
        return versioned(GuidelinesSerializer(version).data, version.number, 201)


class VersionsView(ApiView):
    @operation("guidelines_versions", "Versions of the guidelines", TAG, answer=GuidelinesVersionSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """All versions without their texts, newest first."""
        return Response(GuidelinesVersionSerializer(versions_of(self.benchmark(slug)), many=True).data)


class ReadView(ApiView):
    scope = {"POST": Scope.ANNOTATE}

    @operation("guidelines_mark_read", "Mark the latest version as read", TAG, body=ReadInput)
    def post(self, request: Request, slug: str) -> Response:
        """The note about the version disappears, on the pages, too."""
        mark_read(benchmark=self.benchmark(slug), by=self.person, **self.body(ReadInput))
        return Response(status=204)


class DefinitionsView(ApiView):
    @operation("definitions_read", "What a stage asks", TAG, answer=TopicSerializer(many=True))
    def get(self, request: Request, slug: str, stage: str) -> Response:
        """The questions of a stage and their labels, each with its definition in the guidelines."""
        version = newest_of(self.benchmark(slug))
        rows: Any = topics(Stage(stage), version.text if version else "")
        return Response(TopicSerializer(rows, many=True).data)
