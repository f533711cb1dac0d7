"""Gold comes in batch by batch: each as a whole or not at all, in the same number of queries, read ahead of itself."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from annotator.core.actions.benchmarks import create_benchmark
from annotator.core.models import (
    Activity,
    Annotation,
    Benchmark,
    Claim,
    Document,
    EditOperation,
    Evidence,
    ResponseRevision,
    Sentence,
    Stance,
    Verdict,
)
from annotator.exchange.actions import imported_rows, imports
from annotator.exchange.actions.imports import ImportReport, import_gold, read_ahead
from tests.released import export_lines, numbered

pytestmark = pytest.mark.django_db

OWNED = (Annotation, Sentence, Claim, Evidence, Stance, Verdict, EditOperation, ResponseRevision)


@pytest.fixture
def benchmark() -> Benchmark:
    return create_benchmark(slug="gold", name="Gold")


def bring(benchmark: Benchmark, *rows: Any) -> ImportReport:
    content = "\n".join(json.dumps(row) for row in rows)
    return import_gold(benchmark=benchmark, source=io.BytesIO(content.encode()))


def test_a_batch_that_fails_in_the_middle_leaves_nothing_half(benchmark, monkeypatch):
    monkeypatch.setattr(imports, "BATCH_ROWS", 2)
    bring(benchmark, numbered(0))
    each = {model: model._default_manager.count() for model in OWNED}
    batches = 0

    def breaks_in_the_second(model: Any, columns: Any) -> None:
        nonlocal batches
        batches += model is Document
        if batches == 2 and model is Verdict:
            raise IntegrityError("the database refuses it")
        insert_columns(model, columns)

    insert_columns = imported_rows.insert_columns
    monkeypatch.setattr(imported_rows, "insert_columns", breaks_in_the_second)
    with pytest.raises(IntegrityError):
        bring(benchmark, *map(numbered, range(1, 6)))
    assert list(Document.objects.order_by("order").values_list("order", flat=True)) == [1, 2, 3]
    assert {model: model._default_manager.count() for model in OWNED} == {model: 3 * each[model] for model in OWNED}
    assert Activity.objects.filter(action="import").count() == 2

    monkeypatch.setattr(imported_rows, "insert_columns", insert_columns)
    report = bring(benchmark, *map(numbered, range(1, 6)))  # the same file again brings the rest
    assert (report.imported, report.unchanged, report.bad) == (3, 2, 0)
    assert len(list(export_lines(benchmark))) == 6


def test_only_the_new_rows_of_a_batch_are_written(benchmark):
    bring(benchmark, numbered(1))
    again = {**numbered(1), "revised_response": "Other content."}
    report = bring(benchmark, numbered(2), again, numbered(1), {"prompt": "No answer"}, numbered(3), numbered(2))
    assert (report.read, report.imported, report.unchanged, report.bad) == (6, 2, 1, 3)
    assert list(map(json.loads, export_lines(benchmark))) == list(map(numbered, (1, 2, 3)))
    assert list(Document.objects.order_by("pk").values_list("order", flat=True)) == [1, 2, 3]
    # Whoever points at another row points at one of the same document.
    for document in Document.objects.all():
        annotations = set(document.annotations.values_list("pk", flat=True))
        claims = Claim.objects.filter(sentence__annotation__document=document)
        assert set(Verdict.objects.filter(claim__in=claims).values_list("annotation", flat=True)) <= annotations
        assert (
            set(Stance.objects.filter(evidence__claim__in=claims).values_list("annotation", flat=True)) <= annotations
        )


def test_a_batch_takes_the_same_number_of_queries_whatever_its_size(benchmark):
    taken = []
    for first, count in ((0, 3), (100, 30)):
        with CaptureQueriesContext(connection) as queries:
            bring(benchmark, *map(numbered, range(first, first + count)))
        taken.append(len(queries))
    # The very first rows of a table on SQLite need one query more.
    assert taken[1] <= taken[0] <= 40


def test_public_ids_and_keys_are_unique(benchmark):
    bring(benchmark, *map(numbered, range(30)))
    for model in OWNED:
        ids = list(model._default_manager.values_list("public_id", flat=True))
        assert len(set(ids)) == len(ids) > 0
    versions = {model: set(model._default_manager.values_list("version", flat=True)) for model in (Claim, Evidence)}
    assert versions == {Claim: {1}, Evidence: {1}}


def test_rows_made_by_hand_follow_imported_ones(benchmark):
    bring(benchmark, numbered(1))
    sentence = Sentence.objects.first()
    assert sentence is not None
    claim = Claim.objects.create(sentence=sentence, order=9, text="Another.")
    assert claim.pk > max(Claim.objects.exclude(pk=claim.pk).values_list("pk", flat=True))
    assert bring(benchmark, numbered(2)).imported == 1


def test_the_database_looks_at_its_tables_after_a_large_import(benchmark, monkeypatch):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no planner that wants to know")
    monkeypatch.setattr(imports, "MANY", 2)

    def known() -> float:
        with connection.cursor() as cursor:
            cursor.execute("SELECT reltuples FROM pg_class WHERE relname = %s", [Stance._meta.db_table])
            return float(cursor.fetchone()[0])

    before = known()
    bring(benchmark, numbered(1))
    assert known() == before
    bring(benchmark, *map(numbered, range(2, 9)))
    assert known() >= Stance.objects.count() > 0


# --- reading ahead --------------------------------------------------------------------------------


def test_items_come_in_order_and_one_is_made_ahead():
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1, 6):
            made.append(number)
            yield number

    taken = []
    for item in read_ahead(items()):
        taken.append(item)
        assert len(made) <= item + 1
    assert taken == made == [1, 2, 3, 4, 5]
    assert list(read_ahead(iter([]))) == []


def test_what_goes_wrong_while_reading_is_raised_after_what_was_read():
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("the file ends here")

    taken = []
    with pytest.raises(ValueError, match="ends here"):
        for item in read_ahead(items()):
            taken.append(item)
    assert taken == [1, 2]


def test_nothing_is_read_after_closing():
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    reading = read_ahead(items())
    assert next(reading) == 0
    reading.close()
    assert len(made) <= 2
