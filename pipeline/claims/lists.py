"""Enumerations: one statement for each item, where the items can stand alone (step 1)."""

from __future__ import annotations

import re
from itertools import pairwise

from pipeline.claims.clauses import Clause, head, inside_date, next_word
from pipeline.claims.lexicon import BE, POSSESSIVES, verbs, word_set
from pipeline.claims.tagging import FINITE, Tag, Token, is_plural

# "a combination of A, B and C": the parts hold together.
_WHOLES = word_set("combination mix mixture series set group variety range number sum total blend team pair")
# Examples, relations and origins hold together too.
_TOGETHER = word_set("as like between among from both either")
_EXAMPLES = _TOGETHER | {"such", "including"}
_ADJECTIVE = re.compile(r"(?:[^r]al|ive|ous|ful|less|able|ible|[^s]ic|ary)$")
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_NOUN_ENDINGS = ("tion", "sion", "ment", "ness", "ity", "ance", "ence", "ship", "ism", "ology", "hood")
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
    if len(rest) < 2 or not all(map(_is_list_item, rest)):
        return []
    if ands[0] != commas[-1] + 1 and any(token.tag == Tag.PREPOSITION for item in rest[:-1] for token in item):
        return []  # without the comma before "and" only plain items are a list for certain
    start = _first_item(found, commas[0], rest)
    if start is None or not _is_list_item(tokens[start : commas[0]]):
        return []
    if len(rest[-1]) > 1 and any(_ADJECTIVE.search(item[-1].lower) for item in [tokens[start : commas[0]], *rest[:-1]]):
        return []  # "financial, human and natural resources"
    items = [tokens[start : commas[0]], *rest]
    texts = [_with_bracket(found.text, item[0].start, item[-1].end) for item in items]
    owner = tokens[start]
    if owner.lower in POSSESSIVES and all(item[0].tag == Tag.NOMINAL for item in rest):
        texts[1:] = [f"{owner.text} {text}" for text in texts[1:]]  # "its size, mass and age"
    if tokens[start - 1].text == ":":
        return _counted(found, start - 1, texts)
    prefix = found.text[: tokens[start].start]
    return [f"{prefix}{text}" for text in texts]


def _counted(found: Clause, colon: int, items: list[str]) -> list[str]:
    """X is written in three scripts: A, B and C -> X is written in A; .... The number must be that of the items."""
    tokens = found.tokens
    numbers = [at for at in range(found.verb + 1, colon) if _NUMBERS.get(tokens[at].lower) == len(items)]
    if len(numbers) != 1 or tokens[numbers[0] - 1].tag == Tag.DETERMINER or found.subject.lower() == "there":
        return []
    end = numbers[0] + 1
    while end < colon and tokens[end].tag == Tag.NOMINAL:
        end += 1
    if end == numbers[0] + 1 or not is_plural(tokens[end - 1].text):
        return []
    if tokens[end].lower in ("of", "in", "for", "that", "which"):
        return []  # "areas of study: A, B": the complement belongs to the word that is left out
    prefix, rest = found.text[: tokens[numbers[0]].start], found.text[tokens[end - 1].end : tokens[colon].start]
    return [f"{prefix}{item}{rest}" for item in items]


def counted_pair(found: Clause) -> list[str]:
    """X adds two languages to Y: A and B -> X adds A to Y; X adds B to Y."""
    tokens = found.tokens
    colons = [index for index in range(found.verb + 1, len(tokens)) if tokens[index].text == ":"]
    if len(colons) != 1 or not 3 <= len(tokens) - colons[0] - 1 <= _LONGEST_PAIR:
        return []
    items = tokens[colons[0] + 1 :]
    ands = [at for at, token in enumerate(items) if token.lower == "and"]
    if len(ands) != 1 or any(token.text == "," for token in items) or not 0 < ands[0] < len(items) - 1:
        return []
    pair = [items[: ands[0]], items[ands[0] + 1 :]]
    if not all(map(_is_list_item, pair)):
        return []
    return _counted(found, colons[0], [found.text[item[0].start : item[-1].end] for item in pair])


