"""Tables hold what is agreed, and give it back: CSV, CSV for spreadsheets, Parquet."""

from __future__ import annotations

import csv
import datetime as dt
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pyarrow import parquet

from annotator.core.file_problems import FileError
from annotator.core.models import Benchmark, Evidence
from annotator.exchange.actions.imports import import_gold
from annotator.exchange.formats.gold import GoldDocument
from annotator.exchange.formats.writing import Documents, Files
from annotator.exchange.queries.export import gold_documents
from annotator.exchange.tables import tables, tables_parquet
from annotator.exchange.tables.table_columns import TABLES, json_schema
from annotator.exchange.tables.tables_reader import read
from tests.factories import BenchmarkFactory
from tests.released import numbered, write_jsonl

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[2]
WRITERS: dict[str, Callable[[Documents], Files]] = {
    "csv": tables.files,
    "csv for spreadsheets": lambda documents: tables.files(documents, for_spreadsheets=True),
    "parquet": tables_parquet.files,
}


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(slug="gold")


def bring(benchmark: Benchmark, path: Path) -> Benchmark:
    with path.open("rb") as source:
        assert not import_gold(benchmark=benchmark, source=source).bad
    return benchmark


@pytest.fixture
def small(benchmark: Benchmark, tmp_path: Path) -> Benchmark:
    """Three documents, one passage with all that is known of it and a text like a formula."""
    bring(benchmark, write_jsonl(tmp_path / "small.jsonl", [numbered(number) for number in range(3)]))
    passage = Evidence.objects.order_by("pk")[0]
    Evidence.objects.filter(pk=passage.pk).update(
        passage='=1+1\r\nsaid “she”, "twice"',
        title="'Notes'",
        published=dt.date(2024, 2, 29),
        retrieved_at=dt.datetime(2026, 1, 2, 3, 4, 5, 678, dt.UTC),
        query="-notes",
    )
    benchmark.documents.filter(order=2).update(metadata={"topic": "Ada’s", "n": [1, None]}, reference_date="2023-05-06")
    return benchmark


