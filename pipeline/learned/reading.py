"""How a text is read before it is compared: sentences, word stems, names, numbers, and how rare a word is."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from nltk.stem import PorterStemmer

from pipeline.claims.lexicon import FUNCTION_WORDS, word_set

# Named numbers of one thing.
Row = dict[str, float]

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”’)\]]*\s+(?=[\"“‘(\[]?[A-Z0-9])")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
NEGATIONS = word_set(
    """
    not no never none neither nor nobody nothing without cannot can't isn't aren't wasn't weren't don't doesn't didn't
    won't wouldn't couldn't shouldn't hasn't haven't hadn't nowhere hardly scarcely unable fail fails failed lack lacks
    """
)
_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
}


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """A sentence taken apart. ``stems``: content words in order; ``all``: all words in order, case folded."""

    text: str
    stems: tuple[str, ...]
    all: tuple[str, ...]
    names: frozenset[str]
    numbers: frozenset[str]
    negated: bool


@dataclass(frozen=True, slots=True)
class Text:
    """A passage or a claim taken apart."""

    text: str
    sentences: tuple[ReadSentence, ...]
    stems: tuple[str, ...]
    set: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    grams: frozenset[str]


@lru_cache(maxsize=20_000)
def read(text: str) -> Text:
    """Takes a text apart; a text without words has no sentences."""
    sentences = tuple(found for piece in _SENTENCE_END.split(text) if (found := _sentence(piece)).all)
    stems = tuple(stem for each in sentences for stem in each.stems)
    return Text(
        text=text,
        sentences=sentences,
        stems=stems,
        set=frozenset(stems),
        names=frozenset().union(*(each.names for each in sentences)),
        numbers=frozenset().union(*(each.numbers for each in sentences)),
        grams=frozenset(gram for stem in set(stems) for gram in character_grams(stem)),
    )


def _sentence(text: str) -> ReadSentence:
    tokens = [token.replace("’", "'") for token in _TOKEN.findall(text)]
    folded = tuple(token.casefold() for token in tokens)
    stems = tuple(stem_of(word) for word in folded if word not in FUNCTION_WORDS)
    names = frozenset(
        stem_of(word)
        for position, (token, word) in enumerate(zip(tokens, folded, strict=True))
        if position > 0 and token[0].isupper() and word not in FUNCTION_WORDS and not word[0].isdigit()
    )
    return ReadSentence(text, stems, folded, names, _numbers(folded), any(word in NEGATIONS for word in folded))


def _numbers(folded: Iterable[str]) -> frozenset[str]:
    found = (_NUMBER_WORDS.get(word, word) for word in folded)
    return frozenset(word.replace(",", "") for word in found if word[0].isdigit())


def character_grams(word: str, size: int = 4) -> list[str]:
    """The character n-grams of a word with its borders marked: near-spellings share most of them."""
    framed = f"<{word}>"
    return [framed[start : start + size] for start in range(max(len(framed) - size + 1, 1))]


class Rarity:
    """How much a word stem says: the inverse document frequency over passages.

    idf(t) = ln((N + 1) / (df(t) + 0.5)); an unknown stem counts as one seen in no passage.
    """

    def __init__(self, passages: int, frequency: Mapping[str, int]) -> None:
        self.passages = passages
        self.frequency = frequency
        self._weights: dict[str, float] = {}

    @classmethod
    def of(cls, texts: Iterable[str]) -> Rarity:
        """Counted over distinct texts."""
        distinct = set(texts)
        return cls(len(distinct), Counter(stem for text in distinct for stem in read(text).set))

    def including(self, texts: Iterable[str]) -> Rarity:
        """With these texts counted too. A document that was not learned from is read with its own passages, as those
        that were learned from had been: else its words would all seem rare, and every number would mean less."""
        own = Rarity.of(texts)
        return Rarity(self.passages + own.passages, Counter(self.frequency) + Counter(own.frequency))

    def __call__(self, stem: str) -> float:
        weight = self._weights.get(stem)
        if weight is None:
            weight = self._weights[stem] = math.log((self.passages + 1) / (self.frequency.get(stem, 0) + 0.5))
        return weight


@cache
def _stemmer() -> PorterStemmer:
    return PorterStemmer()


@lru_cache(maxsize=100_000)
def stem_of(word: str) -> str:
    """The stem of a case-folded word (Porter); numbers stay, without thousands separators."""
    if word[0].isdigit():
        return word.replace(",", "")
    return _stemmer().stem(word) if len(word) < 40 else word
