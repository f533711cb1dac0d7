"""Word classes by rule: enough of a tagger to find subjects and verbs in plain English prose.

No trained tagger can be shipped without a download, so the closed classes and the verb forms of ``lexicon`` are looked
up and the rest is decided from the neighbors. Wrong now and then; the rules that use it are cautious.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from pipeline.claims.lexicon import (
    ADVERBS,
    CONJUNCTIONS,
    DETERMINERS,
    FINITE_AUXILIARIES,
    PREPOSITIONS,
    SUBJECT_PRONOUNS,
    SUBORDINATORS,
    verbs,
    word_set,
)

_TOKEN = re.compile(r"(?:[A-Z]\.)+|\d+(?:[.,:/]\d+)*%?\w*|\w+(?:['’&./\-]\w+)*['’]?|[^\w\s]")
_NOT_ADVERBS = word_set("family only early supply july italy reply daily friendly likely lovely assembly ally")
_ARTICLES = word_set("the a an its his her their this these")
_TWO_OBJECTS = word_set(
    "named called elected appointed given awarded made crowned declared offered granted paid taught told shown sent"
    " dubbed considered"
)
_PLURAL = re.compile(r"(?:[^su'’i]s|ses|ies|people|men|children|data)$", re.IGNORECASE)


class Tag(StrEnum):
    """The classes that the rules ask for. NOMINAL is the rest: nouns, adjectives, names."""

    DETERMINER = "D"
    PREPOSITION = "P"
    CONJUNCTION = "C"
    SUBORDINATOR = "S"
    PRONOUN = "R"
    AUXILIARY = "A"
    VERB = "V"  # finite, not an auxiliary
    INFINITIVE = "I"  # after "to" or a modal
    PARTICIPLE = "N"
    GERUND = "G"
    TO = "T"
    ADVERB = "B"
    NUMBER = "M"
    NOMINAL = "O"
    PUNCTUATION = ","


FINITE = (Tag.AUXILIARY, Tag.VERB)
_CLOSED = (
    (SUBJECT_PRONOUNS, Tag.PRONOUN),
    (PREPOSITIONS, Tag.PREPOSITION),
    (SUBORDINATORS, Tag.SUBORDINATOR),
    (CONJUNCTIONS, Tag.CONJUNCTION),
    (ADVERBS, Tag.ADVERB),
)


@dataclass(slots=True)
class TaggedToken:
    """A word or sign: ``sentence[start:end] == text``."""

    text: str
    start: int
    end: int
    tag: Tag = Tag.NOMINAL

    @property
    def lower(self) -> str:
        return self.text.lower().replace("’", "'")


def tag(sentence: str) -> list[TaggedToken]:
    """The tokens of one sentence with their word classes."""
    tokens = [TaggedToken(match[0], match.start(), match.end()) for match in _TOKEN.finditer(sentence)]
    verb_seen = passive = subordinate = False
    for index, token in enumerate(tokens):
        token.tag = _closed_class(tokens, index) or _open_class(tokens, index, verb_seen, passive)
        if token.tag == Tag.SUBORDINATOR or token.text in ";:" or (token.text == "," and subordinate and verb_seen):
            verb_seen = passive = False
            subordinate = token.tag == Tag.SUBORDINATOR and token.lower not in ("that", "which", "who")
        elif token.tag in FINITE:
            verb_seen, passive = True, False
        elif token.tag == Tag.PARTICIPLE and _before(tokens, index) == Tag.AUXILIARY:
            passive = True
    return tokens


def is_plural(word: str) -> bool:
    """Whether a noun looks plural (ends in a plural s)."""
    return bool(_PLURAL.search(word)) and len(word) > 3


def _closed_class(tokens: list[TaggedToken], index: int) -> Tag | None:
    token = tokens[index]
    lower = token.lower
    following = tokens[index + 1].lower if index + 1 < len(tokens) else ""
    capital = token.text[0].isupper() and index > 0
    if not token.text[0].isalnum():
        return Tag.PUNCTUATION
    if token.text[0].isdigit():
        return Tag.NUMBER
    if lower == "to":
        return Tag.TO
    if capital and (lower in ("may", "will", "might", "march") or token.text.isupper()) and lower != "i":
        return Tag.NOMINAL
    if lower in FINITE_AUXILIARIES:
        return Tag.AUXILIARY
    if lower == "that":
        return Tag.SUBORDINATOR
    if lower in DETERMINERS:
        return Tag.PRONOUN if following in FINITE_AUXILIARIES else Tag.DETERMINER
    if lower in ("which", "who", "whom", "whose"):
        return Tag.SUBORDINATOR
    for words, kind in _CLOSED:
        if lower in words:
            return kind
    if lower.endswith("ly") and len(lower) > 4 and lower not in _NOT_ADVERBS and not capital:
        return Tag.ADVERB
    return Tag.NOMINAL if capital else None


def _open_class(tokens: list[TaggedToken], index: int, verb_seen: bool, passive: bool) -> Tag:
    """Whether a word is a verb, from its form and its neighbors."""
    word = tokens[index].lower
    forms = verbs()
    before, word_before = _before(tokens, index), _word_before(tokens, index)
    after = tokens[index + 1].lower if index + 1 < len(tokens) else ""
    after_object = after in DETERMINERS or after in PREPOSITIONS - {"of"} or after == "to" or after[:1].isdigit()
    past = word in forms.past or word in forms.participle or (word.endswith("ed") and len(word) > 4)
    if word in forms.base and not (past and before not in (Tag.TO, Tag.AUXILIARY)):
        if before in (Tag.TO, Tag.AUXILIARY):
            return Tag.INFINITIVE
        if word in forms.nouns:
            return Tag.NOMINAL
        if before == Tag.PRONOUN and word_before in ("they", "we", "you", "i", "these", "those", "people"):
            return Tag.VERB
        # "cells in the meat begin to": the plural may stand further back when an object follows
        nouns = [each.text for each in tokens[:index] if each.tag == Tag.NOMINAL] if after_object else [word_before]
        if not verb_seen and before == Tag.NOMINAL and after and any(map(is_plural, nouns)):
            return Tag.VERB
        return Tag.NOMINAL
    if past:
        return _past_form(tokens, index, verb_seen, passive, after_object)
    known = word in forms.third and (word not in forms.nouns or after in _ARTICLES)  # no noun before an article
    if known or (word.endswith("s") and word_before in ("which", "who")):
        if verb_seen or before in (Tag.DETERMINER, Tag.PREPOSITION, Tag.TO, Tag.NUMBER, None) or after == "of":
            return Tag.NOMINAL
        plural_subject = before == Tag.NOMINAL and is_plural(word_before)
        return Tag.NOMINAL if plural_subject and not after_object else Tag.VERB
    return Tag.GERUND if word.endswith("ing") and len(word) > 4 else Tag.NOMINAL


def _past_form(tokens: list[TaggedToken], index: int, verb_seen: bool, passive: bool, after_object: bool) -> Tag:
    """Whether a word in "ed", or an irregular past or participle, is a finite verb, a participle or an adjective."""
    word, after = tokens[index].lower, tokens[index + 1].lower if index + 1 < len(tokens) else ""
    before = _before(tokens, index)
    if before in (Tag.DETERMINER, Tag.PREPOSITION):
        return Tag.PARTICIPLE if after_object else Tag.NOMINAL
    if before == Tag.AUXILIARY or after == "by" or (word not in verbs().past and not word.endswith("ed")):
        return Tag.PARTICIPLE
    if not verb_seen and before == Tag.PUNCTUATION and sum(each.text == "," for each in tokens[:index]) == 1:
        return Tag.PARTICIPLE  # "Ema, founded in 1820, is"
    if before == Tag.CONJUNCTION and verb_seen:
        # "was praised and won the prize": an object shows an active verb, but "was elected and named the mayor"
        active = not passive or (after in _ARTICLES and word not in _TWO_OBJECTS)
        return Tag.VERB if _is_past(tokens[:index]) and active else Tag.PARTICIPLE
    return Tag.PARTICIPLE if verb_seen or before is None or _auxiliary_follows(tokens, index) else Tag.VERB


def _before(tokens: list[TaggedToken], index: int) -> Tag | None:
    """The class of the nearest token before, adverbs aside; a closing bracket or quote counts as a noun."""
    for token in reversed(tokens[:index]):
        if token.tag == Tag.ADVERB:
            continue
        return Tag.NOMINAL if token.text in ')]”"' else token.tag
    return None


def _word_before(tokens: list[TaggedToken], index: int) -> str:
    return next((token.lower for token in reversed(tokens[:index]) if token.tag != Tag.ADVERB), "")


def _auxiliary_follows(tokens: list[TaggedToken], index: int) -> bool:
    """Whether the clause goes on to an auxiliary: then "the town founded in 1820 was" has its verb there."""
    for token in tokens[index + 1 :]:
        if token.text in ",;:" or token.lower in CONJUNCTIONS or token.lower in SUBORDINATORS:
            return False
        if token.text in FINITE_AUXILIARIES:  # not "May" the month
            return True
    return False


def _is_past(tokens: list[TaggedToken]) -> bool:
    """Whether the last finite verb is a past one."""
    last = next((token for token in reversed(tokens) if token.tag in FINITE), None)
    if last is None:
        return False
    return last.lower in ("was", "were", "had", "did") or (last.tag == Tag.VERB and last.lower not in verbs().third)
