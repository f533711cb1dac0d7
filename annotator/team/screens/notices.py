"""A person's notices: the list by day, marking as read, and whether they are also mailed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_POST

from annotator.core.actions import notices as actions
from annotator.core.models import Notice, User
from annotator.core.queries.notices import MAX_COUNTED, notices_of, page_of, place_of, unread_count, wants_mail
from annotator.core.screens.common import person


@dataclass(frozen=True, slots=True)
class NoticeRow:
    """A notice and its link."""

    notice: Notice
    place: str


@dataclass(frozen=True, slots=True)
class Day:
    """The notices of one day."""

    title: str
    rows: list[NoticeRow]


def figure_of(number: int) -> str:
    """The number in the bar: at most two digits."""
    return str(number) if number < MAX_COUNTED else f"{MAX_COUNTED - 1}+"


def bar(request: HttpRequest) -> dict[str, Callable[[], str]]:
    """Context processor: the number in the bar, counted only if a template uses it, so that fragments cost no query."""
    user = getattr(request, "user", None)
    return {"unread_notices": lambda: figure_of(unread_count(user)) if isinstance(user, User) else "0"}


def by_day(rows: list[Notice], today: dt.date) -> list[Day]:
    """The notices grouped by day, in order. Times of day aren't shown."""
    days = groupby(rows, key=lambda row: timezone.localdate(row.created_at))
    return [Day(_title(day, today), [NoticeRow(row, place_of(row)) for row in group]) for day, group in days]


def _title(day: dt.date, today: dt.date) -> str:
    names = {today: "Today", today - dt.timedelta(days=1): "Yesterday"}
    return names.get(day) or date_format(day, "l, j F Y")


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """The list, newest first."""
    user = person(request)
    before = request.GET.get("before", "").replace("\x00", "")
    page = page_of(user, before=before)
    context: dict[str, Any] = {
        "days": by_day(page.rows, timezone.localdate()),
        "newest": page.rows[0].public_id if page.rows and not before else "",
        "older": urlencode({"before": page.older}) if page.older else "",
        "before": before,
        "mail_is_on": settings.MAIL_IS_ON,
        "wants_mail": wants_mail(user),
    }
    return render(request, "team/notices/index.html", context)


@require_GET
def unread(request: HttpRequest) -> HttpResponse:
    """The number in the bar, polled by open pages; empty if it hasn't changed."""
    number = figure_of(unread_count(person(request)))
    if number == request.GET.get("known"):
        return HttpResponse(status=204)
    return render(request, "team/notices/bar.html", {"figure": number})


@require_POST
def open_notice(request: HttpRequest, notice_id: str) -> HttpResponse:
    """Mark the notice as read and redirect to its link."""
    user = person(request)
    notice = get_object_or_404(notices_of(user).select_related("document"), public_id=notice_id)
    actions.mark_read([notice], by=user)
    return redirect(place_of(notice))


@require_POST
def read_all(request: HttpRequest) -> HttpResponse:
    """Mark everything as read up to the newest notice shown."""
    user = person(request)
    newest = notices_of(user).filter(public_id=request.POST.get("newest", "").replace("\x00", "")).first()
    if newest is not None:  # otherwise its document is gone, and the page shows what is left
        actions.mark_all_read(by=user, up_to=newest)
    return redirect("notices")


@require_POST
def mail(request: HttpRequest) -> HttpResponse:
    """Turn mail on or off for this person."""
    wanted = request.POST.get("mail") == "on"
    actions.choose_mail(wanted=wanted, by=person(request))
    messages.success(
        request, "Notices will be emailed to you." if wanted else "Notices will no longer be emailed to you."
    )
    return redirect("notices")
