"""What each question and label means, for the sheet beside the work: in the words of the benchmark's guidelines where
they have a heading for it, else in short words of our own.

The convention for guidelines, in Markdown with "#" headings: a question is defined below a heading with its name
("## Stance"), a label below a heading with both names ("### Stance: refute") or with its own name alone ("### Refute"),
best below the heading of its question. Capitals, hyphens and underscores make no difference. docs/guidelines.md lists
the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from annotator.core.texts.markdown_diff import FENCE, HEADING
from annotator.core.vocabulary import (
    ClaimType,
    EditKind,
    Factuality,
    Importance,
    Labelled,
    NotWorthReason,
    SentenceType,
    Stage,
    StanceLabel,
)


@dataclass(frozen=True, slots=True)
class Question:
    """Something that a stage asks. ``names``: the headings that define it, the first one is shown. ``fields``: where it
    is asked, as "kind of record:field". ``labels``: the answers with our words for each."""

    key: str
    names: tuple[str, ...]
    fields: tuple[str, ...]
    ours: str
    labels: dict[Labelled, str]


@dataclass(frozen=True, slots=True)
class Definition:
    """A question or label with the Markdown that defines it. ``is_ours``: the guidelines say nothing about it."""

    title: str
    text: str
    is_ours: bool


@dataclass(frozen=True, slots=True)
class Topic:
    """A question as the sheet shows it, with its labels."""

    key: str
    fields: tuple[str, ...]
    definition: Definition
    labels: tuple[Definition, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of a text with what stands below it, up to the next heading of whatever level."""

    level: int
    title: str
    body: str


QUESTIONS: dict[Stage, tuple[Question, ...]] = {
    Stage.DECOMPOSE: (
        Question(
            "stand-alone",
            ("Stand-alone", "Stands alone", "Decontextualised sentence"),
            ("sentence:decontext",),
            "The sentence as somebody understands it who sees nothing else: names in the place of “it” and “he”.",
            {},
        ),
        Question(
            "sentence",
            ("Type of sentence", "Sentence type", "Sentence"),
            ("sentence:type",),
            "Does the sentence hold a statement that could be checked?",
            {
                SentenceType.CHECKWORTHY: "At least one part of it is a fact that somebody could look up.",
                SentenceType.OPINION: "Taste, advice or guesswork: no source could settle it.",
                SentenceType.NOT_A_CLAIM: "It states nothing: a question, a greeting, a heading.",
                SentenceType.OTHER: "It says something, but nothing about the subject.",
            },
        ),
        Question(
            "atomic-claim",
            ("Atomic claim", "What a claim is"),
            ("claim:text",),
            "One statement with one thing to find out, understood without the sentence it came from.",
            {},
        ),
        Question(
            "claim",
            ("Type of claim", "Claim type", "Claim"),
            ("claim:type",),
            "What kind of statement the claim is.",
            {
                ClaimType.FACTUAL: "It can be true or false, whoever is asked. A wrong fact is factual too.",
                ClaimType.OPINION: "It depends on who is asked.",
                ClaimType.NOT_A_CLAIM: "Nothing is stated.",
                ClaimType.OTHER: "None of the three.",
            },
        ),
        Question(
            "worth-checking",
            ("Worth checking", "Not worth", "Not worth checking"),
            ("claim:worth_checking", "claim:not_worth_reason"),
            "Of factual claims alone. Usually yes; no for one of two reasons.",
            {
                NotWorthReason.COMMONSENSE: "Everybody knows it without looking it up.",
                NotWorthReason.NOT_PUBLIC: "It may be true, but no public source could say.",
            },
        ),
        Question(
            "importance",
            ("Importance", "Importance for the answer"),
            ("sentence:importance", "claim:importance"),
            "What the answer would lose without it.",
            {
                Importance.MOST: "It answers the question, or would mislead if it were wrong.",
                Importance.INTERMEDIATE: "It explains or completes the answer.",
                Importance.LESS: "The answer would be as good without it.",
            },
        ),
    ),
    Stage.VERIFY: (
        Question(
            "stance",
            ("Stance",),
            ("stance:label",),
            "What this passage alone says about the claim; your own knowledge and the other passages stay outside.",
            {
                StanceLabel.COMPLETELY_SUPPORT: "The passage alone bears out the whole claim.",
                StanceLabel.PARTIALLY_SUPPORT: "It bears out a part and is silent about the rest.",
                StanceLabel.REFUTE: "Passage and claim cannot both be true, if only in one detail.",
                StanceLabel.IRRELEVANT: "It leaves you where you were.",
            },
        ),
        Question(
            "reliable",
            ("Reliable", "Reliable source"),
            ("stance:reliable",),
            "Would you quote this source to a careful reader?",
            {},
        ),
        Question(
            "sufficient",
            ("Sufficient", "Enough alone"),
            ("stance:sufficient",),
            "Does this passage alone decide the whole claim, for or against?",
            {},
        ),
        Question(
            "evidence-decides",
            ("Evidence decides", "Can this evidence decide it?"),
            ("verdict:evidence_sufficient",),
            "Can the passages that were found settle the claim? If not, search yourself before you answer no.",
            {},
        ),
        Question(
            "factuality",
            ("Factuality",),
            ("verdict:factuality",),
            "Leave irrelevant passages aside and weigh the rest, by number and reliability.",
            {
                Factuality.TRUE: "Evidence that you would defend bears out every part of the claim.",
                Factuality.FALSE: "Reliable evidence contradicts at least one part.",
                Factuality.NOT_ENOUGH_EVIDENCE: "You searched, and what you found is silent or contradicts itself.",
            },
        ),
        Question(
            "edit",
            ("Minimal edits", "Minimal edit", "Edit", "Edits"),
            ("verdict:operations",),
            "A false claim is mended with as few changed words as possible, and nothing is added.",
            {
                EditKind.REPLACE: "The wrong words become the right ones. The usual edit.",
                EditKind.DELETE: "The wrong words go, where the rest is true without them.",
                EditKind.DELETE_CLAIM: "Nothing in the claim can be saved.",
            },
        ),
    ),
    Stage.REVISE: (
        Question(
            "revised-sentence",
            ("Revised sentence",),
            ("sentence-revision:text",),
            "The sentence as the model wrote it, with the edits of its claims. What is true stays word for word.",
            {},
        ),
        Question(
            "without-enough-evidence",
            ("Without enough evidence",),
            ("claim-revision:handling", "claim-revision:text"),
            "Keep the statement, soften it or take it out. Keeping is the default.",
            {},
        ),
        Question(
            "revised-answer",
            ("Revised answer",),
            ("response-revision:text",),
            "The sentences in their order: correct, smooth to read, nothing said twice, nothing added.",
            {},
        ),
    ),
}


