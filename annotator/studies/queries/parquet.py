"""The long table as Parquet. No other module of studies needs pyarrow, which is an extra."""

from __future__ import annotations

import io
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

from annotator.studies.queries.table import COLUMNS

WHOLE = ("rank", "seconds")


class MissingParquetError(RuntimeError):
    """pyarrow is not installed; the message says how to install it."""


def parquet_bytes(rows: Iterable[dict[str, Any]]) -> bytes:
    """The table with typed columns. Raises MissingParquetError without pyarrow."""
    if find_spec("pyarrow") is None:
        raise MissingParquetError("Parquet needs pyarrow: pip install -r requirements-parquet.txt")
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([(name, pa.int64() if name in WHOLE else pa.string()) for name, _ in COLUMNS])
    written = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(list(rows), schema=schema), written, compression="zstd")
    return written.getvalue()
