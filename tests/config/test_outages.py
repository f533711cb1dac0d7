"""A database that is busy, away or read-only: 503 with Retry-After, one line in the log, and no 500."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dj_database_url
import psycopg
import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, InterfaceError, OperationalError, ProgrammingError
from django.db.utils import ConnectionHandler
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import include, path
from rest_framework.views import APIView

from config import outages

_raised: list[Exception] = []


@login_not_required
def fails(request: HttpRequest) -> HttpResponse:
    raise _raised[0]


class FailsInApi(APIView):
    authentication_classes = ()
    permission_classes = ()

    def get(self, request: HttpRequest) -> HttpResponse:
        raise _raised[0]


urlpatterns = [
    path("fails/", fails),
    path("api/v1/fails/", login_not_required(FailsInApi.as_view())),
    path("", include("config.urls")),
]
handler500 = "config.outages.handler500"


def of_sqlite(name: str) -> OperationalError:
    """An error as Django raises it for this code of SQLite's."""
    cause = sqlite3.OperationalError(f"({name})")
    cause.sqlite_errorname = name
    error = OperationalError(str(cause))
    error.__cause__ = cause
    return error


@pytest.fixture
def failing(client: Client) -> Iterator[Client]:
    client.raise_request_exception = False
    yield client
    _raised.clear()


# --- which errors are outages -----------------------------------------------------------------------


def _sqlite(file: Path, mode: str = "rwc", timeout: float = 0.05) -> Any:
    options = {"uri": True, "timeout": timeout}
    default = {"ENGINE": "django.db.backends.sqlite3", "NAME": f"file:{file}?mode={mode}", "OPTIONS": options}
    return ConnectionHandler({"default": default})["default"]


@pytest.mark.django_db  # Django's own connections, to other databases
def test_sqlite_locked_read_only_and_away_are_outages_and_a_missing_table_is_not(tmp_path: Path) -> None:
    file = tmp_path / "a.sqlite3"
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("CREATE TABLE t (x)")
    holder.execute("BEGIN IMMEDIATE")
    seen = {}
    for name, connection, statement in (
        ("busy", _sqlite(file), "INSERT INTO t VALUES (1)"),
        ("read-only", _sqlite(file, "ro"), "INSERT INTO t VALUES (1)"),
        ("away", _sqlite(tmp_path / "none" / "b.sqlite3"), "SELECT 1"),
        ("fault", _sqlite(file), "SELECT * FROM nothing"),
    ):
        with pytest.raises(DatabaseError) as caught, connection.cursor() as cursor:
            cursor.execute(statement)
        seen[name] = outages.outage_of(caught.value)
        connection.close()
    holder.close()
    assert seen == {"busy": outages.BUSY, "read-only": outages.READ_ONLY, "away": outages.AWAY, "fault": None}


@pytest.mark.django_db  # Django's own connections, to other databases
def test_postgres_stopped_read_only_and_over_time_are_outages_and_a_missing_table_is_not(postgres_url: str) -> None:
    connection: Any = ConnectionHandler({"default": dict(dj_database_url.parse(postgres_url))})["default"]

    def fault(*statements: str) -> outages.Outage | None:
        with pytest.raises((DatabaseError, InterfaceError)) as caught, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        return outages.outage_of(caught.value)

    assert fault("SELECT * FROM nothing") is None
    assert fault("CREATE TABLE t (x int)", "SET default_transaction_read_only = on", "INSERT INTO t VALUES (1)") == (
        outages.READ_ONLY
    )
    assert fault("SET statement_timeout = 20", "SELECT pg_sleep(1)") == outages.BUSY
    with psycopg.connect(postgres_url, autocommit=True) as other, connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        other.execute("SELECT pg_terminate_backend(%s)", cursor.fetchone())
    assert fault("SELECT 1") == outages.AWAY
    assert fault("SELECT 1") == outages.AWAY  # on the connection that is closed by now
    connection.close()