def topics(stage: Stage, guidelines: str) -> list[Topic]:
    """The questions of a stage with their definitions, in the order in which they are asked."""
    sections = sections_of(guidelines)
    return [_topic(question, sections) for question in QUESTIONS[stage]]


def sections_of(text: str) -> list[Section]:
    """The headings of a Markdown text with what stands below each. Headings inside code are none."""
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
    return found[1:]  # what stands before the first heading defines nothing


def _topic(question: Question, sections: list[Section]) -> Topic:
    names = _plain(question.names)
    at = next((i for i, section in enumerate(sections) if _plain([section.title]) & names), None)
    places = {label: _place(label, names, sections) for label in question.labels}
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
    return Topic(question.key, question.fields, whole, tuple(labels))


def _place(label: Labelled, names: set[str], sections: list[Section]) -> int | None:
    """Where a label is defined: "Stance: refute", else "Refute" below "Stance", else "Refute" anywhere."""
    wanted = _plain([label.value, label.label])
    alone: list[int] = []
    for i, section in enumerate(sections):
        question, colon, answer = section.title.partition(":")
        if colon and _plain([question]) & names and _plain([answer]) & wanted:
            return i
        if _plain([section.title]) & wanted:
            alone.append(i)
    below = [i for i in alone if any(_plain([title]) & names for title in _above(sections, i))]
    return next(iter(below + alone), None)


def _above(sections: list[Section], at: int) -> list[str]:
    """The titles of the headings that a heading stands under."""
    level, titles = sections[at].level, []
    for section in reversed(sections[:at]):
        if section.level < level:
            level = section.level
            titles.append(section.title)
    return titles


def _below(sections: list[Section], at: int) -> list[int]:
    """A section and those of deeper level that belong to it."""
    end = at + 1
    while end < len(sections) and sections[end].level > sections[at].level:
        end += 1
    return list(range(at, end))


def _words(sections: list[Section], places: list[int]) -> str:
    """The text of a section and of those below it; the first without its heading, which the sheet shows itself."""
    first, *rest = [sections[i] for i in places]
    return "\n\n".join([first.body, *(f"**{section.title}**\n\n{section.body}" for section in rest)]).strip()


def _plain(names: Iterable[str]) -> set[str]:
    """Names without capitals and signs, to compare: "Not_a_claim" and "not a claim" are one."""
    return {re.sub(r"[\W_]+", " ", name.casefold()).strip() for name in names}
