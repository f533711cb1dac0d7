"""The database itself keeps the history append-only: triggers refuse to change or delete an activity.

A document, benchmark or annotation that is deleted takes its link out of the row; nothing else may change. The few
actions that must rewrite history (erasing a person) do so inside ``history_unlocked``. Installed after every migrate,
since SQLite drops the triggers of a table that a migration makes anew.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate

TABLE = "annotator_activity"
KEPT = "public_id, at, by_id, action, changes, reason, active_seconds, undoes_id"
LINKS = ("benchmark_id", "document_id", "annotation_id")
REFUSAL = "the history is append-only"
_SETTING = "touchstone.history"  # of a PostgreSQL transaction
_FUNCTION = "touchstone_history_unlocked"  # asked by SQLite's triggers

_unlocked = threading.local()


@contextmanager
def history_unlocked() -> Iterator[None]:
    """One transaction in which this thread may change activities."""
    with transaction.atomic():
        _set(is_open=True)
        try:
            yield
        finally:
            _set(is_open=False)


def _set(*, is_open: bool) -> None:
    _unlocked.now = is_open
    if connection.vendor == "postgresql" and not connection.needs_rollback:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config(%s, %s, true)", [_SETTING, "unlocked" if is_open else ""])


def connect() -> None:
    """Install the triggers after each migrate, and give SQLite's connections what the triggers ask."""
    connection_created.connect(_add_function, dispatch_uid="append-only-function")
    post_migrate.connect(_after_migrate, dispatch_uid="append-only-triggers")


def _add_function(connection: BaseDatabaseWrapper, **_: Any) -> None:
    if connection.vendor == "sqlite":
        connection.connection.create_function(_FUNCTION, 0, lambda: int(getattr(_unlocked, "now", False)))


def _after_migrate(sender: Any, using: str, **_: Any) -> None:
    if sender.label == "annotator":
        install(connections[using])


def install(database: BaseDatabaseWrapper) -> None:
    """Make the triggers anew. Does nothing where the table is not there (migrated back to nothing)."""
    if TABLE not in database.introspection.table_names():
        return
    with database.cursor() as cursor:
        for statement in _of_sqlite() if database.vendor == "sqlite" else _of_postgres():
            cursor.execute(statement)


def _of_sqlite() -> Iterator[str]:
    locked = f"{_FUNCTION}() = 0"
    refuse = f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
    relinked = " OR ".join(f"(NEW.{link} IS NOT NULL AND NEW.{link} IS NOT OLD.{link})" for link in LINKS)
    # INSERT OR REPLACE deletes without asking the trigger for deletions.
    there = f"EXISTS (SELECT 1 FROM {TABLE} WHERE id = NEW.id OR public_id = NEW.public_id)"  # noqa: S608
    for name, event, condition in (
        ("no_replace", f"INSERT ON {TABLE}", there),
        ("no_delete", f"DELETE ON {TABLE}", locked),
        ("no_update", f"UPDATE OF {KEPT} ON {TABLE}", locked),
        ("no_relink", f"UPDATE OF {', '.join(LINKS)} ON {TABLE}", relinked),
    ):
        yield f"DROP TRIGGER IF EXISTS {TABLE}_{name}"
        yield f"CREATE TRIGGER {TABLE}_{name} BEFORE {event} WHEN {condition} {refuse}"


def _of_postgres() -> Iterator[str]:
    kept = ", ".join(f"NEW.{name.strip()}" for name in KEPT.split(","))
    relinked = " OR ".join(f"(NEW.{link} IS NOT NULL AND NEW.{link} IS DISTINCT FROM OLD.{link})" for link in LINKS)
    yield f"""
        CREATE OR REPLACE FUNCTION {TABLE}_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF current_setting('{_SETTING}', true) = 'unlocked' THEN
                IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
                RETURN NEW;
            END IF;
            IF TG_OP = 'DELETE' THEN RAISE EXCEPTION '{REFUSAL}'; END IF;
            IF ({kept}) IS DISTINCT FROM ({kept.replace("NEW.", "OLD.")}) OR {relinked}
            THEN RAISE EXCEPTION '{REFUSAL}'; END IF;
            RETURN NEW;
        END $$"""
    yield f"DROP TRIGGER IF EXISTS {TABLE}_append_only ON {TABLE}"
    yield f"""
        CREATE TRIGGER {TABLE}_append_only BEFORE UPDATE OR DELETE ON {TABLE}
        FOR EACH ROW EXECUTE FUNCTION {TABLE}_append_only()"""
