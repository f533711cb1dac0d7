"""Statements attached to a noun: appositions, relative clauses, dates of life, "with sales rising" (step 1).

Each function takes a clause and gives statements, or nothing when it does not apply for certain.
"""

from __future__ import annotations

import re

from pipeline.claims.clauses import Clause, clause, head, inside_date, next_word
from pipeline.claims.lexicon import MONTHS, verbs, with_s, word_set
from pipeline.claims.tagging import FINITE, Tag, Token, is_plural

# What follows a comma and names the whole event or an office of the subject: "won in Rome, a feat".
_NO_NAMES = word_set(
    """
    move decision step feat act position role post title process practice event record rise fall increase decrease
    distinction honour honor fact figure result year day month time sign period change shift job rank number total
    son daughter child member graduate native resident student victory defeat loss win gap rate height theme trend
    concept term phenomenon lot bit kind sort type form man woman place thing key matter measure task few journey
    """
)
# What may be said of a place that something happens in: "in Ema, a town near Lund".
_PLACES = word_set(
    """
    city town village suburb district borough county province region state country island municipality capital port
    river lake mountain volcano peninsula valley area neighbourhood neighborhood settlement hamlet territory
    university college school institute hospital prison museum church castle palace station airport
    """
)
_FAMED = word_set("known famous renowned noted remembered celebrated acclaimed")
_IN_PLACE = word_set("in at near from to outside around")
_MONTH = "|".join(month.capitalize() for month in sorted(MONTHS))
_DATE = rf"(?:\d{{1,2}} (?:{_MONTH}),? \d{{3,4}}|(?:{_MONTH}) \d{{1,2}}, \d{{3,4}})"
# "(born 5 May 1815)", "(5 May 1815 – 2 June 1852)"; two bare years may be a reign or a term of office.
_LIFE = re.compile(rf"\s*\((?:born |b\. )?(?P<born>{_DATE})(?:\s*[–—-]\s*(?P<died>{_DATE}))?\)")
_LIVES = re.compile(r"(?:born |b\. )|[–—-]")


def dates_of_life(found: Clause) -> list[str]:
    """X (5 May 1815 – 2 June 1852) does Y -> X was born on 5 May 1815; X died on 2 June 1852; X does Y."""
    start = found.tokens[found.first].start
    match = _LIFE.search(found.text, start, found.tokens[found.verb].start)
    if match is None or not _LIVES.search(match[0]):
        return []
    name = found.text[start : match.start()]
    if "," in name or not 2 <= len(name.split()) <= 5 or not all(word[0].isupper() for word in name.split()):
        return []
    said = [f"{name} was born on {match['born']}"]
    if match["died"]:
        said.append(f"{name} died on {match['died']}")
    return [*said, found.text[: match.start()] + found.text[match.end() :]]


def trailing_apposition(found: Clause) -> list[str]:
    """A does B to Name, a C -> A does B to Name; Name is a C."""
    tokens = found.tokens
    commas = [
        index
        for index in range(found.verb + 1, len(tokens) - 2)
        if tokens[index].text == "," and not inside_date(tokens, index)
    ]
    if len(commas) != 1:
        return []  # further commas: a list, or who knows
    comma = commas[0]
    added = tokens[comma + 1 :]
    if added[0].lower not in ("a", "an", "the") or any(token.tag in FINITE for token in _until_relative(added)):
        return []
    name = _name_before(found, comma)
    kind = head(added[1:]).lower()
    if not name or not kind or is_plural(kind) or kind in _NO_NAMES or added[1].tag == Tag.NUMBER:
        return []
    before = tokens[name[0] - 1]
    if before.lower in _IN_PLACE and kind not in _PLACES:
        return []
    if before.lower in ("and", "or", "of", "like", "as", "than", "for") or before.tag == Tag.NUMBER:
        return []
    if added[0].lower == "the" and kind in _PLACES and before.lower not in _IN_PLACE:
        return []
    named = found.text[tokens[name[0]].start : tokens[comma].start].strip()
    be = "was" if found.is_past and kind not in _PLACES else "is"
    return [found.text[: tokens[comma].start], f"{named} {be} {found.text[added[0].start :]}"]


def _until_relative(tokens: list[Token]) -> list[Token]:
    """The tokens before the first "who", "which" or "that": a verb behind it has its own subject."""
    stop = next((at for at, token in enumerate(tokens) if token.tag == Tag.SUBORDINATOR), len(tokens))
    return tokens[:stop]


