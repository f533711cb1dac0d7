"""The statements that follow from a sentence, by splitting it (step 1).

Every split is a function from a clause to statements, or to nothing when it does not apply for certain. The rules stay
on the cautious side: appendix C.1 of Factcheck-Bench asks not to overdo it, and a wrong split costs an annotator more
than a missing one. Only splits that helped on unread documents are here (docs/prefill-quality.md).
"""

from __future__ import annotations

import re

from pipeline.claims.clauses import RELATIVES, Clause, clause, head, inside_date, next_word
from pipeline.claims.decontextualize import without_markers
from pipeline.claims.lexicon import MODALS, SUBJECT_PRONOUNS, verbs, with_s, word_set
from pipeline.claims.lists import listed_objects, paired_objects
from pipeline.claims.tagging import FINITE, Tag, is_plural

# "..., which allows X": it is the whole clause that allows, not the noun before the comma.
_CLAUSE_VERBS = word_set("allow make mean cause lead result help enable suggest give let require seem appear")
# The last two are said of the whole event: "Many protested, leading to reforms".
_NO_PARTICIPLE_CLAUSE = word_set(
    "including following according regarding concerning depending being during leading resulting"
)
_OPENING_PRONOUN = re.compile(r"(?:it|they|he|she|its|their)\b(?!['’])", re.IGNORECASE)
_LABEL = re.compile(r"(?P<label>[^:.,;!?\d]{2,60}):\s+(?P<rest>\S.*)", re.DOTALL)
_JOINS = word_set("and but so yet while whereas although though meaning where")


def statements(text: str, depth: int = 0) -> list[str]:
    """The statements of a sentence, in order, each without its final point; the sentence itself when none splits."""
    text = _without_label(text.strip().rstrip(".").rstrip())
    found = clause(text) if depth < 6 else None
    if found is None or text.endswith("?"):
        return [text]
    for split in _SPLITS:
        parts = split(found)
        if parts:
            return [statement for part in parts for statement in statements(part, depth + 1)]
    return [text]


def _without_label(text: str) -> str:
    """Label: X does Y -> X does Y. A label with a number (a year, a rank) stays."""
    match = _LABEL.match(text)
    if match is None or clause(match["label"]) is not None or clause(match["rest"]) is None:
        return text
    return match["rest"]


def _coordinated_clauses(found: Clause) -> list[str]:
    """A, and B -> A; B, where both have a subject of their own. Also "while", "because", ";" and ":"."""
    for index in range(found.verb + 2, len(found.tokens) - 2):
        token = found.tokens[index]
        after_comma = found.tokens[index - 1].text == ","
        if token.text not in (";", ":") and token.lower != "because" and not (after_comma and token.lower in _JOINS):
            continue
        left = found.text[: token.start].rstrip(" ,")
        right = without_markers(found.text[token.end :].lstrip(" ,"))
        other = clause(right)
        if other is None or clause(left) is None:
            continue
        within = any(each.tag == Tag.SUBORDINATOR for each in found.tokens[found.verb : index])
        if "," in other.subject or (within and token.lower not in ("while", "whereas", ";")):
            continue  # a list that only looks like a clause, or a clause within a relative clause
        return [left, _with_named_subject(found, right)]
    return []


def _with_named_subject(first: Clause, second: str) -> str:
    """The second of two clauses, its opening pronoun replaced by the subject of the first when the number agrees."""
    pronoun = _OPENING_PRONOUN.match(second)
    if pronoun is None or first.subject.lower() in SUBJECT_PRONOUNS:
        return second
    word, named = pronoun[0].lower(), first.subject
    if (word in ("they", "their")) != first.is_plural or (word in ("he", "she") and not named[0].isupper()):
        return second
    owner = "'s" if word in ("its", "their") else ""
    return f"{named}{owner}{second[pronoun.end() :]}"


def _trailing_relative(found: Clause) -> list[str]:
    """A does B to N, which does C -> A does B to N; N does C."""
    tokens = found.tokens
    for index in range(found.verb + 1, len(tokens) - 2):
        if tokens[index].lower not in ("which", "who") or tokens[index - 1].text != ",":
            continue
        follows = next_word(tokens, index + 1)
        if follows == len(tokens) or tokens[follows].tag not in FINITE:
            continue
        verb = tokens[follows].lower
        if verbs().third.get(verb, verbs().past.get(verb, verb.rstrip("s"))) in _CLAUSE_VERBS:
            continue
        noun = _noun_before(found, index - 1, plural=verb in ("are", "were", "have") or verb in verbs().base)
        if noun:
            return [found.text[: tokens[index - 1].start], f"{noun} {found.text[tokens[index].end :].strip()}"]
    return []


def _noun_before(found: Clause, end: int, *, plural: bool) -> str:
    """The noun phrase that ends at token ``end``, with its complements; of "A and B" only B when singular is asked."""
    start = end
    while start > found.verb + 1:
        token = found.tokens[start - 1]
        in_phrase = token.tag in (Tag.NOMINAL, Tag.DETERMINER, Tag.NUMBER, Tag.GERUND, Tag.PARTICIPLE)
        if not in_phrase and token.lower != "of" and not (token.tag == Tag.CONJUNCTION and plural):
            break
        start -= 1
    while start < end and found.tokens[start].tag in (Tag.CONJUNCTION, Tag.PREPOSITION, Tag.PARTICIPLE):
        start += 1
    phrase = found.tokens[start:end]
    if len(phrase) < 2 and not (phrase and phrase[0].text[0].isupper()):
        return ""  # a bare noun or "them" says too little alone
    if phrase[-1].tag in (Tag.NUMBER, Tag.DETERMINER) or (plural and not is_plural(head(phrase))):
        return ""
    return found.text[phrase[0].start : found.tokens[end].start].strip()


