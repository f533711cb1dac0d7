"""Traces: a span for each request, task and statement, with names and numbers alone; off without a collector."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from celery.signals import before_task_publish, task_postrun, task_prerun
from django.conf import settings
from django.test import Client

from config import environment
from tests.factories import BenchmarkFactory, member

pytest.importorskip("opentelemetry.sdk", reason="requirements-otel.txt isn't installed")

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


@pytest.fixture
def tracing() -> ModuleType:
    """The module without its receivers, which would make spans of the tasks of all later tests."""
    from config import tracing as module

    before_task_publish.disconnect(module.carry_trace)
    task_prerun.disconnect(module.begin_span)
    task_postrun.disconnect(module.end_span)
    return module


@pytest.fixture
def spans(tracing: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "provider", lambda: provider)
    yield exporter
    provider.shutdown()


def of_kind(spans: InMemorySpanExporter, kind: str) -> list[ReadableSpan]:
    return [each for each in spans.get_finished_spans() if each.kind.name == kind]


def test_it_is_off_without_a_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not settings.TRACING
    assert not [each for each in settings.MIDDLEWARE if "tracing" in each]
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    assert environment.tracing_is_on()
    monkeypatch.setattr(environment, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"requirements-otel\.txt"):
        environment.tracing_is_on()


@pytest.mark.django_db
def test_a_request_and_its_statements_are_one_trace_without_texts(
    client: Client, spans: InMemorySpanExporter, settings: Any
) -> None:
    settings.MIDDLEWARE = ["config.tracing.TracingMiddleware", *settings.MIDDLEWARE]
    benchmark = BenchmarkFactory(slug="secret-name", name="Quetzals of Tikal")
    client.force_login(member(benchmark))
    assert client.get("/b/secret-name/").status_code == 200
    (request,) = of_kind(spans, "SERVER")
    assert request.name == "GET benchmark"
    assert request.attributes is not None and request.attributes["http.response.status_code"] == 200
    statements = of_kind(spans, "CLIENT")
    assert statements and {each.context.trace_id for each in statements} == {request.context.trace_id}
    sent = " ".join(str(value) for each in spans.get_finished_spans() for value in (each.attributes or {}).values())
    assert "SELECT" in sent and "secret-name" not in sent and "Quetzals" not in sent


def test_a_task_goes_on_with_the_trace_that_enqueued_it(tracing: ModuleType, spans: InMemorySpanExporter) -> None:
    headers: dict[str, Any] = {}
    with tracing.tracer().start_as_current_span("request") as request:
        tracing.carry_trace(headers=headers)
    task = SimpleNamespace(name="pipeline.advance_run", request=SimpleNamespace(**headers))
    tracing.begin_span(task_id="1", task=task)
    tracing.end_span(task_id="1", state="FAILURE")
    tracing.end_span(task_id="never begun")
    (span,) = of_kind(spans, "CONSUMER")
    assert span.name == "pipeline.advance_run" and span.status.status_code.name == "ERROR"
    assert span.context.trace_id == request.get_span_context().trace_id
