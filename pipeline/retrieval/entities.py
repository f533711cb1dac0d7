"""What a text names, as a query after a search without results.

Papelo repeats an empty search with "only the named entities (and other capitalized words after the first word)"
(section 3.3).
"""

from __future__ import annotations

import re

from pipeline.claims.lexicon import FUNCTION_WORDS
from pipeline.sentences.boundaries import split_sentences

_WORD = re.compile(r"(?:[A-Z]\.)+|\w+(?:['’&./\-]\w+)*")


def named(text: str) -> str:
    """The names and other capitalized words of a text, each once, in order; "" if there are none.

    The first word of a sentence counts if it is capitalized elsewhere, too, or starts a longer name.
    """
    sentences = [_WORD.findall(span.text) for span in split_sentences(text)]
    elsewhere = {word for words in sentences for word in words[1:] if _is_capitalised(word)}
    found: dict[str, str] = {}
    for words in sentences:
        for position, word in enumerate(words):
            if _is_name(words, position, elsewhere):
                name = re.sub(r"['’]s$", "", word)
                found.setdefault(name.casefold(), name)
    return " ".join(found.values())


def _is_name(words: list[str], position: int, elsewhere: set[str]) -> bool:
    word = words[position]
    if not _is_capitalised(word) or position > 0:
        return position > 0 and _is_capitalised(word)
    opens_a_name = len(words) > 1 and _is_capitalised(words[1])
    return word.lower() not in FUNCTION_WORDS and (word in elsewhere or opens_a_name)


def _is_capitalised(word: str) -> bool:
    """Whether a word has a large letter where a name has one: "Utah", "iPhone", "COVID-19"; not "I"."""
    return any(letter.isupper() for letter in word) and word != "I"
