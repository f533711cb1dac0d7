"""Crowd platforms: links for studies, their payment reports, and the page that a worker sees."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotator.core.actions.downloads import note_download
from annotator.core.models import Benchmark, CrowdLink, User
from annotator.core.models.base import choices
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import managed_benchmark, person, render_domain_errors
from annotator.core.screens.spreadsheet import csv_of
from annotator.core.vocabulary import CrowdPlatform
from annotator.team.actions import crowd as actions
from annotator.team.queries.crowd import links_of, own_row, payment_report, worker_rows
from annotator.team.rules import CrowdEntryError

INDEX = "team/crowd.html"
ENTRY = "team/crowd_entry.html"
# The platforms' parameter names for worker, study and session; ours are last.
NAMES = {
    "worker_id": ("PROLIFIC_PID", "workerId", "worker"),
    "study_id": ("STUDY_ID", "hitId", "study"),
    "session_id": ("SESSION_ID", "assignmentId", "session"),
}
# The query string for the platform's study URL, so that the platform fills in the ids.
PLACEHOLDERS = {
    CrowdPlatform.PROLIFIC: "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}",
    CrowdPlatform.MTURK: "?workerId=${workerId}&hitId=${hitId}&assignmentId=${assignmentId}",
    CrowdPlatform.OTHER: "?worker=THE-ID",
}
MTURK_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"


class LinkForm(forms.Form):
    """What a study asks and promises. It can't be changed later, so that it is clear what people agreed to."""

    name = forms.CharField(max_length=actions.MAX_NAME, label="Name", help_text="For you, and in the workers’ names.")
    platform = forms.ChoiceField(choices=choices(CrowdPlatform), label="Platform")
    documents = forms.IntegerField(
        min_value=1, max_value=actions.MAX_DOCUMENTS, initial=3, label="Documents per worker",
        help_text="After submitting so many, a worker gets the completion code.",
    )  # fmt: skip
    max_workers = forms.IntegerField(required=False, min_value=1, label="Workers at most")
    completion_code = forms.CharField(
        required=False, max_length=actions.MAX_CODE, label="Completion code",
        help_text="As given by the platform. If blank, one is generated.",
    )  # fmt: skip
    reward = forms.CharField(
        required=False, max_length=actions.MAX_REWARD, label="Reward", help_text="For the payment report: 2.50 GBP."
    )
    consent = forms.CharField(
        max_length=actions.MAX_CONSENT, label="Consent text", widget=forms.Textarea({"rows": 8}),
        help_text="What people read and agree to before they begin: what they do, what is kept, whom they can ask.",
    )  # fmt: skip


@require_http_methods(["GET", "POST"])
@render_domain_errors
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """The links of the benchmark, and the form for a new one."""
    benchmark = managed_benchmark(request, slug)
    form = LinkForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        data["platform"] = CrowdPlatform(data["platform"])
        actions.open_link(benchmark, by=person(request), **data)
        messages.success(request, "The link is ready. Copy it to the platform’s page.")
        return redirect("crowd-links", slug)
    rows = []
    for link in links_of(benchmark):
        address = request.build_absolute_uri(reverse("crowd", args=[link.token]))
        workers = worker_rows(link)
        rows.append(
            {
                "link": link,
                "address": address + PLACEHOLDERS[CrowdPlatform(link.platform)],
                "people": len(workers),
                "completed": sum(1 for each in workers if each.completed_at),
            }
        )
    context = page_of_benchmark(request, benchmark, "Crowd") | {"form": form, "rows": rows}
    return render(request, INDEX, context, status=422 if form.errors else 200)


@require_POST
@render_domain_errors
def change(request: HttpRequest, slug: str, link_id: str, what: str) -> HttpResponse:
    """Close a link."""
    benchmark = managed_benchmark(request, slug)
    if what != "close":
        raise Http404(f"A crowd link cannot “{what}”.")
    actions.close_link(_link(benchmark, link_id), by=person(request))
    messages.success(request, "The link is closed. Work that was done stays.")
    return redirect("crowd-links", slug)


@require_GET
@render_domain_errors
def report(request: HttpRequest, slug: str, link_id: str) -> HttpResponse:
    """The payment report as CSV."""
    link = _link(managed_benchmark(request, slug), link_id)
    note_download(f"payments, {link.name}", by=person(request), benchmark=link.benchmark)
    return csv_of(payment_report(link), f"{slug}-payments-{link.public_id}")


def _link(benchmark: Benchmark, link_id: str) -> CrowdLink:
    return get_object_or_404(CrowdLink.objects.select_related("benchmark"), benchmark=benchmark, public_id=link_id)


# --- the worker's side ----------------------------------------------------------------------------


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def enter(request: HttpRequest, token: str) -> HttpResponse:
    """Consent and entry. People who have joined see their progress, and the completion code when they are done."""
    link = CrowdLink.objects.select_related("benchmark").filter(token=token).first()
    if link is None:
        return _page(request, {"refusal": "This link doesn’t exist. Open it again from the platform."}, status=404)
    if isinstance(request.user, User):
        row = own_row(link, request.user)
        if row is None:
            refusal = f"You are signed in as {request.user}. Sign out to take part as a worker."
            return _page(request, {"refusal": refusal}, status=409)
        return _page(request, {"link": link, "row": row, "return_url": _return_url(link)})
    ids = _ids(request.POST if request.method == "POST" else request.GET)
    context = {"link": link, "ids": ids, "is_preview": ids["session_id"] == MTURK_PREVIEW}
    if request.method != "POST" or context["is_preview"]:
        return _page(request, context)
    if request.POST.get("agree") != "yes":
        return _page(
            request, context | {"problem": "Tick the box if you agree; otherwise close this page."}, status=422
        )
    try:
        user = actions.enter(link, **ids)
    except CrowdEntryError as refusal:
        return _page(request, {"refusal": str(refusal)}, status=403)
    login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
    return redirect("home")


def _ids(asked: Mapping[str, str]) -> dict[str, str]:
    """The ids from a URL or form, by our names; "" if missing."""
    return {
        name: next((asked[each].strip() for each in (name, *theirs) if asked.get(each)), "")
        for name, theirs in NAMES.items()
    }


def _return_url(link: CrowdLink) -> str:
    """The URL to which Prolific workers return with the completion code; "" for platforms where people type it."""
    if link.platform != CrowdPlatform.PROLIFIC:
        return ""
    return f"https://app.prolific.com/submissions/complete?{urlencode({'cc': link.completion_code})}"


def _page(request: HttpRequest, context: dict[str, object], *, status: int = 200) -> HttpResponse:
    nothing: dict[str, object] = {
        "link": None,
        "row": None,
        "refusal": "",
        "problem": "",
        "ids": {},
        "is_preview": False,
        "return_url": "",
    }
    return render(request, ENTRY, nothing | context, status=status)
