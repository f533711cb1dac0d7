"""Lines of the native format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotator.exchange.native import touchstone


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
