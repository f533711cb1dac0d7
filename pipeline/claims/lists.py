"""Enumerations: one statement for each item, where the items can stand alone (step 1)."""

from __future__ import annotations

import re
from itertools import pairwise

from pipeline.claims.clauses import Clause, inside_date
from pipeline.claims.lexicon import verbs, word_set
from pipeline.claims.tagging import FINITE, Tag, TaggedToken

# "a combination of A, B and C": the parts hold together.
_WHOLES = word_set("combination mix mixture series set group variety range number sum total blend team pair")
# Examples, relations and origins are kept together, too.
_TOGETHER = word_set("as like between among from both either")
_EXAMPLES = _TOGETHER | {"such", "including"}
_ADJECTIVE = re.compile(r"(?:[^r]al|ive|ous|ful|less|able|ible|[^s]ic|ary)$")
_LONGEST_PAIR = 9
_NOT_IN_PAIR = (*FINITE, Tag.SUBORDINATOR, Tag.PRONOUN, Tag.CONJUNCTION)
_LONGEST_ITEM = 7  # words of an item that may be set in the place of the list


def listed_objects(found: Clause) -> list[str]:
    """X has A, B and C -> X has A; X has B; X has C. Only lists of three or more short items that end the clause."""
    tokens = found.tokens
    commas = [
        index
        for index in range(found.verb + 1, len(tokens))
        if tokens[index].text == "," and not inside_date(tokens, index)
    ]
    if not commas:
        return []
    ands = [index for index in range(commas[-1] + 1, len(tokens)) if tokens[index].lower == "and"]
    if not ands or (ands[0] != commas[-1] + 1 and len(ands) > 1):
        return []
    rest = _items(tokens, [*commas, len(tokens)] if ands[0] == commas[-1] + 1 else [*commas, ands[0], len(tokens)])
    start = _first_item(found, commas[0], rest) if len(rest) > 1 and all(map(_is_list_item, rest)) else None
    if start is None or not _is_list_item(tokens[start : commas[0]]):
        return []
    items = [tokens[start : commas[0]], *rest]
    if len(rest[-1]) > 1 and any(_ADJECTIVE.search(item[-1].lower) for item in items[:-1]):
        return []  # "financial, human and natural resources"
    prefix = found.text[: tokens[start].start]
    return [f"{prefix}{found.text[item[0].start : item[-1].end]}" for item in items]


def _items(tokens: list[TaggedToken], bounds: list[int]) -> list[list[TaggedToken]]:
    """The tokens between the bounds, commas and a leading "and" left out."""
    items: list[list[TaggedToken]] = []
    for start, end in pairwise(bounds):
        item = [token for token in tokens[start + 1 : end] if token.text != ","]
        items.append(item[1:] if item and item[0].lower == "and" else item)
    return items


def _first_item(found: Clause, comma: int, rest: list[list[TaggedToken]]) -> int | None:
    """The token where the first item begins, given the other items; None when that is not plain."""
    tokens = found.tokens
    forms = verbs()
    bases = [item[0].lower in forms.base and item[0].lower not in forms.nouns for item in rest]
    if all(bases):
        # "can improve quality, reduce costs, and save time": the items are infinitives
        infinitives = [at for at in range(found.verb, comma) if tokens[at].tag == Tag.INFINITIVE]
        return infinitives[-1] if infinitives and all(len(item) > 1 for item in rest) else None
    if any(bases) or any(item[0].lower in forms.third and item[0].lower not in forms.nouns for item in rest):
        return None
    # Items with complements ("dependence on models") need a first item that has one too.
    inner = [token for item in rest[:-1] for token in item]
    start = _list_anchor(
        found,
        comma,
        articles=all(item[0].tag == Tag.DETERMINER for item in rest),
        complements=any(token.tag in (Tag.PREPOSITION, Tag.TO) and token.lower != "of" for token in inner),
    )
    gerunds = any(item[0].tag == Tag.GERUND and len(item) > 1 for item in rest)
    return None if start is None or (gerunds and tokens[start].tag != Tag.GERUND) else start


def _list_anchor(found: Clause, comma: int, *, articles: bool, complements: bool) -> int | None:
    """The token after the verb or preposition that governs the list.

    With ``articles`` the first item has an article too, with ``complements`` a preposition of its own. None when that
    is not plain.
    """
    for index in range(comma - 1, max(found.verb, comma - _LONGEST_ITEM - 2) - 1, -1):
        token = found.tokens[index]
        if token.lower in _TOGETHER or token.tag == Tag.SUBORDINATOR or token.text == ":":
            return None
        if token.lower == "of" and found.tokens[index - 1].lower in _WHOLES:
            return None
        is_verb = token.tag in (*FINITE, Tag.INFINITIVE)
        if is_verb or token.tag in (Tag.PREPOSITION, Tag.TO):
            if complements and not is_verb:
                complements = False
            elif not articles or found.tokens[index + 1].tag == Tag.DETERMINER:
                return index + 1
    return None


def _is_list_item(item: list[TaggedToken]) -> bool:
    return (
        0 < len(item) <= _LONGEST_ITEM
        and not any(token.tag in (*FINITE, Tag.SUBORDINATOR) or token.lower in _EXAMPLES for token in item)
        and item[0].tag not in (Tag.ADVERB, Tag.PREPOSITION, Tag.SUBORDINATOR, Tag.PRONOUN, Tag.CONJUNCTION)
        and any(token.tag in (Tag.NOMINAL, Tag.GERUND) for token in item)
    )


def paired_objects(found: Clause) -> list[str]:
    """X is in A and in B -> X is in A; X is in B. Two noun phrases alike in build, at the end of the clause."""
    tokens = found.tokens
    ands = [index for index in range(found.verb + 1, len(tokens)) if tokens[index].lower == "and"]
    if len(ands) != 1 or any(token.text == "," for token in tokens[found.verb : ands[0]]):
        return []
    right = tokens[ands[0] + 1 :]
    while right and right[0].tag == Tag.ADVERB:
        right = right[1:]
    if not 2 <= len(right) <= _LONGEST_PAIR or any(token.tag in _NOT_IN_PAIR or token.text == "," for token in right):
        return []
    if right[0].lower in ("more", "most", "less"):
        return []  # "a broader and more nuanced idea"
    start = _alike_before(found, ands[0], right)
    if start is None:
        return []
    prefix = found.text[: tokens[start].start]
    return [found.text[: tokens[ands[0] - 1].end], f"{prefix}{found.text[right[0].start : right[-1].end]}"]


def _alike_before(found: Clause, end: int, right: list[TaggedToken]) -> int | None:
    """Where the phrase before "and" begins: it opens like the one after, with the same preposition or an article."""
    for index in range(end - 2, max(found.verb, end - _LONGEST_PAIR - 1), -1):
        token, before = found.tokens[index], found.tokens[index - 1]
        if token.tag in _NOT_IN_PAIR or token.lower in _TOGETHER or before.lower in _TOGETHER:
            return None
        same_preposition = right[0].tag == Tag.PREPOSITION and token.lower == right[0].lower
        if token.tag in (Tag.PREPOSITION, Tag.TO) and token.lower not in ("of", right[0].lower):
            return None
        both_article = right[0].tag == Tag.DETERMINER and token.tag == Tag.DETERMINER
        opens = before.tag in (*FINITE, Tag.INFINITIVE, Tag.PREPOSITION, Tag.TO, Tag.ADVERB)
        if both_article and before.lower == "of":
            return None
        if same_preposition or (both_article and opens):
            return index
    return None
