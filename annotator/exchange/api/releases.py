"""Releases: frozen versions of the gold."""

from __future__ import annotations

from typing import Any

from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark
from annotator.core.vocabulary import GroupedBy, ReleaseState, Scope
from annotator.exchange.actions.releases import (
    MAX_SEED,
    ReleaseDamagedError,
    ReleaseRequest,
    cancel_release,
    start_release,
    take_release,
)
from annotator.exchange.exports.release_files import blocks_of
from annotator.exchange.models import Release
from annotator.exchange.queries.releases import releases_of
from annotator.exchange.releases.splits import Shares, SplitError
from annotator.integrations.api.base import ApiView
from annotator.integrations.api.fields import Input, PersonSerializer, text, word
from annotator.integrations.api.paging import CursorPages, PageInput, paged
from annotator.integrations.api.problems import ConflictError
from annotator.integrations.api.schema import operation
from annotator.integrations.api.streams import ZIP, AnyForm, file_answer, file_operation

TAG = "releases"


class ReleaseSerializer(serializers.Serializer):
    """A release: its request, its progress and its contents."""

    id = serializers.CharField(source="public_id")
    version = serializers.CharField()
    title = serializers.CharField()
    licence = serializers.CharField()
    authors = serializers.ListField(child=serializers.CharField())
    changelog = serializers.CharField()
    mends = serializers.CharField(source="mends.version", allow_null=True, default=None)
    seed = serializers.IntegerField()
    train = serializers.IntegerField(source="share_train")
    dev = serializers.IntegerField(source="share_dev")
    test = serializers.IntegerField(source="share_test")
    grouped_by = word(GroupedBy)
    names_people = serializers.BooleanField()
    with_pages = serializers.BooleanField(help_text="Holds the saved pages of its evidence, as WACZ.")
    by = PersonSerializer(allow_null=True)
    created_at = serializers.DateTimeField()
    state = word(ReleaseState)
    message = serializers.CharField()
    done = serializers.IntegerField()
    total = serializers.IntegerField()
    finished_at = serializers.DateTimeField(allow_null=True)
    documents = serializers.IntegerField(source="documents_count")
    size = serializers.IntegerField()
    sha256 = serializers.CharField(help_text="The hash of MANIFEST.sha256, which lists the hash of every file.")
    splits = serializers.DictField()
    difference = serializers.DictField(allow_null=True, help_text="Changes since the previous release.")


class ReleaseInput(Input):
    """A request for a release. Shares are percentages; other releases are named by their ids."""

    version = serializers.CharField(max_length=40)
    title = serializers.CharField(max_length=200)
    licence = serializers.CharField(max_length=100)
    authors = serializers.ListField(
        child=serializers.CharField(max_length=200, allow_blank=True), min_length=1, max_length=200
    )
    train = serializers.IntegerField(min_value=0, max_value=100)
    dev = serializers.IntegerField(min_value=0, max_value=100)
    test = serializers.IntegerField(min_value=0, max_value=100)
    changelog = text(allow_blank=True, default="")
    mends = serializers.CharField(
        max_length=32,
        allow_null=True,
        default=None,
        help_text="The version that this release corrects; makes it an erratum.",
    )
    seed = serializers.IntegerField(min_value=0, max_value=MAX_SEED, default=0)
    grouped_by = word(GroupedBy, default=GroupedBy.NOTHING.value)
    keeps_splits_of = serializers.CharField(max_length=32, allow_null=True, default=None)
    names_people = serializers.BooleanField(default=False)
    with_pages = serializers.BooleanField(default=False)


class ReleaseAnswer(ApiView):
    """A view that finds releases, for people who may export."""

    scope: Any = {"GET": Scope.EXPORT, "POST": Scope.MANAGE}

    def exported(self, slug: str) -> Benchmark:
        benchmark = self.benchmark(slug)
        rules.check_export(self.person, benchmark)
        return benchmark

    def release(self, benchmark: Benchmark, release_id: str) -> Release:
        rows = Release.objects.select_related("by", "mends", "benchmark")
        found: Release = get_object_or_404(rows, benchmark=benchmark, public_id=release_id)
        return found


class ReleasesView(ReleaseAnswer):
    @operation("releases_list", "List releases", TAG, query=PageInput, answer=paged(ReleaseSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """Newest first."""
        benchmark = self.exported(slug)
        self.asked(PageInput)
        pages = CursorPages()
        return pages.answer(ReleaseSerializer(pages.cut(releases_of(benchmark), request, self), many=True).data)

    @operation("release_create", "Create a release", TAG, body=ReleaseInput, answer=ReleaseSerializer, status=202)
    def post(self, request: Request, slug: str) -> Response:
        """A worker makes it. Poll the release until its state is final; after that, it never changes."""
        benchmark, given = self.managed(slug), self.body(ReleaseInput)
        mends, keeps = (self._named(benchmark, given.pop(name)) for name in ("mends", "keeps_splits_of"))
        try:
            shares = Shares(given.pop("train"), given.pop("dev"), given.pop("test"))
        except SplitError as error:
            raise BadValueError(str(error)) from None
        grouped_by = GroupedBy(given.pop("grouped_by"))
        wish = ReleaseRequest(
            **given,
            mends=mends,
            keeps_splits_of=keeps,
            shares=shares,
            grouped_by=grouped_by,
            is_erratum=mends is not None,
        )
        made = start_release(benchmark=benchmark, wish=wish, by=self.person)
        return Response(ReleaseSerializer(made).data, status=202)

    def _named(self, benchmark: Benchmark, release_id: str | None) -> Release | None:
        return self.release(benchmark, release_id) if release_id else None


class ReleaseView(ReleaseAnswer):
    @operation("release_read", "Read a release", TAG, answer=ReleaseSerializer)
    def get(self, request: Request, slug: str, release_id: str) -> Response:
        """Its progress, or its contents."""
        return Response(ReleaseSerializer(self.release(self.exported(slug), release_id)).data)


class ReleaseCancelView(ReleaseAnswer):
    @operation("release_cancel", "Cancel a release", TAG, answer=ReleaseSerializer)
    def post(self, request: Request, slug: str, release_id: str) -> Response:
        """Its version is free again."""
        benchmark = self.exported(slug)
        cancel_release(self.release(benchmark, release_id), by=self.person)
        return Response(ReleaseSerializer(self.release(benchmark, release_id)).data)


class DownloadView(ReleaseAnswer):
    content_negotiation_class = AnyForm

    @file_operation("release_download", "Download a release", TAG, forms=(ZIP,))
    def get(self, request: Request, slug: str, release_id: str) -> StreamingHttpResponse:
        """Streams the archive after checking its hash."""
        release = self.release(self.exported(slug), release_id)
        if not release.is_ready:
            raise ConflictError("This release is not ready. There is no file yet.")
        try:
            path = take_release(release, by=self.person)
        except ReleaseDamagedError as damage:
            raise ConflictError(str(damage)) from None
        name = f"{release.benchmark.slug}-{release.version}.zip"
        return file_answer(blocks_of(path), ZIP, name, Content_Length=str(release.size))
