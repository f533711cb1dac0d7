"""What each question and label means, for the definitions sheet: taken from the benchmark's guidelines if they have a
matching heading, otherwise from Touchstone's short definitions.

The convention for guidelines, which are Markdown with "#" headings: a question is defined under a heading with its name
("## Stance"). A label is defined under a heading with both names ("### Stance: refute") or under its own name alone
("### Refute"), preferably below its question's heading. Case, hyphens and underscores are ignored. docs/guidelines.md
lists the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from annotator.core.fields import FieldQuestion, questions_of
from annotator.core.texts.markdown_diff import FENCE, HEADING
from annotator.core.vocabulary import Labelled, Stage, StanceLabel

_FORMER_LABELS: dict[Labelled, str] = {StanceLabel.PARTIALLY_SUPPORT: "Partly"}  # headings used by older guidelines


@dataclass(frozen=True, slots=True)
class Definition:
    """A question or label with the Markdown that defines it. ``is_ours``: the guidelines don't define it."""

    title: str
    text: str
    is_ours: bool


@dataclass(frozen=True, slots=True)
class Topic:
    """A question as the sheet shows it, with its labels. ``fields``: where it is asked, as "kind of record:field"."""

    key: str
    fields: tuple[str, ...]
    definition: Definition
    labels: tuple[Definition, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of a text with everything below it, up to the next heading of any level."""

    level: int
    title: str
    body: str


def topics(stage: Stage, guidelines: str) -> list[Topic]:
    """The questions of a stage with their definitions, in the order they are asked."""
    sections = sections_of(guidelines)
    questions = list(questions_of(stage))
    every_name = _plain(name for question, _ in questions for name in question.names)
    return [_topic(question, keys, sections, every_name) for question, keys in questions]


def sections_of(text: str) -> list[Section]:
    """The headings of a Markdown text with the text below each. Headings inside code don't count."""
    found: list[Section] = []
    level, title, body = 0, "", []  # type: int, str, list[str]
    in_code = False
    for line in text.splitlines():
        if FENCE.match(line):
            in_code = not in_code
        heading = None if in_code else HEADING.match(line)
        if heading is None:
            body.append(line)
            continue
        found.append(Section(level, title, "\n".join(body).strip()))
        level, title, body = len(heading[1]), heading[2], []
    found.append(Section(level, title, "\n".join(body).strip()))
    return found[1:]  # text before the first heading defines nothing


def _topic(question: FieldQuestion, keys: tuple[str, ...], sections: list[Section], every_name: set[str]) -> Topic:
    names = _plain(question.names)
    at = next((i for i, section in enumerate(sections) if _plain([section.title]) & names), None)
    places = {label: _place(label, names, sections, every_name) for label in question.labels}
    taken = {i for place in places.values() if place is not None for i in _below(sections, place)}
    if at is None:
        whole = Definition(question.names[0], question.ours, is_ours=True)
    else:
        own = _words(sections, [i for i in _below(sections, at) if i not in taken or i == at])
        whole = Definition(question.names[0], own, is_ours=False)
    labels = []
    for label, ours in question.labels.items():
        place = places[label]
        text = "" if place is None else _words(sections, _below(sections, place))
        labels.append(Definition(label.label, text or ours, is_ours=not text))
    return Topic(question.key, keys, whole, tuple(labels))


def _place(label: Labelled, names: set[str], sections: list[Section], every_name: set[str]) -> int | None:
    """Where a label is defined: "Stance: refute", else "Refute" below "Stance", else "Refute" anywhere. Elsewhere, a
    heading that is also a question's name defines the question, not the label."""
    wanted = _plain([label.value, label.label, *filter(None, [_FORMER_LABELS.get(label)])])
    alone: list[int] = []
    for i, section in enumerate(sections):
        question, colon, answer = section.title.partition(":")
        if colon and _plain([question]) & names and _plain([answer]) & wanted:
            return i
        if _plain([section.title]) & wanted:
            alone.append(i)
    below = [i for i in alone if any(_plain([title]) & names for title in _above(sections, i))]
    elsewhere = [i for i in alone if not _plain([sections[i].title]) & every_name]
    return next(iter(below + elsewhere), None)


def _above(sections: list[Section], at: int) -> list[str]:
    """The titles of the headings that enclose a heading."""
    level, titles = sections[at].level, []
    for section in reversed(sections[:at]):
        if section.level < level:
            level = section.level
            titles.append(section.title)
    return titles


def _below(sections: list[Section], at: int) -> list[int]:
    """A section and its subsections."""
    end = at + 1
    while end < len(sections) and sections[end].level > sections[at].level:
        end += 1
    return list(range(at, end))


def _words(sections: list[Section], places: list[int]) -> str:
    """The text of a section and its subsections. The sheet shows the first heading itself, so it is left out."""
    first, *rest = [sections[i] for i in places]
    return "\n\n".join([first.body, *(f"**{section.title}**\n\n{section.body}" for section in rest)]).strip()


def _plain(names: Iterable[str]) -> set[str]:
    """Names reduced for comparison: "Not_a_claim" and "not a claim" are equal."""
    return {re.sub(r"[\W_]+", " ", name.casefold()).strip() for name in names}
