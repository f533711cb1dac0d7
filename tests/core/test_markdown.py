"""Markdown is read as Markdown, and every piece knows where it stands in the response."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.texts.markdown import Leaf, Stretch, Tag, blocks_with, is_formatted, parts_of, reading, words_of
from pipeline.sentences.boundaries import split_sentences

RESPONSE = """# Life of *Ada*

Ada **Lovelace wrote** [her notes](https://example.org/Ada_(x) "Ada"). She met `Babbage` in 1833.

- Her mother taught her **mathematics.** She liked it.
  1. Flying \\*machines\\*
- Engines &amp; <b>cards</b>

| Year | What |
|---|:-:|
| 1843 | notes \\| plans |

```python
print("Ada")

  end
```

---
She died young.
"""


def leaves(text: str) -> list[Leaf]:
    return [part for part in parts_of(text) if isinstance(part, Leaf)]


def shown(text: str) -> str:
    """Tags in angle brackets, words as they are read."""
    return "".join(
        part.text if isinstance(part, Leaf) else f"<{'/' * part.is_end}{part.name}{part.number or ''}>"
        for part in parts_of(text)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## A *b*", "<h2>A b</h2>"),
        ("a\n---\nb", "<p>a</p><hr><p>b</p>"),  # no heading by accident
        ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
        ("3. a\n4. b", "<ol3><li>a</li><li>b</li></ol>"),
        ("    a", "<p>a</p>"),
        ("a\nb", "<p>a\nb</p>"),
        ("a\r\nb", "<p>a\r\nb</p>"),
        ("> a", "<blockquote><p>a</p></blockquote>"),
        ("```\nx\n\n y\n```", "<pre>x\n\n y\n</pre>"),
        (
            "|a|\n|-|\n|x \\| y|",
            "<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>x | y</td></tr></tbody></table>",
        ),
        ("[a](https://x.org/a) a", "<p>a a</p>"),
        ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>"),
        ("![a](https://x.org/a.png)", "<p>!a</p>"),
        ("<script>alert(1)</script>", "<p><script>alert(1)</script></p>"),
        ("\\*a\\* &amp; \\(x\\)", "<p>*a* & \\(x\\)</p>"),
        ("[a]: https://x.org", "<p>[a]: https://x.org</p>"),
    ],
)
def test_reads_as_markdown(text: str, expected: str) -> None:
    assert shown(text) == expected


def test_marks_are_told_from_words() -> None:
    marks = {leaf.text: leaf.marks for leaf in leaves(RESPONSE)}
    assert marks["Lovelace wrote"] == ("strong",)
    assert marks["her notes"] == ("u",)
    assert marks["Babbage"] == ("code",)
    assert marks["Ada"] == ("em",)


WORDS = st.sampled_from(
    [
        *"*_`#->|\n\\&[]()!~",
        "\n\n",
        "- ",
        "1. ",
        "Ada wrote. ",
        "notes",
        "**b**",
        "`c`",
        "[d](https://e.f)",
        "|a|b|\n|-|-|\n",
        "```\n",
        "&amp;",
        "\\*",
        "  ",
        "\t",
        "<i>",
        "Größe 数",
    ]
)


@given(st.one_of(st.text(max_size=80), st.lists(WORDS, max_size=25).map("".join)))
def test_every_leaf_is_where_it_says(text: str) -> None:
    found = leaves(text)
    assert all(one.end <= other.start for one, other in pairwise(found))
    for leaf in found:
        written = text[leaf.start : leaf.end]
        assert written == leaf.text or written.startswith(("\\", "&")), leaf


@given(
    st.lists(
        st.sampled_from(["Ada", " ", ". ", "**", "*", "`", "\n", "\n\n", "- ", "# ", "1. ", "|", "> "]), max_size=30
    ).map("".join)
)
def test_no_word_is_lost(text: str) -> None:
    assert "".join(leaf.text for leaf in leaves(text)).count("Ada") == text.count("Ada")


@given(
    st.lists(
        st.sampled_from(["Ada wrote it. ", "He *met* her. ", "\n\n", "- ", "## ", "**", "`a`", "|x|\n", "|-|\n", "\n"])
    ).map("".join)
)
def test_every_sentence_is_shown_once_and_in_order(text: str) -> None:
    spans = split_sentences(text)
    for raw in (False, True):
        found = [
            part
            for part in reading(text, [(s.start, s.end, s.text) for s in spans], raw=raw)
            if isinstance(part, Stretch)
        ]
        first = [part.sentence for part in found if part.is_first]
        assert first == list(range(len(spans)))
        for part in found:
            for leaf in part.leaves:
                if part.sentence is not None:
                    assert spans[part.sentence].start <= leaf.start and leaf.end <= spans[part.sentence].end


def test_a_sentence_ends_within_emphasis_and_over_blocks() -> None:
    text = "**A b. C** d.\n\nE"
    parts = reading(text, [(2, 6, "A b."), (7, len(text), "C** d.\n\nE")])
    assert [(part.text, part.sentence, part.is_first) for part in parts if isinstance(part, Stretch)] == [
        ("A b.", 0, True),
        (" ", None, False),
        ("C d.", 1, True),
        ("E", 1, False),
    ]


def test_sentences_without_a_place_stand_at_the_end() -> None:
    parts = reading("# A b. C d.", [(2, 6, "A b."), (None, None, "Another.")])
    assert not any(isinstance(part, Tag) for part in parts)
    assert [part.text for part in parts if isinstance(part, Stretch)] == ["# ", "A b.", "\nAnother."]


def test_a_sentence_of_markup_alone_is_shown_as_written() -> None:
    parts = reading("a\n\n---\n\nb", [(0, 1, "a"), (3, 6, "---")])
    assert [part.text for part in parts if isinstance(part, Stretch) and part.is_first] == ["a", "---"]


@pytest.mark.parametrize(
    ("text", "expected"), [("A b.\n\nC d.", False), ("A *b*.", True), ("- a", True), ("a &amp; b", True)]
)
def test_says_whether_there_is_anything_to_format(text: str, expected: bool) -> None:
    assert is_formatted(text) is expected


def said(parts: list[Tag | Stretch]) -> str:
    """Blocks as <p> and </p>, stretches as their words."""
    tags = (f"<{'/' if part.is_end else ''}{part.name}>" if isinstance(part, Tag) else part.text for part in parts)
    return "".join(tags)


def test_blocks_with_some_sentences_are_whole_and_in_order() -> None:
    text = "# Head\n\nOne **is** here. Two.\n\n---\n\n- Three.\n- Four.\n\nFive."
    sentences = [(start, start + len(each), each) for each in ("One **is** here.", "Two.", "Three.", "Four.", "Five.")
                 for start in [text.index(each)]]  # fmt: skip
    parts = reading(text, sentences)
    assert said(blocks_with(parts, (-1, 0, 1))) == "<p>One is here. Two.</p>"
    assert said(blocks_with(parts, (1, 2, 3))) == "<p>One is here. Two.</p><ul><li>Three.</li><li>Four.</li></ul>"
    assert said(blocks_with(parts, (4,))) == "<p>Five.</p>"


def test_blocks_of_a_text_as_it_stands_keep_what_is_between_sentences() -> None:
    text = "One. Two. Three."
    parts = reading(text, [(0, 4, "One."), (5, 9, "Two."), (10, 16, "Three.")], raw=True)
    assert said(blocks_with(parts, (0, 1))).strip() == "One. Two."
    loose = reading(text, [(None, None, "One."), (None, None, "Two.")])
    assert said(blocks_with(loose, (1,))).strip() == "Two."


def test_words_of_a_text_have_no_marks() -> None:
    text = "# Life\n\n- Ada **Love**lace\n- wrote `x`\n\n| Year | What |\n|---|---|\n| 1843 | notes |"
    assert words_of(text) == "Life Ada Lovelace wrote x Year What 1843 notes"
