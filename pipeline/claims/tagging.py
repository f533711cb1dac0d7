"""Word classes by rule: enough of a tagger to find subjects and verbs in plain English prose.

No trained tagger can be shipped without a download, so the closed classes and the verb forms of ``lexicon`` are looked
up and the rest is decided from the neighbours. Wrong now and then; the rules that use it are cautious.
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
    MODALS,
    PREPOSITIONS,
    SUBJECT_PRONOUNS,
    SUBORDINATORS,
    verbs,
    word_set,
)

_TOKEN = re.compile(r"(?:[A-Z]\.)+|\d+(?:[.,:/]\d+)*%?\w*|\w+(?:['’&./\-]\w+)*['’]?|[^\w\s]")
_NOT_ADVERBS = word_set("family only early supply july italy reply daily friendly likely lovely assembly ally")
_TIMES = word_set("year time day point period moment era case reason same way")
_ARTICLES = word_set("the a an its his her their this these")
_SAYING = word_set(
    "said announced believed argued claimed stated found showed thought knew suggested discovered showed"
)
_NEVER_PASSIVE = word_set("became came went remained continued died helped lived fell rose appeared happened began")
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


@dataclass(slots=True)
class Token:
    """A word or sign: ``sentence[start:end] == text``."""

    text: str
    start: int
    end: int
    tag: Tag = Tag.NOMINAL

    @property
    def lower(self) -> str:
        return self.text.lower().replace("’", "'")


def tag(sentence: str) -> list[Token]:
    """The tokens of one sentence with their word classes."""
    tokens = [Token(match[0], match.start(), match.end()) for match in _TOKEN.finditer(sentence)]
    verb_seen = passive = infinitive_seen = plural_present = subordinate = False
    for index, token in enumerate(tokens):
        fixed = _closed_class(tokens, index)
        if fixed is not None:
            token.tag = fixed
        else:
            token.tag = _open_class(tokens, index, verb_seen, passive, infinitive_seen, plural_present)
        after_subordinate = token.text == "," and subordinate and verb_seen
        if token.tag == Tag.SUBORDINATOR or token.text in ";:" or after_subordinate:
            verb_seen = passive = infinitive_seen = False
            subordinate = token.tag == Tag.SUBORDINATOR and token.lower not in ("that", "which", "who")
        elif token.tag in FINITE:
            verb_seen, passive = True, False
            plural_present = token.lower in ("are", "have", "do") or (
                token.tag == Tag.VERB and token.lower in verbs().base
            )
        elif token.tag == Tag.PARTICIPLE and _before(tokens, index) == Tag.AUXILIARY:
            passive = True
        elif token.tag == Tag.INFINITIVE:
            infinitive_seen = True
    return tokens


def is_plural(word: str) -> bool:
    """Whether a noun looks plural: ends in s as plurals do."""
    return bool(_PLURAL.search(word)) and len(word) > 3


def _closed_class(tokens: list[Token], index: int) -> Tag | None:
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
    if lower in FINITE_AUXILIARIES or re.fullmatch(r"(?:it|he|she|there|that|they)'(?:s|re)", lower):
        return Tag.AUXILIARY
    if lower == "that":
        return Tag.DETERMINER if following in _TIMES else Tag.SUBORDINATOR
    if lower in DETERMINERS:
        return Tag.PRONOUN if following in FINITE_AUXILIARIES else Tag.DETERMINER
    if lower in ("which", "who", "whom", "whose"):
        return Tag.SUBORDINATOR
    if lower in SUBJECT_PRONOUNS:
        return Tag.PRONOUN
    if lower in PREPOSITIONS:
        return Tag.PREPOSITION
    if lower in SUBORDINATORS:
        return Tag.SUBORDINATOR
    if lower in CONJUNCTIONS:
        return Tag.CONJUNCTION
    if lower in ADVERBS or (lower.endswith("ly") and len(lower) > 4 and lower not in _NOT_ADVERBS and not capital):
        return Tag.ADVERB
    if lower == "be":
        return Tag.INFINITIVE
    if lower == "been":
        return Tag.PARTICIPLE
    return Tag.NOMINAL if capital else None


def _open_class(
    tokens: list[Token], index: int, verb_seen: bool, passive: bool, infinitive_seen: bool, plural_present: bool
) -> Tag:
    """Verb or not, from the form of the word and what stands beside it."""
    word = tokens[index].lower
    forms = verbs()
    before = _before(tokens, index)
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    after_object = after is not None and (
        after.tag != Tag.PUNCTUATION
        and (
            after.lower in DETERMINERS
            or after.lower in PREPOSITIONS - {"of"}
            or after.lower == "to"
            or after.text[0].isdigit()
        )
    )
    after_article = after is not None and after.lower in _ARTICLES  # no noun stands before an article
    takes_object = not verb_seen and after_article
    past = word in forms.past or word in forms.participle or (word.endswith("ed") and len(word) > 4)
    if word in forms.base and not (past and before not in (Tag.TO, Tag.AUXILIARY)):
        if before == Tag.TO or (
            before == Tag.AUXILIARY and _auxiliary_before(tokens, index) not in ("is", "are", "was", "were")
        ):
            return Tag.INFINITIVE
        if before == Tag.CONJUNCTION and infinitive_seen and (after_object or not verb_seen):
            return Tag.INFINITIVE
        if word in forms.nouns and not takes_object:
            return Tag.NOMINAL
        if before == Tag.CONJUNCTION and plural_present and (after_object or (after and after.lower in forms.base)):
            return Tag.VERB
        if before == Tag.PRONOUN and tokens[index - 1].lower in ("they", "we", "you", "i", "these", "those", "people"):
            return Tag.VERB
        if not verb_seen and before == Tag.NOMINAL and after is not None:
            # "cells in the meat begin to": the plural may stand further back when an object follows
            nouns = [each.text for each in tokens[:index] if each.tag == Tag.NOMINAL] if after_object else []
            if is_plural(_word_before(tokens, index)) or any(map(is_plural, nouns)):
                return Tag.VERB
        if not verb_seen and before == Tag.SUBORDINATOR and _word_before(tokens, index) in ("who", "which", "that"):
            return Tag.VERB
        return Tag.NOMINAL
    if past:
        if before in (Tag.DETERMINER, Tag.PREPOSITION):
            return Tag.PARTICIPLE if after_object else Tag.NOMINAL
        if before == Tag.AUXILIARY or _word_before(tokens, index) in ("been", "being", "be"):
            return Tag.PARTICIPLE
        if after is not None and after.lower == "by":
            return Tag.PARTICIPLE
        if not verb_seen and before == Tag.PUNCTUATION and sum(each.text == "," for each in tokens[:index]) == 1:
            return Tag.PARTICIPLE  # "Ema, founded in 1820, is"
        if word not in forms.past and not word.endswith("ed"):
            return Tag.PARTICIPLE
        if before == Tag.CONJUNCTION and verb_seen:
            comma = index >= 2 and tokens[index - 2].text == ","
            # "was praised and won the prize": an object shows an active verb, but "was elected and named the mayor"
            active = word in _NEVER_PASSIVE or (after_article and word not in _TWO_OBJECTS)
            return Tag.VERB if _is_past(tokens[:index]) and (comma or active or not passive) else Tag.PARTICIPLE
        if verb_seen or before is None or (word not in _SAYING and _auxiliary_follows(tokens, index)):
            return Tag.PARTICIPLE
        return Tag.VERB
    if (word in forms.third and (takes_object or word not in forms.nouns)) or (
        word.endswith("s") and _word_before(tokens, index) in ("which", "who")
    ):
        if before in (Tag.DETERMINER, Tag.PREPOSITION, Tag.TO, Tag.NUMBER, None):
            return Tag.NOMINAL
        if after is not None and after.lower == "of" and word not in ("consists", "speaks", "thinks"):
            return Tag.NOMINAL
        if before == Tag.SUBORDINATOR:
            return Tag.VERB
        if before in (Tag.CONJUNCTION, Tag.PUNCTUATION) and verb_seen:
            plain = after is not None and after.lower not in PREPOSITIONS
            comma = index >= 2 and tokens[index - 2].text == ","
            coordinate = after_object and (plain or comma) and _singular_present(tokens[:index])
            return Tag.VERB if coordinate else Tag.NOMINAL
        if verb_seen:
            return Tag.NOMINAL
        plural_subject = before == Tag.NOMINAL and is_plural(_word_before(tokens, index))
        return Tag.NOMINAL if plural_subject and not after_object else Tag.VERB
    if word.endswith("ing") and len(word) > 4:
        return Tag.GERUND
    return Tag.NOMINAL


def _before(tokens: list[Token], index: int) -> Tag | None:
    """The class of the nearest token before, adverbs aside; a closing bracket or quote counts as a noun."""
    for token in reversed(tokens[:index]):
        if token.tag == Tag.ADVERB:
            continue
        return Tag.NOMINAL if token.text in ')]”"' else token.tag
    return None


def _word_before(tokens: list[Token], index: int) -> str:
    return next((token.lower for token in reversed(tokens[:index]) if token.tag != Tag.ADVERB), "")


def _auxiliary_follows(tokens: list[Token], index: int) -> bool:
    """Whether the clause goes on to an auxiliary: then "the town founded in 1820 was" has its verb there."""
    for token in tokens[index + 1 :]:
        if token.text in ",;:" or token.lower in CONJUNCTIONS or token.lower in SUBORDINATORS:
            return False
        if token.text in FINITE_AUXILIARIES:  # not "May" the month
            return True
    return False


def _singular_present(tokens: list[Token]) -> bool:
    """Whether the last finite verb is a singular present: only then another one may follow "and"."""
    last = next((token.lower for token in reversed(tokens) if token.tag in FINITE), "")
    return last in ("is", "has", "does") or last in verbs().third


def _is_past(tokens: list[Token]) -> bool:
    """Whether the last finite verb is a past one."""
    last = next((token for token in reversed(tokens) if token.tag in FINITE), None)
    if last is None:
        return False
    return last.lower in ("was", "were", "had", "did") or (last.tag == Tag.VERB and last.lower not in verbs().third)


def _auxiliary_before(tokens: list[Token], index: int) -> str:
    return next((token.lower for token in reversed(tokens[:index]) if token.tag == Tag.AUXILIARY), "")


__all__ = ["FINITE", "MODALS", "Tag", "Token", "is_plural", "tag"]