def _name_before(found: Clause, end: int) -> tuple[int, int] | None:
    """First and last token of the proper name that ends before ``end``; None when no capital stands there."""
    start = end
    while start > found.verb + 1 and found.tokens[start - 1].tag == Tag.NOMINAL:
        if not found.tokens[start - 1].text[0].isupper():
            break
        start -= 1
    return (start, end - 1) if start < end else None


def whose_and_where(found: Clause) -> list[str]:
    """A does B to Name, whose C does D -> A does B to Name; Name's C does D. "In Name, where C": In Name, C."""
    tokens = found.tokens
    for index in range(found.verb + 2, len(tokens) - 2):
        relative = tokens[index].lower
        if relative not in ("whose", "where") or tokens[index - 1].text != ",":
            continue
        name = _name_before(found, index - 1)
        rest = found.text[tokens[index].end :].strip()
        if name is None or tokens[name[0] - 1].lower in ("and", "or"):
            return []
        named = found.text[tokens[name[0]].start : tokens[index - 1].start].strip()
        left = found.text[: tokens[index - 1].start]
        if relative == "whose":
            owned = f"{named}'s {rest}"
            return [left, owned] if clause(owned) is not None else []
        before = tokens[name[0] - 1].lower
        place = "in" if before not in ("in", "at", "near") else before
        other = clause(rest)
        if before not in ("in", "at", "near", "to") or other is None or other.tokens[0].tag == Tag.PRONOUN:
            return []  # "where he": the rules for pronouns know the subject
        return [left, f"{place.capitalize()} {named}, {rest}"]
    return []


def with_gerund(found: Clause) -> list[str]:
    """A does B, with C doing D -> A does B; C does D."""
    tokens = found.tokens
    for index in range(found.verb + 2, len(tokens) - 3):
        if tokens[index].lower != "with" or tokens[index - 1].text != ",":
            continue
        rest = tokens[index + 1 :]
        at = next((at for at, token in enumerate(rest) if token.tag == Tag.GERUND and at), 0)
        inner = rest[:at]
        if not at or any(token.tag in (*FINITE, Tag.SUBORDINATOR, Tag.PREPOSITION) for token in inner):
            return []
        if any(token.text in (",", "and") for token in inner) or inner[-1].tag not in (Tag.NOMINAL, Tag.PRONOUN):
            return []
        if any(token.text == ";" or (token.text == "," and not inside_date(rest, at)) for at, token in enumerate(rest)):
            return []
        subject = found.text[rest[0].start : inner[-1].end]
        form = _finite(rest[at].lower, subject, past=found.is_past)
        if not form or at + 1 == len(rest) or next_word(rest, at + 1) == len(rest) or _is_compound(rest, at):
            return []
        return [found.text[: tokens[index - 1].start], f"{subject} {form} {found.text[rest[at].end :].strip()}"]
    return []


def _is_compound(tokens: list[Token], at: int) -> bool:
    """Whether the word in "ing" only describes the noun after it: "with bright shining stars"."""
    following = tokens[at + 1]
    return following.tag == Tag.NOMINAL and tokens[at].lower != "being" and not following.text[0].isupper()


def _finite(gerund: str, subject: str, *, past: bool) -> str:
    """The finite form of a verb in "ing" for a subject; nothing when the verb is not known."""
    plural = is_plural(subject.split()[-1])
    if gerund == "being":
        return ("were" if plural else "was") if past else ("are" if plural else "is")
    base = verbs().gerund.get(gerund)
    if base is None:
        return ""
    if past:
        return next((form for form, of in verbs().past.items() if of == base), "")
    return base if plural else with_s(base)


def known_for(found: Clause) -> list[str]:
    """X is an actor best known for Y -> X is an actor; X is best known for Y."""
    tokens = found.tokens
    be = tokens[found.verb].lower
    article = next_word(tokens, found.verb + 1)
    if be not in ("is", "was") or article >= len(tokens) or tokens[article].lower not in ("a", "an"):
        return []
    for index in range(article + 2, len(tokens) - 2):
        if tokens[index].tag in (*FINITE, Tag.SUBORDINATOR) or tokens[index].text == ",":
            return []
        if tokens[index].lower in _FAMED and tokens[index + 1].lower in ("for", "as"):
            start = index
            while tokens[start - 1].tag == Tag.ADVERB or tokens[start - 1].lower == "best":
                start -= 1
            if tokens[start - 1].tag != Tag.NOMINAL:
                return []
            left = found.text[: tokens[start].start]
            return [left, found.said_of_subject(f"{be} {found.text[tokens[start].start :]}")]
    return []
