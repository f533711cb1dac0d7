"""What is new between two texts: by paragraphs, then by words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from annotator.core.texts.edits import EditPiece
from annotator.core.texts.markdown_diff import Block, compare, paragraphs, stretches, words

OLD = "# Guide\n\nOne claim says one thing.\n\n## Stance\n\nRead the passage alone.\n\n- First item.\n- Second item.\n"


def shown(blocks: list[Block]) -> list[tuple[str, str]]:
    marks = {"same": "", "del": "-", "ins": "+"}
    return [
        (block.kind, "".join(f"{marks[p.kind]}{p.text}{marks[p.kind]}" for p in block.pieces))
        for block in blocks
        if block.kind != "same"
    ]


def test_a_changed_word_is_marked_within_its_paragraph() -> None:
    new = OLD.replace("one thing", "two things")
    assert shown(compare(OLD, new)) == [("changed", "One claim says -one thing-+two things+.")]


def test_paragraphs_with_little_in_common_come_and_go_whole() -> None:
    new = OLD.replace("Read the passage alone.", "Nothing here is as it was before, sorry.")
    assert shown(compare(OLD, new)) == [
        ("del", "-Read the passage alone.-"),
        ("ins", "+Nothing here is as it was before, sorry.+"),
    ]


def test_a_new_item_of_a_list_leaves_its_neighbours_alone() -> None:
    new = OLD.replace("- Second", "- A new one in between.\n- Second")
    assert shown(compare(OLD, new)) == [("ins", "+- A new one in between.+")]


def test_the_changed_one_of_several_new_paragraphs_is_found() -> None:
    new = OLD.replace("One claim says one thing.", "Quite new.\n\nOne claim says only one thing.\n\nNew again.")
    assert shown(compare(OLD, new)) == [
        ("ins", "+Quite new.+"),
        ("changed", "One claim says +only +one thing."),
        ("ins", "+New again.+"),
    ]


def test_other_line_breaks_and_spaces_are_no_change() -> None:
    wrapped = (
        OLD.replace("One claim says", "One  claim\nsays").replace("\n\n", "\n\n\n").replace("One  claim", "One claim")
    )
    assert not shown(compare(OLD, wrapped))
    assert not shown(compare(OLD, OLD.replace("\n", "\r\n")))


def test_a_heading_of_another_level_is_a_change() -> None:
    assert [kind for kind, _ in shown(compare(OLD, OLD.replace("## Stance", "### Stance")))] == ["changed"]


def test_code_keeps_its_lines_and_its_number_signs() -> None:
    found = paragraphs("```\n# no heading\nx\n```\n# Heading #\ntext")
    assert [(each.text, each.level) for each in found] == [
        ("```", 0), ("# no heading", 0), ("x", 0), ("```", 0), ("Heading", 1), ("text", 0),
    ]  # fmt: skip


def test_words_between_two_changes_keep_phrases_whole() -> None:
    assert words("the old dam", "the very new dam") == (
        EditPiece("same", "the "),
        EditPiece("del", "old"),
        EditPiece("ins", "very new"),
        EditPiece("same", " dam"),
    )


def test_what_would_take_minutes_to_compare_comes_and_goes_whole() -> None:
    assert [piece.kind for piece in words("a " * 1000 + "b", "a " * 999 + "c")] == ["del", "ins"]
    blocks = compare("- a\n" * 2000, "- a\n" * 1999)
    assert [block.kind for block in blocks] == ["del"] * 2000 + ["ins"] * 1999
    assert not shown(compare("- a\n" * 2000, "- a\n" * 2000))


def test_what_is_unchanged_is_folded_and_the_heading_above_a_change_is_not() -> None:
    folds = stretches(compare(OLD, OLD.replace("First", "Very first")))
    assert [(fold.is_same, ["".join(p.text for p in block.pieces) for block in fold.blocks]) for fold in folds] == [
        (True, ["Guide", "One claim says one thing."]),
        (False, ["Stance"]),
        (True, ["Read the passage alone."]),
        (False, ["- FirstVery first item."]),
        (True, ["- Second item."]),
    ]


TEXT = st.lists(st.sampled_from(["a", "bc", "one two", " ", "\n", "\n\n", "## H", "- x", "."])).map(" ".join)


@given(TEXT, TEXT)
def test_both_texts_can_be_read_from_the_comparison(old: str, new: str) -> None:
    blocks = compare(old, new)
    for text, left_out in ((old, "ins"), (new, "del")):
        sides = ["".join(p.text for p in b.pieces if p.kind != left_out) for b in blocks if b.kind != left_out]
        assert sides == [each.text for each in paragraphs(text)]
    assert [block for fold in stretches(blocks) for block in fold.blocks] == blocks


@given(TEXT)
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert not shown(compare(text, text))