def included_pair(found: Clause) -> list[str]:
    """X include A and B -> X include A; X include B."""
    tokens = found.tokens
    if tokens[found.verb].lower not in ("include", "includes", "included"):
        return []
    rest = found.text[tokens[found.verb].end :].strip()
    parts = rest.split(" and ")
    if len(parts) != 2 or "," in rest or "both" in rest.split()[0] or not all(_is_whole_item(part) for part in parts):
        return []
    prefix = found.text[: tokens[found.verb].end]
    return [f"{prefix} {part.strip()}" for part in parts]


def _is_whole_item(text: str) -> bool:
    """Whether an item is a name, a quotation or a noun with its article: it needs nothing of the other."""
    words = text.split()
    if not words or len(words) > _LONGEST_ITEM:
        return False
    return (
        text.strip()[0] in '"“*' or words[0].lower() in ("a", "an", "the") or all(word[0].isupper() for word in words)
    )


def _items(tokens: list[Token], bounds: list[int]) -> list[list[Token]]:
    """The tokens between the bounds, commas and a leading "and" left out."""
    items: list[list[Token]] = []
    for start, end in pairwise(bounds):
        item = [token for token in tokens[start + 1 : end] if token.text != ","]
        items.append(item[1:] if item and item[0].lower == "and" else item)
    return items


def _first_item(found: Clause, comma: int, rest: list[list[Token]]) -> int | None:
    """The token where the first item begins, given the other items; None when that is not plain."""
    tokens = found.tokens
    forms = verbs()
    if all(item[0].lower in forms.base and item[0].lower not in forms.nouns for item in rest):
        # "can improve quality, reduce costs, and save time": the items are infinitives
        infinitives = [at for at in range(found.verb, comma) if tokens[at].tag == Tag.INFINITIVE]
        whole = all(len(item) > 1 for item in rest)
        return infinitives[-1] if infinitives and infinitives[-1] + 1 < comma and whole else None
    if any(item[0].lower in forms.base and item[0].lower not in forms.nouns for item in rest):
        return None
    if any(item[0].lower in forms.third and item[0].lower not in forms.nouns for item in rest):
        return None
    if any(item[0].tag == Tag.PARTICIPLE and len(item) > 1 and item[1].tag == Tag.PREPOSITION for item in rest):
        return None
    gerunds = [item[0].tag == Tag.GERUND and len(item) > 1 for item in rest]
    if any(gerunds) and not all(gerunds):
        return None
    articles = all(item[0].tag == Tag.DETERMINER for item in rest)
    # Items with complements ("dependence on models") need a first item that has one too.
    inner = [token for item in rest[:-1] for token in item]
    complements = any(token.tag in (Tag.PREPOSITION, Tag.TO) and token.lower != "of" for token in inner)
    start = _list_anchor(found, comma, articles=articles, complements=complements)
    if start is None or (any(gerunds) and tokens[start].tag != Tag.GERUND):
        return None
    return start