def write(files: tables.Files, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for name, pieces in files:
        (folder / name).write_bytes(b"".join(pieces))
    return folder


def held(document: GoldDocument) -> GoldDocument:
    """The document with the fields that tables hold alone."""
    document.released = {}
    for sentence in document.sentences:
        sentence.released = {}
        for claim in sentence.claims:
            claim.released = {}
            for each in [*claim.retrieved, *claim.added]:
                each.released = {}
    return document


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_tables_give_back_the_released_documents(
    writer: Callable[..., tables.Files], benchmark: Benchmark, data_dir: Path, tmp_path: Path
) -> None:
    bring(benchmark, data_dir / "factcheck-bench.dev.jsonl")
    folder = write(writer(lambda: gold_documents(benchmark)), tmp_path / "tables")
    found = list(read(folder))
    assert len(found) == 47
    assert found == [held(document) for document in gold_documents(benchmark)]


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_tables_give_back_every_kind_of_field(
    writer: Callable[..., tables.Files], small: Benchmark, tmp_path: Path
) -> None:
    folder = write(writer(lambda: gold_documents(small)), tmp_path / "tables")
    found = list(read(folder))
    assert found == [held(document) for document in gold_documents(small)]
    passage = found[0].sentences[0].claims[0].retrieved[0]
    assert (passage.query, passage.published) == ("-notes", dt.date(2024, 2, 29))
    assert found[1].metadata == {"topic": "Ada’s", "n": [1, None]}
    assert any(claim.rests_on for sentence in found[0].sentences for claim in sentence.claims)
    assert [each.revised for each in found[0].sentences].count(None) == 1


def test_a_table_has_a_row_for_each_with_its_parents(small: Benchmark, tmp_path: Path) -> None:
    folder = write(tables.files(lambda: gold_documents(small)), tmp_path / "tables")
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{table.name}.csv" for table in TABLES)
    found = {table.name: rows(folder / f"{table.name}.csv") for table in TABLES}
    assert {name: len(each) for name, each in found.items()} == {
        "documents": 3, "sentences": 9, "claims": 15, "evidence": 33, "edits": 9,
    }  # fmt: skip
    for table in TABLES:
        keys = [tuple(row[name] for name in table.key) for row in found[table.name]]
        assert len(set(keys)) == len(keys)
        for column, parent in table.references.items():
            assert {row[column] for row in found[table.name]} <= {row[column] for row in found[parent]}
    claims = [row for row in found["claims"] if row["document_id"] == found["documents"][0]["document_id"]]
    assert [(row["factuality"], row["is_true"], row["position"]) for row in claims] == [
        ("true", "true", "1"), ("false", "false", "2"), ("false", "false", "1"), ("", "", "2"),
        ("not_enough_evidence", "", "3"),
    ]  # fmt: skip
    assert claims[1]["revised"] == "The notes are from 1843. "
    assert [row["kind"] for row in found["edits"]][:2] == ["replace", "replace"]


def test_rows_are_as_the_published_schema_says(small: Benchmark) -> None:
    schema = json.loads((ROOT / "docs" / "formats" / "tables.schema.json").read_text(encoding="utf-8"))
    assert schema == json_schema()
    validator = jsonschema.Draft202012Validator
    validator.check_schema(schema)
    for number, document in enumerate(gold_documents(small), start=1):
        for table, found in tables.rows_of(document, number):
            there = validator({"$ref": f"#/$defs/{table.name}", "$defs": schema["$defs"]})
            for line in tables.json_lines(table, found):
                cells = json.loads(line)
                there.validate(cells)
    assert not there.is_valid(cells | {"kind": "rewrite"})


def test_a_data_file_is_exact_and_one_for_spreadsheets_is_harmless(small: Benchmark, tmp_path: Path) -> None:
    exact = write(tables.files(lambda: gold_documents(small)), tmp_path / "exact")
    safe = write(tables.files(lambda: gold_documents(small), for_spreadsheets=True), tmp_path / "safe")
    assert rows(exact / "evidence.csv")[0]["passage"] == '=1+1\r\nsaid “she”, "twice"'
    assert not (exact / "evidence.csv").read_bytes().startswith(tables.BOM)
    content = (safe / "evidence.csv").read_bytes()
    assert content.startswith(tables.BOM)
    first = next(csv.DictReader(content.decode("utf-8-sig").splitlines(keepends=True)))
    assert (first["passage"][:5], first["title"], first["query"]) == ("'=1+1", "''Notes'", "'-notes")
    # RFC 4180: lines end with CR LF, quotes are doubled.
    assert b'said \xe2\x80\x9cshe\xe2\x80\x9d, ""twice"""' in content
    assert content.endswith(b"\r\n")


def test_all_tables_come_out_of_one_pass(small: Benchmark) -> None:
    passes = []

    def documents() -> Iterator[GoldDocument]:
        passes.append(1)
        return gold_documents(small)

    names = []
    for name, pieces in tables.files(documents):
        names.append(name)
        if name == "sentences.csv":  # the others do not depend on whether it was taken
            continue
        assert b"".join(pieces).count(b"\r\n") > 1
    assert (len(names), passes) == (5, [1])


def test_parquet_has_types_and_groups(small: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables_parquet, "GROUP", 10)
    folder = write(tables_parquet.files(lambda: gold_documents(small)), tmp_path / "parquet")
    evidence = parquet.ParquetFile(folder / "evidence.parquet")
    assert (evidence.metadata.num_rows, evidence.metadata.num_row_groups) == (33, 3)
    types = {field.name: str(field.type) for field in evidence.schema_arrow}
    assert (types["published"], types["retrieved_at"]) == ("date32[day]", "timestamp[us, tz=UTC]")
    assert (types["added"], types["position"], types["stance"]) == ("bool", "int64", "string")
    assert evidence.schema_arrow.field("stance").metadata == {b"description": b"evidence against claim"}
    assert len(list(read(folder))) == 3


def test_without_pyarrow_parquet_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables_parquet, "find_spec", lambda name: None)
    with pytest.raises(tables_parquet.MissingParquetError, match=r"pip install -r requirements-parquet\.txt"):
        next(tables_parquet.files(lambda: iter(())))


def test_csv_does_not_need_pyarrow() -> None:
    program = "import sys; sys.modules['pyarrow'] = None; import annotator.exchange.tables.tables_reader"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, timeout=60)


