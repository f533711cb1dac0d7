"""The statements that follow from a sentence, by splitting it (step 1).

Every split is a function from a clause to statements, or to nothing when it does not apply for certain. The rules stay
on the cautious side: appendix C.1 of Factcheck-Bench asks not to overdo it, and a wrong split costs an annotator more
than a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pipeline.claims.attached import dates_of_life, known_for, trailing_apposition, whose_and_where, with_gerund
from pipeline.claims.clauses import RELATIVES, Clause, clause, head, inside_date, next_word
from pipeline.claims.lexicon import BE, MODALS, SUBJECT_PRONOUNS, verbs, with_s, word_set
from pipeline.claims.lists import counted_pair, included_pair, listed_objects, listed_subjects, paired_objects
from pipeline.claims.markers import without_markers
from pipeline.claims.predicates import listed_infinitives, listed_participles, named_subjects
from pipeline.claims.tagging import FINITE, Tag, Token, is_plural

# "..., which allows X": it is the whole clause that allows, not the noun before the comma.
_CLAUSE_VERBS = word_set("allow make mean cause lead result help enable suggest give let require seem appear")
# The last two are said of the whole event: "Many protested, leading to reforms".
_NO_PARTICIPLE_CLAUSE = word_set(
    "including following according regarding concerning depending being during leading resulting"
)
_OPENING_PRONOUN = re.compile(r"(it|they|he|she|its|their|his|her)\b(?:['’](s|re)\b)?", re.IGNORECASE)
_JOINS = word_set("and but so yet while whereas although though meaning where")
# What may follow a comma and say something more of the subject: "X is a town, located near Y".
_TRAILING_ADJECTIVES = word_set("capable famous notable home able responsible popular suitable")
_LABEL = re.compile(r"(?P<label>[^:.,;!?\d]{2,60}):\s+(?P<rest>\S.*)", re.DOTALL)


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
    if match is None or len(match["label"].split()) > 6 or clause(match["label"]) is not None:
        return text
    return match["rest"] if clause(match["rest"]) is not None else text


# ------------------------------------------------------------------------------------------------------- the splits


def _coordinated_clauses(found: Clause) -> list[str]:
    """A, and B -> A; B, where both have a subject of their own. Also "while", "whereas", "because", ";" and ":"."""
    for index in range(found.verb + 1, len(found.tokens) - 2):
        token = found.tokens[index]
        after_comma = found.tokens[index - 1].text == ","
        joins = token.text in (";", ":") or token.lower == "because"
        joins = joins or (after_comma and token.lower in _JOINS)
        if not joins or (token.lower == "so" and found.tokens[index + 1].lower == "that"):
            continue
        left = found.text[: token.start].rstrip(" ,")
        right = without_markers(found.text[token.end :].lstrip(" ,").removeprefix("that "))
        other = clause(right)
        if other is None or clause(left) is None:
            continue
        if token.lower in ("where", "meaning") and found.tokens[index + 1].tag != Tag.PRONOUN:
            continue
        contrasts = token.lower in ("while", "whereas") or token.text == ";"
        within = any(each.tag == Tag.SUBORDINATOR for each in found.tokens[found.verb : index])
        if token.lower == "and" and _in_list(found, index):
            continue
        verb_first = other.tokens[0].lower in verbs().base and other.tokens[0].lower not in verbs().nouns
        if verb_first or "," in other.subject or (within and not contrasts):
            continue  # a list that only looks like a clause, or a clause within a relative clause
        if found.subject.lower() in ("this", "that", "it") and token.lower == "because" and _is_bare(found, index):
            return [right]
        return [left, _with_named_subject(found, right)]
    return []


def _in_list(found: Clause, index: int) -> bool:
    """Whether the ", and" at ``index`` closes a list: another comma before it with no verb in between."""
    after: Token | None = None
    for token in reversed(found.tokens[found.verb + 1 : index - 1]):
        if token.tag in FINITE:
            return False
        if token.text == ",":
            # "won two prizes, moved to Paris, and died": the tagger calls such a verb a participle
            return not (found.is_past and after is not None and after.lower in verbs().past)
        after = token
    return False


def _with_named_subject(first: Clause, second: str) -> str:
    """The second of two clauses, its opening pronoun replaced by the subject of the first when the number agrees."""
    other = clause(second)
    at = other.tokens[other.first].start if other is not None else 0
    pronoun = _OPENING_PRONOUN.match(second, at)
    if pronoun is None or first.subject.lower() in (*SUBJECT_PRONOUNS, "this", "that", "these"):
        return second
    word = pronoun[1].lower()
    if (word in ("they", "their")) != first.is_plural:
        return second
    named = first.subject
    if word in ("he", "she", "his", "her"):
        named = re.split(r"['’]s?\s", named)[0]  # "Curie's success led to it, where she"
        if not named[0].isupper() or named.split()[0].lower() in ("one", "some", "many", "each"):
            return second
    if word in ("his", "her", "its", "their"):
        named += "'" if first.is_plural and named.endswith("s") else "'s"
    verb = {"s": " is", "re": " are"}.get((pronoun[2] or "").lower(), "")
    return f"{second[:at]}{named}{verb}{second[pronoun.end() :]}"


def _is_bare(found: Clause, end: int) -> bool:
    """Whether nothing but the verb stands between the subject and token ``end``: "This is because"."""
    return next_word(found.tokens, found.verb + 1) == end


def _initial_reason(found: Clause) -> list[str]:
    """Because (although, while) A, B -> A; B."""
    opening = found.tokens[0].lower
    if opening not in ("because", "although", "though", "while", "whereas") or found.first == 0:
        return []
    text = found.text[found.tokens[0].end : found.tokens[found.first].start].strip(" ,")
    reason = clause(text)
    return [text, _with_named_subject(reason, found.text[found.tokens[found.first].start :])] if reason else []


def _apposition(found: Clause) -> list[str]:
    """X, a Y, does Z -> X is a Y; X does Z. And X, who does Y, does Z."""
    subject = found.tokens[found.first : found.group]
    commas = [index for index, token in enumerate(subject) if token.text == ","]
    if len(commas) != 2 or commas[1] != len(subject) - 1 or commas[0] == 0:
        return []
    name = found.text[subject[0].start : subject[commas[0]].start].strip()
    added = subject[commas[0] + 1 : commas[1]]
    if not added:
        return []
    said = found.text[added[0].start : subject[commas[1]].start].strip()
    intro = f"{found.intro} " if found.intro else ""
    main = f"{intro}{name} {found.text[found.tokens[found.group].start :]}"
    if added[0].lower in ("which", "who"):
        follows = next_word(added, 1)
        said = found.text[added[1].start : subject[commas[1]].start].strip() if len(added) > 1 else ""
        return [f"{name} {said}", main] if follows < len(added) and added[follows].tag in FINITE else []
    opening = added[min(next_word(added, 0), len(added) - 1)]
    plain_name = not any(token.lower in ("like", "including", "as") for token in subject[: commas[0]])
    if opening.lower == "such" or not plain_name or (found.is_plural and opening.lower in ("a", "an")):
        return []
    if opening.tag != Tag.DETERMINER and not (opening.tag == Tag.PARTICIPLE and len(added) > 2):
        return []
    be = {(False, False): "is", (False, True): "are", (True, False): "was", (True, True): "were"}
    return [f"{name} {be[found.is_past, found.is_plural]} {said}", main]


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
        quoted = found.text[tokens[index - 2].end : tokens[index - 1].start].strip().startswith(('"', "“"))
        if not quoted and verbs().third.get(verb, verbs().past.get(verb, verb.rstrip("s"))) in _CLAUSE_VERBS:
            continue
        noun = _noun_before(found, index - 1, plural=verb in ("are", "were", "have") or verb in verbs().base)
        if not noun:
            continue
        comma = tokens[index - 1]
        quote = found.text[comma.end : comma.end + 1].strip()  # the comma may stand inside the quotes
        return [found.text[: comma.start] + quote, f"{noun}{quote} {found.text[tokens[index].end :].strip()}"]
    return []


def _noun_before(found: Clause, end: int, *, plural: bool) -> str:
    """The noun phrase that ends at token ``end``, with its complements; of "A and B" only B when singular is asked."""
    quoted = found.text[found.tokens[end - 1].end : found.tokens[end].start].strip()
    if quoted.startswith(('"', "“")):
        return "" if plural else quoted
    start = end
    while start > found.verb + 1:
        token = found.tokens[start - 1]
        in_name = token.lower in ("for", "on", "and") and _is_capital(found, start - 2) and _is_capital(found, start)
        in_phrase = (
            in_name
            or token.tag in (Tag.NOMINAL, Tag.DETERMINER, Tag.NUMBER, Tag.GERUND, Tag.PARTICIPLE)
            or token.lower == "of"
        )
        if not in_phrase and not (token.tag == Tag.CONJUNCTION and plural):
            break
        start -= 1
    phrase = found.tokens[start:end]
    while phrase and phrase[0].tag in (Tag.CONJUNCTION, Tag.PREPOSITION, Tag.PARTICIPLE):
        phrase = phrase[1:]
    if len(phrase) == 1 and not phrase[0].text[0].isupper():
        return ""  # a bare noun or "them" says too little alone
    if (
        not phrase
        or phrase[-1].lower in ("them", "him", "her", "us")
        or phrase[-1].tag in (Tag.NUMBER, Tag.DETERMINER)
        or (plural and not is_plural(head(phrase)))
    ):
        return ""
    return found.text[phrase[0].start : found.tokens[end].start].strip()


def _is_capital(found: Clause, index: int) -> bool:
    return found.tokens[index].text[0].isupper()


def _defining_relative(found: Clause) -> list[str]:
    """X is a Y that does Z -> X is a Y; X does Z."""
    tokens = found.tokens
    article = next_word(tokens, found.verb + 1)
    if tokens[found.verb].lower not in BE or found.subject.lower() in SUBJECT_PRONOUNS or article >= len(tokens):
        return []
    singular = tokens[found.verb].lower in ("is", "was") and tokens[article].lower in ("a", "an")
    plural = tokens[found.verb].lower in ("are", "were") and tokens[article].tag == Tag.NOMINAL
    if not singular and not plural:
        return []
    for index in range(article + 2, len(tokens) - 2):
        if tokens[index].tag == Tag.VERB or tokens[index].text == ",":
            return []
        if tokens[index].tag == Tag.SUBORDINATOR and tokens[index].lower in RELATIVES:
            verb = tokens[min(next_word(tokens, index + 1), len(tokens) - 1)]
            if verb.tag not in FINITE or (
                plural and verb.lower not in ("are", "were", "have") and verb.lower not in verbs().base
            ):
                return []
            nearer = singular and is_plural(tokens[index - 1].text) and verb.lower in (*MODALS, "are", "were", "have")
            if nearer:
                return []  # "a planet with surfaces that can be walked on"
            return [found.text[: tokens[index].start], found.said_of_subject(found.text[tokens[index].end :])]
    return []


def _participle_clause(found: Clause) -> list[str]:
    """X does Y, causing Z -> X does Y; X causes Z."""
    tokens = found.tokens
    for index in range(found.verb + 2, len(tokens) - 1):
        token = tokens[index]
        follows_comma = tokens[index - 1].text == "," or tokens[index - 1].lower in ("thus", "thereby")
        if token.tag != Tag.GERUND or not follows_comma or token.lower in _NO_PARTICIPLE_CLAUSE:
            continue
        base = verbs().gerund.get(token.lower)
        rest = tokens[index + 1 :]
        if base is None or found.subject.lower() in ("there", "it", "this"):
            continue
        commas = [at for at, each in enumerate(rest[:-1]) if each.text == ","]
        if len(commas) == 1 and rest[commas[0] + 1].lower == "and":
            return []  # the middle of a list: "meetings, voting rights, and support"
        if any(tokens[at].text == "," and not inside_date(tokens, at) for at in range(found.verb + 1, index - 1)):
            return []  # further on in a list
        in_list = [at for at, each in enumerate(rest) if each.tag == Tag.GERUND and rest[at - 1].text in (",", "and")]
        if rest[0].text in (",", "and", "or") or rest[0].tag == Tag.GERUND:
            return []  # nouns that look so
        second = verbs().gerund.get(rest[in_list[0]].lower) if len(in_list) == 1 and not commas else None
        if in_list and (second is None or rest[in_list[0] - 1].lower != "and" or in_list[0] + 1 >= len(rest)):
            return []  # a list of gerunds
        left = found.text[: token.start].rstrip(" ,").removesuffix("thereby").removesuffix("thus").rstrip(" ,")
        said = [f"{_finite(found, base)} {found.text[token.end :].strip()}"]
        if second is not None:  # "saving lives and improving health"
            other = rest[in_list[0]]
            said = [
                f"{_finite(found, base)} {found.text[token.end : rest[in_list[0] - 1].start].strip()}",
                f"{_finite(found, second)} {found.text[other.end :].strip()}",
            ]
        return [left, *map(found.said_of_subject, said)]
    return []


def _finite(found: Clause, base: str) -> str:
    """A verb in the form that the subject and the time of the clause ask for."""
    if found.is_past:
        return next((past for past, of in verbs().past.items() if of == base), base)
    return base if found.is_plural else with_s(base)


def _trailing_description(found: Clause) -> list[str]:
    """X is a town, located near Y -> X is a town; X is located near Y. Also ", capable of Y"."""
    tokens = found.tokens
    be = tokens[found.verb].lower
    if be not in BE or found.subject.lower() in SUBJECT_PRONOUNS:
        return []
    for index in range(found.verb + 2, len(tokens) - 2):
        if tokens[index - 1].text != ",":
            continue
        word = tokens[next_word(tokens, index)] if next_word(tokens, index) < len(tokens) else tokens[index]
        describes = word.tag == Tag.PARTICIPLE or word.lower in _TRAILING_ADJECTIVES
        follows = tokens.index(word) + 1
        if not describes or follows >= len(tokens) or tokens[follows].tag not in (Tag.PREPOSITION, Tag.TO):
            continue
        if any(token.lower == "and" and tokens[at - 1].text == "," for at, token in enumerate(tokens) if at > index):
            return []  # an enumeration
        rest = found.text[tokens[index].start :]
        return [found.text[: tokens[index - 1].start], f"{found.subject} {be} {rest}"]
    return []


def _coordinated_predicates(found: Clause) -> list[str]:
    """X does A and does B -> X does A; X does B. Also "was A and B-ed", "can A and B", and three of them."""
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
        if follows == len(tokens):
            return []
        embedded = [
            at
            for at in range(found.verb + 1, index)
            if tokens[at].tag in FINITE and tokens[at - 1].text != "," and tokens[at - 1].tag != Tag.ADVERB
        ]
        if embedded or next_word(tokens, found.verb + 1) == index:
            return []  # a clause without "that" in between; or two verbs that share what follows
        modifies = tokens[follows].lower.endswith("ed") and tokens[min(follows + 1, len(tokens) - 1)].tag == Tag.NOMINAL
        if modifies and tokens[index - 1].text == "," and _in_list(found, index):
            continue  # "abuses, and organized crime"
        if tokens[follows].lower in (
            ("is", "was", "has", "does") if found.is_plural else ("are", "were", "have", "do")
        ):
            return []  # another subject's verb
        is_finite = tokens[follows].tag in FINITE
        if is_finite and tokens[found.verb].tag == tokens[follows].tag == Tag.VERB and not found.is_past:
            is_finite = tokens[follows].lower in verbs().third or tokens[follows].lower in verbs().base
        continues_passive = is_passive and tokens[follows].tag == Tag.PARTICIPLE and follows > passive_at + 1
        if not is_finite and not continues_passive:
            continue
        left = found.text[: token.start].rstrip(" ,")
        right = found.text[tokens[index + 1].start :]
        if continues_passive:
            right = f"{found.text[tokens[found.group].start : tokens[passive_at].start]}{right}"
            if follows == index + 1 and follows == passive_at + 2 and _is_idiom(tokens, passive_at, follows):
                continue
        between = [
            at
            for at in range(found.verb + 1, index - 1)
            if tokens[at].text == "," and is_finite and _may_be_finite(found, next_word(tokens, at + 1))
        ]
        pieces = []
        start = 0
        for at in between:
            pieces.append(left[start : tokens[at].start])
            start = tokens[at].end
        pieces.append(left[start:])
        return [pieces[0], *map(found.said_of_subject, pieces[1:]), found.said_of_subject(right)]
    return []


def _may_be_finite(found: Clause, index: int) -> bool:
    """A finite verb, or what the tagger took for a participle after a past: "won two, moved to Paris, and died"."""
    token = found.tokens[index]
    return token.tag in FINITE or (token.tag == Tag.PARTICIPLE and found.is_past and token.lower in verbs().past)


def _is_idiom(tokens: list[Token], first: int, second: int) -> bool:
    """Two participles side by side ("tried and tested"): one statement."""
    return second - first == 2


_SPLITS: tuple[Callable[[Clause], list[str]], ...] = (
    dates_of_life,
    _coordinated_clauses,
    _initial_reason,
    _apposition,
    _trailing_relative,
    whose_and_where,
    with_gerund,
    _participle_clause,
    _trailing_description,
    _coordinated_predicates,
    _defining_relative,
    known_for,
    trailing_apposition,
    listed_subjects,
    named_subjects,
    listed_participles,
    listed_infinitives,
    listed_objects,
    counted_pair,
    included_pair,
    paired_objects,
)
