"""The database itself refuses to change or delete history, whatever asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from annotator.core.actions import append_only
from annotator.core.actions.append_only import history_unlocked
from annotator.core.models import Activity
from tests.factories import BenchmarkFactory, DocumentFactory

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture
def row() -> Activity:
    document = DocumentFactory(benchmark=BenchmarkFactory())
    return Activity.objects.create(action="save", benchmark=document.benchmark, document=document, changes=[{"a": 1}])


def raw(statement: str) -> Callable[[], Any]:
    def run() -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement)

    return run


@pytest.mark.parametrize(
    "attack",
    [
        lambda: Activity.objects.all().delete(),
        lambda: Activity.objects.update(reason="another"),
        lambda: Activity.objects.update(changes=[]),
        lambda: Activity.objects.update(document=DocumentFactory()),
        raw("DELETE FROM annotator_activity"),
        raw("UPDATE annotator_activity SET by_id = NULL, action = 'x'"),
    ],
)
def test_history_is_neither_changed_nor_deleted(row: Activity, attack: Callable[[], Any]) -> None:
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        attack()
    kept = Activity.objects.get(pk=row.pk)
    assert (kept.action, kept.reason, kept.changes, kept.document) == ("save", "", [{"a": 1}], row.document)


def test_history_is_not_replaced(row: Activity) -> None:
    """SQLite's INSERT OR REPLACE deletes without asking the trigger for deletions; PostgreSQL has keys alone."""
    columns = [str(each.column) for each in Activity._meta.concrete_fields]
    values = ", ".join("'x'" if each == "action" else each for each in columns)
    word = "INSERT OR REPLACE" if connection.vendor == "sqlite" else "INSERT"
    statement = f"{word} INTO annotator_activity ({', '.join(columns)}) SELECT {values} FROM annotator_activity"
    with pytest.raises(DatabaseError, match=r"append-only|unique"), transaction.atomic():
        raw(statement)()
    assert Activity.objects.get().action == "save" and row.action == "save"


def test_what_is_deleted_takes_its_link_out(row: Activity) -> None:
    assert row.document is not None
    row.document.delete()
    row.refresh_from_db()
    assert row.document is None and row.action == "save"


def test_an_action_may_unlock_it_for_one_transaction(row: Activity) -> None:
    with history_unlocked():
        Activity.objects.filter(pk=row.pk).update(reason="erased")
    row.refresh_from_db()
    assert row.reason == "erased"
    with pytest.raises(DatabaseError), transaction.atomic():
        Activity.objects.update(reason="again")
    with pytest.raises(ValueError, match="half way"), history_unlocked():
        raise ValueError("half way")
    with pytest.raises(DatabaseError), transaction.atomic():
        Activity.objects.update(reason="again")


def test_the_triggers_are_there_after_every_migrate(row: Activity) -> None:
    """SQLite loses them where a migration makes the table anew."""
    names = [name.split()[-1] for name in append_only._of_sqlite() if name.startswith("DROP")]
    drop = (
        [f"DROP TRIGGER {name}" for name in names]
        if connection.vendor == "sqlite"
        else ["DROP TRIGGER annotator_activity_append_only ON annotator_activity"]
    )
    for statement in drop:
        raw(statement)()
    Activity.objects.update(reason="unguarded")
    append_only._after_migrate(sender=type("App", (), {"label": "annotator"}), using="default")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        Activity.objects.update(reason="guarded")
