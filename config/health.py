"""Whether this process can serve: for health checks of containers, and for script/server at the start."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache


@login_not_required
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """200 and "ok" when the database answers; otherwise 503."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse("ok", content_type="text/plain")
