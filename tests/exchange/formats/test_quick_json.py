"""The quick JSON is Python's own, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.released import storable_text
from annotator.core.vocabulary import StanceLabel
from annotator.exchange.formats import quick_json
from annotator.exchange.formats.writing import json_bytes, json_line, json_lines, json_members

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda values: st.lists(values) | st.dictionaries(TEXTS, values),
)


def own(value: Any, indent: int | None, ascii: bool = False) -> bytes:
    return json.dumps(value, indent=indent, ensure_ascii=ascii, allow_nan=False).encode()


@given(VALUES, st.sampled_from([None, 2, 4]))
def test_it_is_what_json_writes(value: Any, indent: int | None) -> None:
    found = quick_json.dumps(value, indent=indent)
    assert found == own(value, indent)
    assert quick_json.in_ascii(found) == own(value, indent, ascii=True)


@given(st.dictionaries(TEXTS, st.dictionaries(TEXTS, VALUES)))
def test_an_object_is_put_together_from_members(value: dict[str, dict[str, Any]]) -> None:
    inner = {name: quick_json.members(each, indent=4, depth=2) for name, each in value.items()}
    objects = [
        quick_json.dumps(name) + b": " + quick_json.object_of(list(each.values()), indent=4, depth=2)
        for name, each in inner.items()
    ]
    found = quick_json.object_of(objects, indent=4)
    assert found == own(value, 4)
    outer = [b'"in": ' + quick_json.moved_in(found, indent=4)]
    assert quick_json.object_of(outer, indent=4) == own({"in": value}, 4)


@pytest.mark.parametrize("indent", [None, 4])
def test_what_orjson_would_spell_in_another_way(indent: int | None) -> None:
    odd = [1e16, 1e-7, 2**70, -0.0, "\x7f", "\x1f", "\u2028", "🦉", "/", StanceLabel.REFUTE, {}, [], {"a": [[]]}]
    found = quick_json.dumps(odd, indent=indent)
    assert found == own(odd, indent)
    assert quick_json.in_ascii(found) == own(odd, indent, ascii=True)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "half \ud800", {"half \udfff": 1}])
def test_what_has_no_place_in_json_is_refused(value: Any) -> None:
    for indent in (None, 2):
        with pytest.raises(ValueError):
            quick_json.dumps([value], indent=indent)
    with pytest.raises(ValueError):
        quick_json.members({"a": value}, indent=2)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "value", ["plain", "a \\u0000 that is none", "NUL \x00", "half \ud800", "🦉", 1e400, {"k\x00": [None, 1.5]}]
)
def test_lines_are_storable(value: Any, indent: int | None) -> None:
    for each in (value, {"all": [value]}):
        assert json_bytes(each, indent=indent) == storable_text(each, indent=indent).encode()
        assert json_lines([each, 1]).decode() == json_line(each) + "1\n" == storable_text(each) + "\n1\n"
    members = json_members({"one": value, "two": [value]}, indent=2)
    assert quick_json.object_of(list(members.values()), indent=2) == json_bytes(
        {"one": value, "two": [value]}, indent=2
    )
