"""What a text names, as a query after a search without results.

Papelo repeats an empty search with "only the named entities (and other capitalized words after the first word)"
(section 3.3). Names are found by the rules of ``tagging``, because no trained tagger ships with Touchstone.
"""

from __future__ import annotations

import re

from pipeline.claims.lexicon import FUNCTION_WORDS
from pipeline.claims.tagging import FINITE, Tag, TaggedToken, tag
from pipeline.sentences.boundaries import split_sentences


def named(text: str) -> str:
    """The names and other capitalized words of a text, each once, in order; "" if there are none.

    The first word of a sentence counts if it is capitalized elsewhere, too, or starts a longer name.
    """
    sentences = [tag(span.text) for span in split_sentences(text)]
    elsewhere = {token.text for tokens in sentences for token in tokens[1:] if _is_capitalised(token)}
    found: dict[str, str] = {}
    for tokens in sentences:
        for position, token in enumerate(tokens):
            if _is_name(tokens, position, elsewhere):
                word = re.sub(r"['’]s$", "", token.text)
                found.setdefault(word.casefold(), word)
    return " ".join(found.values())


def _is_name(tokens: list[TaggedToken], position: int, elsewhere: set[str]) -> bool:
    token = tokens[position]
    if not _is_capitalised(token):
        return False
    if position > 0:
        return True
    if token.lower in FUNCTION_WORDS or token.tag in FINITE:
        return False
    opens_a_name = len(tokens) > 1 and _is_capitalised(tokens[1]) and tokens[1].tag == Tag.NOMINAL
    return token.text in elsewhere or opens_a_name


def _is_capitalised(token: TaggedToken) -> bool:
    """Whether a word is capitalized like a name: "Utah", "iPhone", "COVID-19"; not "I"."""
    return any(letter.isupper() for letter in token.text) and token.text != "I"