def listed_subjects(found: Clause) -> list[str]:
    """A, B and C are done by D -> A is done by D; B is ...; C is .... Not "are the three parts"."""
    tokens = found.tokens
    singular = {"are": "is", "were": "was", "have": "has"}.get(tokens[found.verb].lower)
    after = found.verb + 1
    while after < len(tokens) and tokens[after].lower in ("all", "each", "both"):
        after += 1
    predicate = next_word(tokens, after)
    if singular is None or predicate >= len(tokens) or any(token.lower == "not" for token in tokens[after:predicate]):
        return []
    if tokens[predicate].tag not in (Tag.PARTICIPLE, Tag.PREPOSITION):
        return []
    subject = tokens[found.first : found.group]
    commas = [index for index, token in enumerate(subject) if token.text == ","]
    ands = [index for index, token in enumerate(subject) if token.lower == "and"]
    if not commas or len(ands) != 1 or ands[0] < commas[-1]:
        return []
    bounds = [-1, *(comma for comma in commas if comma != ands[0] - 1), ands[0], len(subject)]
    items = [[token for token in subject[start + 1 : end] if token.text != ","] for start, end in pairwise(bounds)]
    if len(items) < 3 or not all(map(_is_list_item, items)):
        return []
    texts = [found.text[item[0].start : item[-1].end] for item in items]
    owners = (token for token in items[0] if token.lower.endswith("'s") or token.lower in POSSESSIVES)
    owner = next(owners, None)
    if owner is not None:  # "a star's size, mass and age"
        texts[1:] = [found.text[items[0][0].start : owner.end] + f" {text}" for text in texts[1:]]
    rest = found.text[tokens[after].start :]
    intro = f"{found.intro} " if found.intro else ""
    return [
        f"{intro}{text} {tokens[found.verb].text if is_plural(head(item)) else singular} {rest}"
        for text, item in zip(texts, items, strict=True)
    ]


def _with_bracket(text: str, start: int, end: int) -> str:
    """The piece with a bracket that directly follows it: "CEO (Chief Executive Officer)"."""
    rest = text[end:]
    if rest.lstrip().startswith("(") and ")" in rest:
        end += rest.index(")") + 1
    return text[start:end]


def _list_anchor(found: Clause, comma: int, *, articles: bool, complements: bool) -> int | None:
    """The token after the verb or preposition that governs the list.

    With ``articles`` the first item has an article too, with ``complements`` a preposition of its own. None when that
    is not plain.
    """
    complement_seen = False
    for index in range(comma - 1, max(found.verb, comma - _LONGEST_ITEM - 2) - 1, -1):
        token = found.tokens[index]
        if token.lower in _TOGETHER or token.tag == Tag.SUBORDINATOR:
            return None
        is_verb = token.tag in (*FINITE, Tag.INFINITIVE)
        if token.lower == "of" and found.tokens[index - 1].lower in _WHOLES:
            return None
        if is_verb or token.tag in (Tag.PREPOSITION, Tag.TO) or token.text == ":":
            if complements and not complement_seen and not is_verb:
                complement_seen = True
                continue
            if articles and found.tokens[index + 1].tag != Tag.DETERMINER:
                continue
            return index + 1
        if token.tag == Tag.PARTICIPLE and found.tokens[index - 1].lower in BE:
            return index + 1
    return None


def _both_whole(left: list[Token], right: list[Token]) -> bool:
    """Whether "and" joins two nouns with adjectives of their own ("mild winters and hot summers")."""
    nouns = [token for token in right if token.tag == Tag.NOMINAL]
    known = verbs()
    verb_follows = any(token.lower in known.base and token.lower not in known.nouns for token in right)
    plain = all(token.tag == Tag.NOMINAL for token in left) and not verb_follows  # "helped A and B find C"
    last = left[-1].lower
    whole = is_plural(last) or last.endswith(_NOUN_ENDINGS)
    return plain and whole and len(left) >= 2 and len(nouns) >= 2 and right[1].tag == Tag.NOMINAL


def _is_list_item(item: list[Token]) -> bool:
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


def _alike_before(found: Clause, end: int, right: list[Token]) -> int | None:
    """Where the phrase before "and" begins: it opens like the one after, with the same preposition or an article."""
    for index in range(end - 2, max(found.verb, end - _LONGEST_PAIR - 1), -1):
        token, before = found.tokens[index], found.tokens[index - 1]
        if token.tag in _NOT_IN_PAIR or token.lower in _TOGETHER or before.lower in _TOGETHER:
            return None
        bare = right[0].tag == Tag.NOMINAL and token.tag == Tag.NOMINAL
        if bare and before.tag in (*FINITE, Tag.INFINITIVE) and _both_whole(found.tokens[index:end], right):
            return index
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
