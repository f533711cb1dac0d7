"""Pronouns: which of them can be nothing in their own sentence, and what they stand for (step 2).

A pronoun is replaced when no noun of its sentence can be meant: nothing stands before it, or it is the object beside
the subject of one clause ("Ross discovered it": an object pronoun is never the subject of its own clause), and when
what has been spoken of leaves one answer. Otherwise it stays for a person to mend.
"""

from __future__ import annotations

import re
from itertools import pairwise

from pipeline.claims.clauses import Clause, clause
from pipeline.claims.context import TITLES, Context, has_part, names_someone
from pipeline.claims.lexicon import MONTHS
from pipeline.claims.tagging import FINITE, Tag, Token, is_plural, tag

_CONTRACTION = re.compile(r"(it|he|she|they|that|there)['’](s|re|ve)\b(?! been)", re.IGNORECASE)
# "It is hard to say", "it is believed that": a pronoun that stands for nothing. Not "it is used to", "it is likely to".
_EMPTY_IT = re.compile(
    r"it(?:['’]s|\s+(?:is|was|has been|had been|would be|can be|may be|seems|appears))"
    r"(?:\s+(?:not|also|\w+ly|very|more|most|still|best|too|so))*?"
    r"(?:\s+\w+\s+(?:that|whether|why|how)|\s+(?:like|as if|possible)\b|"
    r"\s+(?!(?:used|able|due|similar|equal|close|next|subject|prone|likely|\w+ed)\b)\w+\s+(?:for\s.{1,40}?\s)?to)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\b(he|she|it|they|his|her|its|their|him|them)\b", re.IGNORECASE)
_KINDS = {
    **dict.fromkeys(("he", "she", "his", "her", "him"), "person"),
    **dict.fromkeys(("it", "its"), "thing"),
    **dict.fromkeys(("they", "their", "them"), "many"),
}
_POSSESSIVE = {"his", "her", "its", "their"}
_NOUNS = (Tag.NOMINAL, Tag.GERUND)


def resolved(text: str, context: Context) -> tuple[str, dict[str, str]]:
    """The text with the first pronoun of each kind replaced where that is certain, and what each kind stands for."""
    stands_for: dict[str, str] = {}
    position = 0
    seen: set[str] = set()
    while match := _PRONOUN.search(text, position):
        position = match.end()
        kind = _KINDS[match[1].lower()]
        if kind in seen or _EMPTY_IT.match(text, match.start()):
            continue
        seen.add(kind)
        if kind == "many" and stands_for:
            break  # whoever was named just now may be one of them
        antecedent = _antecedent(kind, text, match, context) if _is_free(kind, text, match, context) else None
        if antecedent is None:
            text = _written_out(text, match)
        else:
            text, position = replaced(text, match, antecedent, context)
            stands_for[kind] = antecedent
    return text, stands_for


def filled(claim: str, stands_for: dict[str, str], context: Context) -> str:
    """A claim split from a resolved sentence, its pronouns standing for what they stood for there."""
    for kind, antecedent in stands_for.items():
        if antecedent.lower() in claim.lower() or (kind == "person" and antecedent.split()[-1] in claim):
            continue
        for match in _PRONOUN.finditer(claim):
            if _KINDS[match[1].lower()] != kind:
                continue
            if not _EMPTY_IT.match(claim, match.start()) and _is_free(kind, claim, match, context):
                claim, _ = replaced(claim, match, antecedent, context)
            break
    return claim


def replaced(text: str, match: re.Match[str], antecedent: str, context: Context) -> tuple[str, int]:
    """The text with a noun phrase in the place of a pronoun, and where it goes on behind it."""
    text = _written_out(text, match)
    pronoun = match[1].lower()
    if pronoun in _POSSESSIVE and not (pronoun == "her" and _is_object(text, match.end())):
        antecedent += "'" if antecedent.endswith("s") and is_plural(antecedent.split()[-1]) else "'s"
    if match.start() > 0:
        antecedent = context.inside(antecedent)
    return text[: match.start()] + antecedent + text[match.end() :], match.start() + len(antecedent)


def _written_out(text: str, pronoun: re.Match[str]) -> str:
    """The text with "it's" as "it is"."""
    contraction = _CONTRACTION.match(text, pronoun.start())
    if contraction is None:
        return text
    verb = {"s": "is", "re": "are", "ve": "have"}[contraction[2].lower()]
    return f"{text[: pronoun.end()]} {verb}{text[contraction.end() :]}"


# ------------------------------------------------------------------------------------------------ is it free


