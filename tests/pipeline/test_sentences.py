"""Sentence splitting: exact offsets on any text, and the layouts that answers of language models have."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sentences.boundaries import split_sentences


def texts(text: str) -> list[str]:
    return [span.text for span in split_sentences(text)]


@pytest.mark.parametrize(
    "sentences",
    [
        ["J. K. Rowling wrote it.", "Dr. Smith did not."],
        ["She moved to the U.S. in 1990.", "They stayed in the U.S.", "He did not."],
        ["It costs 3.5 dollars, i.e. 2.9 euros.", "See https://example.org/a.b?c=d. for more."],
        ["“Is it true?” she asked.", '"It is."', "He left (at 5 p.m. sharp)."],
        ["The answer is no.", "It was No. 5 on the list, cf. Fig. 2."],
        ["Really?!", "Yes!", "Well... it is."],
        ["Lee et al. (2010) showed it.", "Acme Inc. did not agree."],
        ["There are two:", "1. Ada Byron wrote.", "2. Bo Lund sang."],
        ["Lund, B. (1969).", "On rope, 3rd ed."],
        ["A decree of Ptolemy V.", "French soldiers found it."],
        ["She fought in World War I.", "Many fell.", "He met Philip V.", "In 1701 he left."],
        ["George V. Higgins wrote it.", "She likes vitamin C. Everyone does."],
        ["Emoji 😀 end.", "هذا صحيح؟", "نعم."],
    ],
)
def test_running_text(sentences: list[str]) -> None:
    assert texts(" ".join(sentences)) == sentences


def test_full_width_ends_need_no_space() -> None:
    assert texts("这是一。真的吗？「是。」好") == ["这是一。", "真的吗？", "「是。」", "好"]


def test_layout() -> None:
    text = (
        "# Heading without a point\nThe list:\n\n1. First item. It has two sentences.\n2. Second item\n"
        "- **Bold.** Rest\n* star\n(a) letter\n1.Tight item\n\nLast line\nAnother line"
    )
    assert texts(text) == [
        "The list:",
        "1. First item.",
        "It has two sentences.",
        "2. Second item",
        "- **Bold.**",
        "Rest",
        "* star",
        "(a) letter",
        "1.Tight item",
        "Last line",
        "Another line",
    ]


def test_wrapped_lines_are_one_sentence_and_code_is_one_piece() -> None:
    wrapped = "This is a long line that an editor has wrapped at some seventy columns\nor so. Next."
    assert texts(wrapped) == [wrapped[: wrapped.index(" Next")], "Next."]
    assert texts("Run:\n```\na = 1. b\n\nc. D\n```\nDone.") == ["Run:", "```\na = 1. b\n\nc. D\n```", "Done."]


@pytest.mark.parametrize("text", ["", " \n\t ", "\x00", "...", "**"])
def test_texts_without_words_do_not_fail(text: str) -> None:
    assert "".join(texts(text)) == text.strip()


@given(st.one_of(st.text(), st.lists(st.sampled_from([*"aB.!?\n *-1)“”。😀\x00\r|#`", "Dr. ", "```"])).map("".join)))
def test_offsets_are_exact_and_nothing_is_lost(text: str) -> None:
    spans = split_sentences(text)
    position = 0
    for span in spans:
        assert text[span.start : span.end] == span.text == span.text.strip() != ""
        assert_layout(text[position : span.start])
        position = span.end
    assert_layout(text[position:])


def assert_layout(text: str) -> None:
    """White space, or lines that are headings, rules, parts of a table's head or numbers that stand alone."""
    for line in re.split(r"[\n\r\v\f\x85\u2028\u2029]+", text):
        assert not line.strip() or re.match(r"\s*(#{1,6}(\s|$)|([-=*_]\s*){3,}$|\(?\d{1,2}[.)])", line) or "|" in line


def test_headings_rules_and_table_heads_are_no_sentences() -> None:
    text = (
        "# Ada Lovelace\n\n### **1. Early life**\nShe was born in 1815.\n\n---\n\n"
        "| Year | What |\n|------|:----:|\n| 1843 | Notes |\n\n***\n## 2. Work #\n1.\n\nShe wrote notes.\n"
    )
    assert texts(text) == ["She was born in 1815.", "| 1843 | Notes |", "She wrote notes."]
    for span in split_sentences(text):
        assert text[span.start : span.end] == span.text


@pytest.mark.parametrize("text", ["# Heading", "---", "a | b\n--|--", "### **1.", "1."])
def test_nothing_but_layout_has_no_sentences(text: str) -> None:
    assert texts(text) == []


@pytest.mark.parametrize("text", ["#1 of all", "A - B - C", "He won 3-0.", "a | b", "-- she said."])
def test_signs_that_only_look_like_layout(text: str) -> None:
    assert texts(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "A short sentence, as always. " * 3500,
        "word " * 20000,
        "x" * 100_000,
        "a.b" * 33_000,
        "." * 100_000,
        "- item\n" * 14_000,
        "Mr. " * 25_000,
        '")' * 50_000,
        "( " * 50_000,
        "1. " * 33_000,
    ],
    ids=lambda text: text[:8],
)
def test_100_kb_of_anything_takes_no_time(text: str) -> None:
    began = time.process_time()
    split_sentences(text)
    assert time.process_time() - began < (2 if text.startswith("A") else 8)  # 0.1 s, and 2 s for the worst, when alone
