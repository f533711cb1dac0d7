"""A database that is busy, away or read-only isn't a bug: such requests get 503 with Retry-After, and one line in the
log.

``outage_of`` goes by the driver's error codes. A missing table or a wrong query is still an error 500 with a traceback.
"""

from __future__ import annotations

import logging
import sqlite3
import sys
from dataclasses import dataclass

import psycopg
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error

logger = logging.getLogger(__name__)

API = "/api/"


@dataclass(frozen=True, slots=True)
class Outage:
    """Why the database can't serve a request, and the seconds after which a retry makes sense."""

    reason: str
    sentence: str
    retry_after: int


BUSY = Outage("busy", "The database is busy.", 2)
AWAY = Outage("away", "The database can’t be reached.", 10)
READ_ONLY = Outage("read-only", "The database is read-only at the moment, so nothing can be saved.", 30)
FULL = Outage("full", "The disk of the database is full, so nothing can be saved.", 60)

# By the prefix of SQLite's error name (https://www.sqlite.org/rescode.html).
_OF_SQLITE = {
    "SQLITE_BUSY": BUSY,
    "SQLITE_LOCKED": BUSY,
    "SQLITE_PROTOCOL": BUSY,
    "SQLITE_READONLY": READ_ONLY,
    "SQLITE_FULL": FULL,
    "SQLITE_CANTOPEN": AWAY,
    "SQLITE_IOERR": AWAY,
}
# By PostgreSQL's SQLSTATE or its class (appendix A of its manual).
_OF_POSTGRES = {
    "25006": READ_ONLY,  # read_only_sql_transaction
    "53100": FULL,  # disk_full
    "53": BUSY,  # insufficient resources: too many connections, out of memory
    "55P03": BUSY,  # lock_not_available: the lock timeout
    "57014": BUSY,  # query_canceled: the statement timeout
    "57": AWAY,  # operator intervention: it is being shut down, or starting
    "40": BUSY,  # transaction rollback: a deadlock was broken
    "25P03": BUSY,  # idle_in_transaction_session_timeout
    "08": AWAY,  # connection exception
    "58": AWAY,  # system error
}


def outage_of(error: BaseException | None) -> Outage | None:
    """The outage behind a database error; None for every other error, including faulty queries."""
    if not isinstance(error, DatabaseError | InterfaceError):
        return None
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        name = getattr(cause, "sqlite_errorname", "") or ""
        return next((outage for begin, outage in _OF_SQLITE.items() if name.startswith(begin)), None)
    if isinstance(cause, psycopg.Error):
        if cause.sqlstate:
            return _OF_POSTGRES.get(cause.sqlstate) or _OF_POSTGRES.get(cause.sqlstate[:2])
        # Without a code, the server hasn't answered: there is no connection, or it broke.
        return AWAY if isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError) else None
    return None


def note(outage: Outage, error: BaseException, request: HttpRequest) -> None:
    """Write the one log line."""
    told = str(error).strip().split("\n")[0]
    logger.warning("503 at %s %s: the database is %s (%s)", request.method, request.path, outage.reason, told)


def answer(request: HttpRequest, outage: Outage) -> HttpResponse:
    """503 with Retry-After: a problem document for the API, a sentence for htmx, otherwise a page."""
    kept = "What you typed is kept in this browser and will be saved as soon as the database is available again."
    if request.path.startswith(API):
        body = {
            "type": "urn:touchstone:problem:database-unavailable",
            "title": "Service Unavailable",
            "status": 503,
            "detail": f"{outage.sentence} Nothing was changed. Send the request again later; see Retry-After.",
            "instance": request.path,
        }
        response: HttpResponse = JsonResponse(body, status=503, content_type="application/problem+json")
    elif request.headers.get("HX-Request"):
        text = f"{outage.sentence} {kept}"
        response = HttpResponse(text, status=503, content_type="text/plain; charset=utf-8")
    else:
        page = render_to_string("503.html", {"sentence": outage.sentence, "seconds": outage.retry_after})
        response = HttpResponse(page, status=503)
    response["Retry-After"] = str(outage.retry_after)
    response["Cache-Control"] = "no-store"
    return response


def handler500(request: HttpRequest) -> HttpResponse:
    """Django's handler of uncaught exceptions: 503 for an outage, otherwise the 500 page."""
    error = sys.exc_info()[1]
    outage = outage_of(error)
    if error is None or outage is None:
        return server_error(request)
    note(outage, error, request)
    return answer(request, outage)


class OutagesAreLogged(logging.Filter):
    """Drops Django's own log record of a 503: ``note`` has already written one line without a traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        return getattr(record, "status_code", None) != 503
