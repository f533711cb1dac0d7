"""Metrics for Prometheus, protected by a token of their own."""

from __future__ import annotations

import hmac

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from annotator.home.queries.operation import Watched
from config.metrics import registry


@login_not_required
@never_cache
@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    """All figures as text. 404 if METRICS_TOKEN isn't set, 401 without it in the Authorization header."""
    if not settings.METRICS_TOKEN:
        return HttpResponseNotFound("Set METRICS_TOKEN to enable metrics.", content_type="text/plain")
    given = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
    if not hmac.compare_digest(given.encode(), settings.METRICS_TOKEN.encode()):
        refused = HttpResponse("Send METRICS_TOKEN as a bearer token.", status=401, content_type="text/plain")
        refused["WWW-Authenticate"] = "Bearer"
        return refused
    watched = CollectorRegistry()
    watched.register(Watched())
    return HttpResponse(generate_latest(registry()) + generate_latest(watched), content_type=CONTENT_TYPE_LATEST)
