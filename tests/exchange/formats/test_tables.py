"""Whatever a text holds, it comes back from CSV and Parquet as it was."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.exchange.formats.gold import GoldClaim, GoldDocument, GoldEvidence, GoldSentence
from annotator.exchange.formats.writing import contents, temporary_files
from annotator.exchange.tables import tables, tables_parquet
from annotator.exchange.tables.table_columns import DOCUMENTS, EVIDENCE, TABLES
from annotator.exchange.tables.tables_reader import read

# Every text that a database takes, and often one that begins like a formula or ends a line.
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    st.text(alphabet="=+-@'\"\t\r\n,a", min_size=1, max_size=6),
)


@st.composite
def documents(draw: st.DrawFn) -> list[GoldDocument]:
    numbers = iter(range(10_000))

    def public_id() -> str:
        return f"id{next(numbers)}"

    def evidence() -> GoldEvidence:
        return GoldEvidence(passage=draw(TEXTS), title=draw(TEXTS), url=draw(TEXTS), public_id=public_id())

    def claim() -> GoldClaim:
        found = GoldClaim(
            text=draw(TEXTS),
            worth_checking=draw(st.sampled_from([None, True, False])),
            retrieved=[evidence() for _ in range(draw(st.integers(0, 2)))],
            added=[evidence() for _ in range(draw(st.integers(0, 1)))],
            public_id=public_id(),
        )
        found.rests_on = draw(st.permutations([*found.retrieved, *found.added]))
        return found

    def sentence() -> GoldSentence:
        return GoldSentence(
            text=draw(TEXTS),
            revised=draw(st.one_of(st.none(), TEXTS)),
            claims=[claim() for _ in range(draw(st.integers(0, 2)))],
            public_id=public_id(),
        )

    return [
        GoldDocument(
            prompt=draw(TEXTS),
            response=draw(TEXTS),
            metadata=draw(st.dictionaries(TEXTS, st.one_of(TEXTS, st.integers(), st.none()), max_size=2)),
            sentences=[sentence() for _ in range(draw(st.integers(0, 2)))],
            public_id=public_id(),
        )
        for _ in range(draw(st.integers(0, 2)))
    ]


@given(documents(), st.booleans())
def test_csv_gives_back_any_text(found: list[GoldDocument], for_spreadsheets: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, pieces in tables.files(lambda: iter(found), for_spreadsheets=for_spreadsheets):
            (Path(folder) / name).write_bytes(b"".join(pieces))
        assert list(read(Path(folder))) == found


@given(documents())
def test_parquet_gives_back_any_text(found: list[GoldDocument]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, pieces in tables_parquet.files(lambda: iter(found)):
            (Path(folder) / name).write_bytes(b"".join(pieces))
        assert list(read(Path(folder))) == found


@given(TEXTS)
def test_no_cell_for_spreadsheets_begins_like_a_formula(text: str) -> None:
    document = GoldDocument(prompt=text, public_id="one")
    files = {name: b"".join(pieces) for name, pieces in tables.files(lambda: iter([document]), for_spreadsheets=True)}
    _, row = csv.reader(io.StringIO(files["documents.csv"].decode("utf-8-sig"), newline=""))
    cell = row[DOCUMENTS.column_names.index("prompt")]
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


def test_what_is_no_text_is_spelled_out_in_csv_and_json() -> None:
    moment = dt.datetime(2023, 11, 20, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    evidence = GoldEvidence(published=moment.date(), retrieved_at=moment)
    claim = GoldClaim(retrieved=[evidence, GoldEvidence()], worth_checking=True)
    document = GoldDocument(sentences=[GoldSentence(start=0, claims=[claim])])
    files = {name: b"".join(pieces).decode() for name, pieces in tables.files(lambda: iter([document]))}
    found, blank = csv.DictReader(io.StringIO(files["evidence.csv"], newline=""))
    assert (found["published"], found["retrieved_at"]) == ("2023-11-20", "2023-11-20T10:00:00Z")
    assert (found["added"], found["position"]) == ("false", "1")
    assert (blank["published"], blank["retrieved_at"], blank["rests_on"]) == ("", "", "")
    assert next(csv.DictReader(io.StringIO(files["claims.csv"], newline="")))["worth_checking"] == "true"
    [rows] = [rows for table, rows in tables.rows_of(document, 1) if table is EVIDENCE]
    line, _ = map(json.loads, tables.json_lines(EVIDENCE, rows))
    assert (line["published"], line["retrieved_at"]) == ("2023-11-20", "2023-11-20T10:00:00Z")
    assert (line["added"], line["position"], line["rests_on"]) == (False, 1, None)


def test_a_row_has_a_cell_for_each_column() -> None:
    claim = GoldClaim(retrieved=[GoldEvidence()])
    document = GoldDocument(sentences=[GoldSentence(claims=[claim])])
    for table, rows in tables.rows_of(document, 1):
        assert all(len(row) == len(table.columns) for row in rows)
        assert set(table.key) | set(table.references) <= set(table.column_names)
    assert len(TABLES) == 5


def test_files_of_one_pass_come_in_order_whether_they_are_taken_or_not() -> None:
    with temporary_files(["a", "b"]) as files:
        for name, part in (("b", b"1"), ("a", b"2"), ("b", b"3")):
            files[name].write(part)
        assert [(name, b"".join(pieces)) for name, pieces in contents(files)] == [("a", b"2"), ("b", b"13")]
        assert [name for name, _ in contents(files)] == ["a", "b"]


def test_what_breaks_off_in_the_middle_is_told() -> None:
    def documents() -> Iterator[GoldDocument]:
        yield GoldDocument()
        raise RuntimeError("the database has gone")

    with pytest.raises(RuntimeError, match="has gone"):
        next(tables.files(documents))
