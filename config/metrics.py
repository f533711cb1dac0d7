"""Prometheus metrics counted in the process: requests and saves. Metrics from the database (runs, queues) are added on
request: ``annotator.home.screens.operation``.

With several web processes, each writes its metrics to files in PROMETHEUS_MULTIPROC_DIR (config/gunicorn.py), and
whichever is asked adds them up.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, multiprocess

# The name of a route ("decompose", "save"), never the URL itself, which would give one metric per document.
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
    """Counts every response. Almost outermost, so that responses of other middleware are counted, too."""

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
    """The outcome of a save, by its response's status."""
    if status < 400:
        return "saved"
    return {409: "conflict", 503: "unavailable"}.get(status, "failed" if status >= 500 else "refused")


def registry() -> CollectorRegistry:
    """All metrics counted by processes: this one, or all of them together."""
    if not os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        return REGISTRY
    together = CollectorRegistry()
    multiprocess.MultiProcessCollector(together)
    return together
