"""Rows that are copied in as tuples are what their models would have made of them."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from annotator.core.actions.bulk import insert, insert_columns, reserve, reserve_all
from annotator.core.models import Activity, Annotation, Claim, Document, Evidence
from annotator.core.models.base import ALPHABET, PUBLIC_ID_LENGTH, new_public_ids
from tests import factories

pytestmark = pytest.mark.django_db

COLUMNS = ("id", "benchmark_id", "identity", "content_hash", "response", "metadata", "reference_date")


@pytest.fixture
def document() -> Document:
    return factories.documents(1)[0]


def row_for(document: Document, key: int, **metadata: object) -> tuple[object, ...]:
    return (key, document.benchmark_id, f"new-{key}", "0" * 64, "An answer.", metadata, dt.date(2026, 1, 31))


def test_what_a_row_does_not_say_is_as_the_model_has_it(document):
    [key] = reserve(Document, 1)
    insert(Document, COLUMNS, [row_for(document, key, tags=["a", None])])
    found = Document.objects.get(pk=key)
    expected = Document(
        benchmark=document.benchmark,
        identity=f"new-{key}",
        content_hash="0" * 64,
        response="An answer.",
        metadata={"tags": ["a", None]},
        reference_date=dt.date(2026, 1, 31),
    )
    drawn = {"id", "public_id", "created_at"}
    for field in Document._meta.concrete_fields:
        if field.attname not in drawn:
            assert getattr(found, field.attname) == getattr(expected, field.attname), field.attname
    assert abs(found.created_at - document.created_at) < dt.timedelta(minutes=5)
    assert len(found.public_id) == PUBLIC_ID_LENGTH and set(found.public_id) <= set(ALPHABET)


def test_texts_come_in_as_they_are(document):
    text = "Tab\t, break\r\n, \\N, \\., quotes ' \" and „Ümläute“ 🦉\u2028."
    [key] = reserve(Document, 1)
    insert(Document, (*COLUMNS, "prompt"), [(*row_for(document, key), text)])
    assert Document.objects.get(pk=key).prompt == text


def test_a_key_is_given_once(document):
    first, second = list(reserve(Document, 3)), list(reserve(Document, 2))
    assert len({*first, *second, document.pk}) == 6
    insert(Document, COLUMNS, [row_for(document, key) for key in first])
    made = Document.objects.create(benchmark=document.benchmark, identity="made", content_hash="", response="x")
    assert made.pk not in {*first, *second}
    assert not set(reserve(Document, 2)) & set(Document.objects.values_list("pk", flat=True))


def test_keys_of_a_table_without_rows():
    first = list(reserve(Evidence, 2))
    assert first == sorted(set(first))
    assert not set(first) & set(reserve(Evidence, 2))
    assert list(reserve(Claim, 0)) == []


def test_constraints_hold(document):
    columns = ("document_id", "stage", "kind", "state")
    for stage, kind in (("wonder", "consolidated"), ("verify", "individual")):  # no such stage; nobody's own work
        with pytest.raises(IntegrityError), transaction.atomic():
            insert(Annotation, columns, [(document.pk, stage, kind, "open")])
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(Annotation, columns, [(document.pk, "verify", "consolidated", "open")] * 2)
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(Annotation, columns, [(0, "verify", "consolidated", "open")])
        connection.check_constraints()
    assert not Annotation.objects.exists()


def test_too_long_a_text_is_refused_where_the_database_can(document):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite knows no lengths")
    [key] = reserve(Document, 1)
    with pytest.raises(DatabaseError), transaction.atomic():
        insert(Document, (*COLUMNS, "source"), [(*row_for(document, key), "x" * 201)])


def test_too_large_a_number_is_refused_where_the_database_can(document):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite knows one size of number")
    [key] = reserve(Document, 1)
    with pytest.raises(DatabaseError), transaction.atomic():
        insert(Document, (*COLUMNS, "order"), [(*row_for(document, key), 2**40)])


def test_keys_of_several_tables(document):
    keys = reserve_all({Document: 3, Claim: 0, Evidence: 2})
    assert {model: len(each) for model, each in keys.items()} == {Document: 3, Claim: 0, Evidence: 2}
    assert document.pk not in keys[Document]
    assert not set(keys[Document]) & set(reserve(Document, 3))


def test_columns_make_the_same_as_rows(document):
    keys = reserve(Document, 2)
    rows = [row_for(document, key, number=key) for key in keys]
    insert_columns(Document, {**dict(zip(COLUMNS, zip(*rows, strict=True), strict=True)), "order": range(7, 9)})
    found = Document.objects.filter(pk__in=keys).order_by("pk")
    assert list(found.values_list("pk", "order", "metadata")) == [
        (key, 7 + n, {"number": key}) for n, key in enumerate(keys)
    ]
    assert len(set(found.values_list("public_id", flat=True))) == 2


def test_no_rows_cost_nothing(django_assert_num_queries):
    with django_assert_num_queries(0):
        insert(Activity, ("action",), [])


def test_public_ids_in_bulk():
    found = new_public_ids(2000)
    assert len(set(found)) == 2000
    assert {len(each) for each in found} == {PUBLIC_ID_LENGTH}
    assert set("".join(found)) == set(ALPHABET)
    assert found == sorted(found)  # an index takes them page by page
