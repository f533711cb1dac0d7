"""Subject and verb of a clause, found by rule."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.claims.lexicon import MONTHS, verbs
from pipeline.claims.tagging import FINITE, Tag, TaggedToken, is_plural, tag

RELATIVES = ("which", "who", "that")
_LONGEST_SUBJECT = 14


@dataclass(frozen=True, slots=True)
class Clause:
    """A sentence or a part of one that has a subject and a finite verb."""

    text: str
    tokens: list[TaggedToken]
    first: int  # token where the subject begins, after an introduction ("In 1980, ")
    group: int  # token where the verb group begins, adverbs included
    verb: int  # the finite verb

    @property
    def subject(self) -> str:
        return self.text[self.tokens[self.first].start : self.tokens[self.group].start].strip(" ,")

    @property
    def is_past(self) -> bool:
        verb = self.tokens[self.verb]
        return verb.lower in ("was", "were", "had", "did") or (
            verb.tag == Tag.VERB and (verb.lower in verbs().past or verb.lower.endswith("ed"))
        )

    @property
    def is_plural(self) -> bool:
        verb = self.tokens[self.verb].lower
        if verb in ("is", "was", "has", "does") or verb in verbs().third:
            return False
        if verb in ("are", "were", "have", "do") or (verb in verbs().base and self.tokens[self.verb].tag == Tag.VERB):
            return True
        subject = head(self.tokens[self.first : self.group])
        return is_plural(subject) or subject.lower() in ("they", "these", "those", "we", "you")

    def said_of_subject(self, rest: str) -> str:
        """A statement with this clause's introduction and subject and another predicate."""
        intro = self.text[: self.tokens[self.first].start]
        return f"{intro}{self.subject} {rest.strip(' ,')}"


def clause(text: str) -> Clause | None:
    """The main clause of ``text``; None when no subject and finite verb are found."""
    tokens = tag(text)
    if not tokens:
        return None
    first = _after_introduction(tokens)
    verb = _main_verb(tokens, first)
    if verb is None:
        return None
    group = verb
    while group > first and tokens[group - 1].tag == Tag.ADVERB:
        group -= 1
    if group == first or tokens[first].tag in (Tag.PREPOSITION, Tag.SUBORDINATOR, Tag.CONJUNCTION):
        return None
    if group - first > _LONGEST_SUBJECT or tokens[group - 1].tag == Tag.CONJUNCTION:
        return None
    return Clause(text, tokens, first, group, verb)


def _after_introduction(tokens: list[TaggedToken]) -> int:
    """The token after an introduction that ends in a comma: "In 1980,", "When they merge,", "To do so,"."""
    opening = tokens[0].tag
    if opening not in (Tag.PREPOSITION, Tag.TO, Tag.SUBORDINATOR, Tag.GERUND, Tag.PARTICIPLE, Tag.ADVERB):
        return 0
    verb_seen = False
    for index, token in enumerate(tokens[:-1]):
        verb_seen = verb_seen or token.tag in FINITE
        if token.text != "," or inside_date(tokens, index):
            continue
        if opening == Tag.SUBORDINATOR and not verb_seen:
            continue
        if opening != Tag.SUBORDINATOR and verb_seen:
            return 0
        if tokens[index + 1].tag not in (Tag.NOMINAL, Tag.DETERMINER, Tag.PRONOUN, Tag.NUMBER, Tag.GERUND):
            return 0  # "Sinking sand, also known as quicksand, is"
        return index + 1
    return 0


def inside_date(tokens: list[TaggedToken], index: int) -> bool:
    """Whether the comma at ``index`` is part of a date or number: "October 16, 1898"."""
    if not 0 < index < len(tokens) - 1:
        return False
    before, after = tokens[index - 1], tokens[index + 1]
    return after.tag == Tag.NUMBER and (before.tag == Tag.NUMBER or before.lower in MONTHS)


def _main_verb(tokens: list[TaggedToken], first: int) -> int | None:
    """The finite verb that belongs to the subject at ``first``, not to a relative clause within it."""
    to_skip = 0
    for index in range(first, len(tokens)):
        token = tokens[index]
        if token.lower in RELATIVES and token.tag == Tag.SUBORDINATOR and index > first:
            to_skip += 1
        elif token.tag in FINITE:
            if not to_skip:
                return index
            to_skip -= 1
        elif token.text in ";:":
            return None
    return None


def head(noun_phrase: list[TaggedToken]) -> str:
    """The head of a noun phrase: the last noun before the first preposition, comma or relative."""
    head = ""
    for token in noun_phrase:
        if head and (token.tag in (Tag.PREPOSITION, Tag.SUBORDINATOR, Tag.TO) or token.text == ","):
            break
        if token.tag in (Tag.NOMINAL, Tag.GERUND, Tag.PRONOUN):
            head = token.text
    return head


def next_word(tokens: list[TaggedToken], index: int) -> int:
    """The first token from ``index`` on that isn't an adverb; ``len(tokens)`` if there is none."""
    while index < len(tokens) and tokens[index].tag == Tag.ADVERB:
        index += 1
    return index
