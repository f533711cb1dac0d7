"""What an operator sees: /healthz, /readyz, /metrics, and the log with its requests' ids."""

from __future__ import annotations

import datetime as dt
import io
import json
import logging
import logging.config
import os
import re
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotator.core.models import Document, User
from annotator.core.vocabulary import RunState, Stage
from annotator.home.queries.operation import Watched
from annotator.suggestions.actions.runs import start_run
from config import health, metrics
from tests.factories import BenchmarkFactory, DocumentFactory

pytestmark = pytest.mark.django_db
TOKEN = "t" * 32
LOGGING: Any = settings.LOGGING
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    health._kept = None
    yield
    health._kept = None


@pytest.fixture
def worker() -> Iterator[None]:
    """A thread that passes for the in-process worker's."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait, name="celery-worker", daemon=True)
    thread.start()
    yield
    over.set()
    thread.join()


# --- ready ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("worker")
def test_ready_when_every_part_is_there(client: Client) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ready", "checks": dict.fromkeys(("database", "queue", "worker", "disk"), "ok")}


def test_not_ready_without_a_worker(client: Client) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"]["worker"] == "no worker"
    assert client.get("/healthz").status_code == 200


@pytest.mark.usefixtures("worker")
def test_a_part_that_fails_is_named_and_its_details_stay_in_the_log(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away() -> str:
        raise OSError("password=secret at 10.0.0.7")

    monkeypatch.setitem(health.CHECKS, "queue", away)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["checks"]["queue"]) == (503, "away")
    assert b"10.0.0.7" not in answer.content
    assert "10.0.0.7" in caplog.text
    monkeypatch.setitem(health.CHECKS, "queue", lambda: "ok")
    assert client.get("/readyz").status_code == 503  # kept for some seconds, so that asking costs nothing
    monkeypatch.setattr(health, "FRESH_FOR", 0)
    assert client.get("/readyz").status_code == 200


def test_a_disk_almost_full_and_missing_migrations_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "LEAST_FREE", 1 << 60)
    assert health.check_disk() == "almost full"
    monkeypatch.setattr(health.MigrationExecutor, "migration_plan", lambda *_: ["one"])
    assert health.check_database() == "migrations missing"


# --- figures ----------------------------------------------------------------------------------------


def figure(text: str, line: str) -> float:
    found = re.search(rf"^{re.escape(line)} (\S+)$", text, re.MULTILINE)
    assert found, f"{line} is not in\n{text}"
    return float(found[1])


def test_figures_are_there_for_whoever_has_the_token_alone(client: Client, settings: Any) -> None:
    settings.METRICS_TOKEN = ""
    assert client.get("/metrics", headers={"authorization": "Bearer "}).status_code == 404
    settings.METRICS_TOKEN = TOKEN
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"authorization": "Bearer é"}).status_code == 401
    answer = client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain")


def test_requests_saves_runs_and_queues_are_counted(client: Client, settings: Any, ada: User) -> None:
    settings.METRICS_TOKEN = TOKEN

    def read() -> str:
        return client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"}).content.decode()

    client.force_login(ada)
    client.get("/nowhere/")
    client.post("/save/claim:nothing/")
    before = read()
    client.get("/nowhere/")
    client.post("/save/claim:nothing/")
    benchmark = BenchmarkFactory(strategy="offline")
    document: Document = DocumentFactory(benchmark=benchmark)
    run = start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=[document.pk], by=None)
    assert run is not None
    type(run).objects.filter(pk=run.pk).update(created_at=timezone.now() - dt.timedelta(seconds=90))
    after = read()
    for line in (
        'touchstone_requests_total{method="GET",status="404",view="none"}',
        'touchstone_saves_total{outcome="refused"}',
    ):
        assert figure(after, line) == figure(before, line) + 1
    assert figure(after, f'touchstone_runs{{state="{RunState.QUEUED.value}"}}') == 1
    assert figure(after, 'touchstone_queue_waiting{queue="suggestions"}') == 1
    assert 90 <= figure(after, 'touchstone_queue_age_seconds{queue="suggestions"}') < 120
    assert figure(after, 'touchstone_queue_age_seconds{queue="imports"}') == 0
    assert document.public_id not in after


def test_the_figures_of_the_database_cost_six_queries(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(6):
        assert len(list(Watched().collect())) == 5


def test_what_became_of_a_save() -> None:
    statuses = {200: "saved", 204: "saved", 409: "conflict", 422: "refused", 403: "refused", 503: "unavailable"}
    assert {status: metrics.outcome_of(status) for status in statuses} == statuses
    assert metrics.outcome_of(500) == "failed"


def test_the_figures_of_several_processes_are_added_up(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    counts = "from config.metrics import SAVES; SAVES.labels('saved').inc(3)"
    reads = (
        "from config.metrics import registry; from prometheus_client import generate_latest; "
        "print(generate_latest(registry()).decode())"
    )

    def run(program: str) -> str:
        command = [sys.executable, "-c", program]
        return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout

    run(counts)
    run(counts)
    assert figure(run(reads), 'touchstone_saves_total{outcome="saved"}') == 6


# --- the log ----------------------------------------------------------------------------------------


def test_a_request_has_the_id_of_the_proxy_or_one_of_its_own(client: Client) -> None:
    given = uuid.uuid4().hex
    assert client.get("/sign-in/", headers={"x-request-id": given})["X-Request-ID"] == given
    forged = 'x" level="CRITICAL'
    own = client.get("/sign-in/", headers={"x-request-id": forged})["X-Request-ID"]
    assert own != forged
    assert re.fullmatch("[0-9a-f]{32}", own)


def test_a_line_of_the_log_is_one_object_with_the_request_s_id() -> None:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    formatter = dict(LOGGING["formatters"]["json"])
    made = logging.config.DictConfigurator({"version": 1}).configure_formatter(formatter)
    handler.setFormatter(made)
    record = logging.makeLogRecord(
        {
            "name": "config",
            "levelname": "WARNING",
            "msg": "two\nlines",
            "correlation_id": "abc",
            "status": 503,
            "request": object(),
        }
    )
    handler.emit(record)
    assert out.getvalue().count("\n") == 1
    told = json.loads(out.getvalue())
    assert (told["level"], told["logger"], told["request"]) == ("WARNING", "config", "abc")
    assert (told["message"], told["status"]) == ("two\nlines", 503)
    assert LOGGING["handlers"]["console"]["filters"] == ["request"]


def test_a_request_is_one_line_where_asked_for(client: Client, caplog: pytest.LogCaptureFixture, ada: User) -> None:
    from django.http import HttpRequest, HttpResponse

    from config.logs import RequestLogMiddleware

    request = HttpRequest()
    request.method, request.path, request.user = "GET", "/documents/", ada
    request.META["QUERY_STRING"] = "search=private"
    with caplog.at_level(logging.INFO, logger="config.requests"):
        RequestLogMiddleware(lambda _: HttpResponse(status=204))(request)
    (line,) = [each for each in caplog.records if each.name == "config.requests"]
    assert re.fullmatch(r"GET /documents/ 204 [\d.]+ ms", line.getMessage())
    assert (line.__dict__["person"], line.__dict__["status"]) == (ada.pk, 204)
    assert "private" not in str(line.__dict__)
