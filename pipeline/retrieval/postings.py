"""BM25 postings of a large corpus in a few arrays, where bm25s itself takes lists of lists.

Its index holds for every stem the passages that have it, with the share of the score that each gets from it. The
library builds that from one Python list a passage; here all tokens are sorted at once, in a fraction of the memory.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import bm25s
import numpy as np

# The library sets its own logger to DEBUG when imported; nobody asked for its progress.
logging.getLogger("bm25s").setLevel(logging.WARNING)

# Tokens that are turned into scores at once: bounds what is held beside the result.
_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class Tokens:
    """All tokens of a corpus: the number of the word (upper half) and of the passage (lower) in one integer, sorted;
    and how many tokens each passage has."""

    pairs: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, words: array[int], lengths: array[int]) -> Tokens:
        """From the words of all passages one after the other, and how many each passage has."""
        sizes = np.array(lengths, dtype=np.int64)
        pairs = np.array(words, dtype=np.int64)
        pairs <<= 32
        pairs |= np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        pairs.sort()
        return cls(pairs, sizes)

    def counted(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Words, their passages and how often each word stands there, in order, some at a time."""
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
    """What bm25s calls a tokenized corpus: ``vocab`` gives each stem its number, 0 and up without a gap."""

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
        """The library's hook for building the index in another way; its result is what the library's own gives."""
        lengths = corpus_token_ids.lengths
        in_passages = np.zeros(len(unique_token_ids), dtype=np.int64)
        for words, _, _ in corpus_token_ids.counted():
            in_passages += np.bincount(words, minlength=len(in_passages))
        rarity = np.log(1 + (len(lengths) - in_passages + 0.5) / (in_passages + 0.5)).astype(np.float32)
        # How much a passage's length holds its words back.
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
