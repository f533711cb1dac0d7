import json
from typing import Any

from annotator.core import released


def test_only_a_spelling_that_differs_is_remembered():
    spellings: released.Spellings = {}
    released.remember(spellings, "same", "yes", "yes")
    released.remember(spellings, "other", "Yes ", "yes")
    assert list(spellings) == ["other"]


def test_a_spelling_holds_until_the_own_value_changes_and_again_when_it_is_changed_back():
    spellings: released.Spellings = {}
    released.remember(spellings, "used", "1, 5", "1,5")
    assert released.spelled(spellings, "used", "1,5") == "1, 5"
    assert released.spelled(spellings, "used", "1") == "1"
    assert released.spelled(spellings, "used", "1,5") == "1, 5"


def test_true_and_one_are_not_the_same():
    spellings: released.Spellings = {}
    released.remember(spellings, "label", 1, True)
    assert released.spelled(spellings, "label", True) == 1
    assert released.spelled(spellings, "label", True) is not True


def test_a_field_that_is_missing_stays_missing():
    spellings: released.Spellings = {}
    released.remember(spellings, "decontext", released.ABSENT, "")
    again = released.load(released.dump(spellings))
    assert released.spelled(again, "decontext", "") is released.ABSENT
    assert released.spelled(again, "decontext", "x") == "x"


def test_the_column_holds_plain_ascii_whatever_the_text():
    text = "NUL \x00, half a pair \ud800, ü"
    column = released.dump({"text": {"spelling": text, "stands_for": released.storable(text)}})
    assert column.isascii() and "\x00" not in column
    assert released.load(column)["text"]["spelling"] == text
    assert released.storable(text) == "NUL , half a pair , ü"


def test_no_spellings_take_no_room():
    assert released.dump({}) == ""
    assert released.load("") == {}


def test_numbers_that_json_columns_refuse_become_text():
    assert released.storable_json({"a\x00": [float("inf"), "x\x00", 1.5]}) == {"a": ["inf", "x", 1.5]}


def test_equal_means_equal_as_json():
    alike: tuple[Any, ...] = ("a", ["a", "b"], [], [["a"], {"b": [1]}], {"a": [True, "b"]}, 1.5, None)
    assert all(released.same(each, each) for each in alike)
    assert released.same(["a", ["b"]], ["a", ["b"]])
    pairs = ((True, 1), (1, 1.0), (["a", True], ["a", 1]), ([["a", 1]], [["a", 1.0]]), ({"a": 0}, {"a": False}))
    others: tuple[Any, ...] = ((["a"], ["a", "b"]), ({"a": 1}, {"b": 1}), ("", None), ([], {}), (["1"], [1]))
    assert not any(released.same(one, other) or released.same(other, one) for one, other in (*pairs, *others))


def test_values_as_storable_text():
    odd = [
        "plain",
        'a "quote" and a \\u0000 that is none',
        "NUL \x00",
        "half \ud800",
        "🦉",
        1e400,
        {"k\x00": [None, 1.5]},
    ]
    for value in (*odd, odd, {"all": odd}):
        for indent in (None, 2):
            expected = json.dumps(released.storable_json(value), indent=indent, ensure_ascii=False)
            assert released.storable_text(value, indent=indent) == expected
