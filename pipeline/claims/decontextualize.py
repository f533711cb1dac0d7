"""Step 2: sentences that stand alone: opening discourse markers dropped, the first pronoun replaced.

What a pronoun stands for is guessed from the subjects of earlier sentences, when the number agrees and no noun of its
own sentence stands before it; otherwise it is left for a person to correct (Factcheck-Bench appendix C.2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from markdown_it import MarkdownIt

from pipeline.claims.clauses import Clause, clause
from pipeline.claims.lexicon import DETERMINERS
from pipeline.claims.tagging import Tag, tag
from pipeline.sentences.boundaries import LIST_MARKER

# Words that connect a sentence to the previous one and mean nothing without it.
_MARKERS = re.compile(
    r"(?:however|therefore|thus|hence|moreover|furthermore|additionally|in addition|also|besides|overall"
    r"|finally|lastly"
    r"|in fact|indeed|in conclusion|in summary|to summarize|as a result|as such|consequently|accordingly|for example"
    r"|for instance|meanwhile|nevertheless|nonetheless|similarly|likewise|in contrast|by contrast|on the other hand"
    r"|on the contrary|in other words|that is|of course|yes|no|well|sure|certainly|instead|in general|in particular"
    r"|firstly|secondly|thirdly|first|second|third|next|then|interestingly|notably|whereas|and|but|so)\b"
    r"(?:\s*,\s*|(?<=whereas)\s+|(?<=\band)\s+|(?<=\bbut)\s+|(?<=\bso)\s+(?=(?:it|he|she|they|the|this)\b))",
    re.IGNORECASE,
)
# "It is hard to say", "it is believed that": a pronoun that stands for nothing. Not "it is used to", "it is likely to".
_EMPTY_IT = re.compile(
    r"it(?:['’]s|\s+(?:is|was|has been|had been|would be|can be|may be|seems|appears))"
    r"(?:\s+(?:not|also|\w+ly|very|more|most|still|best|too|so))*?"
    r"(?:\s+\w+\s+(?:that|whether|why|how)|\s+(?:like|as if|possible)\b|"
    r"\s+(?!(?:used|able|due|similar|equal|close|next|subject|prone|likely|\w+ed)\b)\w+\s+(?:for\s.{1,40}?\s)?to)\b",
    re.IGNORECASE,
)
_TABLE_ROW = re.compile(r"\|(.+)\|", re.DOTALL)
_PRONOUN = re.compile(r"\b(it|they|its|their|them|he|she)\b", re.IGNORECASE)


@dataclass(slots=True)
class Context:
    """The subjects so far, latest last, and whether each is plural."""

    subjects: list[tuple[str, bool]] = field(default_factory=list)

    def note(self, sentence: str) -> None:
        """Takes a decontextualized sentence into account."""
        found = clause(sentence)
        if found is None:
            return
        opening = found.tokens[found.first]
        if opening.tag == Tag.PRONOUN or opening.lower in ("this", "these", "that", "those", "some", "there", "one"):
            return
        subject = found.subject.split(", ")[0] if found.subject.count(",") == 1 else found.subject
        if len(subject.split()) <= 10:
            self.subjects.append((subject, found.is_plural))
            if complement := _complement(found):
                self.subjects.append((complement[0].upper() + complement[1:], False))


def _complement(found: Clause) -> str:
    """The name behind a description ("The fastest animal is the falcon"); "" if there is none."""
    tokens, rest = found.tokens, found.tokens[found.verb + 1 :]
    text = found.text[tokens[found.verb].end :].strip(" .")
    if tokens[found.first].lower != "the" or tokens[found.verb].lower not in ("is", "was") or len(text.split()) > 5:
        return ""
    named = rest and (rest[0].lower == "the" or rest[0].text[0].isupper())
    return text if named and not any(token.tag in (Tag.PREPOSITION, Tag.SUBORDINATOR) for token in rest) else ""


def decontextualise(sentence: str, context: Context) -> str:
    """The sentence, decontextualized as far as the rules can. Does not change ``context``."""
    marker = LIST_MARKER.match(sentence)
    text = as_read(sentence[marker.end() if marker else 0 :].lstrip("#"))
    text = _resolved(without_markers(text), context)
    # Capitalizes the first letter, unless the word is spelled with inner capitals (iPhone, andThen).
    first = text.split(" ", 1)[0]
    text = text if first[1:] != first[1:].lower() else text[:1].upper() + text[1:]
    return text or " ".join(sentence.split())


def as_read(text: str) -> str:
    """A sentence as it reads once its Markdown is rendered, on one line: without the signs of emphasis and code, the
    addresses of links, and the bars of a table's row. What the rules cut in two may leave half a pair of ``**``."""
    row = _TABLE_ROW.fullmatch(text.strip())
    if row:
        text = ", ".join(cell.strip() for cell in row[1].split("|") if cell.strip())
    tokens = _inline().parseInline(text)[0].children or []
    read = "".join(" " if token.type in ("softbreak", "hardbreak") else token.content for token in tokens)
    return " ".join(read.replace("**", "").split())


@cache
def _inline() -> MarkdownIt:
    # Backslashes stay: models write formulas with them.
    return MarkdownIt("commonmark", {"html": False}).disable("escape")


def without_markers(text: str) -> str:
    """The text without opening markers ("However,")."""
    for _ in range(2):
        match = _MARKERS.match(text)
        if not match or not text[match.end() :].strip():
            break
        text = text[match.end() :]
    return text


def _resolved(text: str, context: Context) -> str:
    """The text with the first pronoun replaced, unless the pronoun could refer to something in its own sentence."""
    match = _PRONOUN.search(text)
    if match is None or _EMPTY_IT.match(text, match.start()):
        return text
    if any(token.tag in (Tag.NOMINAL, Tag.GERUND) for token in tag(text[: match.start()])):
        return text
    pronoun = match[1].lower()
    plural = pronoun in ("they", "their", "them")
    named = next((subject for subject, is_plural in reversed(context.subjects[-3:]) if is_plural == plural), None)
    if named is None or (pronoun in ("he", "she") and not re.fullmatch(r"[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*)+", named)):
        return text
    if pronoun in ("its", "their"):
        named += "'" if plural and named.endswith("s") else "'s"
    if match.start() > 0 and named.split()[0].lower() in DETERMINERS:
        named = named[0].lower() + named[1:]
    return text[: match.start()] + named + text[match.end() :]