def _defining_relative(found: Clause) -> list[str]:
    """X is a Y that does Z -> X is a Y; X does Z."""
    tokens = found.tokens
    article = next_word(tokens, found.verb + 1)
    if tokens[found.verb].lower not in ("is", "was") or found.subject.lower() in SUBJECT_PRONOUNS:
        return []
    if article >= len(tokens) or tokens[article].lower not in ("a", "an"):
        return []
    for index in range(article + 2, len(tokens) - 2):
        if tokens[index].tag == Tag.VERB or tokens[index].text == ",":
            return []
        if tokens[index].tag == Tag.SUBORDINATOR and tokens[index].lower in RELATIVES:
            verb = tokens[min(next_word(tokens, index + 1), len(tokens) - 1)]
            nearer = is_plural(tokens[index - 1].text) and verb.lower in (*MODALS, "are", "were", "have")
            if verb.tag not in FINITE or nearer:
                return []  # "a planet with surfaces that can be walked on"
            return [found.text[: tokens[index].start], found.said_of_subject(found.text[tokens[index].end :])]
    return []


def _participle_clause(found: Clause) -> list[str]:
    """X does Y, causing Z -> X does Y; X causes Z."""
    tokens = found.tokens
    for index in range(found.verb + 2, len(tokens) - 1):
        token = tokens[index]
        if token.tag != Tag.GERUND or tokens[index - 1].text != "," or token.lower in _NO_PARTICIPLE_CLAUSE:
            continue
        base = verbs().gerund.get(token.lower)
        rest = tokens[index + 1 :]
        if base is None or found.subject.lower() in ("there", "it", "this"):
            continue
        commas = [at for at in range(found.verb + 1, index - 1) if tokens[at].text == ","]
        listed = any(each.tag == Tag.GERUND and rest[at - 1].text in (",", "and") for at, each in enumerate(rest))
        if rest[0].text in (",", "and", "or") or listed or any(not inside_date(tokens, at) for at in commas):
            return []  # a list, or nouns that look so
        said = f"{_finite(found, base)} {found.text[token.end :].strip()}"
        return [found.text[: tokens[index - 1].start], found.said_of_subject(said)]
    return []


def _finite(found: Clause, base: str) -> str:
    """A verb in the form that the subject and the time of the clause ask for."""
    if found.is_past:
        return next((past for past, of in verbs().past.items() if of == base), base)
    return base if found.is_plural else with_s(base)


def _coordinated_predicates(found: Clause) -> list[str]:
    """X does A and does B -> X does A; X does B. Also "was A-ed and B-ed", and three of them."""
    tokens = found.tokens
    passive_at = next_word(tokens, found.verb + 1)
    is_passive = passive_at < len(tokens) and tokens[passive_at].tag == Tag.PARTICIPLE
    for index in range(found.verb + 1, len(tokens) - 1):
        token = tokens[index]
        if token.tag == Tag.SUBORDINATOR and token.lower in RELATIVES:
            return []  # what follows belongs to the relative clause
        if token.lower not in ("and", "but"):
            continue
        follows = next_word(tokens, index + 1)
        embedded = any(
            tokens[at].tag in FINITE and tokens[at - 1].text != "," and tokens[at - 1].tag != Tag.ADVERB
            for at in range(found.verb + 1, index)
        )
        if follows == len(tokens) or embedded or passive_at == index:
            return []  # a clause without "that" in between; or two verbs that share what follows
        listed = [at for at in range(found.verb + 1, index) if tokens[at].text == ","]
        if (
            len(listed) > 1
            and tokens[follows].lower.endswith("ed")
            and tokens[min(follows + 1, len(tokens) - 1)].tag == Tag.NOMINAL
        ):
            continue  # "abuses, unrest, and organized crime"
        is_finite = tokens[follows].tag in FINITE
        continues_passive = is_passive and tokens[follows].tag == Tag.PARTICIPLE and follows > passive_at + 2
        if not is_finite and not continues_passive:
            continue
        left = found.text[: token.start].rstrip(" ,")
        right = found.text[tokens[index + 1].start :]
        if continues_passive:
            right = f"{found.text[tokens[found.group].start : tokens[passive_at].start]}{right}"
        pieces = []
        start = 0
        for at in range(found.verb + 1, index - 1):
            if is_finite and tokens[at].text == "," and tokens[next_word(tokens, at + 1)].tag in FINITE:
                pieces.append(left[start : tokens[at].start])
                start = tokens[at].end
        pieces.append(left[start:])
        return [pieces[0], *map(found.said_of_subject, pieces[1:]), found.said_of_subject(right)]
    return []


_SPLITS = (
    _coordinated_clauses,
    _trailing_relative,
    _participle_clause,
    _coordinated_predicates,
    _defining_relative,
    listed_objects,
    paired_objects,
)
