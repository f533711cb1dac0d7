"""The parts of the native format's writer that apply to any table: which tables have rows, and how rows are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from django.db.models import ManyToManyField, Model

from annotator.core.models import Benchmark
from annotator.core.queries.pseudonyms import Keys
from annotator.exchange.native.touchstone import TABLES, NativeTable

Row = dict[str, Any]

Links = dict[str, dict[int, str]]  # table -> primary key -> the id in the file

Filled = dict[NativeTable, dict[str, str]]  # tables with rows, and those of their lists that aren't empty

# The path to the document from rows that aren't part of an annotation.
DOCUMENTS = {
    "runs": "items__document",
    "run_items": "document",
    "step_uses": "item__document",
    "sentence_suggestions": "document",
    "claim_suggestions": "sentence__document",
    "revision_suggestions": "document",
    "pages": "evidence__claim__sentence__annotation__document",
    "evidence": "claim__sentence__annotation__document",
    "stance_suggestions": "evidence__claim__sentence__annotation__document",
    "verdict_suggestions": "claim__sentence__annotation__document",
    "flags": "document",
    "sent_back": "document",
    "activities": "document",
}


def filled(benchmark: Benchmark) -> Filled:
    """The tables that have any rows of the benchmark. In an imported benchmark, most have none."""
    found: Filled = {}
    for table in TABLES:
        of = f"{_document_of(table)}__benchmark"
        if table.model._default_manager.filter(**{of: benchmark}).exists():
            lists = {name: through(table, name) for name in table.lists}
            found[table] = {
                name: table.lists[name]
                for name, (between, one, _) in lists.items()
                if between._default_manager.filter(**{f"{one}__{of}": benchmark}).exists()
            }
    return found


def _document_of(table: NativeTable) -> str:
    """The path from a row to its document."""
    if table.annotation is None:
        return DOCUMENTS[table.name]
    return f"{table.annotation}__document" if table.annotation else "document"


def through(table: NativeTable, name: str) -> tuple[type[Model], str, str]:
    """The model behind a list, and its two foreign keys: to the row with the list, and to the rows in it."""
    many = cast("ManyToManyField[Any, Any]", table.model._meta.get_field(name))
    return cast("type[Model]", many.remote_field.through), many.m2m_field_name(), many.m2m_reverse_field_name()


def rows_of(table: NativeTable, columns: Sequence[Sequence[Any]], people: Keys, links: Links) -> list[Row]:
    """Rows as in the file. ``columns`` are the values of id, fields, links and people, in this order. There are
    hundreds of rows per document, and most columns need no conversion."""
    ids, *columns = columns
    for place, convert in table.converters.items():
        columns[place] = tuple(map(convert, columns[place]))
    for place, target in enumerate(table.links.values(), start=len(table.fields)):
        columns[place] = tuple(map(links.get(target, {}).get, columns[place]))
    for place in range(len(table.fields) + len(table.links), len(columns)):
        columns[place] = tuple(person and people.key(person) for person in columns[place])
    names = (*table.fields, *table.links, *table.people)
    if table.has_id:
        names, columns = ("id", *names), [ids, *columns]
    always = table.always
    # 0 and false aren't blank, but False == 0.
    return [
        {name: value for name, value in zip(names, row, strict=True) if value or value == 0 or name in always}
        for row in zip(*columns, strict=True)
    ]


def row_of(table: NativeTable, record: Any, people: Keys, links: Links) -> Row:
    names = [*table.fields, *(f"{name}_id" for name in (*table.links, *table.people))]
    values = [getattr(record, "public_id", ""), *(getattr(record, name) for name in names)]
    [row] = rows_of(table, [(value,) for value in values], people, links)
    return row
