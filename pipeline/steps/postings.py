"""BM25 postings of a large corpus in a few arrays, where bm25s itself takes lists of lists.

Its index holds for every stem the passages that have it, with the share of the score that each gets from it. The
library builds that from one Python list a passage; here all tokens are sorted at once, in a tenth of the memory.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import bm25s
import numpy as np

# The library sets its own logger to DEBUG when imported; nobody asked for its progress.
logging.getLogger("bm25s").setLevel(logging.WARNING)

# Pairs of a token and its passage that are turned into scores at once: bounds what is held beside the result.
_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class TokenArrays:
    """All tokens of a corpus one after the other, as numbers of the vocabulary (int32), and how many each passage has
    (int32)."""

    numbers: np.ndarray
    lengths: np.ndarray


@dataclass(frozen=True, slots=True)
class TokenCorpus:
    """What bm25s calls a tokenised corpus: ``vocab`` gives each stem its number, 0 and up without a gap."""

    ids: TokenArrays
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
        self, unique_token_ids: list[int], corpus_token_ids: TokenArrays, **_progress: Any
    ) -> Mapping[str, Any]:
        """The library's hook for building the index in another way; its result is what the library's own gives."""
        lengths = corpus_token_ids.lengths
        # How much a passage's length holds its words back.
        held_back = self.k1 * ((1 - self.b) + self.b * lengths / lengths.mean())
        pairs = _sorted_pairs(corpus_token_ids)
        in_passages = np.zeros(len(unique_token_ids), dtype=np.int64)
        passages, scores = [], []
        start = 0
        while start < len(pairs):
            end = _end_of_part(pairs, start)
            part = pairs[start:end]
            first = np.flatnonzero(np.concatenate(([True], part[1:] != part[:-1])))
            times = np.diff(first, append=len(part))
            found = part[first]
            passage = (found & 0xFFFFFFFF).astype(np.int32)
            in_passages += np.bincount(found >> 32, minlength=len(in_passages))
            passages.append(passage)
            scores.append((times / (held_back[passage] + times)).astype(np.float32))
            start = end
        del pairs
        rarity = np.log(1 + (len(lengths) - in_passages + 0.5) / (in_passages + 0.5)).astype(np.float32)
        data = np.concatenate(scores)
        data *= np.repeat(rarity, in_passages)
        self.nonoccurrence_array = None
        return {
            "data": data,
            "indices": np.concatenate(passages),
            "indptr": np.concatenate(([0], np.cumsum(in_passages))),
            "num_docs": len(lengths),
        }


def _sorted_pairs(tokens: TokenArrays) -> np.ndarray:
    """Token and passage of every occurrence in one number each, in order of tokens, then passages."""
    pairs = tokens.numbers.astype(np.int64)
    pairs <<= 32
    pairs |= np.repeat(np.arange(len(tokens.lengths), dtype=np.int32), tokens.lengths)
    pairs.sort()
    return pairs


def _end_of_part(pairs: np.ndarray, start: int) -> int:
    """Where the part that begins at ``start`` ends: repetitions of a token in a passage stay together."""
    end = min(start + _AT_ONCE, len(pairs))
    return int(np.searchsorted(pairs, pairs[end - 1], side="right"))
