"""The quick JSON is Python's own, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.formats import quick_json
from annotator.formats.released import storable_text
from annotator.formats.writing import json_bytes, json_line, json_lines
from annotator.vocabulary import StanceLabel

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda values: st.lists(values) | st.dictionaries(TEXTS, values),
)


def own(value: Any, indent: int | None, ascii: bool) -> bytes:
    return json.dumps(value, indent=indent, ensure_ascii=ascii, allow_nan=False).encode()


@given(VALUES, st.sampled_from([None, 2, 4]), st.booleans())
def test_it_is_what_json_writes(value: Any, indent: int | None, ascii: bool) -> None:
    assert quick_json.dumps(value, indent=indent, ascii=ascii) == own(value, indent, ascii)


@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize("indent", [None, 4])
def test_what_orjson_would_spell_in_another_way(indent: int | None, ascii: bool) -> None:
    odd = [1e16, 1e-7, 2**70, -0.0, "\x7f", "\x1f", "\u2028", "🦉", "/", StanceLabel.REFUTE, {}, [], {"a": [[]]}]
    assert quick_json.dumps(odd, indent=indent, ascii=ascii) == own(odd, indent, ascii)


@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), "half \ud800", {"half \udfff": 1}])
def test_what_has_no_place_in_json_is_refused(value: Any, ascii: bool) -> None:
    for indent in (None, 2):
        with pytest.raises(ValueError):
            quick_json.dumps([value], indent=indent, ascii=ascii)


@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "value", ["plain", "a \\u0000 that is none", "NUL \x00", "half \ud800", "🦉", 1e400, {"k\x00": [None, 1.5]}]
)
def test_lines_are_storable(value: Any, indent: int | None, ascii: bool) -> None:
    for each in (value, {"all": [value]}):
        assert json_bytes(each, indent=indent, ascii=ascii) == storable_text(each, indent=indent, ascii=ascii).encode()
        assert json_lines([each, 1]).decode() == json_line(each) + "1\n" == storable_text(each) + "\n1\n"
