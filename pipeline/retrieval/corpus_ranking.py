"""Step 4c: the passages of a corpus that best match a claim, by BM25 over word stems."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from functools import cache, lru_cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
from nltk.stem import PorterStemmer

from pipeline.claims.lexicon import FUNCTION_WORDS
from pipeline.metrics.text import words
from pipeline.retrieval.found_passages import SOURCES, TEXTS, FoundPassages, Packed, PackedWriter, source_line
from pipeline.retrieval.passages import SeenTexts, passages
from pipeline.retrieval.postings import Postings, TokenCorpus, Tokens
from pipeline.suggestions import Page, RetrievedEvidence

# Passages per claim (Factcheck-Bench section 3.2).
PER_CLAIM = 5
# Version of written indexes: increase it whenever the cutting of passages or the stemming changes.
INDEX_FORMAT = 1


class PassageIndex:
    """All passages of a corpus, ready to search. Immutable once built, and thread-safe.

    Kept in memory (``build``) or in a folder (``write``, ``open``), which all processes map from the operating system's
    page cache. docs/benchmarks.md has the cost of a million passages.
    """

    def __init__(self, found: FoundPassages, postings: Postings | None) -> None:
        self._found = found
        self._postings = postings  # None: the corpus has no words

    @classmethod
    def build(cls, pages: Iterable[Page]) -> Self:
        """Cuts pages into passages and indexes them. Near-duplicates of earlier passages are left out."""
        texts, sources = BytesIO(), BytesIO()
        collected = _CollectedHits(texts, sources)
        collected.read(pages)
        return cls(collected.found(texts.getvalue(), sources.getvalue()), collected.postings())

    @classmethod
    def write(cls, pages: Iterable[Page], folder: Path) -> None:
        """Like ``build``, into files in an empty folder, holding little more than word numbers in memory. Raises
        OSError."""
        with (folder / TEXTS).open("wb") as texts, (folder / SOURCES).open("wb") as sources:
            collected = _CollectedHits(texts, sources)
            collected.read(pages)
        found, postings = collected.found(b"", b""), collected.postings()
        if postings is not None:
            found.save(folder)
            postings.save(folder, show_progress=False)
        elif len(found):  # only function words, which can't be searched for
            cls.write((), folder)
        else:
            found.save(folder)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Opens an index written to a folder. Raises OSError or ValueError if it is missing or incomplete."""
        try:
            found = FoundPassages.open(folder)
            return cls(found, Postings.load(folder, mmap=True) if len(found) else None)
        except (EOFError, KeyError, TypeError) as error:  # raised by numpy and the library for an empty or foreign file
            raise ValueError(f"What lies in {folder} is no index: {error}") from error

    def __len__(self) -> int:
        return len(self._found) if self._postings is not None else 0

    def search(self, query: str, k: int = PER_CLAIM) -> list[RetrievedEvidence]:
        """At most ``k`` passages that share a word with the query, best first.

        Overlapping windows of a page have mostly the same text, so only the better one is returned.
        """
        wanted = stems(query)
        if not wanted or self._postings is None:
            return []
        scores = self._postings.get_scores(wanted)
        chosen: list[RetrievedEvidence] = []
        taken: set[tuple[int, int]] = set()
        for index in _best(scores, k):
            page, position = self._found.place(index)
            if {(page, position - 1), (page, position + 1)} & taken:
                continue
            taken.add((page, position))
            chosen.append(_evidence(self._found.text(index), self._found.source(page), query, float(scores[index])))
            if len(chosen) == k:
                break
        return chosen


class _CollectedHits:
    """Collects passages for an index: texts and sources into files, the rest into arrays."""

    def __init__(self, texts: BinaryIO, sources: BinaryIO) -> None:
        self._texts = PackedWriter(texts)
        self._sources = PackedWriter(sources)
        self._pages, self._positions = array("i"), array("i")
        self._words = _WordNumbers()
        self._numbers, self._lengths = array("i"), array("i")

    def read(self, pages: Iterable[Page]) -> None:
        """Cuts the pages and adds new passages."""
        seen = SeenTexts()
        for number, page in enumerate(pages):
            self._sources.add(source_line(page))
            for position, text in enumerate(passages(page.text)):
                if seen.adds(text):
                    self._add(page.title, text, number, position)

    def _add(self, title: str, text: str, page: int, position: int) -> None:
        self._texts.add(text)
        self._pages.append(page)
        self._positions.append(position)
        numbers = [number for word in words(f"{title} {text}") if (number := self._words[word]) >= 0]
        self._numbers.extend(numbers)
        self._lengths.append(len(numbers))

    def found(self, texts: bytes, sources: bytes) -> FoundPassages:
        """The passages, with the files that contain their texts and sources."""
        return FoundPassages(
            texts=Packed(texts, self._texts.ends()),
            sources=Packed(sources, self._sources.ends()),
            pages=np.array(self._pages, dtype=np.int32),
            positions=np.array(self._positions, dtype=np.int32),
        )

    def postings(self) -> Postings | None:
        """The index of the words; None if there are none. Frees the collected tokens."""
        if not self._numbers:
            return None
        numbers, self._numbers = self._numbers, array("i")
        tokens = Tokens.of(numbers, self._lengths)
        del numbers  # a quarter of a gigabyte with a million passages
        return Postings.of(TokenCorpus(tokens, self._words.vocabulary))


class _WordNumbers(dict[str, int]):
    """The number of a word's stem, -1 for function words. Each word is stemmed once."""

    def __init__(self) -> None:
        self.vocabulary: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        number = -1
        if word not in FUNCTION_WORDS:
            number = self.vocabulary.setdefault(_stem(word), len(self.vocabulary))
        self[word] = number
        return number


def content_hash(text: str) -> str:
    """The SHA-256 of a passage, in hexadecimal."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _best(scores: np.ndarray, k: int) -> list[int]:
    """Indexes of positive scores, best first, earlier passages first among equals; enough to choose k from."""
    wanted = min(len(scores), 3 * k)  # each chosen window can exclude two neighbors
    candidates = np.argpartition(-scores, wanted - 1)[:wanted]
    return [int(index) for index in sorted(candidates, key=lambda each: (-scores[each], each)) if scores[index] > 0]


def _evidence(text: str, page: Page, query: str, score: float) -> RetrievedEvidence:
    return RetrievedEvidence(
        passage=text,
        url=page.url,
        title=page.title,
        query=query,
        site=page.site,
        published=page.published,
        score=score,
        content_hash=content_hash(text),
    )


def stems(text: str) -> list[str]:
    """The stems of a text's content words, in order."""
    return [_stem(word) for word in words(text) if word not in FUNCTION_WORDS]


@cache
def _stemmer() -> PorterStemmer:
    return PorterStemmer()


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    return _stemmer().stem(word) if len(word) < 40 else word