def _is_free(kind: str, text: str, match: re.Match[str], context: Context) -> bool:
    """Whether nothing before the pronoun in its sentence can be what it stands for."""
    before = text[: match.start()]
    if kind == "person":
        return not names_someone(before, context)
    nouns = [token for token in tag(before) if token.tag in _NOUNS]
    if not nouns or _is_introduction(before):
        return True
    return _is_beside_subject(kind, text, match, context) or (kind == "thing" and _is_part(text, match, context))


def _is_introduction(before: str) -> bool:
    """Whether what stands before the pronoun is only "In 1980," or the like."""
    before = before.rstrip()
    return before.endswith(",") and len(before.split()) <= 6


def _is_beside_subject(kind: str, text: str, match: re.Match[str], context: Context) -> bool:
    """Whether only a subject that the pronoun cannot mean stands before it, in a clause without further clauses."""
    found = clause(text)
    if found is None:
        return False
    at = next((index for index, token in enumerate(found.tokens) if token.start == match.start()), 0)
    if at <= found.verb:
        return False
    intro = found.tokens[: found.first]
    if any(token.tag in _NOUNS and token.lower not in MONTHS for token in intro):
        return False  # "On the island, Ross found it"
    between = found.tokens[found.verb + 1 : at]
    if any(token.tag in (*FINITE, *_NOUNS, Tag.SUBORDINATOR, Tag.PRONOUN) or token.text == "," for token in between):
        return False
    if match[1].lower() in _POSSESSIVE:
        return kind == "thing" and _cannot_own(found, context)
    governed = found.tokens[at - 1].tag in (Tag.VERB, Tag.INFINITIVE, Tag.PARTICIPLE)
    return governed and _is_plain(found.tokens[found.first : found.group], kind, context)


def _is_plain(subject: list[Token], kind: str, context: Context) -> bool:
    """Whether the pronoun can be nothing within the subject: "the owner of the ship sold it" may mean the ship."""
    inner = any(
        token.tag in (Tag.PREPOSITION, Tag.SUBORDINATOR, Tag.PRONOUN) or token.lower.endswith("'s") for token in subject
    )
    return not inner and not (kind == "many" and any(token.text == "," for token in subject))


def _cannot_own(found: Clause, context: Context) -> bool:
    """Whether "its" cannot belong to the subject, a plural one or a known person."""
    tokens = found.tokens[found.first : found.group]
    inner = any(token.tag in (Tag.PREPOSITION, Tag.SUBORDINATOR, Tag.PRONOUN) for token in tokens)
    titled = tokens[0].lower.strip(".") in TITLES
    return not inner and (found.is_plural or titled or found.subject in context.persons)


def _is_part(text: str, match: re.Match[str], context: Context) -> bool:
    """Whether "its slopes" are something that the topic has and nothing before them can have."""
    following = [token.lower for token in tag(text[match.end() :])[:3] if token.tag == Tag.NOMINAL]
    before = {token.lower for token in tag(text[: match.start()])}
    if match[1].lower() != "its" or not context.topic or context.topic_is_plural:
        return False
    return any(has_part(context.kinds(context.topic), part) and not has_part(before, part) for part in following)


def _is_object(text: str, end: int) -> bool:
    following = tag(text[end:])
    return not following or following[0].tag not in (Tag.NOMINAL, Tag.GERUND, Tag.PARTICIPLE, Tag.NUMBER)


# ------------------------------------------------------------------------------------------------ what it stands for


def _antecedent(kind: str, text: str, match: re.Match[str], context: Context) -> str | None:
    if kind == "person":
        return _person(context)
    plural = kind == "many"
    if kind == "thing" and _is_part(text, match, context):
        return context.topic
    fitting = [
        subject
        for subject, subject_plural in reversed(context.subjects[-3:])
        if subject_plural == plural and subject not in context.persons
    ]
    opens = not any(token.tag in (Tag.NOMINAL, Tag.GERUND) for token in tag(text[: match.start()]))
    if opens or _is_introduction(text[: match.start()]):
        return fitting[0] if fitting else None
    # An object may go back to the topic over another subject: only one candidate is an answer.
    if context.topic and context.topic_is_plural == plural and not context.topic_is_person:
        fitting.append(context.topic)
    one = all(each.lower() in other.lower() or other.lower() in each.lower() for each, other in pairwise(fitting))
    return fitting[0] if fitting and one else None


def _person(context: Context) -> str | None:
    """The person whom the last sentence was about, else the only one named."""
    for subject, _ in context.subjects[-1:]:
        for person in reversed(context.persons):
            if person in subject or subject.split()[-1] == person.split()[-1]:
                return person
    if context.topic_is_person:
        return context.full_names.get(context.topic.split()[-1], context.topic)
    for candidates in (set(context.persons), set(context.latest_persons)):
        if len(candidates) == 1:
            return next(iter(candidates))
    return None
