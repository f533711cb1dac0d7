"""Helpers of all screens: finding records for a person, and rendering errors as responses."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from allauth.core.exceptions import ImmediateHttpResponse
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.recorder import NothingToUndoError
from annotator.core.gold_copies import check_see_document
from annotator.core.models import Annotation, Benchmark, Document, User
from annotator.core.record_keys import RecordGoneError
from annotator.core.vocabulary import STAGES, AnnotationKind, Phase, Stage

P = ParamSpec("P")


def person(request: HttpRequest) -> User:
    """The signed-in person (every screen but the sign-in requires one)."""
    return cast(User, request.user)


def benchmark_for(request: HttpRequest, slug: str) -> Benchmark:
    """The benchmark, for its members. Everyone else gets a 404."""
    benchmark = get_object_or_404(Benchmark.objects.select_related("corpus"), slug=slug, deleting_at__isnull=True)
    _members_only(request, benchmark)
    return benchmark


def managed_benchmark(request: HttpRequest, slug: str) -> Benchmark:
    """The benchmark, for those who manage it. Raises NotAllowedError for its other members."""
    benchmark = benchmark_for(request, slug)
    rules.check_manage(person(request), benchmark)
    return benchmark


def document_for(request: HttpRequest, public_id: str) -> Document:
    """The document, for members of its benchmark who may see it. For everyone else it doesn't exist."""
    document = get_object_or_404(Document.objects.select_related("benchmark"), public_id=public_id)
    try:
        check_see_document(person(request), document)
    except rules.NotAllowedError as refusal:
        _ask_for_second_step(request, document.benchmark)
        raise Http404(str(refusal)) from None
    return document


def _members_only(request: HttpRequest, benchmark: Benchmark) -> None:
    try:
        rules.check_see_benchmark(person(request), benchmark)
    except rules.NotAllowedError as refusal:
        _ask_for_second_step(request, benchmark)
        raise Http404(str(refusal)) from None


def _ask_for_second_step(request: HttpRequest, benchmark: Benchmark) -> None:
    """Redirect a member who lacks only the second step to where it is set up."""
    if rules.lacks_second_step(person(request), benchmark):
        asked = f"{benchmark} asks you to sign in with a second step. Add an authenticator app or a passkey."
        messages.warning(request, asked)
        raise ImmediateHttpResponse(redirect("mfa_index"))


def own_annotation(request: HttpRequest, document: Document, stage: Stage) -> Annotation:
    """The person's own annotation of a stage, or 404. Other people's work is never reachable this way."""
    return get_object_or_404(
        Annotation.objects.select_related("document__benchmark", "person"),
        document=document,
        stage=stage,
        kind=AnnotationKind.INDIVIDUAL,
        person=person(request),
    )


def is_htmx(request: HttpRequest) -> bool:
    """Is this an htmx request (for a fragment) rather than a browser's (for a page)?"""
    return bool(getattr(request, "htmx", False))


def wants_raw(request: HttpRequest) -> bool:
    """Does the person read responses as raw text rather than rendered Markdown? ``?response=raw`` and
    ``?response=formatted`` are kept for the session."""
    chosen = request.GET.get("response", "")
    if chosen in ("raw", "formatted"):
        request.session["raw_response"] = chosen == "raw"
    return bool(request.session.get("raw_response"))


def seconds(request: HttpRequest) -> int:
    """The active seconds sent with a request, capped at an hour."""
    raw = request.POST.get("active_seconds", "0")
    return min(int(raw), 3600) if raw.isdecimal() and len(raw) < 10 else 0


def whole_number(request: HttpRequest, name: str) -> int:
    """A whole number from the form. Raises BadValueError."""
    raw = request.POST.get(name, "")
    if not raw.isdecimal() or len(raw) > 9:
        raise BadValueError(f"“{name}” should be a whole number.")
    return int(raw)


def render_domain_errors(
    view: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Answers domain errors with their message: 403 for rules, 422 for bad values, 410 for records that are gone, 409
    if there is nothing to undo."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except rules.NotAllowedError as refusal:
            return problem(request, str(refusal), status=403)
        except (BadValueError, NothingToUndoError) as refusal:
            return problem(request, str(refusal), status=422)
        except RecordGoneError as refusal:
            return problem(request, str(refusal), status=410)

    return wrapped


def problem(request: HttpRequest, message: str, *, status: int) -> HttpResponse:
    """An error: a page for a browser, a header and a line for a fragment."""
    if is_htmx(request):
        response = HttpResponse(
            render_to_string("components/problem.html", {"message": message}, request=request), status=status
        )
        # Header values are Latin-1, so the script prefers the message in the response's [data-problem].
        response["X-Problem"] = message.encode("ascii", "replace").decode("ascii")
        return response
    came_from = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(came_from, {request.get_host()}, require_https=request.is_secure())
    context = {"message": message, "no_access": status == 403, "back": came_from if is_ours else ""}
    return render(request, "components/refused.html", context, status=status)


def stage_links(document: Document, here: Stage, *, agreeing: bool = False) -> list[dict[str, object]]:
    """The three stages for the bar: the current one, the adjudicated ones, and the ones that can be opened.

    ``agree``: where a stage is adjudicated or its adjudication can be seen. ``agreeing``: the current page is an
    adjudication, so the bar links to other adjudications.
    """
    reached = STAGES.index(Stage(document.stage))
    links: list[dict[str, object]] = []
    for number, stage in enumerate(STAGES, start=1):
        done = number - 1 < reached or document.is_gold
        is_settled = stage == document.stage and document.phase == Phase.CONSOLIDATING
        agree = ""
        if document.people_needed > 1 and (done or is_settled) and document.phase != Phase.DISCARDED:
            agree = reverse("agree", args=[document.public_id, stage.value])
        own = reverse(stage.value, args=[document.public_id]) if number - 1 <= reached else ""
        links.append(
            {
                "label": stage.label,
                "number": number,
                "key": f"g {stage.value[0]}",
                "url": agree or own if agreeing else own,
                "current": stage == here,
                "done": done,
                "agree": "" if agreeing else agree,
                "agree_label": "View adjudication" if done else "Adjudicate",
            }
        )
    return links
