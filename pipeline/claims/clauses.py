"""Subject and verb of a clause, found by rule."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.claims.lexicon import MONTHS, verbs
from pipeline.claims.tagging import FINITE, Tag, Token, is_plural, tag

RELATIVES = ("which", "who", "that")
_BRACKETS = {"(": ")", "[": "]", "“": "”", '"': '"'}
_LONGEST_SUBJECT = 14


@dataclass(frozen=True, slots=True)
class Clause:
    """A sentence or a part of one that has a subject and a finite verb. ``tokens`` leave brackets and quotes out."""

    text: str
    tokens: list[Token]
    first: int  # token where the subject begins, after an introduction ("In 1980, ")
    group: int  # token where the verb group begins, adverbs included
    verb: int  # the finite verb

    @property
    def intro(self) -> str:
        return self.text[: self.tokens[self.first].start].strip()

    @property
    def subject(self) -> str:
        subject = self.text[self.tokens[self.first].start : self.tokens[self.group].start].strip()
        return subject if subject.count(",") == 2 else subject.strip(" ,")  # X, while small, does

    @property
    def is_past(self) -> bool:
        verb = self.tokens[self.verb]
        return verb.lower in ("was", "were", "had", "did") or (
            verb.tag == Tag.VERB and (verb.lower in verbs().past or verb.lower.endswith("ed"))
        )

    @property
    def is_plural(self) -> bool:
        verb = self.tokens[self.verb].lower
        if verb in ("is", "was", "has", "does"):
            return False
        if verb in ("are", "were", "have", "do"):
            return True
        if verb in verbs().third:
            return False
        if verb in verbs().base and self.tokens[self.verb].tag == Tag.VERB:
            return True
        if self.tokens[self.first].lower in ("this", "that", "a", "an", "each", "every"):
            return False
        subject = head(self.tokens[self.first : self.group])
        return is_plural(subject) or subject.lower() in ("they", "these", "those", "we", "you")

    def said_of_subject(self, rest: str) -> str:
        """A statement with this clause's introduction and subject and another predicate."""
        intro = f"{self.intro} " if self.intro else ""
        return f"{intro}{self.subject} {rest.strip(' ,')}"


def clause(text: str) -> Clause | None:
    """The main clause of ``text``; None when no subject and finite verb are found."""
    tokens = _outside_brackets(tag(text))
    if not tokens:
        return None
    first = _after_introduction(tokens) or _after_fronted_phrase(tokens)
    verb = _main_verb(tokens, first)
    if verb is None:
        verb = _verb_like_a_noun(tokens, first)
    if verb is None:
        return None
    group = verb
    while group > first and tokens[group - 1].tag == Tag.ADVERB:
        group -= 1
    if group == first or tokens[first].tag in (Tag.PREPOSITION, Tag.SUBORDINATOR, Tag.CONJUNCTION):
        return None
    if group - first > _LONGEST_SUBJECT or tokens[group - 1].tag == Tag.CONJUNCTION:
        return None
    if not _whole_subject(tokens[first:group]):
        return None
    return Clause(text, tokens, first, group, verb)


# ------------------------------------------------------------------------------------------------ parts of a clause


def _outside_brackets(tokens: list[Token]) -> list[Token]:
    kept: list[Token] = []
    closing = ""
    for index, token in enumerate(tokens):
        if closing:
            if token.text == closing:
                closing = ""
                if tokens[index - 1].text == ",":  # a comma inside the closing quote: “so,” which
                    kept.append(tokens[index - 1])
        elif token.text in _BRACKETS and any(each.text == _BRACKETS[token.text] for each in tokens[index + 1 :]):
            closing = _BRACKETS[token.text]
        else:
            kept.append(token)
    return kept


def _after_introduction(tokens: list[Token]) -> int:
    """The token after an introduction that ends in a comma: "In 1980,", "When they merge,", "To do so,"."""
    opening = tokens[0].tag
    if opening not in (Tag.PREPOSITION, Tag.TO, Tag.SUBORDINATOR, Tag.GERUND, Tag.PARTICIPLE, Tag.ADVERB):
        return 0
    verb_seen = False
    # "While known for A, X does B": the subordinate clause has no verb of its own.
    second = tokens[min(next_word(tokens, 1), len(tokens) - 1)].tag
    shortened = second in (Tag.PARTICIPLE, Tag.GERUND, Tag.PREPOSITION)
    for index, token in enumerate(tokens[:-1]):
        verb_seen = verb_seen or token.tag in FINITE
        if token.text != "," or inside_date(tokens, index):
            continue
        if opening == Tag.SUBORDINATOR and not verb_seen and not shortened:
            continue
        if opening != Tag.SUBORDINATOR and verb_seen:
            return 0
        if tokens[index + 1].tag not in (Tag.NOMINAL, Tag.DETERMINER, Tag.PRONOUN, Tag.NUMBER, Tag.GERUND):
            return 0  # "Sinking sand, also known as quicksand, is"
        return index + 1
    return 0


