"""Croissant metadata (JSON-LD, version 1.1) for the CSV tables, so that machine learning tools can find and load them.

Each table is a file object with its hash and a record set with its fields, keys and references
(docs/formats/croissant.md; the vocabulary: https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotator.core.file_problems import FileError
from annotator.exchange.exports import croissant_rai
from annotator.exchange.exports.croissant_rai import rai_fields
from annotator.exchange.formats.about import About
from annotator.exchange.formats.writing import Documents, Files, pieces_of
from annotator.exchange.queries.dataset_card import CardFacts
from annotator.exchange.tables import tables
from annotator.exchange.tables.table_columns import TABLES, ColumnKind, ExportTable, TableColumn

NAME = "croissant.json"
CONFORMS_TO = "http://mlcommons.org/croissant/1.1"

_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_DATA_TYPES = {
    ColumnKind.TEXT: "sc:Text",
    ColumnKind.INTEGER: "cr:Int64",
    ColumnKind.BOOLEAN: "sc:Boolean",
    ColumnKind.DATE: "sc:Date",
    ColumnKind.TIME: "sc:DateTime",
    ColumnKind.JSON: "sc:Text",
}


@dataclass(slots=True)
class Sums:
    """The hash and size of each file by name, collected while it is written."""

    sha256: dict[str, str] = field(default_factory=dict)
    size: dict[str, int] = field(default_factory=dict)

    def of(self, name: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """The same pieces. Hash and size are known once all pieces have been read."""
        counted, size = hashlib.sha256(), 0
        for piece in pieces:
            counted.update(piece)
            size += len(piece)
            yield piece
        self.sha256[name], self.size[name] = counted.hexdigest(), size


def files(documents: Documents, about: About, facts: CardFacts | None = None) -> Files:
    """The five CSV tables and the metadata that describe them, last: (file name, its content piece by piece).
    ``facts``: how the data came about, for the fields of responsible AI."""
    sums = Sums()
    for name, pieces in tables.files(documents):
        counted = sums.of(name, pieces)
        yield name, counted
        for _ in counted:  # pieces that the caller didn't read count, too
            pass
    yield NAME, iter([_written(metadata(about, sums, facts))])


def describe(folder: Path, about: About, facts: CardFacts | None = None, *, below: str = "") -> bytes:
    """The metadata for the CSV tables that lie in a folder. ``below``: the folder as seen from the metadata's own place
    ("tables/"). Raises FileError where a table is missing."""
    sums = Sums()
    for table in TABLES:
        path = folder / (table.name + tables.SUFFIX)
        if not path.is_file():
            raise FileError(f"{path.name} is missing. Croissant metadata describes all five tables.")
        with path.open("rb") as file:
            for _ in sums.of(path.name, pieces_of(file)):
                pass
    return _written(metadata(about, sums, facts, below=below))


def _written(found: dict[str, Any]) -> bytes:
    return (json.dumps(found, ensure_ascii=False, indent=2) + "\n").encode()


def metadata(about: About, sums: Sums, facts: CardFacts | None = None, *, below: str = "") -> dict[str, Any]:
    """The metadata as a JSON-LD object."""
    rai = rai_fields(facts, about) if facts else {}
    said: dict[str, Any] = {
        "name": about.name,
        "alternateName": about.title,
        "description": about.description or f"{about.title}: language model responses, fact-checked claim by claim.",
        "license": _licence(about.licence),
        "url": about.url,
        "version": about.version,
        "datePublished": about.published.isoformat() if about.published else "",
        "inLanguage": list(about.languages),
        "creator": [{"@type": "Person", "name": each} for each in about.authors],
        "citeAs": _citation(about),
    }
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [CONFORMS_TO, croissant_rai.CONFORMS_TO] if rai else CONFORMS_TO,
        **{name: value for name, value in said.items() if value},
        **rai,
        "keywords": ["fact-checking", "factuality", "claim decomposition", "evidence", "language models"],
        "distribution": [_file_object(table, sums, below) for table in TABLES],
        "recordSet": [_record_set(table) for table in TABLES],
    }


def _licence(name: str) -> str:
    """The URL of an SPDX identifier; anything else is returned unchanged."""
    return f"https://spdx.org/licenses/{name}.html" if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+-]*", name) else name


def _citation(about: About) -> str:
    year = f" ({about.published:%Y})" if about.published else ""
    version = f" Version {about.version}." if about.version else ""
    return f"{', '.join(about.authors)}{year}. {about.title}.{version} {about.url}".strip() if about.authors else ""


def _file_object(table: ExportTable, sums: Sums, below: str) -> dict[str, Any]:
    name = table.name + tables.SUFFIX
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "description": table.description,
        "contentUrl": below + name,
        "contentSize": f"{sums.size[name]} B",
        "encodingFormat": "text/csv",
        "sha256": sums.sha256[name],
    }


def _record_set(table: ExportTable) -> dict[str, Any]:
    keys = [{"@id": f"{table.name}/{name}"} for name in table.key]
    return {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": table.description,
        "key": keys[0] if len(keys) == 1 else keys,
        "field": [_field(table, column) for column in table.columns],
    }


def _field(table: ExportTable, column: TableColumn) -> dict[str, Any]:
    words = ", ".join(word.value for word in column.words) if column.words else ""
    found: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{table.name}/{column.name}",
        "name": column.name,
        "description": f"{column.description} ({words})" if words else column.description,
        "dataType": _DATA_TYPES[column.kind],
        "source": {
            "fileObject": {"@id": table.name + tables.SUFFIX},
            "extract": {"column": column.name},
        },
    }
    if parent := table.references.get(column.name):
        found["references"] = {"field": {"@id": f"{parent}/{column.name}"}}
    return found
