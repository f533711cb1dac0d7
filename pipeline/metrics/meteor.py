"""NLTK's METEOR without downloads: uses WordNet's synonyms only if WordNet is installed.

Treebank tokens (the default tokenizer needs data, too), lower case, Porter stems, NLTK's default weights.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from nltk.stem import PorterStemmer
from nltk.tokenize import TreebankWordTokenizer
from nltk.translate.meteor_score import single_meteor_score

WITH_WORDNET = "exact, stem and WordNet synonym matches"
WITHOUT_WORDNET = "exact and stem matches, no synonyms: WordNet is not installed"


class _NoSynonyms:
    """Replaces WordNet: no word has a synonym."""

    def synsets(self, word: str) -> list[Any]:
        return []


@cache
def _wordnet() -> Any:
    """WordNet if its data is installed, else the replacement."""
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError:
        return _NoSynonyms()
    return wordnet


def variant() -> str:
    """Which METEOR this installation computes. Show it with every score."""
    return WITHOUT_WORDNET if isinstance(_wordnet(), _NoSynonyms) else WITH_WORDNET


def meteor(reference: str, hypothesis: str) -> float:
    """METEOR of two texts, 0 to 1 (Banerjee and Lavie 2005); 0 if either has no words."""
    one, two = _tokens(reference), _tokens(hypothesis)
    if not one or not two:
        return 0.0
    return float(single_meteor_score(one, two, stemmer=_stemmer(), wordnet=_wordnet()))


def _tokens(text: str) -> list[str]:
    return [str(token) for token in TreebankWordTokenizer().tokenize(text)]


@cache
def _stemmer() -> PorterStemmer:
    return PorterStemmer()
