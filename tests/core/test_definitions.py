"""The definitions beside the work come from the headings of the guidelines, else from our own words."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotator.core.definitions import Definition, Topic, sections_of, topics
from annotator.core.fields import questions_of
from annotator.core.vocabulary import (
    ClaimType,
    EditKind,
    Factuality,
    Importance,
    NotWorthReason,
    SentenceType,
    Stage,
    StanceLabel,
)

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = (ROOT / "fixtures" / "guidelines" / "default.md").read_text(encoding="utf-8")


def topic(stage: Stage, key: str, text: str) -> Topic:
    return next(each for each in topics(stage, text) if each.key == key)


def label(found: Topic, title: str) -> Definition:
    return next(each for each in found.labels if each.title == title)


def test_every_label_of_the_vocabulary_has_a_question() -> None:
    # By type as well: members of two vocabularies with the same value are equal.
    asked = {(type(m), m) for stage in Stage for each, _ in questions_of(stage) for m in each.labels}
    words = (SentenceType, ClaimType, NotWorthReason, Importance, StanceLabel, Factuality, EditKind)
    assert asked == {(type(m), m) for word in words for m in word}


@pytest.mark.parametrize("stage", list(Stage))
def test_the_default_guidelines_define_all_labels_in_their_own_words(stage: Stage) -> None:
    for found in topics(stage, DEFAULT):
        assert not [each.title for each in found.labels if each.is_ours], found.key
        assert found.labels or not found.definition.is_ours, found.key


def test_without_guidelines_our_own_short_words_stand_there() -> None:
    for stage in Stage:
        for found in topics(stage, ""):
            for each in (found.definition, *found.labels):
                assert each.is_ours and each.text


def test_a_label_is_found_by_both_names_or_by_its_own() -> None:
    text = "# Stance\n\nRead.\n\n## Stance: completely_support\n\nYes.\n\n## REFUTES\n\nNo.\n\n## Delete words\n\nCut."
    stance = topic(Stage.VERIFY, "stance", text)
    assert (stance.definition.text, stance.definition.is_ours) == ("Read.\n\n**Delete words**\n\nCut.", False)
    assert label(stance, "Supports") == Definition("Supports", "Yes.", is_ours=False)
    assert label(stance, "Refutes") == Definition("Refutes", "No.", is_ours=False)
    assert label(stance, "Partially supports").is_ours
    assert label(topic(Stage.VERIFY, "edit", text), "Delete words").text == "Cut."


def test_labels_of_one_name_are_told_apart_by_the_heading_above_them() -> None:
    text = "## Sentence type\n### Opinion\nOf a sentence.\n## Type of claim\n### Opinion\nOf a claim.\n"
    assert label(topic(Stage.DECOMPOSE, "sentence", text), "Opinion").text == "Of a sentence."
    assert label(topic(Stage.DECOMPOSE, "claim", text), "Opinion").text == "Of a claim."


def test_the_heading_of_one_question_defines_no_label_of_another() -> None:
    text = "## Check-worthy\nWould a reader look it up?\n"
    assert topic(Stage.DECOMPOSE, "worth-checking", text).definition.text == "Would a reader look it up?"
    assert label(topic(Stage.DECOMPOSE, "sentence", text), "Check-worthy").is_ours
    named = "## Sentence type\n### Check-worthy\nIt states a fact.\n"
    assert label(topic(Stage.DECOMPOSE, "sentence", named), "Check-worthy").text == "It states a fact."


def test_older_guidelines_keep_their_headings() -> None:
    text = "## Stance\n### Partly\nA part of it.\n"
    assert label(topic(Stage.VERIFY, "stance", text), "Partially supports").text == "A part of it."


def test_what_stands_below_a_question_belongs_to_it_without_its_labels() -> None:
    text = "## Factuality\nWeigh.\n### How\nBy number.\n### True\nAll of it.\n## Else\nNo."
    found = topic(Stage.VERIFY, "factuality", text)
    assert found.definition.text == "Weigh.\n\n**How**\n\nBy number."
    assert label(found, "True").text == "All of it."


def test_a_heading_with_nothing_below_it_defines_no_label() -> None:
    assert label(topic(Stage.VERIFY, "stance", "### Stance: refute\n\n### Stance: irrelevant\nNo."), "Refutes").is_ours


def test_headings_within_code_are_none() -> None:
    assert [each.title for each in sections_of("before\n# One #\n```\n# Two\n```\n#Three\n## Four")] == ["One", "Four"]
