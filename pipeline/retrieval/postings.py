"""BM25 postings of a large corpus in a few arrays, where bm25s itself uses lists of lists.

For every stem, its index holds the passages that contain it, with its contribution to each one's score. The library
builds that from one Python list per passage; here, all tokens are sorted at once in a fraction of the memory.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import bm25s
import numpy as np

# The library sets its own logger to DEBUG on import, and its progress isn't needed.
logging.getLogger("bm25s").setLevel(logging.WARNING)

# How many tokens are scored at once, which limits memory beyond the result.
_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class Tokens:
    """All tokens of a corpus: the word's number (upper half) and the passage's (lower half) in one integer, sorted; and
    the number of tokens of each passage."""

    pairs: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, words: array[int], lengths: array[int]) -> Tokens:
        """From the words of all passages, concatenated, and the number of words of each passage."""
        sizes = np.array(lengths, dtype=np.int64)
        pairs = np.array(words, dtype=np.int64)
        pairs <<= 32
        pairs |= np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        pairs.sort()
        return cls(pairs, sizes)

    def counted(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Words, their passages and their counts there, in order, in pieces."""
        start = 0
        while start < len(self.pairs):
            last = self.pairs[min(start + _AT_ONCE, len(self.pairs)) - 1]
            end = int(np.searchsorted(self.pairs, last, side="right"))  # repetitions stay together
            part = self.pairs[start:end]
            first = np.flatnonzero(np.concatenate(([True], part[1:] != part[:-1])))
            found = part[first]
            yield found >> 32, (found & 0xFFFFFFFF).astype(np.int32), np.diff(first, append=len(part))
            start = end


@dataclass(frozen=True, slots=True)
class TokenCorpus:
    """What bm25s calls a tokenized corpus: ``vocab`` numbers the stems from 0 without gaps."""

    ids: Tokens
    vocab: dict[str, int]


class Postings(bm25s.BM25):
    """The library's index (Lucene's BM25, k1 1.5, b 0.75), built from ``TokenCorpus``."""

    @classmethod
    def of(cls, corpus: TokenCorpus) -> Postings:
        """The index of a corpus with at least one token."""
        postings = cls()
        postings.index(corpus, show_progress=False)
        return postings

    def build_index_from_ids(
        self, unique_token_ids: list[int], corpus_token_ids: Tokens, **_progress: Any
    ) -> Mapping[str, Any]:
        """The library's hook for building the index differently. Its result equals that of the library's own code."""
        lengths = corpus_token_ids.lengths
        in_passages = np.zeros(len(unique_token_ids), dtype=np.int64)
        for words, _, _ in corpus_token_ids.counted():
            in_passages += np.bincount(words, minlength=len(in_passages))
        rarity = np.log(1 + (len(lengths) - in_passages + 0.5) / (in_passages + 0.5)).astype(np.float32)
        # How much a passage's length reduces the weight of its words.
        held_back = self.k1 * ((1 - self.b) + self.b * lengths / lengths.mean())
        ends = np.concatenate(([0], np.cumsum(in_passages)))
        data, indices = np.empty(ends[-1], dtype=np.float32), np.empty(ends[-1], dtype=np.int32)
        start = 0
        for words, passages, times in corpus_token_ids.counted():
            end = start + len(words)
            data[start:end] = rarity[words] * (times / (held_back[passages] + times))
            indices[start:end] = passages
            start = end
        self.nonoccurrence_array = None
        return {"data": data, "indices": indices, "indptr": ends, "num_docs": len(lengths)}
