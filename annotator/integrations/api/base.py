"""Shared by the API's views: finding records for a person, reading bodies, checking versions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import IO, Any, cast

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import register_converter
from django.urls.converters import StringConverter
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from annotator.core import lines, rules
from annotator.core.actions.recorder import annotation_of
from annotator.core.gold_copies import check_see_document
from annotator.core.models import Annotation, Benchmark, Document, User
from annotator.core.models.base import Record
from annotator.core.record_keys import RECORDS
from annotator.core.vocabulary import AnnotationKind, Stage
from annotator.integrations.api.authentication import TokenAuthentication
from annotator.integrations.api.problems import NOT_HERE, VersionMissingError
from annotator.integrations.api.scopes import HasScope, check_reaches

# --- addresses ------------------------------------------------------------------------------------


class IdConverter(StringConverter):
    """A public id in an address."""

    regex = "[A-Za-z0-9_-]{1,32}"


class NameConverter(StringConverter):
    """A user name in a URL: whatever Django accepts, in ASCII or not."""

    regex = r"[\w.@+-]{1,150}"


class KeyConverter(StringConverter):
    """The key of a difference in adjudication."""

    regex = "[A-Za-z0-9_:.-]{1,120}"


class NumberConverter(StringConverter):
    """A whole number."""

    regex = "[0-9]{1,15}"


class StageConverter(StringConverter):
    """One of the three stages."""

    regex = "|".join(Stage)


class KindConverter(StringConverter):
    """The kind of record within the person's work."""

    regex = "sentence|claim|evidence|stance|verdict|claim-revision|sentence-revision|response-revision"


class TokenConverter(StringConverter):
    """The token of an invitation's link."""

    regex = "[A-Za-z0-9_-]{1,64}"


register_converter(TokenConverter, "token")
register_converter(IdConverter, "id")
register_converter(NameConverter, "name")
register_converter(KeyConverter, "key")
register_converter(NumberConverter, "number")
register_converter(StageConverter, "stage")
register_converter(KindConverter, "kind")

# --- bodies ---------------------------------------------------------------------------------------


_TOO_DEEP = f"The body can’t be parsed: {lines.TOO_DEEP}"


class Json(JSONParser):
    """JSON in UTF-8. Refuses lone surrogates, which aren't text and can't be stored, and endless nesting."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            found = super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise ParseError(_TOO_DEEP) from None
        if lines.is_too_deep(found):
            raise ParseError(_TOO_DEEP)
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ParseError(
                "The body contains an unpaired surrogate (such as \\ud800), which isn’t valid text."
            ) from None
        return found


class Session(SessionAuthentication):
    """Session authentication, with the CSRF protection of the pages."""


class ApiView(APIView):
    """A view of the API. ``scope`` names the scope a token needs (``annotator.integrations.api.scopes``)."""

    authentication_classes = (TokenAuthentication, Session)
    permission_classes: Any = (IsAuthenticated, HasScope)
    parser_classes: Any = (Json,)
    scope: Any = None
    # Methods that concern all benchmarks of the person: refused for a token bound to one benchmark.
    unbound: tuple[str, ...] = ()

    @property
    def person(self) -> User:
        """The person making the request."""
        return cast(User, self.request.user)

    # --- finding things -------------------------------------------------------------------------

    def benchmark(self, slug: str) -> Benchmark:
        """The benchmark, for its members. For everyone else it doesn't exist."""
        benchmark = get_object_or_404(Benchmark.objects.select_related("corpus"), slug=slug)
        check_reaches(self.request, benchmark)
        try:
            rules.check_see_benchmark(self.person, benchmark)
        except rules.NotAllowedError:
            raise Http404 from None
        return benchmark

    def managed(self, slug: str) -> Benchmark:
        """The benchmark, for its managers. Raises NotAllowedError for other members."""
        benchmark = self.benchmark(slug)
        rules.check_manage(self.person, benchmark)
        return benchmark

    def document(self, public_id: str) -> Document:
        """The document, for those who may see it. For everyone else it doesn't exist."""
        rows = Document.objects.select_related("benchmark", "batch__group")
        document = get_object_or_404(rows, public_id=public_id)
        check_reaches(self.request, document.benchmark)
        try:
            check_see_document(self.person, document)
        except rules.NotAllowedError:
            raise Http404 from None
        return document

    def own_annotation(self, document: Document, stage: str) -> Annotation:
        """The person's own annotation of a stage, or 404. Other people's work is never reachable this way."""
        return get_object_or_404(
            Annotation.objects.select_related("document__benchmark", "person"),
            document=document,
            stage=stage,
            kind=AnnotationKind.INDIVIDUAL,
            person=self.person,
        )

    def own_record(self, kind: str, public_id: str, *related: str) -> Any:
        """A record of the person's own work, with its ``related`` records. Other people's records aren't found."""
        rows: Any = RECORDS[kind]._default_manager.all()
        record: Record = get_object_or_404(rows.select_related(*related) if related else rows, public_id=public_id)
        if kind == "evidence" and getattr(record, "annotation_id", None) is None:
            raise Http404  # shared: read with the claims, never changed
        annotation = annotation_of(record)
        if annotation.person_id != self.person.pk:
            raise Http404
        self.document(annotation.document.public_id)
        return record

    # --- reading what was sent ------------------------------------------------------------------

    def body(self, form: type[Serializer]) -> dict[str, Any]:
        """The validated body. Raises ValidationError, ParseError."""
        given = form(data=self.request.data, context={"request": self.request})
        given.is_valid(raise_exception=True)
        return cast(dict[str, Any], given.validated_data)

    def asked(self, form: type[Serializer]) -> dict[str, Any]:
        """The validated query parameters. Raises ValidationError."""
        # As a plain dict: in form data, blank or missing values would count as false or as given.
        given = form(data=self.request.query_params.dict(), context={"request": self.request})
        given.is_valid(raise_exception=True)
        return cast(dict[str, Any], given.validated_data)

    def seen_version(self) -> int:
        """The version in If-Match. Raises VersionMissingError, ParseError."""
        raw = self.request.headers.get("If-Match", "").strip()
        if not raw or raw == "*":
            raise VersionMissingError
        found = re.fullmatch(r'(?:W/)?"?([0-9]{1,9})"?', raw)
        if found is None:
            raise ParseError('If-Match isn’t a valid version. Send the ETag you received, such as "3".')
        return int(found[1])


def versioned(data: Any, version: int, status: int = 200) -> Response:
    """A response with its content's version as ETag, for If-Match."""
    return Response(data, status=status, headers={"ETag": f'"{version}"'})


class NowhereView(ApiView):
    """Unknown URLs under the API answer with a problem document, too."""

    permission_classes = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise Http404(NOT_HERE)