@pytest.mark.django_db  # Django's own connections, to other databases
def test_a_server_that_refuses_connections_is_away() -> None:
    url = "postgresql://nobody@127.0.0.1:1/none"
    connection: Any = ConnectionHandler({"default": dict(dj_database_url.parse(url))})["default"]
    with pytest.raises(OperationalError) as caught:
        connection.ensure_connection()
    assert outages.outage_of(caught.value) == outages.AWAY


def test_other_errors_are_no_outages() -> None:
    assert outages.outage_of(None) is None
    assert outages.outage_of(ValueError("x")) is None
    assert outages.outage_of(OperationalError("raised by nobody's driver")) is None
    error = ProgrammingError("x")
    error.__cause__ = psycopg.errors.UndefinedColumn("x")
    assert outages.outage_of(error) is None


# --- what is answered -------------------------------------------------------------------------------


@pytest.mark.urls(__name__)
def test_a_page_says_what_is_kept_and_when_to_try_again(failing: Client, caplog: pytest.LogCaptureFixture) -> None:
    _raised.append(of_sqlite("SQLITE_BUSY"))
    with caplog.at_level(logging.INFO):
        answer = failing.get("/fails/")
    assert (answer.status_code, answer["Retry-After"], answer["Cache-Control"]) == (503, "2", "no-store")
    text = answer.content.decode()
    assert "The database is busy." in text
    assert "what you typed is kept in this browser" in text
    assert "Try again in 2 seconds" in text
    lines = [record for record in caplog.records if record.name == "config.outages"]
    assert [line.getMessage() for line in lines] == ["503 at GET /fails/: the database is busy ((SQLITE_BUSY))"]
    assert lines[0].exc_info is None


@pytest.mark.urls(__name__)
def test_a_field_that_saves_gets_a_sentence(failing: Client) -> None:
    _raised.append(of_sqlite("SQLITE_READONLY_DBMOVED"))
    answer = failing.get("/fails/", headers={"hx-request": "true"})
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert answer["Content-Type"].startswith("text/plain")
    assert answer.content.decode().startswith("The database is read-only at the moment, so nothing can be saved.")


@pytest.mark.urls(__name__)
def test_the_api_gets_a_problem(failing: Client, caplog: pytest.LogCaptureFixture) -> None:
    _raised.append(of_sqlite("SQLITE_FULL"))
    with caplog.at_level(logging.INFO):
        answer = failing.get("/api/v1/fails/")
    assert (answer.status_code, answer["Retry-After"]) == (503, "60")
    assert answer["Content-Type"] == "application/problem+json"
    told = answer.json()
    assert told["type"] == "urn:touchstone:problem:database-unavailable"
    assert told["instance"] == "/api/v1/fails/"
    assert told["detail"].startswith("The disk of the database is full")
    assert [record.name for record in caplog.records if record.levelno >= logging.WARNING and record.exc_info] == []


@pytest.mark.urls(__name__)
def test_a_fault_in_a_query_stays_an_error_500(failing: Client) -> None:
    _raised.append(of_sqlite("SQLITE_ERROR"))
    assert failing.get("/fails/").status_code == 500
    assert failing.get("/api/v1/fails/").status_code == 500


@pytest.mark.django_db
def test_an_outage_before_any_view_is_reached_is_answered_as_well(
    failing: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing.force_login(get_user_model().objects.create_user(username="ada"))

    def away(*args: object) -> None:
        raise of_sqlite("SQLITE_CANTOPEN")

    monkeypatch.setattr("django.contrib.sessions.backends.db.SessionStore._get_session_from_db", away)
    answer = failing.get("/")
    assert (answer.status_code, answer["Retry-After"]) == (503, "10")


def test_django_s_own_record_of_a_503_is_left_out() -> None:
    record = logging.makeLogRecord({"name": "django.request", "status_code": 503})
    assert not outages.OutagesAreLogged().filter(record)
    record.status_code = 500
    assert outages.OutagesAreLogged().filter(record)
    logging_settings: Any = settings.LOGGING
    assert logging_settings["loggers"]["django.request"] == {"filters": ["outages"]}
