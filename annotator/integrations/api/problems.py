"""All errors of the API as application/problem+json (RFC 9457): what is wrong, where, and what to do.

``type`` is a URN of ours, the same for the same kind of error; ``detail`` is the message for people. ``errors`` names
fields. A version conflict carries both versions (``current`` and ``yours``).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.core.signals import got_request_exception
from django.db import IntegrityError
from django.http import Http404, HttpResponse
from rest_framework import exceptions, status
from rest_framework.response import Response

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.recorder import NothingToUndoError
from annotator.core.file_problems import FileError
from annotator.core.missing import IncompleteError
from annotator.core.record_keys import RecordGoneError
from config.outages import answer, note, outage_of

logger = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
NOT_HERE = "Not found, or you don’t have access to it. Addresses end with a slash."
NOBODY = "Authentication is required. Send a token in the “Authorization: Bearer ts_…” header."
WRONG_METHOD = "This method isn’t allowed here. The Allow header lists the allowed methods."

# Our names for kinds of errors. Other statuses are identified by their number (RFC 9457, "about:blank").
KINDS: dict[int, str] = {
    status.HTTP_400_BAD_REQUEST: "bad-request",
    status.HTTP_401_UNAUTHORIZED: "not-signed-in",
    status.HTTP_403_FORBIDDEN: "not-allowed",
    status.HTTP_404_NOT_FOUND: "not-found",
    status.HTTP_409_CONFLICT: "conflict",
    status.HTTP_412_PRECONDITION_FAILED: "stale-version",
    status.HTTP_422_UNPROCESSABLE_ENTITY: "bad-value",
    status.HTTP_428_PRECONDITION_REQUIRED: "version-missing",
    status.HTTP_429_TOO_MANY_REQUESTS: "too-many-requests",
}


class StaleVersionError(exceptions.APIException):
    """412: someone else saved first. Nothing was written; the response has both values."""

    status_code = status.HTTP_412_PRECONDITION_FAILED

    def __init__(self, detail: str, *, current: Any, yours: Any, version: int) -> None:
        super().__init__(detail)
        self.extra = {"current": current, "yours": yours, "version": version}


class VersionMissingError(exceptions.APIException):
    """428: a write that needs If-Match came without it."""

    status_code = status.HTTP_428_PRECONDITION_REQUIRED
    default_detail = 'A version is required. Send the ETag you read in If-Match, for example If-Match: "3".'


class ConflictError(exceptions.APIException):
    """409: the current state doesn't allow the request."""

    status_code = status.HTTP_409_CONFLICT


def answer_problem(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """REST framework's exception handler."""
    request = context["request"]
    if outage := outage_of(error):
        note(outage, error, request)
        return answer(request, outage)
    code, detail, extra, headers = _told(error)
    if code == status.HTTP_500_INTERNAL_SERVER_ERROR:
        logger.exception("The API failed at %s %s", request.method, request.path, exc_info=error)
        got_request_exception.send(sender=None, request=request)  # as Django does, for tests and error mails
    return Response(problem(code, detail, request.path, extra), status=code, headers=headers, content_type=CONTENT_TYPE)


def problem(code: int, detail: str, instance: str, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The members of a problem document. ``instance`` is the requested URL."""
    kind = KINDS.get(code)
    return {
        "type": f"urn:touchstone:problem:{kind}" if kind else "about:blank",
        "title": HTTPStatus(code).phrase,
        "status": code,
        "detail": detail,
        "instance": instance,
        **(extra or {}),
    }


def _told(error: Exception) -> tuple[int, str, dict[str, Any], dict[str, str]]:
    """Status, message, further members and headers for an exception."""
    if isinstance(error, exceptions.APIException):
        return _of_framework(error)
    if isinstance(error, Http404):
        return status.HTTP_404_NOT_FOUND, NOT_HERE, {}, {}
    if isinstance(error, rules.NotAllowedError | DjangoPermissionDenied):
        return status.HTTP_403_FORBIDDEN, str(error) or "This is not allowed.", {}, {}
    if isinstance(error, IncompleteError):
        missing = [{"text": each.text, "row": each.row} for each in error.missing]
        return status.HTTP_422_UNPROCESSABLE_ENTITY, str(error), {"missing": missing}, {}
    if isinstance(error, BadValueError | FileError):
        return status.HTTP_422_UNPROCESSABLE_ENTITY, str(error), {}, {}
    if isinstance(error, NothingToUndoError):
        return status.HTTP_409_CONFLICT, str(error), {}, {}
    if isinstance(error, IntegrityError):
        return (
            status.HTTP_409_CONFLICT,
            "Someone else made the same change at the same time. Reload, then send the request again.",
            {},
            {},
        )
    if isinstance(error, RecordGoneError):
        return status.HTTP_404_NOT_FOUND, str(error), {}, {}
    if isinstance(error, RequestDataTooBig):
        return status.HTTP_413_REQUEST_ENTITY_TOO_LARGE, "The body is too large. Send it as a file upload.", {}, {}
    if isinstance(error, SuspiciousOperation):
        return status.HTTP_400_BAD_REQUEST, "The request couldn’t be parsed.", {}, {}
    sentence = "Something went wrong on the server. The error was logged; try again later."
    return status.HTTP_500_INTERNAL_SERVER_ERROR, sentence, {}, {}


def _of_framework(error: exceptions.APIException) -> tuple[int, str, dict[str, Any], dict[str, str]]:
    headers: dict[str, str] = {}
    challenge = getattr(error, "auth_header", None)
    if challenge:
        headers["WWW-Authenticate"] = challenge
    wait = getattr(error, "wait", None)
    if wait:
        headers["Retry-After"] = str(int(wait) + 1)
    extra = dict(getattr(error, "extra", {}))
    if isinstance(error, exceptions.ValidationError):
        fields = by_field(error.detail)
        return error.status_code, "Some fields are invalid; see errors.", {"errors": fields}, headers
    if isinstance(error, exceptions.NotAuthenticated):
        return error.status_code, NOBODY, extra, headers
    if isinstance(error, exceptions.MethodNotAllowed):
        return error.status_code, WRONG_METHOD, extra, headers
    return error.status_code, str(error.detail), extra, headers


def _place(at: str, name: str | int) -> str:
    """A field's path: its own name after the names of its containers."""
    if name == "non_field_errors":
        return at
    if isinstance(name, int):
        return f"{at}[{name}]"
    return f"{at}.{name}" if at else name


def by_field(detail: Any, at: str = "") -> dict[str, list[str]]:
    """A serializer's nested errors as a list of messages per field: "documents[2].response". Errors of the whole body
    are under ""."""
    if isinstance(detail, Mapping):
        found: dict[str, list[str]] = {}
        for name, each in detail.items():
            found |= by_field(each, _place(at, name))
        return found
    if isinstance(detail, list) and any(isinstance(each, Mapping | list) for each in detail):
        found = {}
        for number, each in enumerate(detail):
            found |= by_field(each, f"{at}[{number}]") if each else {}
        return found
    return {at: [str(each) for each in (detail if isinstance(detail, list) else [detail])]}
