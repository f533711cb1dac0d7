"""What must hold together is held by the database: walks all models of the annotator.

A field `x_origin` says how `x` came to its value. Every such pair, and every field with a fixed set of words,
needs a CheckConstraint, in the models and in the tables that the migrations make.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import connection, models
from django.db.models import CheckConstraint, Model, Q

MODELS = sorted(apps.get_app_config("annotator").get_models(), key=lambda model: model.__name__)


def lookups(condition: object) -> Iterator[tuple[str, object]]:
    """Every (lookup, value) pair in a Q, however deep."""
    assert isinstance(condition, Q)
    for child in condition.children:
        if isinstance(child, Q):
            yield from lookups(child)
        elif isinstance(child, tuple):
            yield child


def checks(model: type[Model]) -> list[CheckConstraint]:
    return [each for each in model._meta.constraints if isinstance(each, CheckConstraint)]


def fields_of(constraint: CheckConstraint) -> set[str]:
    return {lookup.split("__")[0] for lookup, _ in lookups(constraint.condition)}


def origin_pairs() -> list[tuple[type[Model], str]]:
    return [
        (model, field.name.removesuffix("_origin"))
        for model in MODELS
        for field in model._meta.get_fields()
        if field.name.endswith("_origin")
    ]


def word_fields() -> list[tuple[type[Model], models.Field]]:
    return [
        (model, field)
        for model in MODELS
        for field in model._meta.local_fields
        if field.choices and not field.name.endswith("_origin")
    ]


def test_the_walk_finds_the_pairs() -> None:
    found = {f"{model.__name__}.{field}" for model, field in origin_pairs()}
    assert {"Sentence.type", "Claim.text", "Stance.label", "Verdict.factuality"} <= found


@pytest.mark.parametrize(("model", "field"), origin_pairs(), ids=lambda value: getattr(value, "__name__", value))
def test_a_decision_and_its_origin_are_held_together(model: type[Model], field: str) -> None:
    assert field in {each.name for each in model._meta.get_fields()}, f"{field}_origin stands beside no {field}"
    holding = [each for each in checks(model) if f"{field}_origin" in fields_of(each)]
    assert holding, f"{model.__name__}: no constraint holds {field} and {field}_origin together"
    assert all(f"_{field}_origin" in each.name for each in holding)
    # A label or an answer is decided or not: the constraint must look at it too. Only a text may stand
    # without an origin, as a suggestion that nobody has taken over.
    if not isinstance(model._meta.get_field(field), models.TextField):
        assert any(field in fields_of(each) for each in holding)


@pytest.mark.parametrize(
    ("model", "field"), word_fields(), ids=lambda value: getattr(value, "__name__", getattr(value, "name", value))
)
def test_a_word_is_one_of_its_vocabulary_in_the_database_too(
    model: type[Model],
    field: models.Field,
) -> None:
    allowed = [
        set(value)
        for each in checks(model)
        for lookup, value in lookups(each.condition)
        if lookup == f"{field.name}__in" and isinstance(value, (list, tuple, set)) and fields_of(each) == {field.name}
    ]
    words = {value for value, _ in field.flatchoices}
    assert allowed, f"{model.__name__}.{field.name} has choices but no constraint holds it to them"
    assert allowed[0] - {""} == words - {""}, f"{model.__name__}.{field.name}: choices and constraint differ"


@pytest.mark.django_db
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_the_tables_have_the_constraints_of_the_models(model: type[Model]) -> None:
    with connection.cursor() as cursor:
        there = connection.introspection.get_constraints(cursor, model._meta.db_table)
    missing = {each.name for each in model._meta.constraints} - set(there)
    assert not missing
