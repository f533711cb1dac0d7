"""The five tables as Parquet, with typed columns. The only module that needs pyarrow, which is an extra.

Rows are written in groups to a temporary file, which is then streamed: a Parquet file ends with its index, and memory
holds at most one group per table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotator.core.file_problems import FileError
from annotator.exchange.formats.gold import GoldDocument
from annotator.exchange.formats.writing import Documents, Files, contents, temporary_files
from annotator.exchange.tables.table_columns import TABLES, ColumnKind, ExportTable
from annotator.exchange.tables.tables import Row, rows_of

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIX = ".parquet"
GROUP = 4_000  # rows per group: several megabytes of passages


class MissingParquetError(RuntimeError):
    """pyarrow isn't installed. The message says how to install it."""


def missing() -> str:
    """What must be installed before Parquet can be written or read; "" if nothing."""
    if find_spec("pyarrow") is not None:
        return ""
    return "Parquet tables need pyarrow, which is not installed: pip install -r requirements-parquet.txt"


def _check() -> None:
    if why := missing():
        raise MissingParquetError(why)


def files(documents: Documents) -> Files:
    """The five tables as Parquet files: (file name, its content in pieces), in one pass over the documents.

    Everything is read before the first name is returned. Raises MissingParquetError without pyarrow.
    """
    _check()
    with temporary_files(table.name + SUFFIX for table in TABLES) as found:
        _write(found, documents())
        yield from contents(found)


def _write(written: dict[str, Any], documents: Iterable[GoldDocument]) -> None:
    from pyarrow import parquet

    waiting: dict[str, list[Row]] = {table.name: [] for table in TABLES}
    schemas = {table.name: schema_of(table) for table in TABLES}
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(parquet.ParquetWriter(written[name + SUFFIX], schema, compression="zstd"))
            for name, schema in schemas.items()
        }
        for number, document in enumerate(documents, start=1):
            for table, rows in rows_of(document, number):
                waiting[table.name] += rows
                if len(waiting[table.name]) >= GROUP:
                    writers[table.name].write_batch(_batch(waiting[table.name], schemas[table.name]))
                    waiting[table.name] = []
        for name, rows in waiting.items():
            if rows:
                writers[name].write_batch(_batch(rows, schemas[name]))


def _batch(rows: list[Row], schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, type=field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def schema_of(table: ExportTable) -> pa.Schema:
    """The table's columns with their types. A column's meaning is stored as its ``description``."""
    import pyarrow as pa

    types = {
        ColumnKind.TEXT: pa.string(),
        ColumnKind.INTEGER: pa.int64(),
        ColumnKind.BOOLEAN: pa.bool_(),
        ColumnKind.DATE: pa.date32(),
        ColumnKind.TIME: pa.timestamp("us", tz="UTC"),
        ColumnKind.JSON: pa.string(),
    }
    fields = [
        pa.field(each.name, types[each.kind], nullable=each.may_miss, metadata={"description": each.description})
        for each in table.columns
    ]
    return pa.schema(fields, metadata={"description": table.description})


def rows(path: Path, table: ExportTable) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a table with their positions, from 1, for ``tables_reader``.

    Raises FileError if the file is missing or is another table, MissingParquetError without pyarrow.
    """
    _check()
    import pyarrow as pa
    from pyarrow import parquet

    if not path.is_file():
        raise FileError(f"{path.name} is missing: all five tables are required, as CSV or as Parquet.")
    try:
        with parquet.ParquetFile(path) as file:
            if not file.schema_arrow.equals(schema_of(table)):
                raise FileError(f"{path.name} does not have the columns {', '.join(table.column_names)}.")
            number = 0
            for batch in file.iter_batches(batch_size=GROUP):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except pa.ArrowException as error:
        raise FileError(f"{path.name} isn’t a readable Parquet file ({error}).") from None