def test_no_documents_give_tables_with_heads_alone(tmp_path: Path) -> None:
    for name, writer in WRITERS.items():
        folder = write(writer(lambda: iter(())), tmp_path / name)
        assert len(list(folder.iterdir())) == 5
        assert list(read(folder)) == []


def change(path: Path, old: str, new: str) -> None:
    text = path.read_bytes().decode()
    assert old in text
    path.write_bytes(text.replace(old, new, 1).encode())


Spoil = Callable[[Path, Any], object]


def _drop_document(folder: Path, first: GoldDocument) -> None:
    lines = (folder / "documents.csv").read_bytes().split(b"\r\n")
    kept = [line for line in lines if not line.startswith(first.public_id.encode())]
    (folder / "documents.csv").write_bytes(b"\r\n".join(kept))


def _first_claim(first: GoldDocument) -> str:
    return first.sentences[0].claims[0].public_id


FAULTS: dict[str, tuple[Spoil, str]] = {
    "table missing": (lambda f, d: (f / "edits.csv").unlink(), r"edits\.csv is missing"),
    "column missing": (lambda f, d: change(f / "claims.csv", "factuality,", ""), "must name the columns claim_id"),
    "cells missing": (lambda f, d: change(f / "edits.csv", ",replace,", ","), r"edits\.csv, line 2: 7 cells where 8"),
    "no UTF-8": (
        lambda f, d: (f / "claims.csv").write_bytes((f / "claims.csv").read_bytes() + b"\xff"), "is not UTF-8",
    ),
    "unknown label": (
        lambda f, d: change(f / "evidence.csv", "completely_support", "supports"),
        r"evidence\.csv, line 2, stance: “supports” is not one of its labels",
    ),
    "no number": (lambda f, d: change(f / "edits.csv", ",1,replace", ",one,replace"), "“one” is not a whole number"),
    "no boolean": (lambda f, d: change(f / "documents.csv", ",true,", ",ja,"), "“ja” is not true or false"),
    "document missing": (_drop_document, r"sentences\.csv, line 2: document \w+ is not in the table of documents"),
    "parent missing": (
        lambda f, d: change(f / "claims.csv", f"{d.sentences[0].public_id}", "nobody"), "its parent nobody is not",
    ),
    "claim twice": (
        lambda f, d: change(f / "claims.csv", d.sentences[0].claims[1].public_id, _first_claim(d)),
        r"claims\.csv, line 3: \w+ appears twice",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spoil", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named_by_table_and_row(spoil: Spoil, message: str, small: Benchmark, tmp_path: Path) -> None:
    folder = write(tables.files(lambda: gold_documents(small)), tmp_path / "tables")
    spoil(folder, next(gold_documents(small)))
    with pytest.raises(FileError, match=message):
        list(read(folder))


def test_parquet_of_another_table_and_unknown_words_are_named(small: Benchmark, tmp_path: Path) -> None:
    def spoiled() -> Iterator[GoldDocument]:
        for document in gold_documents(small):
            yield replace(document, sentences=[replace(each, type="boring") for each in document.sentences])

    folder = write(tables_parquet.files(spoiled), tmp_path / "words")
    with pytest.raises(FileError, match=r"sentences\.parquet, row 1, type: “boring” is not one of its labels"):
        list(read(folder))
    (folder / "sentences.parquet").write_bytes((folder / "edits.parquet").read_bytes())
    with pytest.raises(FileError, match=r"sentences\.parquet does not have the columns"):
        list(read(folder))


def test_memory_does_not_grow_with_the_documents(small: Benchmark) -> None:
    """One document over and over: what is held at once stays a few megabytes, whatever the size of the tables."""
    import tracemalloc

    one = next(gold_documents(small))
    one.sentences[0].claims[0].retrieved[0].passage = "word " * 4000  # 20 kB

    def many(count: int) -> Iterable[GoldDocument]:
        return (replace(one, public_id=str(number)) for number in range(count))

    tracemalloc.start()
    size = sum(len(piece) for _, pieces in tables.files(lambda: iter(many(4000))) for piece in pieces)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size > 80_000_000
    assert peak < 8_000_000
