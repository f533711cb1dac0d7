"""What every test lives under: no network, warnings as errors, random order, undefined template names fail.

Where a test lies says what it may do:

guards                  no sockets at all (PostgreSQL's own library is not held back)
<area>, contract        this machine only
browser                 this machine only, with the system's Chromium; every test is marked `browser`

PostgreSQL, Redis and Chromium start when the first test asks for them, once for all processes of the run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sqlite3
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.db.backends.base.operations import BaseDatabaseOperations
from playwright.sync_api import BrowserContext, ConsoleMessage, Request, WebError
from psycopg import sql
from pytest_django.plugin import DjangoDbBlocker

from annotator.core.actions import append_only
from tests import database, services
from tests.background import tasks_run_at_once
from tests.team_fixtures import ada, at_verify, ben, benchmark, cleo, document, owner  # noqa: F401

# Playwright runs an event loop in the tests' thread, in which Django would refuse the database.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

# No time limit for one example: on a busy machine that fails for no reason.
hypothesis.settings.register_profile("suite", deadline=None)
hypothesis.settings.load_profile("suite")

ROOT = Path(__file__).resolve().parent.parent
TESTS = Path(__file__).resolve().parent
LOOPBACK = ["127.0.0.1", "::1"]


@pytest.hookimpl(wrapper=True, tryfirst=True)  # before -m chooses by the markers, and around all that orders tests
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        if folder == "guards":
            item.add_marker(pytest.mark.disable_socket)
        else:
            item.add_marker(pytest.mark.allow_hosts(LOOPBACK))
        if folder == "browser":
            item.add_marker(pytest.mark.browser)
    database.mark(items)
    yield
    # Playwright's event loop stays in the thread once a browser ran in it, and asyncio.run refuses a second one. Sorted
    # after all others have, since pytest puts tests together that share a fixture such as the browser.
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--faults", type=int, default=0, metavar="ROUNDS", help="run tests/faults, each fault so many times"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """tests/faults kills a whole installation again and again: only with --faults."""
    if collection_path == ROOT / "tests" / "faults" and not config.getoption("--faults"):
        return True
    return None


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # the first process of the run; xdist's workers belong to it
        session = contextlib.ExitStack()
        session.enter_context(services.session())
        config.add_cleanup(session.close)


@pytest.fixture(autouse=True, scope="session")
def flushes_may_delete_history() -> Iterator[None]:
    """A test with transactions of its own ends with all tables emptied, the history among them."""
    flush = BaseDatabaseOperations.execute_sql_flush

    def unlocked(operations: BaseDatabaseOperations, statements: Iterable[str]) -> None:
        append_only._unlocked.now = True
        try:
            flush(operations, statements)
        finally:
            append_only._unlocked.now = False

    BaseDatabaseOperations.execute_sql_flush = unlocked  # type: ignore[assignment, method-assign]
    yield
    BaseDatabaseOperations.execute_sql_flush = flush  # type: ignore[method-assign]


def pytest_unconfigure() -> None:
    """Remove the folder of tests/settings.py; xdist ends its processes without running exit handlers."""
    shutil.rmtree(settings.VAR_DIR, ignore_errors=True)


def _skip_or_fail(reason: str) -> None:
    """What a test wants is not here: that fails in CI, and skips elsewhere."""
    if services.in_ci():
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the released data, which is never part of the repository."""
    folder = Path(os.environ.get("TOUCHSTONE_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "factcheck-bench.dev.jsonl").is_file():
        _skip_or_fail(
            f"No released data in {folder}: name the folder with factcheck-bench.dev.jsonl in TOUCHSTONE_DATA."
        )
    return folder


def _shared(name: str) -> str:
    try:
        return services.shared(name)
    except services.MissingService as missing:
        _skip_or_fail(str(missing))
        raise


@pytest.fixture(scope="session")
def redis_url() -> str:
    """The Redis of this run."""
    return _shared("redis")


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """The PostgreSQL of this run, whatever the suite itself runs on."""
    return _shared("postgres")


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An empty database of its own in that PostgreSQL."""
    name = f"touchstone_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    yield f"{postgres_server.rsplit('/', 1)[0]}/{name}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


# --- SQLite's tables ------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def migrated_database(request: pytest.FixtureRequest) -> Path | None:
    """A database as the migrations leave it, kept in .pytest_cache for runs with the same migrations. None: the suite
    runs on PostgreSQL."""
    if settings.DATABASES["default"]["ENGINE"] != "django.db.backends.sqlite3":
        return None
    known = hashlib.sha256((ROOT / "requirements.txt").read_bytes())
    for path in sorted((ROOT / "annotator" / "migrations").glob("*.py")):
        known.update(path.name.encode() + path.read_bytes())
    return Path(request.config.cache.mkdir("migrated")) / f"{known.hexdigest()[:20]}.sqlite3"


@pytest.fixture(scope="session")
def django_db_keepdb(
    migrated_database: Path | None, django_db_modify_db_settings: None, django_db_keepdb: bool
) -> bool:
    """Whether Django finds tables already: with those of an earlier run, `migrate` has nothing left to do."""
    if migrated_database is None or not migrated_database.exists():
        return django_db_keepdb
    shutil.copy(migrated_database, settings.DATABASES["default"]["TEST"]["NAME"])
    return True


@pytest.fixture(scope="session")
def django_db_setup(migrated_database: Path | None, django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Keeps the tables for the next run, before any test has written to them."""
    if migrated_database is None or migrated_database.exists():
        return
    unfinished = migrated_database.with_suffix(f".{os.getpid()}")
    with django_db_blocker.unblock(), contextlib.closing(sqlite3.connect(unfinished)) as copy:
        connection.ensure_connection()
        connection.connection.backup(copy)
        connection.close()
    for old in migrated_database.parent.glob("*.sqlite3"):
        old.unlink(missing_ok=True)
    unfinished.replace(migrated_database)


@pytest.fixture(autouse=True)
def no_index_of_another_test() -> Iterator[None]:
    """A corpus of the next test may have the same key and revision."""
    yield
    from pipeline.runs import services

    services._built_index.cache_clear()


# --- background work ------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def tasks_at_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tasks run at once, in the caller, but for tests with a real worker."""
    with contextlib.nullcontext() if request.node.get_closest_marker("real_worker") else tasks_run_at_once():
        yield


@pytest.fixture
def queued_tasks() -> Iterator[None]:
    """Celery puts tasks into its queue instead of running them at once."""
    from config.celery import app

    app.conf.task_always_eager = False
    yield
    app.conf.task_always_eager = True


@pytest.fixture
def real_worker(transactional_db: None, queued_tasks: None) -> Iterator[None]:
    """The worker of the embedded default, running beside the test, which must be marked `real_worker`."""
    from config.worker import InProcessWorker

    worker = InProcessWorker()
    worker.start()
    yield
    assert worker.stop(timeout=10), "the in-process worker did not stop within 10 s"


# --- browser --------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's Chromium, kept from calling home. No sandbox as root, which it would refuse."""
    try:
        with services.one_at_a_time("chromium"):
            program = services.chromium(install=True)
    except services.MissingService as missing:
        _skip_or_fail(str(missing))
        raise
    arguments = [
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    return {**browser_type_launch_args, "executable_path": program, "args": arguments}


@pytest.fixture(scope="session")
def firefox_program() -> str:
    """The system's Firefox. It is large, so only CI installs it."""
    try:
        with services.one_at_a_time("firefox"):
            return services.firefox(install=services.in_ci())
    except services.MissingService as missing:
        _skip_or_fail(str(missing))
        raise


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_context_args, "viewport": {"width": 1280, "height": 900}, "locale": "en-GB"}


@pytest.fixture
def context(new_context: Callable[..., BrowserContext]) -> Iterator[BrowserContext]:
    """A fresh profile that, when the test is over, has asked no other host and broken no policy of its own."""
    context = new_context()
    faults: list[str] = []

    def on_request(request: Request) -> None:
        here = ("http://localhost", "http://127.0.0.1", "http://[::1]", "data:", "blob:", "about:")
        if not request.url.startswith(here):
            faults.append(f"the page asked another host: {request.url}")

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error" and "Content Security Policy" in message.text:
            faults.append(message.text)

    def on_error(error: WebError) -> None:
        faults.append(f"error in a script: {error.error}")

    context.on("request", on_request)
    context.on("console", on_console)
    context.on("weberror", on_error)
    yield context
    assert not faults, "\n".join(faults)
