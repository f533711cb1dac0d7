"""A file that is one JSON list, read item by item."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core import lines
from annotator.core.file_problems import FileError, RowError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def read(content: bytes) -> list[Any]:
    return list(lines.read_list(io.BytesIO(content)))


@pytest.fixture(autouse=True, scope="module")
def short_pieces() -> Any:
    """Every item is cut somewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_PIECE_BYTES", 3)
        yield


@given(st.lists(VALUES, max_size=6), st.sampled_from([None, 1]), st.booleans())
def test_any_list_is_read_as_json_reads_it(items: list[Any], indent: int | None, ascii: bool) -> None:
    text = json.dumps(items, indent=indent, ensure_ascii=ascii)
    content = text.encode("utf-8", "surrogatepass" if ascii else "replace")
    if content.count(b"\x00") == 0:
        assert json.dumps(read(b"\xef\xbb\xbf" + content + b" \n\n \n")) == json.dumps(json.loads(content))


@pytest.mark.parametrize("cut", range(1, 38))
def test_half_a_list_is_told(cut: int) -> None:
    content = '[{"claim": "Ä 1", "n": 12}, [3, 45], "x"]'.encode()
    with pytest.raises(FileError, match="ends too early or is broken"):
        read(content[:cut])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[1 2]", "after item 1: “2” found where a comma"),
        (b"[1, 2", "after item 2: the closing bracket is missing"),
        (b"[1,]", "after item 1"),
        (b"[1]\n[2]", "after item 1: unexpected text after the closing bracket"),
        (b"[, 1]", "at its beginning"),
        (b'[{"a": NaN}]', "NaN is not allowed"),
        (b'["\xff"]', "a byte that is not UTF-8"),
        (b"[" * 100_000, "recursion"),
    ],
)
def test_what_is_wrong_is_told(content: bytes, said: str) -> None:
    with pytest.raises(FileError, match=said):
        read(content)


def test_an_item_that_is_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 100)
    assert read(b'["' + b"x" * 50 + b'"]') == ["x" * 50]
    with pytest.raises(FileError, match="after item 1"):
        read(b'[1, "' + b"x" * 1000 + b'"]')


def test_only_what_is_asked_for_is_read() -> None:
    stream = io.BytesIO(b"[" + b",".join([b'{"a": "%s"}' % (b"x" * 20)] * 1000) + b"]")
    items = lines.read_list(stream)
    next(items)
    assert stream.tell() < 200


@pytest.mark.parametrize("depth", [lines.MAX_DEPTH + 1, 460, 900])
def test_what_is_nested_too_deep_is_told_before_anything_goes_over_it(depth: int) -> None:
    """JSON itself reads some nine hundred levels, most of what comes after it half of that."""
    deep = "[" * depth + "]" * depth
    with pytest.raises(RowError, match="nested more than 100 levels deep"):
        lines.json_value(deep)
    with pytest.raises(FileError, match=r"item 2 .* more than 100 levels deep"):
        read(f"[1, {deep}]".encode())


def test_what_is_nested_as_deep_as_may_be_is_read() -> None:
    deep = "[" * lines.MAX_DEPTH + "]" * lines.MAX_DEPTH
    assert json.dumps(lines.json_value(deep)) == deep
    assert json.dumps(read(f"[{deep}]".encode())) == f"[{deep}]"
