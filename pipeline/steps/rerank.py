"""Step 4c: the passages of a corpus that speak most about a claim, by BM25 over word stems."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from typing import Self

import bm25s
import numpy as np
from nltk.stem import PorterStemmer

from pipeline.metrics.text import words
from pipeline.steps.lexicon import FUNCTION_WORDS
from pipeline.steps.passages import passages, without_near_duplicates
from pipeline.suggestions import Page, RetrievedEvidence

# The library sets its own logger to DEBUG when imported; nobody asked for its progress.
logging.getLogger("bm25s").setLevel(logging.WARNING)

# Passages a claim (Factcheck-Bench section 3.2).
PER_CLAIM = 5
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class _Passage:
    text: str
    page: Page
    position: int  # of the window within its page


class PassageIndex:
    """All passages of a corpus, ready to be searched. Immutable once built: about 1 ms and 7 KB a passage."""

    def __init__(self, found: list[_Passage]) -> None:
        self._passages = found
        self._ranker = bm25s.BM25()
        tokens = [_stems(f"{each.page.title} {each.text}") for each in found]
        if any(tokens):
            self._ranker.index(tokens, show_progress=False)
        else:  # bm25s cannot index a corpus without a word
            self._passages = []

    @classmethod
    def build(cls, pages: Iterable[Page]) -> Self:
        """Cuts pages into passages and indexes them; near-duplicates of an earlier passage are left out."""
        found = [_Passage(text, page, position) for page in pages for position, text in enumerate(passages(page.text))]
        return cls([found[index] for index in without_near_duplicates(each.text for each in found)])

    def __len__(self) -> int:
        return len(self._passages)

    def search(self, query: str, k: int = PER_CLAIM) -> list[RetrievedEvidence]:
        """At most ``k`` passages that share a word with the query, best first.

        Of two neighbouring windows of one page, which are mostly the same text, only the better one is given.
        """
        stems = _stems(query)
        if not stems or not self._passages:
            return []
        scores = self._ranker.get_scores(stems)
        chosen: list[RetrievedEvidence] = []
        taken: set[tuple[int, int]] = set()
        for index in _best(scores, k):
            passage = self._passages[index]
            page = id(passage.page)
            if {(page, passage.position - 1), (page, passage.position + 1)} & taken:
                continue
            taken.add((page, passage.position))
            chosen.append(_evidence(passage, query, float(scores[index])))
            if len(chosen) == k:
                break
        return chosen


def content_hash(text: str) -> str:
    """The SHA-256 of a passage, in hexadecimal."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _best(scores: np.ndarray, k: int) -> list[int]:
    """Indexes of positive scores, best first, earlier passages before later ones; enough to choose k from."""
    wanted = min(len(scores), 3 * k)  # each chosen window may rule out two neighbours
    candidates = np.argpartition(-scores, wanted - 1)[:wanted]
    return [int(index) for index in sorted(candidates, key=lambda each: (-scores[each], each)) if scores[index] > 0]


def _evidence(passage: _Passage, query: str, score: float) -> RetrievedEvidence:
    return RetrievedEvidence(
        passage=passage.text,
        url=passage.page.url,
        title=passage.page.title,
        query=query,
        site=passage.page.site,
        published=passage.page.published,
        score=score,
        content_hash=content_hash(passage.text),
    )


def _stems(text: str) -> list[str]:
    return [_stem(word) for word in words(text) if word not in FUNCTION_WORDS]


@cache
def _stemmer() -> PorterStemmer:
    return PorterStemmer()


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    return _stemmer().stem(word) if len(word) < 40 else word
