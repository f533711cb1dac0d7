"""Step 4b: passages from pages as windows of sentences, without boilerplate and near-duplicates.

Factcheck-Bench cuts retrieved pages with a sliding window (section 3.1). The sizes are those of its authors' code: five
sentences with a stride of two. Sentences of more than 250 characters are mostly not prose and are dropped or cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from zlib import crc32

import numpy as np

from pipeline.claims.lexicon import FUNCTION_WORDS
from pipeline.metrics.text import words
from pipeline.sentences.boundaries import sentences_of_page

WINDOW = 5
STRIDE = 2
SENTENCE_LENGTH = 250
_SKETCH = 32
# A Python set takes about sixty bytes per number, an array four, so numbers move to an array above this count.
_RECENT = 1_000_000

_NOISE = re.compile(
    r"\[ ?edit ?\]|\b(?:accept (?:all )?cookies|cookie (?:policy|settings|preferences)|we use cookies|uses cookies"
    r"|privacy policy|terms of (?:use|service)|all rights reserved|skip to (?:main )?content"
    r"|jump to (?:navigation|search)"
    r"|sign (?:in|up)\b.{0,20}\b(?:account|newsletter|free)|log ?in|subscribe (?:now|to)|follow us|share (?:this|on)"
    r"|click here|read more|back to top|advertisement|enable javascript|table of contents|copyright)|©\s*\d{4}",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"[|›»•·→/^]|\s[-–—]\s")


def passages(
    text: str,
    *,
    window: int = WINDOW,
    stride: int = STRIDE,
    longest: int = SENTENCE_LENGTH,
    drops_long: bool = False,
) -> list[str]:
    """The passages of one page in order, as text; a page shorter than a window is one passage. Sizes are in sentences,
    ``longest`` in characters per sentence. Longer sentences are cut, or dropped if ``drops_long``."""
    flat = (" ".join(sentence.replace("\x00", " ").split()) for sentence in sentences_of_page(text))
    sentences = [
        cut
        for sentence in flat
        if not (drops_long and len(sentence) > longest)
        if (cut := sentence[:longest].rstrip()) and not is_boilerplate(cut)
    ]
    found: list[str] = []
    for start in range(0, len(sentences), stride):
        found.append(" ".join(sentences[start : start + window]))
        if start + window >= len(sentences):
            break
    return found


def is_boilerplate(sentence: str) -> bool:
    """True for boilerplate: menus, cookie notices, link lists, bare headings of wikis."""
    tokens = words(sentence)
    if not tokens:
        return True
    if _NOISE.search(sentence) and len(tokens) < 25:
        return True
    if len(tokens) >= 6:
        # Prose has function words; a list of links has separators or capitals instead.
        share = sum(token in FUNCTION_WORDS for token in tokens) / len(tokens)
        if share < 0.1 and len(_SEPARATORS.findall(sentence)) >= 3:
            return True
    return False


def without_near_duplicates(texts: Iterable[str]) -> Iterator[int]:
    """Positions of the texts to keep: those with at least a sixth of new content."""
    seen = SeenTexts()
    for position, text in enumerate(texts):
        if seen.adds(text):
            yield position


class SeenTexts:
    """Remembers what was read so far, to leave out repetitions.

    A text is compared with all earlier ones by the smallest hashes of its word triples (a bottom-k sketch), so a large
    corpus takes linear time. Neighboring windows share three of five sentences and are kept. About 130 bytes per text.
    """

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._older = np.empty(0, dtype=np.uint32)  # sorted

    def adds(self, text: str) -> bool:
        """Whether at least a sixth of the text is new. If so, it counts as seen from now on."""
        tokens = words(text)
        triples = {_hash(tokens[start : start + 3]) for start in range(max(1, len(tokens) - 2))}
        sketch = sorted(triples)[:_SKETCH]
        if self._new(sketch) < len(sketch) / 6:
            return False
        self._recent.update(sketch)
        if len(self._recent) > _RECENT:
            self._older = np.union1d(self._older, np.fromiter(self._recent, np.uint32, len(self._recent)))
            self._recent.clear()
        return True

    def _new(self, sketch: list[int]) -> int:
        """How many of the hashes are new."""
        fresh = [value for value in sketch if value not in self._recent]
        if not fresh or not len(self._older):
            return len(fresh)
        values = np.array(fresh, dtype=np.uint32)
        places = np.searchsorted(self._older, values).clip(max=len(self._older) - 1)
        return int(np.count_nonzero(self._older[places] != values))


def _hash(tokens: list[str]) -> int:
    """A hash that is the same in every process (Python's own is salted)."""
    return crc32(" ".join(tokens).encode("utf-8", "surrogatepass"))
