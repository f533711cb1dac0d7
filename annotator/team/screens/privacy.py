"""What Touchstone keeps about the signed-in person, and all of it as a file."""

from __future__ import annotations

import json

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from annotator.core.actions.downloads import note_download
from annotator.core.screens.common import person
from annotator.team.queries.personal_data import personal_data


@require_GET
def show(request: HttpRequest) -> HttpResponse:
    """The page."""
    days = {"events": settings.SECURITY_EVENTS_DAYS, "notices": settings.NOTICES_DAYS}
    context = {"days": days, "contact": settings.PRIVACY_CONTACT, "sessions": settings.SESSION_COOKIE_AGE // 86400}
    return render(request, "team/account/privacy.html", context)


@never_cache
@require_GET
def download(request: HttpRequest) -> HttpResponse:
    """The person's data as JSON."""
    data = dict(personal_data(person(request)))
    note_download("their own data", by=person(request))
    answer = HttpResponse(
        json.dumps(data, cls=DjangoJSONEncoder, ensure_ascii=False, indent=1), content_type="application/json"
    )
    answer["Content-Disposition"] = 'attachment; filename="my-touchstone-data.json"'
    return answer
