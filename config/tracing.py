"""OpenTelemetry traces, enabled by naming a collector in OTEL_EXPORTER_OTLP_ENDPOINT.

There is a span for each request and for each task, which continues the trace of the request that enqueued it, and below
them one for each database statement. Needs requirements-otel.txt. Spans contain only names and numbers: the name of the
route, the status, SQL with placeholders; never texts, paths or people.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from typing import Any

from celery.signals import before_task_publish, task_postrun, task_prerun
from django.db import connection
from django.http import HttpRequest, HttpResponse
from opentelemetry import context, propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, StatusCode

MAX_STATEMENT = 500  # characters


@cache
def provider() -> TracerProvider:
    """One per process, created at its first request or task, because its thread would not survive a fork."""
    name = os.environ.get("OTEL_SERVICE_NAME") or "touchstone"
    made = TracerProvider(resource=Resource.create({"service.name": name}))
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return made


def tracer() -> trace.Tracer:
    return provider().get_tracer("touchstone")


def _traced_statement(execute: Callable[..., Any], sql: str, params: Any, many: bool, state: Any) -> Any:
    """Wraps the statements of Django's connection; their parameters aren't recorded."""
    with tracer().start_as_current_span(sql.split(maxsplit=1)[0].upper() or "SQL", kind=SpanKind.CLIENT) as span:
        span.set_attribute("db.system.name", connection.vendor)
        span.set_attribute("db.query.text", sql[:MAX_STATEMENT])
        return execute(sql, params, many, state)


class TracingMiddleware:
    """A span around every request; the outermost middleware, so that it includes all others."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        parent = propagate.extract({name.lower(): value for name, value in request.headers.items()})
        method = request.method or "GET"
        with (
            tracer().start_as_current_span(method, context=parent, kind=SpanKind.SERVER) as span,
            connection.execute_wrapper(_traced_statement),
        ):
            response = self.get_response(request)
            match = request.resolver_match
            name = (match.view_name or "unnamed") if match else "none"
            span.update_name(f"{method} {name}")
            span.set_attribute("http.request.method", method)
            span.set_attribute("http.route", name)
            span.set_attribute("http.response.status_code", response.status_code)
            if response.status_code >= 500:
                span.set_status(StatusCode.ERROR)
        return response


@before_task_publish.connect
def carry_trace(headers: dict[str, Any] | None = None, **_: object) -> None:
    """Gives a task the trace in which it was enqueued."""
    if headers is not None:
        propagate.inject(headers)


_running: dict[str, ExitStack] = {}  # by the task's id


@task_prerun.connect
def begin_span(task_id: str = "", task: Any = None, **_: object) -> None:
    """Starts the span of a task, in whatever process or thread it runs."""
    sent = {name: getattr(task.request, name, None) for name in ("traceparent", "tracestate")}
    parent = propagate.extract({name: value for name, value in sent.items() if value})
    stack = ExitStack()
    token = context.attach(parent)
    stack.callback(context.detach, token)
    stack.enter_context(tracer().start_as_current_span(task.name, kind=SpanKind.CONSUMER))
    stack.enter_context(connection.execute_wrapper(_traced_statement))
    _running[task_id] = stack


@task_postrun.connect
def end_span(task_id: str = "", state: str = "", **_: object) -> None:
    """Ends the span of a task, as an error if the task failed."""
    stack = _running.pop(task_id, None)
    if stack is None:
        return
    if state == "FAILURE":
        trace.get_current_span().set_status(StatusCode.ERROR)
    stack.close()
