"""Inserts very many rows as plain tuples or columns. No model instances are created, and PostgreSQL uses COPY.

For imports only. Missing columns get their model's default, public ids are generated, and every database constraint
applies as usual. ``save`` methods and signals are not called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

from django.db import connection, models
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from annotator.core.models.base import new_public_ids

_SPECIAL = (models.JSONField, models.DateField)  # a DateTimeField is a DateField


def reserve(model: type[models.Model], count: int) -> list[int]:
    """Reserves primary keys for new rows, in ascending order. Nobody else ever gets them. Needs a transaction."""
    return reserve_all({model: count})[model]


def reserve_all(counts: Mapping[type[models.Model], int]) -> dict[type[models.Model], list[int]]:
    """The same for several tables, in one query on PostgreSQL."""
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            return {model: _reserve_in_sqlite(cursor, model._meta.db_table, count) for model, count in counts.items()}
        keys = (
            "array(SELECT nextval(sequence) FROM pg_get_serial_sequence(%s, 'id') AS sequence, generate_series(1, %s))"
        )
        wanted = [value for model, count in counts.items() for value in (model._meta.db_table, count)]
        cursor.execute(f"SELECT {', '.join([keys] * len(counts))}", wanted)
        return dict(zip(counts, cursor.fetchone(), strict=True))


def _reserve_in_sqlite(cursor: CursorWrapper, table: str, count: int) -> list[int]:
    # SQLite has one writer at a time; from here on it is this transaction.
    cursor.execute("UPDATE sqlite_sequence SET seq = seq + %s WHERE name = %s RETURNING seq", [count, table])
    row = cursor.fetchone()
    last = row[0] if row else count
    if not row:  # the first rows of this table
        cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, count])
    return list(range(last - count + 1, last + 1))


def insert(model: type[models.Model], columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows with these columns ("text", "claim_id"), in one statement or one COPY. Raises like
    ``insert_columns``."""
    if rows:
        insert_columns(model, dict(zip(columns, zip(*rows, strict=True), strict=True)))


def insert_columns(model: type[models.Model], columns: Mapping[str, Sequence[Any]]) -> None:
    """The same from columns: each holds the values of all rows.

    Raises ``django.db.IntegrityError`` for a violated constraint; foreign keys are checked only when the transaction
    ends.
    """
    count = len(next(iter(columns.values()), ()))
    if not count:
        return
    fields = {field.attname: field for field in model._meta.concrete_fields}
    values: dict[str, Iterable[Any]] = {**columns}
    for name in columns:
        if isinstance(field := fields[name], _SPECIAL):
            values[name] = [field.get_db_prep_save(value, connection) for value in columns[name]]
    for name, field in fields.items():
        if name in columns or field.primary_key:
            continue
        if name == "public_id":
            values[name] = new_public_ids(count)
        elif (default := _default(field)) is not None:
            values[name] = repeat(default, count)
    _write(model._meta.db_table, [str(fields[name].column) for name in values], zip(*values.values(), strict=True))


def analyze(*tables: type[models.Model]) -> None:
    """Let PostgreSQL gather statistics on these tables now. By itself it does so after a minute or more, and until then
    its plans assume nearly empty tables, which makes queries many times slower."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for table in tables:
                cursor.execute(f'ANALYZE "{table._meta.db_table}"')


def _default(field: models.Field[Any, Any]) -> Any:
    """The default of this field for new rows; None if it is null."""
    if getattr(field, "auto_now_add", False):
        # As text, which both databases accept. Otherwise it would be serialized again for every row.
        return str(connection.ops.adapt_datetimefield_value(timezone.now()))
    return field.get_db_prep_save(field.get_default(), connection)


def _write(table: str, names: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Write rows whose values are already in the form the database expects."""
    columns = ", ".join(map(connection.ops.quote_name, names))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # As text: in binary mode, psycopg truncates a number that is too large for its column instead of rejecting
            # it.
            with connection.wrap_database_errors, cursor.copy(f'COPY "{table}" ({columns}) FROM STDIN') as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            places = ", ".join(["%s"] * len(names))
            # The names come from a model.
            statement = f'INSERT INTO "{table}" ({columns}) VALUES ({places})'  # noqa: S608
            cursor.executemany(statement, list(rows))