def _after_fronted_phrase(tokens: list[Token]) -> int:
    """The token after a phrase without a comma: "In 1979 a plane crashed", "at 4,794 metres it is"."""
    if tokens[0].tag != Tag.PREPOSITION:
        return 0
    for index, token in enumerate(tokens[1:-1], 1):
        if token.lower in ("it", "he", "she", "they", "there") and token.tag == Tag.PRONOUN:
            return index if tokens[next_word(tokens, index + 1) % len(tokens)].tag in FINITE else 0
        if token.tag in FINITE or token.tag in (Tag.SUBORDINATOR, Tag.GERUND, Tag.TO) or token.text in ",;:":
            return 0
        in_date = all(each.tag == Tag.NUMBER or each.lower in MONTHS for each in tokens[1:index])
        opens = token.lower in ("a", "an", "the") or (token.text[0].isupper() and token.lower not in MONTHS)
        if index > 1 and tokens[index - 1].tag == Tag.NUMBER and in_date and opens:
            return index
    return 0


def _verb_like_a_noun(tokens: list[Token], first: int) -> int | None:
    """The only word of a clause that can be its verb, though it mostly is a noun: "Ema experiences cold winters"."""
    if tokens[first].tag != Tag.NOMINAL or not tokens[first].text[0].isupper():
        return None
    known = verbs()
    found = [
        index
        for index in range(first + 1, len(tokens) - 1)
        if tokens[index].tag == Tag.NOMINAL
        and tokens[index].lower in known.third
        and tokens[index].lower in known.nouns
    ]
    if len(found) != 1 or any(not token.text[0].isupper() for token in tokens[first : found[0]]):
        return None
    if tokens[found[0] + 1].tag not in (Tag.NOMINAL, Tag.DETERMINER, Tag.NUMBER):
        return None
    tokens[found[0]].tag = Tag.VERB
    return found[0]


def inside_date(tokens: list[Token], index: int) -> bool:
    """Whether the comma at ``index`` stands within a date or a number: "October 16, 1898"."""
    if not 0 < index < len(tokens) - 1:
        return False
    before, after = tokens[index - 1], tokens[index + 1]
    return after.tag == Tag.NUMBER and (before.tag == Tag.NUMBER or before.lower in MONTHS)


def _whole_subject(subject: list[Token]) -> bool:
    """Whether the commas in a subject pair up: an apposition (", a town, "), or a list that has its "and"."""
    commas = [index for index, token in enumerate(subject) if token.text == ","]
    if not commas:
        return True
    if commas[-1] == len(subject) - 1:
        return len(commas) == 2
    return any(token.tag == Tag.CONJUNCTION for token in subject[commas[-1] :])


def _main_verb(tokens: list[Token], first: int) -> int | None:
    """The finite verb that belongs to the subject at ``first``, not to a relative clause within it."""
    to_skip = 0
    for index in range(first, len(tokens)):
        token = tokens[index]
        if token.lower in RELATIVES and token.tag == Tag.SUBORDINATOR and index > first:
            to_skip += 1
        elif token.tag in FINITE:
            if not to_skip:
                return index
            to_skip -= 1
        elif token.text in ";:":
            return None
    return None


def head(noun_phrase: list[Token]) -> str:
    """The head of a noun phrase: the last noun before the first preposition, comma or relative."""
    head = ""
    for token in noun_phrase:
        if head and (token.tag in (Tag.PREPOSITION, Tag.SUBORDINATOR, Tag.TO) or token.text == ","):
            break
        if token.tag in (Tag.NOMINAL, Tag.GERUND, Tag.PRONOUN):
            head = token.text
    return head


def next_word(tokens: list[Token], index: int) -> int:
    """The first token from ``index`` on that is no adverb; ``len(tokens)`` when there is none."""
    while index < len(tokens) and tokens[index].tag == Tag.ADVERB:
        index += 1
    return index
