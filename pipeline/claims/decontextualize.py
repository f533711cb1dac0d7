"""Step 2: sentences that stand alone: frames and opening discourse markers dropped, pronouns replaced.

What a pronoun or "the race" stands for is taken from the subjects of earlier sentences, when number and kind agree and
no subject of its own sentence stands before it; otherwise it is left for a person to correct (Factcheck-Bench appendix
C.2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from spacy.tokens import Token

from pipeline.claims.parsing import (
    NOUNS,
    SUBJECTS,
    is_empty,
    is_plural,
    main_verb,
    owner,
    parsed,
    people,
    subject_of,
    whole,
)
from pipeline.sentences.boundaries import LIST_MARKER

# Words that tie a sentence to the one before and mean nothing when it stands alone.
_MARKERS = re.compile(
    r"(?:however|therefore|thus|hence|moreover|furthermore|additionally|in addition|also|besides|overall"
    r"|finally|lastly"
    r"|in fact|indeed|in conclusion|in summary|to summarize|as a result|as such|consequently|accordingly|for example"
    r"|for instance|meanwhile|nevertheless|nonetheless|similarly|likewise|in contrast|by contrast|on the other hand"
    r"|on the contrary|in other words|that is|of course|yes|no|well|sure|certainly|instead|in general|in particular"
    r"|firstly|secondly|thirdly|first|second|third|next|then|interestingly|notably|whereas|and|but|so)\b"
    r"(?:\s*,\s*|(?<=whereas)\s+|(?<=\band)\s+|(?<=\bbut)\s+|(?<=\bso)\s+(?=(?:it|he|she|they|the|this)\b))",
    re.IGNORECASE,
)
# What only introduces a statement.
_FRAME = re.compile(
    r"(?:it(?:['’]s| is) (?:also )?(?:worth (?:noting|mentioning)|important to (?:note|remember|mention))"
    r"|this is because|this means|please note|note) (?:that )?",
    re.IGNORECASE,
)
_SHORT_FORM = re.compile(r"(?P<long>(?:[A-Z][\w'’-]+ ){2,6})\((?P<short>[A-Z]{2,6})\)")
_LABEL = re.compile(r"(?P<label>[^:.,;!?\d]{2,60}):\s+(?P<rest>\S.*)", re.DOTALL)
_PRONOUNS = frozenset("it they its their them he she his her".split())
_PERSONS = frozenset("he she his her".split())
_MANY = frozenset("they their them".split())
_NO_SUBJECT = frozenset("this these that those some there one it they he she we you i who which what".split())
_REMEMBERED = 3  # subjects
_SHORT = 5  # words of a name that a description stands for
_LONGEST = 10  # words of a subject that is remembered


@dataclass(frozen=True, slots=True)
class Mention:
    """Something that was spoken of, and the sentence that it was the subject of."""

    text: str
    is_plural: bool
    sentence: str


@dataclass(slots=True)
class Context:
    """What has been spoken of so far: the subjects, latest last; and what "the race" is, by the noun's lemma; and what
    letters are short for ("Byte Pair Encoding (BPE)")."""

    subjects: list[Mention] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    short_forms: dict[str, str] = field(default_factory=dict)

    def note(self, sentence: str) -> None:
        """Takes a decontextualized sentence into account."""
        for match in _SHORT_FORM.finditer(sentence):
            long = match["long"].split()[-len(match["short"]) :]
            if "".join(word[0] for word in long).upper() == match["short"]:
                self.short_forms[match["short"]] = " ".join(long)
        verb = main_verb(sentence)
        subject = verb and subject_of(verb)
        if verb is None or subject is None:
            return
        words = _name(subject, verb)
        if not words or words[0].lower_ in _NO_SUBJECT or len(words) > _LONGEST:
            return
        name = _text(words)
        self.subjects.append(Mention(name, is_plural(subject), sentence))
        if verb.lemma_ != "be":
            return
        for complement in (child for child in verb.rights if child.dep_ == "attr"):
            other = whole(complement)
            is_definite = complement.pos_ == "PROPN" or other[0].lower_ == "the"
            if words[0].lower_ == "the" and is_definite and len(other) <= _SHORT:
                text = _text(other)
                self.subjects.append(Mention(text[0].upper() + text[1:], False, sentence))
            elif subject.pos_ == "PROPN" and complement.pos_ == "NOUN":
                self.kinds[complement.lemma_.lower()] = name

    def of(self, pronoun: Token) -> str:
        """What a pronoun stands for; "" where nothing agrees with it."""
        word = pronoun.lower_
        for each in reversed(self.subjects[-_REMEMBERED:]):
            if each.is_plural == (word in _MANY) and (
                word not in _PERSONS or any(name in each.text for name in people(each.sentence))
            ):
                return each.text
        return ""


def decontextualise(sentence: str, context: Context) -> str:
    """The sentence as it can be understood alone, as far as the rules see. Does not change ``context``."""
    marker = LIST_MARKER.match(sentence)
    text = " ".join(sentence[marker.end() if marker else 0 :].replace("**", "").split())
    text = _FRAME.sub("", without_markers(text.lstrip("#").lstrip()), count=1)
    text = _resolved(_without_label(text), context)
    for short, long in context.short_forms.items():
        if long not in text:
            text = re.sub(rf"\b{short}\b", long, text, count=1)
    # The first letter large, unless the word is spelled with inner capitals (iPhone, andThen).
    first = text.split(" ", 1)[0]
    text = text if first[1:] != first[1:].lower() else text[:1].upper() + text[1:]
    return text or " ".join(sentence.split())


def without_markers(text: str) -> str:
    """The text without opening markers ("However,")."""
    for _ in range(2):
        match = _MARKERS.match(text)
        if not match or not text[match.end() :].strip():
            break
        text = text[match.end() :]
    return text


def _without_label(text: str) -> str:
    """Label: X does Y -> X does Y; Label: it does Y -> Label does Y. A label with a number (a year, a rank) stays."""
    match = _LABEL.match(text)
    if match is None or main_verb(match["rest"]) is None or main_verb(match["label"]):
        return text
    pronoun, _, rest = match["rest"].partition(" ")
    return f"{match['label']} {rest}" if pronoun.lower() in ("it", "they", "he", "she") else match["rest"]


def _resolved(text: str, context: Context) -> str:
    """The text with its first pronoun, or "the race", replaced, where nothing before it can be what it means."""
    nouns = subject = False
    for token in parsed(text):
        if token.lower_ in _PRONOUNS and token.tag_ in ("PRP", "PRP$"):
            # Behind "By doing A," a noun is not what the subject means; behind "A hippo has" it may be.
            is_open = not nouns or (not subject and token.dep_ in SUBJECTS and token.head.dep_ == "ROOT")
            return _replaced(text, token, token, context.of(token)) if is_open and not is_empty(token) else text
        nouns = nouns or token.pos_ in NOUNS
        subject = subject or token.dep_ in SUBJECTS
        if token.dep_ in SUBJECTS and token.pos_ in NOUNS and token.head.dep_ == "ROOT":
            own = whole(token)
            is_known = len(own) == 2 and own[0].lower_ in ("the", "this")
            return _replaced(text, own[0], token, context.kinds.get(token.lemma_.lower(), "")) if is_known else text
    return text


def _replaced(text: str, first: Token, last: Token, name: str) -> str:
    """The text with a name in the place of the tokens from ``first`` to ``last``; as it is without a name."""
    if not name:
        return text
    if first.tag_ == "PRP$":
        name = owner(name)
    if first.i > 0 and name.split()[0].lower() in ("the", "a", "an"):
        name = name[0].lower() + name[1:]
    return text[: first.idx] + name + text[last.idx + len(last) :]


def _name(subject: Token, verb: Token) -> list[Token]:
    """The words of a subject, up to its verb or to what is only said beside it ("Ema, a town in Varga,")."""
    start = subject.left_edge.i
    if start and subject.doc[start - 1].is_quote:
        start -= 1
    end = min(each.i for each in (verb, *verb.lefts) if each.i > subject.i)
    words = list(subject.doc[start:end])
    commas = [at for at, word in enumerate(words) if word.text == ","]
    return words[: commas[0]] if commas and not any(each.dep_ == "conj" for each in subject.rights) else words


def _text(words: list[Token]) -> str:
    return " ".join("".join(word.text_with_ws for word in words).split())
