"""Faults of imports that are said where they stand: late columns, wrong bytes, rows with errors."""

from __future__ import annotations

import csv
import io
import json

import pytest
from bs4 import BeautifulSoup
from django.test import Client

from annotator.core.file_problems import BadRow
from annotator.core.models import Benchmark, User
from annotator.core.vocabulary import Role, RunState
from annotator.exchange.formats.documents import preview, read_csv
from annotator.exchange.models import ImportJob
from tests.factories import BenchmarkFactory, member


def test_a_key_that_first_appears_late_is_offered_for_mapping() -> None:
    rows = [{"answer": "x"}] * 900 + [{"answer": "x", "question": "y", "site": "z"}]
    stream = io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode())
    found = preview(stream, format="jsonl", mapping={"response": "answer"})
    assert found.columns == ("answer", "question", "site") and len(found.rows) == 5


def test_a_broken_row_among_the_first_hides_no_column() -> None:
    found = preview(io.BytesIO(b'{"a": 1}\nnot json\n{"b": 2}\n'), format="jsonl")
    assert found.columns == ("a", "b")


def test_a_byte_that_is_not_utf8_is_named_with_its_place() -> None:
    (row,) = read_csv(io.BytesIO("response,prompt\nDas Café ist alt,x\n".encode("latin-1")))
    assert isinstance(row, BadRow)
    (problem,) = row.problems
    assert (problem.line, problem.field) == (2, "response")
    assert problem.reason.startswith("character 8 of the cell after “Das Caf” (0xE9) is not UTF-8.")


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(slug="pilot")


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER)


def job_of(benchmark: Benchmark, by: User, bad: int) -> ImportJob:
    problems = [{"line": 3, "field": "response", "reason": "=blank"}] * bad
    return ImportJob.objects.create(
        benchmark=benchmark, by=by, filename="x.jsonl", format="jsonl", state=RunState.FINISHED, read=5, imported=4,
        bad=bad, problems=problems,
    )  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("bad", "css", "words"), [(1, "failed", "Finished, 1 row with errors"), (0, "finished", "Finished")]
)
def test_a_job_with_bad_rows_does_not_look_finished_and_well(
    client: Client, benchmark: Benchmark, owner: User, bad: int, css: str, words: str
) -> None:
    job = job_of(benchmark, owner, bad)
    client.force_login(owner)
    for url in (f"/b/pilot/import/{job.public_id}/", "/b/pilot/import/"):
        state = BeautifulSoup(client.get(url).content, "html.parser").select_one(f".state.{css}")
        assert state is not None and state.get_text(strip=True) == words, url


@pytest.mark.django_db
def test_problems_can_be_taken_away(client: Client, benchmark: Benchmark, owner: User) -> None:
    job = job_of(benchmark, owner, 2)
    client.force_login(owner)
    url = f"/b/pilot/import/{job.public_id}/"
    page = BeautifulSoup(client.get(url).content, "html.parser")
    assert page.select_one("a[href='?format=csv']") is not None
    rows = list(csv.DictReader(io.StringIO(client.get(url, {"format": "csv"}).content.decode())))
    assert rows == [{"line": "3", "field": "response", "problem": "'=blank"}] * 2
