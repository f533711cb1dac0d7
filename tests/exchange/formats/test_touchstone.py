"""Lines of the native format."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest
from django.db import models

from annotator.exchange.native import touchstone
from annotator.exchange.native.touchstone_contents import misfits
from annotator.exchange.native.touchstone_values import reader_of


@pytest.mark.parametrize(
    "value",
    [
        {
            "id": "a",
            "text": 'said “she”, "twice"\n\x1f\x7f\u2028 🦉 a/b',
            "yes": True,
            "nothing": None,
            "list": [1, {}, []],
        },
        {"b": 1, "a": 0.25, "metadata": {"many": 2**70, "text": "ä"}},
    ],
)
def test_a_line_is_compact_json_in_the_order_given(value: dict[str, Any]) -> None:
    expected = json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
    assert touchstone.line(value).decode() == expected


def test_numbers_come_back_as_they_were() -> None:
    numbers = {"numbers": [1e16, 1e-7, 0.1, -0.0, 2**63, -(2**63)]}
    assert repr(json.loads(touchstone.line(numbers))) == repr(numbers)


@pytest.mark.parametrize(
    ("column", "largest"),
    [
        (models.PositiveSmallIntegerField(), 2**15 - 1),
        (models.PositiveIntegerField(), 2**31 - 1),
        (models.PositiveBigIntegerField(), 2**63 - 1),
    ],
)
def test_a_whole_number_is_read_up_to_what_its_column_holds(column: models.Field[Any, Any], largest: int) -> None:
    read = reader_of(column)
    assert [read(0), read(largest)] == [0, largest]
    for value in (largest + 1, -1, True, "1"):
        with pytest.raises(ValueError, match=f"from 0 to {largest}"):
            read(value)


def test_a_change_needs_what_was_before_and_after_and_no_more() -> None:
    tables: dict[str, list[dict[str, Any]]] = defaultdict(list)
    changes = [{"before": 1, "after": 2}, {"before": 1, "after": 2, "field": "text"}]
    tables["activities"] = [{"changes": changes}]
    assert misfits(tables) == []
    for wrong in ({"before": 1}, {"after": 1}, "text"):
        tables["activities"] = [{"changes": [wrong]}]
        assert [place for place, _ in misfits(tables)] == ["activities[1].changes"]
