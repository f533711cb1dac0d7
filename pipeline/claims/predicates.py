"""Predicates of several subjects and several predicates of one, where "and" can be taken apart (step 1)."""

from __future__ import annotations

import re

from pipeline.claims.clauses import Clause, next_word
from pipeline.claims.lexicon import BE, verbs, word_set
from pipeline.claims.tagging import FINITE, Tag, Token

# Said of all together, not of each: "are married to each other", "are the two largest".
_OF_ALL = word_set(
    """
    together each other another both married engaged related same similar different equal two three four five the
    between among their respectively opposite compared connected linked separated divided combined united merged
    collectively jointly alike adjacent
    """
)
_RELATIONS = word_set(
    """
    friends brothers sisters siblings twins cousins partners rivals neighbours neighbors enemies opposites spouses
    lovers parts types kinds examples allies colleagues competitors counterparts synonyms parents
    """
)


def named_subjects(found: Clause) -> list[str]:
    """Name and Name are (all) Cs -> Name is a C; .... And are done, are in: what holds for each of them alone."""
    tokens = found.tokens
    subject = tokens[found.first : found.group]
    parts = [part for part in re.split(r",\s+and\s+|,\s+|\s+and\s+", found.subject) if part]
    verb = tokens[found.verb].lower
    after = found.verb + 1
    while after < len(tokens) and tokens[after].lower in ("all", "both", "each"):
        after += 1
    predicate = tokens[after:]
    if verb not in ("are", "were") or len(parts) < 2 or not predicate:
        return []
    if not all(word[0].isupper() for part in parts for word in part.removeprefix("the ").split()):
        return []
    if any(token.tag not in (Tag.NOMINAL, Tag.DETERMINER, Tag.CONJUNCTION, Tag.PUNCTUATION) for token in subject):
        return []
    if any(token.lower in _OF_ALL or token.lower == "not" or token.text == "," for token in predicate):
        return []
    rest = _said_of_one(found, after)
    intro = f"{found.intro} " if found.intro else ""
    singular = {"are": "is", "were": "was"}[verb]
    return [f"{intro}{part} {singular} {rest}" for part in parts] if rest else []


def _said_of_one(found: Clause, after: int) -> str:
    """A predicate of several said of one: "planets with rings" as "a planet with rings"; nothing if not plain."""
    tokens = found.tokens[after:]
    opening = tokens[next_word(tokens, 0) % len(tokens)]
    text = found.text[tokens[0].start :]
    if opening.tag == Tag.PARTICIPLE:
        return text
    if opening.tag == Tag.PREPOSITION:
        return text if opening.lower in ("in", "on", "at", "near", "from") else ""
    nouns = 0
    while nouns < len(tokens) and tokens[nouns].tag == Tag.NOMINAL:
        nouns += 1
    if not nouns:
        return ""
    noun = tokens[nouns - 1]
    if noun.lower in _RELATIONS or not re.fullmatch(r"[a-z]+[^su]s", noun.lower) or noun.lower.endswith("ies"):
        return ""
    if noun.lower.endswith(("ses", "xes", "ches", "shes", "oes", "ves")):
        return ""
    if nouns < len(tokens) and tokens[nouns].lower not in ("in", "with", "of", "from", "that", "on", "at"):
        return ""
    article = "an" if tokens[0].lower[0] in "aeio" else "a"
    return f"{article} {found.text[tokens[0].start : noun.end - 1]}{found.text[noun.end :]}"


def listed_participles(found: Clause) -> list[str]:
    """X can be managed, tested and deployed -> X can be managed; X can be tested; .... Only at the end."""
    tokens = found.tokens
    end = len(tokens)
    start = end
    while start > found.verb + 1 and (
        tokens[start - 1].lower.endswith("ed") or tokens[start - 1].text == "," or tokens[start - 1].lower == "and"
    ):
        start -= 1
    items = [token for token in tokens[start:end] if token.text != "," and token.lower != "and"]
    commas = sum(token.text == "," for token in tokens[start:end])
    ands = [at for at in range(start, end) if tokens[at].lower == "and"]
    if len(items) < 3 or len(ands) != 1 or ands[0] != end - 2 or commas not in (len(items) - 2, len(items) - 1):
        return []
    if tokens[start].tag != Tag.PARTICIPLE or tokens[start].text == ",":
        return []
    governor = start - 1
    while governor > found.verb and tokens[governor].tag == Tag.ADVERB:
        governor -= 1
    within = any(token.tag == Tag.SUBORDINATOR for token in tokens[found.verb : governor])
    if tokens[governor].lower not in BE or within:
        return []
    prefix = found.text[: tokens[start].start]
    return [f"{prefix}{item.text}" for item in items]


def listed_infinitives(found: Clause) -> list[str]:
    """X can A, B and C -> X can A; X can B; X can C. Also two of them; not what cannot be."""
    tokens = found.tokens
    first = next_word(tokens, found.verb + 1)
    modal = tokens[found.verb].lower
    if modal not in ("can", "could", "will", "would", "may", "might", "must", "should") or first >= len(tokens):
        return []
    if tokens[first].lower in ("help", "let", "make"):
        return []  # "can help people explore and predict"
    if tokens[first].tag != Tag.INFINITIVE or any(token.lower in ("not", "or") for token in tokens[found.verb :]):
        return []
    starts = [first]
    ends: list[int] = []
    for index in range(first + 1, len(tokens) - 1):
        token, before = tokens[index], tokens[index - 1]
        if token.tag in FINITE or token.tag in (Tag.SUBORDINATOR, Tag.TO):
            break  # what follows may belong to another verb
        if before.lower != "and" and before.text != ",":
            continue
        at = next_word(tokens, index)
        verb = tokens[at] if at < len(tokens) - 1 else token
        if verb.lower not in verbs().base or (verb.lower in verbs().nouns and verb.tag != Tag.INFINITIVE):
            continue
        if tokens[at + 1].tag == Tag.PUNCTUATION or tokens[at + 1].lower == "and":
            return []
        ends.append(index - 2 if tokens[index - 2].text == "," and before.lower == "and" else index - 1)
        starts.append(index)
    if len(starts) < 2 or tokens[starts[-1] - 1].lower != "and" or _commas_within(tokens, starts, ends):
        return []
    prefix = found.text[: tokens[first].start]
    stops = [tokens[end].start for end in ends] + [len(found.text)]
    return [
        f"{prefix}{found.text[tokens[start].start : stop].rstrip(' ,')}"
        for start, stop in zip(starts, stops, strict=True)
    ]


def _commas_within(tokens: list[Token], starts: list[int], ends: list[int]) -> bool:
    """Whether an item but the last has a comma or an "and" of its own: then the items are not plain."""
    return any(
        token.text == "," or token.lower == "and"
        for start, end in zip(starts, ends, strict=False)
        for token in tokens[start:end]
    )
