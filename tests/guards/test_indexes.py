"""No index is kept that brings nothing: each one is written for every row that an import brings.

Looks at the tables that a gold import fills, as the migrations make them.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import Model

from annotator.exchange.actions.imported_rows import COLUMNS
from annotator.exchange.models import ReleaseDocument

pytestmark = pytest.mark.django_db

WITH_PUBLIC_ID = [
    model
    for model in apps.get_app_config("annotator").get_models()
    if any(field.name == "public_id" for field in model._meta.local_fields) and model is not ReleaseDocument
]


def indexes(model: type[Model]) -> dict[str, Any]:
    """The indexes of a table by name; ``columns`` and ``unique`` of each."""
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, model._meta.db_table)
    return {name: each for name, each in found.items() if each["index"] or each["unique"] or each["primary_key"]}


def partial(model: type[Model]) -> set[str]:
    """The names of the indexes that hold some rows alone."""
    both = (*model._meta.indexes, *model._meta.constraints)
    return {each.name for each in both if getattr(each, "condition", None) is not None}


def name_of(model: type[Model]) -> str:
    return model.__name__


@pytest.mark.parametrize("model", COLUMNS, ids=name_of)
def test_no_index_is_the_beginning_of_another(model: type[Model]) -> None:
    whole = {name: each["columns"] for name, each in indexes(model).items() if name not in partial(model)}
    for name, columns in whole.items():
        for other, longer in whole.items():
            assert name == other or longer[: len(columns)] != columns, f"{other} serves as {name}: db_index=False"


@pytest.mark.parametrize("model", COLUMNS, ids=name_of)
def test_no_index_serves_searches_with_like_in_public_ids(model: type[Model]) -> None:
    assert not [name for name in indexes(model) if name.endswith("_like")]


@pytest.mark.parametrize("model", COLUMNS, ids=name_of)
def test_every_foreign_key_has_an_index(model: type[Model]) -> None:
    """Who deletes the row that is pointed at looks for those that point at it. In an index of few rows the key may
    stand anywhere: that one is quickly gone through."""
    found: set[str] = set()
    for name, each in indexes(model).items():
        found.update(each["columns"] if name in partial(model) else each["columns"][:1])
    for field in model._meta.concrete_fields:
        if field.many_to_one or field.one_to_one:
            assert field.column in found, f"{model.__name__}.{field.name} is found by no index"


@pytest.mark.parametrize("model", WITH_PUBLIC_ID, ids=name_of)
def test_no_public_id_is_given_twice(model: type[Model]) -> None:
    assert any(each["unique"] and each["columns"] == ["public_id"] for each in indexes(model).values())
