"""Very many new rows at once, as plain tuples: no model instance is made, and PostgreSQL copies them in.

For imports alone. What a row does not say takes the default of its model, public ids are drawn, and every constraint of
the database holds as ever; ``save`` methods and signals are not called.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db import connection, models
from django.utils import timezone

from annotator.models.base import new_public_ids

_SPECIAL = (models.JSONField, models.DateField)  # a DateTimeField is a DateField


def reserve(model: type[models.Model], count: int) -> Iterator[int]:
    """As many primary keys of new rows, in rising order; nobody else is ever given them. Inside a transaction."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT nextval(sequence) FROM pg_get_serial_sequence(%s, 'id') AS sequence, generate_series(1, %s)",
                [table, count],
            )
            return iter([key for (key,) in cursor.fetchall()])
        # SQLite has one writer at a time, which this is from here on.
        cursor.execute("UPDATE sqlite_sequence SET seq = seq + %s WHERE name = %s RETURNING seq", [count, table])
        row = cursor.fetchone()
        last = row[0] if row else count
        if not row:  # the first rows of this table
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, count])
    return iter(range(last - count + 1, last + 1))


def insert(model: type[models.Model], columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows that hold these columns ("text", "claim_id"), in one statement or one copy.

    Raises ``django.db.IntegrityError`` where a constraint is broken: a foreign key only when the transaction ends.
    """
    if not rows:
        return
    fields = {field.attname: field for field in model._meta.concrete_fields}
    special = [(place, fields[name]) for place, name in enumerate(columns) if isinstance(fields[name], _SPECIAL)]
    if special:
        rows = [_prepared(row, special) for row in rows]
    rest = [field for name, field in fields.items() if name not in columns and not field.primary_key]
    names = [str(fields[name].column) for name in columns]
    if any(field.attname == "public_id" for field in rest):
        names.append("public_id")
        rows = [(*row, public_id) for row, public_id in zip(rows, new_public_ids(len(rows)), strict=True)]
    defaults = {str(field.column): _default(field) for field in rest if field.attname != "public_id"}
    same = {column: value for column, value in defaults.items() if value is not None}
    _write(model._meta.db_table, [*names, *same], rows, tuple(same.values()))


def analyze(*tables: type[models.Model]) -> None:
    """Let PostgreSQL look at what is in these tables now. It does so by itself after a minute or more, and until then
    takes them for nearly empty, so that whoever reads them waits many times as long."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for table in tables:
                cursor.execute(f'ANALYZE "{table._meta.db_table}"')


def _prepared(row: tuple[Any, ...], special: Sequence[tuple[int, models.Field[Any, Any]]]) -> tuple[Any, ...]:
    """The row with the values of these fields as the database takes them."""
    values = list(row)
    for place, field in special:
        values[place] = field.get_db_prep_save(values[place], connection)
    return tuple(values)


def _default(field: models.Field[Any, Any]) -> Any:
    """What a new row has in this field; None where it is null."""
    if getattr(field, "auto_now_add", False):
        # As text, which both databases take: otherwise it would be written out anew for every row.
        return str(connection.ops.adapt_datetimefield_value(timezone.now()))
    return field.get_db_prep_save(field.get_default(), connection)


def _write(table: str, names: Sequence[str], rows: Sequence[tuple[Any, ...]], same: tuple[Any, ...]) -> None:
    """Write the rows, each with the values that are the same in all of them."""
    columns = ", ".join(map(connection.ops.quote_name, names))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with connection.wrap_database_errors, cursor.copy(f'COPY "{table}" ({columns}) FROM STDIN') as copy:
                for row in rows:
                    copy.write_row((*row, *same))
        else:
            places = ", ".join(["%s"] * len(names))
            # The names are those of a model.
            statement = f'INSERT INTO "{table}" ({columns}) VALUES ({places})'  # noqa: S608
            cursor.executemany(statement, [(*row, *same) for row in rows])
