from annotator.formats import released


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
