"""Very many new rows at once, as plain tuples or columns: no model instance is made, and PostgreSQL copies them in.

For imports alone. What a row does not say takes the default of its model, public ids are drawn, and every constraint of
the database holds as ever; ``save`` methods and signals are not called.
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
    """As many primary keys of new rows, in rising order; nobody else is ever given them. Inside a transaction."""
    return reserve_all({model: count})[model]


def reserve_all(counts: Mapping[type[models.Model], int]) -> dict[type[models.Model], list[int]]:
    """The same for several tables; on PostgreSQL in one query."""
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
    # SQLite has one writer at a time, which this is from here on.
    cursor.execute("UPDATE sqlite_sequence SET seq = seq + %s WHERE name = %s RETURNING seq", [count, table])
    row = cursor.fetchone()
    last = row[0] if row else count
    if not row:  # the first rows of this table
        cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, count])
    return list(range(last - count + 1, last + 1))


def insert(model: type[models.Model], columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows that hold these columns ("text", "claim_id"), in one statement or one copy. Raises as
    ``insert_columns``."""
    if rows:
        insert_columns(model, dict(zip(columns, zip(*rows, strict=True), strict=True)))


def insert_columns(model: type[models.Model], columns: Mapping[str, Sequence[Any]]) -> None:
    """The same from columns: each holds its values of all rows, one after another.

    Raises ``django.db.IntegrityError`` where a constraint is broken: a foreign key only when the transaction ends.
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
    """Let PostgreSQL look at what is in these tables now. It does so by itself after a minute or more, and until then
    takes them for nearly empty, so that whoever reads them waits many times as long."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for table in tables:
                cursor.execute(f'ANALYZE "{table._meta.db_table}"')


def _default(field: models.Field[Any, Any]) -> Any:
    """What a new row has in this field; None where it is null."""
    if getattr(field, "auto_now_add", False):
        # As text, which both databases take: otherwise it would be written out anew for every row.
        return str(connection.ops.adapt_datetimefield_value(timezone.now()))
    return field.get_db_prep_save(field.get_default(), connection)


def _write(table: str, names: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Write rows that hold the values of these columns as the database takes them."""
    columns = ", ".join(map(connection.ops.quote_name, names))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # As text: in binary psycopg cuts a number that is too large for its column instead of refusing it.
            with connection.wrap_database_errors, cursor.copy(f'COPY "{table}" ({columns}) FROM STDIN') as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            places = ", ".join(["%s"] * len(names))
            # The names are those of a model.
            statement = f'INSERT INTO "{table}" ({columns}) VALUES ({places})'  # noqa: S608
            cursor.executemany(statement, list(rows))
