"""Every declared field has its columns, and every column that people decide is declared."""

from __future__ import annotations

import pytest
from django.db import models

from annotator.core import fields
from annotator.core.fields import Field, Kind
from annotator.core.models import ClaimSuggestion, SentenceSuggestion, StanceSuggestion
from annotator.core.record_keys import RECORDS

COLUMNS: dict[Kind, type[models.Field]] = {
    Kind.TEXT: models.TextField,
    Kind.LABEL: models.CharField,
    Kind.YES_NO: models.BooleanField,
    Kind.FLAG: models.BooleanField,
    Kind.SPANS: models.JSONField,
}
SUGGESTED = {"sentence": SentenceSuggestion, "claim": ClaimSuggestion, "stance": StanceSuggestion}
# Columns with a fixed set of words that say what became of a row; no question asks for them.
OF_ROWS = {"removed"}

stored = [each for each in fields.all_fields() if each.kind != Kind.EDIT]


@pytest.mark.parametrize("field", stored, ids=lambda field: field.key)
def test_a_declared_field_has_its_columns(field: Field) -> None:
    model = RECORDS[field.record]
    columns = {each.name: each for each in model._meta.get_fields()}
    column = columns[field.name]
    assert isinstance(column, COLUMNS[field.kind])
    assert field.has_origin == (f"{field.name}_origin" in columns)
    assert column.null == (field.kind == Kind.YES_NO)
    assert [value for value, _ in column.flatchoices] == [word.value for word in field.words or ()]
    if field.kind == Kind.LABEL:
        assert column.blank == field.may_be_blank


@pytest.mark.parametrize("field", [each for each in stored if each.is_suggested], ids=lambda field: field.key)
def test_a_suggested_field_has_its_column_beside_the_others_of_the_suggestion(field: Field) -> None:
    column = SUGGESTED[field.record]._meta.get_field(field.name)
    assert isinstance(column, COLUMNS[field.kind])
    assert list(column.flatchoices or []) == [(word.value, word.label) for word in field.words or ()]


@pytest.mark.parametrize("record", list(fields.RECORDS))
def test_a_column_that_people_decide_is_declared(record: str) -> None:
    columns = [each for each in RECORDS[record]._meta.local_concrete_fields if each.name not in OF_ROWS]
    for column in columns:
        if column.name.endswith("_origin"):
            decided = fields.find(record, column.name.removesuffix("_origin"))
            assert decided is not None and decided.has_origin, column
        elif column.choices:
            assert fields.find(record, column.name) is not None, column


def test_a_reason_belongs_to_a_yes_no_question_of_its_record() -> None:
    for each in stored:
        if each.reason_of:
            question = fields.field_of(each.record, each.reason_of)
            assert question.kind == Kind.YES_NO and fields.reason_for(question) == each


def test_what_is_measured_is_compared_and_what_is_exported_is_described() -> None:
    for each in fields.all_fields():
        assert each.is_compared or not each.is_measured, each.key
        assert bool(each.column) == bool(each.meaning), each.key
