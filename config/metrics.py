"""Figures for Prometheus that a process counts itself: requests and saves. What is in the database (runs, queues) is
added when somebody asks: ``annotator.home.screens.operation``.

With several web processes each writes its figures to files in PROMETHEUS_MULTIPROC_DIR (config/gunicorn.py), and
whichever is asked adds them up.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, multiprocess

# The name of an address ("decompose", "save"), never the address itself: that would be a figure for each document.
REQUESTS = Counter("touchstone_requests", "Requests answered.", ["method", "view", "status"])
SECONDS = Histogram(
    "touchstone_request_seconds",
    "Seconds in the server, by the name of the address.",
    ["view"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
SAVES = Counter("touchstone_saves", "Saves of a field: saved, conflict, refused, unavailable or failed.", ["outcome"])
SAVING = frozenset({"save", "restore", "undo"})


class MetricsMiddleware:
    """Counts every answer. Outermost but one, so that what other middleware refuses is counted as well."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        name = (match.view_name or "unnamed") if match else "none"
        method = request.method if request.method in {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"} else "other"
        REQUESTS.labels(method, name, response.status_code).inc()
        SECONDS.labels(name).observe(time.perf_counter() - began)
        if name in SAVING and method == "POST":
            SAVES.labels(outcome_of(response.status_code)).inc()
        return response


def outcome_of(status: int) -> str:
    """What became of a save, by the status of its answer."""
    if status < 400:
        return "saved"
    return {409: "conflict", 503: "unavailable"}.get(status, "failed" if status >= 500 else "refused")


def registry() -> CollectorRegistry:
    """All figures that processes have counted: this one, or all of them together."""
    if not os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        return REGISTRY
    together = CollectorRegistry()
    multiprocess.MultiProcessCollector(together)
    return together
