"""The statements that follow from a sentence: its parse is cut where another statement begins (step 1).

A piece is a list of words: those of the sentence, and others that were put in between. Each cut is a function of a
token that begins something (a clause, a list), the piece, and the piece's tokens; it gives the pieces that follow, or
nothing. What each cut is worth: docs/prefill-quality.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from spacy.tokens import Token

from pipeline.claims.lexicon import with_s, word_set
from pipeline.claims.parsing import (
    NOUNS,
    SUBJECTS,
    VERBS,
    is_empty,
    is_finite,
    is_past,
    is_plural,
    owner,
    parsed,
    subject_of,
    verb_above,
    whole,
)

Word = Token | str
Piece = list[Word]
Tokens = set[Token]
Cut = Callable[[Token, Piece, Tokens], list[Piece] | None]

_JOINS = word_set("because while whereas although though since so as")
_NO_PARTICIPLE = word_set("including depending using based being according regarding concerning leading resulting")
# "A combination of A and B", "between A and B": the parts hold together.
# "..., which allows X": it is the whole clause that allows, not the noun before the comma.
_CLAUSE_VERBS = word_set("allow make mean cause lead result help enable suggest give let require seem appear")
_WHOLES = word_set(
    "combination mix mixture series set group variety range number sum total blend team pair difference relation"
    " relationship balance"
)
_TOGETHER = word_set("between among from")
_NO_LIST = word_set("conj compound npadvmod nmod poss nummod quantmod intj")
_PRONOUNS = word_set("it they its their he she his her")
_POINTING = word_set("it there this that which who they these those he she we you i what")
_LONGEST = 800  # characters; what is longer is no sentence
_MAX_CLAIMS = 14  # more from one sentence is a list gone wrong


def statements(text: str) -> list[str]:
    """The statements of a sentence, in order, each without its final point; the sentence itself when none splits."""
    text = text.strip()
    if text.endswith("?") or len(text) > _LONGEST:
        return [text]
    found = [_written(piece) for piece in _pieces([token for token in parsed(text) if not token.is_space], set())]
    return found if len(found) <= _MAX_CLAIMS else [_written([text])]


def _pieces(piece: Piece, tried: set[tuple[str, int]]) -> list[Piece]:
    """What the first cut that applies makes of a piece, each part cut on. A token is cut at once for each cut."""
    inside = {word for word in piece if isinstance(word, Token)}
    for cut in CUTS:
        for token in sorted(inside, key=lambda each: each.i):
            if (cut.__name__, token.i) in tried:
                continue
            parts = cut(token, piece, inside)
            if parts and all(len(part) > 1 for part in parts):
                tried = tried | {(cut.__name__, token.i)}
                return [each for part in parts for each in _pieces(part, tried)]
    return [piece]


def joined_clause(token: Token, piece: Piece, inside: Tokens) -> list[Piece] | None:
    """A does B, and C does D -> A does B; C does D. Also after ";", ":" and "so"."""
    above = token.head
    if not (_is_clause(token) and above in inside):
        return None
    after, before = token.doc[above.i : token.i], token.doc[token.right_edge.i + 1 : token.right_edge.i + 3]
    if not (
        (token.dep_ == "conj" and above.pos_ in VERBS)
        or token.dep_ == "parataxis"
        or (token.dep_ == "ccomp" and any(each.text in ";:" for each in after))
        or (
            token.dep_ == "ccomp"
            and token.i < above.i
            and any(each.lower_ in (";", ",", "so", "but") for each in before)
        )
    ):
        return None
    clause: Piece = [*_within(whole(token), inside)]
    rest = _without(piece, [*whole(token), *_joint(token)])
    return [clause, _named(rest, token)] if token.i < above.i else [rest, _named(clause, above)]


def adverbial_clause(token: Token, piece: Piece, inside: Tokens) -> list[Piece] | None:
    """Because A does B, C does D -> A does B; C does D. Not "when", "if": the one holds only where the other does."""
    opening = token.left_edge
    if token.dep_ != "advcl" or token.head not in inside or not _is_clause(token) or opening.lower_ not in _JOINS:
        return None
    if opening.lower_ in ("since", "as", "so") and opening.dep_ != "mark":
        return None
    if token.head.lemma_ == "be" and not any(each.dep_ in ("attr", "acomp", "prep") for each in token.head.children):
        return None  # "This is because ..."
    clause: Piece = [each for each in _within(whole(token), inside) if each != opening]
    rest = _without(piece, [*whole(token), *_joint(token), *_comma_behind(token)])
    return [clause, _named(rest, token)] if token.i < token.head.i else [rest, _named(clause, token.head)]


def joined_predicate(token: Token, piece: Piece, inside: Tokens) -> list[Piece] | None:
    """X does A and does B -> X does A; X does B. Also "was founded in A and named B"."""
    above = token.head
    if token.dep_ != "conj" or not {token.pos_, above.pos_} <= VERBS or above not in inside:
        return None
    subject = subject_of(above)
    if subject is None or subject not in inside or any(each.dep_ in SUBJECTS for each in token.lefts):
        return None
    first = verb_above(subject)
    shared = [each for each in first.lefts if each.dep_ in ("aux", "auxpass", "neg")]
    if is_finite(token):
        if not is_finite(first):
            return None  # "can help people see and know"
        shared = []
    elif any(each.dep_ == "neg" for each in shared):
        return None  # "cannot reduce costs and save time"
    elif token.tag_ == "VB":
        shared = [each for each in shared if each.dep_ != "auxpass"]
        if not any(each.tag_ == "MD" for each in shared):
            return None
    elif token.tag_ != "VBN" or not shared:
        return None
    between = [
        each for each in above.rights if each.i < token.left_edge.i and each.dep_ not in ("cc", "punct", "advmod")
    ]
    if not between and above.tag_ != "VBN" and above.lemma_ != "be":
        return None  # "wrote and sang the song"
    opening = [
        each for each in first.lefts if each.right_edge.i < subject.left_edge.i and each.dep_ not in ("cc", "mark")
    ]
    front = [each for part in opening for each in whole(part)] if opening and opening[0].dep_ != "punct" else []
    second: Piece = [*_within([*front, *whole(subject), *shared, *whole(token)], inside)]
    return [_without(piece, [*whole(token), *_joint(token)]), second]


def relative_clause(token: Token, piece: Piece, inside: Tokens) -> list[Piece] | None:
    """A has B, which does C -> A has B; B does C. Also "X is a Y that does Z" -> X is a Y; X does Z."""
    pronoun = next((each for each in token.lefts if each.tag_ in ("WDT", "WP") and each.dep_ in SUBJECTS), None)
    if token.dep_ != "relcl" or pronoun is None or token.head not in inside:
        return None
    noun, behind_comma = token.head, _comma_before(token)
    if (behind_comma and token.lemma_ in _CLAUSE_VERBS) or (not behind_comma and _is_bare(noun)):
        return None
    tags = {each.tag_ for each in (token, *token.lefts) if each is token or each.dep_ in ("aux", "auxpass")}
    agrees = is_plural(noun) if "VBP" in tags else not is_plural(noun) if "VBZ" in tags else True
    if not agrees:  # "the fabric of stars that shine" against "that shines"
        noun = next(
            (
                each
                for each in noun.ancestors
                if each.pos_ in NOUNS and each in inside and is_plural(each) == ("VBP" in tags)
            ),
            noun,
        )
    if noun.pos_ not in NOUNS:
        return None
    named = _phrase(noun, inside, token)
    if noun.dep_ == "attr" and (not behind_comma or any(each.lower_ in ("a", "an") for each in noun.lefts)):
        named = _said_of(noun.head, inside) or named
    clause = [each for each in _within(whole(token), inside) if each != pronoun]
    return [
        _without(piece, [*whole(token), *behind_comma, *(_comma_behind(token) if behind_comma else [])]),
        [*named, *clause],
    ]


def participle_clause(token: Token, piece: Piece, inside: Tokens) -> list[Piece] | None:
    """X does Y, causing Z -> X does Y; X causes Z."""
    above = verb_above(token)
    if token.tag_ != "VBG" or token.dep_ not in ("advcl", "acl") or token.head not in inside or token.i < above.i:
        return None
    if not _comma_before(token) or token.lower_ in _NO_PARTICIPLE:
        return None
    subject = subject_of(above)
    if (
        subject is None
        or not _said_of(above, inside)
        or any(each.dep_ in ("aux", "mark", "prep") for each in token.lefts)
    ):
        return None
    plural = is_plural(subject)
    verb = (
        f"{_form('be', plural=plural, past=True)} {token}"
        if is_past(above)
        else _form(token.lemma_, plural=plural, past=False)
    )
    said: Piece = [verb if each == token else each for each in _within(whole(token), inside)]
    return [_without(piece, [*whole(token), *_comma_before(token)]), [*_said_of(above, inside), *said]]


def description(token: Token, piece: Piece, inside: Tokens) -> list[Piece] | None:
    """N, founded in A, does B -> N was founded in A; N does B. The same of "N, a town in A,"."""
    noun, comma = token.head, _comma_before(token)
    if noun not in inside or noun.pos_ not in NOUNS or not comma or any(each.dep_ == "conj" for each in noun.children):
        return None
    if token.dep_ == "appos" and noun.dep_ not in SUBJECTS and not _comma_behind(token):
        return None  # "She died in Ema, a rich woman"
    kinds = {each.dep_ for each in token.children}
    is_name = (
        token.dep_ == "appos"
        and token.pos_ in NOUNS
        and kinds & {"det", "prep", "amod", "poss"}
        and "conj" not in kinds
    )
    if not is_name and not (token.dep_ == "acl" and token.tag_ == "VBN"):
        return None
    verb = _form("be", plural=is_plural(noun), past=is_past(verb_above(noun)))
    rest = _without(piece, [*whole(token), *comma, *_comma_behind(token)])
    return [rest, [*_phrase(noun, inside, token), verb, *_within(whole(token), inside)]]


def short_relative(token: Token, piece: Piece, inside: Tokens) -> list[Piece] | None:
    """X is a Y found in Z -> X is a Y; X is found in Z. Also "..., similar to Z"."""
    noun, comma = token.head, _comma_before(token)
    if noun not in inside or token.i < noun.i:
        return None
    if token.dep_ == "acl" and token.tag_ == "VBN" and noun.dep_ == "attr":
        above = noun.head
    elif token.pos_ == "ADJ" and comma and token.dep_ in ("amod", "acl", "advcl") and list(token.rights):
        above = verb_above(token)
    else:
        return None
    subject = subject_of(above)
    if subject is None or not (named := _said_of(above, inside)):
        return None
    verb = _form("be", plural=is_plural(subject), past=is_past(above))
    rest = _without(piece, [*whole(token), *comma, *_comma_behind(token)])
    return [rest, [*named, verb, *_within(whole(token), inside)]]


def listed(token: Token, piece: Piece, inside: Tokens) -> list[Piece] | None:
    """X has A, B and C -> X has A; X has B; X has C. Lists that end the statement, or have three items."""
    items = _items(token)
    if len(items) < 2 or not inside.issuperset(items) or token.dep_ in _NO_LIST or token.pos_ in VERBS:
        return None
    if {each.lower_ for item in items for each in item.children if each.dep_ == "cc"} not in ({"and"}, {"&"}):
        return None
    above, verb = token.head, verb_above(token)
    if above.lower_ in _TOGETHER or (above.lower_ == "of" and above.head.lemma_ in _WHOLES) or verb != _main(inside):
        return None
    if token.i and token.nbor(-1).text == ":" and above.pos_ in NOUNS:
        return None  # "four fields: A and B"
    said = [each for complement in verb.rights if complement.dep_ == "attr" for each in complement.children]
    if token.dep_ in SUBJECTS and any(each.lower_ == "the" or each.dep_ == "nummod" for each in said):
        return None  # "A and B are the two largest"
    near = token in verb.children or above in verb.children
    ends = items[-1].right_edge.i >= max(each.i for each in inside) - 1
    if len(items) == 2 and not (near and ends):
        return None
    joints = {each for item in items[1:] for each in _joint(item)}
    every = {*whole(token), *joints}
    start = next(at for at, word in enumerate(piece) if word in every)
    behind = [word for word in piece[start:] if word not in every]
    found: list[Piece] = []
    for at, item in enumerate(items):
        others = {each for other in items[at + 1 :] for each in whole(other)} | joints
        kept = [each for each in whole(item) if each not in others and each.dep_ not in ("cc", "preconj")]
        if not kept:
            return None
        part: Piece = [*piece[:start], *_within(kept, inside), *behind]
        alone = token.dep_ in SUBJECTS and item.tag_ in ("NN", "NNP", "VBG")
        found.append([_singular(word, above) for word in part] if alone else part)
    return found


CUTS: tuple[Cut, ...] = (
    joined_clause,
    adverbial_clause,
    joined_predicate,
    relative_clause,
    participle_clause,
    description,
    short_relative,
    listed,
)


def _items(token: Token) -> list[Token]:
    """The token and what is joined to it as an item of the same list, in order; verbs are no items."""
    items = [token]
    while joined := [each for each in items[-1].rights if each.dep_ == "conj" and each.pos_ not in VERBS]:
        items += joined
    return items


def _main(inside: Tokens) -> Token | None:
    """The verb of a piece that no other of its finite verbs stands above."""
    verbs = [each for each in inside if each.pos_ in VERBS and is_finite(each)]
    return min(verbs, key=lambda each: (len(list(each.ancestors)), each.i), default=None)


def _is_clause(verb: Token) -> bool:
    """Whether a verb is finite and has a subject of its own before it."""
    return verb.pos_ in VERBS and is_finite(verb) and any(each.dep_ in SUBJECTS for each in verb.lefts)


def _said_of(verb: Token, inside: Tokens) -> list[Token]:
    """The subject of a verb where it names something; nothing where it only points ("it", "there")."""
    subject = subject_of(verb)
    named = subject is not None and subject in inside and subject.lower_ not in _POINTING
    return _within(whole(subject), inside) if subject is not None and named else []


def _phrase(noun: Token, inside: Tokens, without: Token) -> list[Token]:
    """A noun with what stands before it and its complements, but no clause, description or further item."""
    apart = {"conj", "relcl", "acl", "appos", "advcl", "cc", "punct"}
    gone = {each for child in noun.rights if child.dep_ in apart or child == without for each in whole(child)}
    return [each for each in _within(whole(noun), inside) if each not in gone and each.text != ","]


def _is_bare(noun: Token) -> bool:
    """Whether a common noun stands alone: what is said of "plains that shine" does not hold of all plains."""
    return noun.pos_ == "NOUN" and not any(each.dep_ != "punct" for each in noun.lefts)


def _named(clause: Piece, other: Token) -> Piece:
    """A clause whose opening pronoun is replaced by the subject of the other clause, where the number agrees."""
    at = next((n for n, word in enumerate(clause[:4]) if isinstance(word, Token) and word.lower_ in _PRONOUNS), None)
    subject = subject_of(other)
    if at is None or subject is None or subject.pos_ not in NOUNS:
        return clause
    pronoun = clause[at]
    if any(word.pos_ in NOUNS | {"VERB"} for word in clause[:at] if isinstance(word, Token)) or isinstance(
        pronoun, str
    ):
        return clause
    agrees = (pronoun.lower_ in ("they", "their")) == is_plural(subject)
    if not agrees or is_empty(pronoun) or (pronoun.lower_ in ("he", "she", "his", "her") and subject.pos_ != "PROPN"):
        return clause
    name = _joined_up(list(whole(subject))).strip()
    return [*clause[:at], owner(name) if pronoun.tag_ == "PRP$" else name, *clause[at + 1 :]]


def _form(lemma: str, *, plural: bool, past: bool) -> str:
    """A verb in the form that its subject and the time ask for; other verbs than "be" only in the present."""
    if lemma == "be":
        return ("were" if plural else "was") if past else ("are" if plural else "is")
    return lemma if plural else "has" if lemma == "have" else with_s(lemma)


def _singular(word: Word, verb: Token) -> Word:
    """The word as a singular subject asks for it, if it is the verb that agrees with the subject."""
    if isinstance(word, str) or not (word == verb or (word.head == verb and word.dep_ in ("aux", "auxpass"))):
        return word
    if word.lower_ in ("are", "were"):
        return _form("be", plural=False, past=word.lower_ == "were")
    return _form(word.lemma_, plural=False, past=False) if word.tag_ == "VBP" else word


def _within(tokens: Iterable[Token], inside: Tokens) -> list[Token]:
    return [each for each in sorted(set(tokens), key=lambda each: each.i) if each in inside]


def _without(piece: Piece, tokens: Iterable[Token]) -> Piece:
    gone = set(tokens)
    return [word for word in piece if isinstance(word, str) or word not in gone]


def _joint(token: Token) -> list[Token]:
    """The "and", the commas right before what hangs on a token."""
    found: list[Token] = []
    for each in reversed(token.doc[: token.left_edge.i]):
        if each.dep_ not in ("cc", "preconj") and each.text not in (",", ";"):
            break
        found.append(each)
    return found


def _comma_before(token: Token) -> list[Token]:
    return [each for each in token.doc[max(token.left_edge.i - 1, 0) : token.left_edge.i] if each.text == ","]


def _comma_behind(token: Token) -> list[Token]:
    return [each for each in token.doc[token.right_edge.i + 1 : token.right_edge.i + 2] if each.text == ","]


def _joined_up(piece: Piece) -> str:
    """The piece as text: what stood beside each other is spaced as it was."""
    text, before = "", -1
    for word in piece:
        if isinstance(word, str):
            text, before = f"{text.rstrip()} {word} ", -1
            continue
        if word.i != before + 1 and not re.match(r"[,.;:)'’]", word.text):
            text = f"{text.rstrip()} "
        text, before = text + word.text_with_ws, word.i
    return text.lstrip()


def _written(piece: Piece) -> str:
    """A piece as a statement without commas that a cut left over, and without its final point."""
    text = re.sub(r"\s+([,.;:])", r"\1", " ".join(_joined_up(piece).split()))
    return re.sub(r"[,;:](?:\s*[,;:])+", ",", text).strip(" ,;:").rstrip(".").rstrip(" ,;:")
