"""An installation of the last tag is upgraded with data in it, works, and can be rolled back without losing a row.

``schema_0009.json.gz`` holds the demo, a token, a webhook and an invitation as commit 4feb41d wrote them, table by
table; its schema is that of migration 0009, which 0001_version_0_1 stands for by now.
"""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tests.conftest import ROOT

OLD = ("annotator", "0001_version_0_1")
# Such an installation ran the nine migrations that this one replaces, and does not know it.
AS_THE_FIELD = f"DELETE FROM django_migrations WHERE app = '{OLD[0]}' AND name = '{OLD[1]}'"
# What a document at work had set aside of its run's budget; it has rows of its own since 0012.
GONE = {"annotator_runitem": {"reserved_tokens", "reserved_money"}}
DUMP = Path(__file__).with_name("schema_0009.json.gz")
Rows = dict[str, list[tuple[Any, ...]]]

# Runs in a process of its own, with the database as its only one: every page that a person of the demo opens.
WALK = """
import django
django.setup()
from django.test import Client
from annotator.core.models import Activity, Benchmark, Document, User
from annotator.core.actions.append_only import history_unlocked
from django.db import DatabaseError, transaction

for person in User.objects.filter(memberships__isnull=False).distinct():
    client = Client(headers={"host": "localhost"})
    client.force_login(person)
    paths = ["/", "/benchmarks/", "/notices/", "/account/tokens/", "/account/privacy/"]
    for benchmark in Benchmark.objects.filter(memberships__user=person):
        paths += [f"/b/{benchmark.slug}/{page}" for page in ("", "documents/", "team/", "guidelines/")]
        for document in Document.objects.filter(benchmark=benchmark):
            paths.append(f"/d/{document.public_id}/")
            for annotation in document.annotations.filter(person=person):
                paths.append(f"/d/{document.public_id}/{annotation.stage}/")
    for path in paths:
        answer = client.get(path)
        assert answer.status_code in (200, 302), (person.username, path, answer.status_code)
try:
    with transaction.atomic():
        Activity.objects.update(reason="x")
except DatabaseError:
    pass
else:
    raise AssertionError("the upgraded history can be changed")
print("walked")
"""


class House:
    """The program against one database, as an operator starts it."""

    def __init__(self, var: Path, url: str) -> None:
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "TEST_DATABASE_URL"},
            "TOUCHSTONE_VAR": str(var),
            "DATABASE_URL": url,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DEBUG": "1",  # static files need not be collected
        }

    def manage(self, *arguments: str) -> str:
        return self.run("manage.py", *arguments)

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def contents() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(gzip.decompress(DUMP.read_bytes()))
    return found


def fill_sqlite(file: Path) -> None:
    with closing(sqlite3.connect(file)) as database:
        for name, table in contents().items():
            columns = ", ".join(f'"{column}"' for column in table["columns"])
            places = ", ".join("?" * len(table["columns"]))
            database.executemany(f'INSERT INTO "{name}" ({columns}) VALUES ({places})', table["rows"])
        assert database.execute(AS_THE_FIELD).rowcount == 1
        database.commit()
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []


def fill_postgres(url: str) -> None:
    with psycopg.connect(url) as database:
        database.execute("SET session_replication_role = replica")  # foreign keys in any order
        assert database.execute(AS_THE_FIELD).rowcount == 1
        for name, table in contents().items():
            kinds: dict[str, str] = dict(
                database.execute(
                    "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s", [name]
                ).fetchall()
            )
            statement = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
                sql.Identifier(name),
                sql.SQL(", ").join(map(sql.Identifier, table["columns"])),
                sql.SQL(", ").join(sql.Placeholder() * len(table["columns"])),
            )
            is_boolean = [kinds[column] == "boolean" for column in table["columns"]]
            for row in table["rows"]:
                values = [
                    bool(each) if flag and each is not None else each
                    for each, flag in zip(row, is_boolean, strict=True)
                ]
                database.execute(statement, values)
            if "id" in table["columns"]:
                database.execute(
                    sql.SQL("SELECT setval(pg_get_serial_sequence({}, 'id'), max(id)) FROM {}").format(
                        sql.Literal(name), sql.Identifier(name)
                    )
                )


def rows_of(execute: Callable[[Any], Any]) -> Rows:
    """The rows of every table of the dump, in the columns that it has."""
    found: Rows = {}
    for name, table in contents().items():
        kept = [column for column in table["columns"] if column not in GONE.get(name, ())]
        columns = sql.SQL(", ").join(map(sql.Identifier, kept))
        order = sql.Identifier(table["columns"][0])
        query = sql.SQL("SELECT {} FROM {} ORDER BY {}").format(columns, sql.Identifier(name), order)
        found[name] = [tuple(row) for row in execute(query.as_string(None)).fetchall()]
    return found


def read_sqlite(file: Path) -> Rows:
    with closing(sqlite3.connect(file)) as database:
        return rows_of(database.execute)


def read_postgres(url: str) -> Rows:
    with psycopg.connect(url) as database:
        return rows_of(database.execute)


def play(house: House, fill: Callable[[], None], read: Callable[[], Rows]) -> None:
    """Old installation, upgrade, walk, rollback, upgrade again."""
    house.manage("migrate", "--verbosity", "0", *OLD)
    fill()
    before = read()
    assert len(before["annotator_activity"]) == 195 and len(before["annotator_claim"]) == 85
    house.manage("migrate", "--verbosity", "0")
    assert "walked" in house.run("-c", WALK)
    after = read()
    changed = {name for name in before if after[name] != before[name]}
    assert changed == {"annotator_user"}  # the walk signs people in
    house.manage("migrate", "--verbosity", "0", *OLD)
    rolled_back = read()
    assert {name for name in before if rolled_back[name] != before[name]} == {"annotator_user"}
    house.manage("migrate", "--verbosity", "0")


def test_an_installation_on_sqlite_is_upgraded_and_rolled_back(tmp_path: Path) -> None:
    var = tmp_path / "var"
    file = var / "touchstone.sqlite3"
    play(House(var, ""), lambda: fill_sqlite(file), lambda: read_sqlite(file))


def test_an_installation_on_postgresql_is_upgraded_and_rolled_back(tmp_path: Path, postgres_url: str) -> None:
    house = House(tmp_path / "var", postgres_url)
    play(house, lambda: fill_postgres(postgres_url), lambda: read_postgres(postgres_url))
