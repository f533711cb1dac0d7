#!/usr/bin/env python
"""What a corpus of a million passages costs: time and memory to index it, time to search it.

    python benchmarks/bm25.py [--passages N] [--folder FOLDER] [--json]

The corpus is made here, the same each time: sentences of words drawn by Zipf's law, the commonest being the words of
the released Factcheck-Bench passages in their order of frequency, so that the released claims, which are the queries,
meet as many passages a word as they would in a real corpus. Pages of 41 sentences give 19 overlapping passages each,
and the released passages stand among them. It is indexed as a run does it: cut, near-duplicates dropped, written to
files; then another process opens the files and searches. Making the text is not counted.

Wall time is what a person waits; processor time is what other programs on the machine do not lengthen.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from pipeline.metrics.text import words  # noqa: E402
from pipeline.retrieval.corpus_ranking import PassageIndex  # noqa: E402
from pipeline.retrieval.queries import query_for  # noqa: E402
from pipeline.suggestions import Page  # noqa: E402

DATA = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared" / "data"))
VOCABULARY = 500_000
SENTENCES, PASSAGES_A_PAGE = 41, 19  # windows of five, two apart
SHORTEST, LONGEST = 8, 25  # words a sentence
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


@dataclass(frozen=True, slots=True)
class Built:
    """What indexing took: seconds (wall, processor), the most memory held meanwhile, and the size of the files."""

    index_s: float
    index_cpu_s: float
    index_peak_mb: float
    files_mb: float


@dataclass(frozen=True, slots=True)
class Searched:
    """What searching took, in another process: opening, own memory (mapped files not counted), milliseconds a query."""

    passages: int
    queries: int
    open_s: float
    own_memory_mb: float
    first_ms: float
    median_ms: float
    p95_ms: float
    p95_cpu_ms: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where the index is written; default: a temporary folder")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if not (DATA / "factcheck-bench.dev.jsonl").exists():
        parser.error(f"factcheck-bench.dev.jsonl is not in {DATA}: set TOUCHSTONE_DATA to its folder")
    # Processes of their own, so that neither holds what the other read.
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        built = in_another_process(build, asked.passages, folder)
        searched = in_another_process(search, folder)
    figures = {"load_average": os.getloadavg()[0], **asdict(searched), **asdict(built)}
    if asked.json:
        print(json.dumps(figures, indent=1))
        return
    for name, value in figures.items():
        print(f"{name:16} {value:12,.2f}" if isinstance(value, float) else f"{name:16} {value:12,}")


def in_another_process(work: Any, *given: Any) -> Any:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, given)


def build(passages: int, folder: str) -> Built:
    """Index a made corpus of about so many passages into a folder."""
    vocabulary()
    making = making_cpu = 0.0

    def pages() -> Iterator[Page]:
        nonlocal making, making_cpu
        made = made_pages(passages)
        while True:
            began, began_cpu = time.monotonic(), time.process_time()
            page = next(made, None)
            making += time.monotonic() - began
            making_cpu += time.process_time() - began_cpu
            if page is None:
                return
            yield page

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.monotonic(), time.process_time()
    PassageIndex.write(pages(), Path(folder))
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    return Built(
        index_s=wall - making,
        index_cpu_s=cpu - making_cpu,
        index_peak_mb=(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
        files_mb=sum(each.stat().st_size for each in Path(folder).iterdir()) / 1e6,
    )


def search(folder: str) -> Searched:
    """Search for the released claims in a written index."""
    queries = released_queries()
    before = own_memory_mb()
    began = time.monotonic()
    index = PassageIndex.open(Path(folder))
    opened = time.monotonic() - began
    first, *_ = timed(index, queries[:1])
    timed(index, queries)  # the files come into the operating system's cache
    found = timed(index, queries)
    walls, cpus = zip(*found, strict=True)
    return Searched(
        passages=len(index),
        queries=len(queries),
        open_s=opened,
        own_memory_mb=own_memory_mb() - before,
        first_ms=first[0],
        median_ms=float(np.median(walls)),
        p95_ms=float(np.percentile(walls, 95)),
        p95_cpu_ms=float(np.percentile(cpus, 95)),
    )


def timed(index: PassageIndex, queries: list[str]) -> list[tuple[float, float]]:
    """Wall and processor milliseconds of each query."""
    found = []
    for query in queries:
        wall, cpu = time.perf_counter(), time.thread_time()
        index.search(query)
        found.append((1000 * (time.perf_counter() - wall), 1000 * (time.thread_time() - cpu)))
    return found


def own_memory_mb() -> float:
    """Memory of this process alone, files mapped into it not counted (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    raise OSError("This system does not say what a process holds for itself: /proc/self/status has no RssAnon.")


def made_pages(passages: int) -> Iterator[Page]:
    """Pages for about so many passages, the released ones spread among them."""
    known, chances = vocabulary()
    chance = np.random.default_rng(2024)
    released = released_passages()
    pages = max(1, (passages - len(released)) // PASSAGES_A_PAGE)
    every = max(1, pages // len(released))
    for number in range(pages):
        lengths = chance.integers(SHORTEST, LONGEST, SENTENCES)
        drawn = [known[rank] for rank in np.searchsorted(chances, chance.random(int(lengths.sum())))]
        cuts = list(accumulate(lengths.tolist(), initial=0))
        sentences = [" ".join(drawn[start:end]).capitalize() + "." for start, end in zip(cuts, cuts[1:], strict=False)]
        title = f"{drawn[0]} {drawn[-1]}"
        yield Page(f"https://corpus.example/{number}", title, " ".join(sentences), site="corpus.example")
        if number % every == 0 and number // every < len(released):
            yield Page(f"https://released.example/{number}", "", released[number // every])


@cache
def vocabulary() -> tuple[list[str], np.ndarray]:
    """The words, commonest first, and their chances summed up. Zipf's law as Mandelbrot mended it, the usual values."""
    counted = Counter(word for text in released_passages() for word in words(text))
    known = sorted(counted, key=lambda word: (-counted[word], word))
    there, number = set(known), 0
    while len(known) < VOCABULARY:
        number += 1
        word = made_word(number)
        if word not in there:
            known.append(word)
    weights = 1 / (np.arange(VOCABULARY) + 2.7)
    chances = np.cumsum(weights / weights.sum())
    chances[-1] = 1.0
    return known, chances


def made_word(number: int) -> str:
    """A word that can be spoken, another for each number."""
    syllables = []
    number += len(_SYLLABLES)  # at least two syllables
    while number:
        number, rest = divmod(number, len(_SYLLABLES))
        syllables.append(_SYLLABLES[rest])
    return "".join(syllables)


@cache
def released_passages() -> list[str]:
    found = {
        passage: None
        for document in released_documents()
        for sentence in document["sentences"].values()
        for claim in sentence["auto_evidence"]
        for passage in claim
        if passage.strip()
    }
    return list(found)


def released_queries() -> list[str]:
    found = {
        query_for(claim, document["prompt"]): None
        for document in released_documents()
        for sentence in document["sentences"].values()
        for claim in sentence["claims"]
    }
    return list(found)


@cache
def released_documents() -> list[dict[str, Any]]:
    text = (DATA / "factcheck-bench.dev.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


if __name__ == "__main__":
    main()
