#!/usr/bin/env python
"""How well are passages ranked, by their words, by their meaning, and by both? Measured on Factcheck-Bench.

    python benchmarks/ranking_quality.py [FILE] [--json]

FILE is the released JSONL (default: factcheck-bench.dev.jsonl in the folder TOUCHSTONE_DATA). Every claim for which
people judged at least one of its five passages not irrelevant is a query, and those passages are what should come
first. They are ranked among

    corpus     the passages of all claims of the file;
    document   the passages of all claims of the same document: about the same subject, so words tell less;
    judged     the claim's own five, where people found some relevant and some not.

Of the first two pools people judged but five passages for a claim; all others count as wrong, though some would help.
And the five were themselves chosen by a retriever with a lexical and a semantic part (the paper's B.2), for this very
claim: a ranker that resembles it finds them more easily, and a better one is not rewarded for what it would have
brought instead. In the last pool everything is judged, but its order is between passages which that retriever all
liked.

Rankers by meaning re-rank the best 200 by words, as the product does; then they are fused with the words, by reciprocal
ranks or by the weighted sum of both scores, each stretched to 0 to 1 (the number is the share of meaning). Rows of
services and models need their settings (EMBEDDINGS_URL and EMBEDDINGS_MODEL, RERANK_URL, SEMANTIC_MODEL;
docs/running-strategies.md). LSA needs none: it is computed here, over all passages of the file. The interval is of the
difference in nDCG to words alone, 95% by 2000 resamples of documents.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from pipeline.clients.base import Ranker, RankRequest  # noqa: E402
from pipeline.clients.embeddings import EmbeddingsRanker  # noqa: E402
from pipeline.clients.http import open_client  # noqa: E402
from pipeline.clients.limiter import shared_limiter  # noqa: E402
from pipeline.clients.local_models import LocalRanker  # noqa: E402
from pipeline.clients.rerank import RerankRanker  # noqa: E402
from pipeline.retrieval.corpus_ranking import stems  # noqa: E402
from pipeline.retrieval.queries import query_for  # noqa: E402
from pipeline.retrieval.ranking import MAX_BY_MEANING, Ranked, fused, lexical_scores  # noqa: E402

POOLS = ("corpus", "document", "judged")
DIMENSIONS = (50, 200)
SHARES = (0.3, 0.5)  # of meaning in the weighted sums; the product's is 0.5
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Case:
    """A claim as a query, the passages to rank, and the positions of those that should come first."""

    document: int
    query: str
    texts: tuple[str, ...]
    relevant: frozenset[int]


@dataclass(frozen=True, slots=True)
class Quality:
    """Means over the cases. ``recall`` is of the first five. ``low`` and ``high`` bound the difference in nDCG to words
    alone, 95%."""

    cases: int
    recall: float
    mrr: float
    ndcg: float
    low: float
    high: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("file", nargs="?", type=Path, default=folder / "factcheck-bench.dev.jsonl")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    if not options.file.exists():
        parser.error(f"{options.file} is not there: name the file, or set TOUCHSTONE_DATA to its folder")
    documents = [json.loads(line) for line in options.file.read_text(encoding="utf-8").splitlines() if line.strip()]
    found = asyncio.run(measured(documents))
    if options.json:
        rows = {
            pool: {name: asdict(row) if row else None for name, row in rows.items()} for pool, rows in found.items()
        }
        print(json.dumps(rows, indent=1))
    else:
        print("\n\n".join(table(pool, rows) for pool, rows in found.items()))


# --- the cases ------------------------------------------------------------------------------------


def cases_of(documents: Sequence[dict[str, Any]]) -> dict[str, list[Case]]:
    """The cases of each pool. A passage that stands several times counts once; relevant if it is so anywhere."""
    judged: list[tuple[int, str, dict[str, bool]]] = []  # document, query, relevance of each passage
    for number, document in enumerate(documents):
        for sentence in document["sentences"].values():
            for claim, passages, stances in zip(
                sentence["claims"], sentence["auto_evidence"], sentence["stance_claim_autoEvid"], strict=False
            ):
                relevance: dict[str, bool] = {}
                for passage, stance in zip(passages, stances, strict=False):
                    if passage.strip():
                        relevance[passage] = relevance.get(passage, False) or stance != "irrelevant"
                judged.append((number, query_for(claim, document["prompt"]), relevance))
    everything = tuple(dict.fromkeys(passage for _, _, relevance in judged for passage in relevance))
    pools: dict[str, list[Case]] = {pool: [] for pool in POOLS}
    for of, query, relevance in judged:
        if not any(relevance.values()):
            continue
        same = tuple(dict.fromkeys(text for number, _, others in judged if number == of for text in others))
        pools["corpus"].append(case(of, query, everything, relevance))
        pools["document"].append(case(of, query, same, relevance))
        if not all(relevance.values()):
            # Sorted, since the release's own order is the retriever's.
            pools["judged"].append(case(of, query, tuple(sorted(relevance)), relevance))
    return pools


def case(document: int, query: str, texts: tuple[str, ...], relevance: dict[str, bool]) -> Case:
    relevant = frozenset(position for position, text in enumerate(texts) if relevance.get(text, False))
    return Case(document, query, texts, relevant)


# --- rankers --------------------------------------------------------------------------------------


class Lsa:
    """A Ranker by latent semantic analysis (Deerwester et al. 1990) over the stems of given texts: no weights."""

    def __init__(self, texts: Sequence[str], dimensions: int) -> None:
        counted = [Counter(stems(text)) for text in texts]
        self._words = {word: number for number, word in enumerate(dict.fromkeys(w for each in counted for w in each))}
        there = np.zeros(len(self._words))
        for count in counted:
            for word in count:
                there[self._words[word]] += 1
        self._rarity = np.log(1 + (len(texts) - there + 0.5) / (there + 0.5))
        matrix = np.array([self._weights(text) for text in texts])
        _, _, directions = np.linalg.svd(matrix, full_matrices=False)
        self._directions = directions[:dimensions].T
        self._vectors = {text: unit(vector) for text, vector in zip(texts, matrix @ self._directions, strict=True)}

    def _weights(self, text: str) -> np.ndarray:
        weights = np.zeros(len(self._words))
        for word, count in Counter(stems(text)).items():
            if word in self._words:
                weights[self._words[word]] = 1 + math.log(count)
        return unit(weights * self._rarity)

    async def scores(self, request: RankRequest) -> Sequence[float]:
        query = unit(self._weights(request.query) @ self._directions)
        return [float(query @ self._vectors[text]) for text in request.texts]


def unit(vector: np.ndarray) -> np.ndarray:
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector


async def configured(stack: AsyncExitStack) -> dict[str, Ranker | None]:
    """The rankers that the environment names; None: not configured."""
    client, limiter = await stack.enter_async_context(open_client()), shared_limiter(32)
    said = {name: os.environ.get(name, "").strip() for name in SETTINGS}
    embeddings = reranker = None
    if said["EMBEDDINGS_URL"]:
        url, model, key = said["EMBEDDINGS_URL"], said["EMBEDDINGS_MODEL"], said["EMBEDDINGS_KEY"]
        embeddings = EmbeddingsRanker(client, limiter, url=url, model=model, key=key)
    if said["RERANK_URL"]:
        url, model, key = said["RERANK_URL"], said["RERANK_MODEL"], said["RERANK_KEY"]
        reranker = RerankRanker(client, limiter, url=url, model=model, key=key)
    local = LocalRanker(said["SEMANTIC_MODEL"]) if said["SEMANTIC_MODEL"] else None
    return {"embeddings": embeddings, "re-ranking endpoint": reranker, "model folder": local}


SETTINGS = (
    *("EMBEDDINGS_URL", "EMBEDDINGS_KEY", "EMBEDDINGS_MODEL"),
    *("RERANK_URL", "RERANK_KEY", "RERANK_MODEL"),
    "SEMANTIC_MODEL",
)


# --- orders ---------------------------------------------------------------------------------------


def ordered(scores: Mapping[int, float]) -> list[Ranked]:
    """Best first, equals by position."""
    return [Ranked(each, scores[each]) for each in sorted(scores, key=lambda each: (-scores[each], each))]


def reciprocal(by_words: list[Ranked], by_meaning: list[Ranked]) -> list[Ranked]:
    """Reciprocal rank fusion (Cormack et al. 2009): a place counts 1 / (60 + place), equal scores share a place."""
    total: defaultdict[int, float] = defaultdict(float)
    for order in (by_words, by_meaning):
        place, before = 0, None
        for number, each in enumerate(order, start=1):
            if each.score != before:
                place, before = number, each.score
            total[each.position] += 1 / (60 + place)
    return ordered(total)


def alone(by_words: list[Ranked], by_meaning: list[Ranked]) -> list[Ranked]:
    compared = {each.position for each in by_meaning}
    return [*by_meaning, *(each for each in by_words if each.position not in compared)]


Fusion = Callable[[list[Ranked], list[Ranked]], list[Ranked]]
FUSIONS: dict[str, Fusion] = {
    "alone": alone,
    "reciprocal ranks": reciprocal,
    **{f"weighted {share}": partial(fused, meaning=share) for share in SHARES},
}


# --- measuring ------------------------------------------------------------------------------------


async def measured(documents: Sequence[dict[str, Any]]) -> dict[str, dict[str, Quality | None]]:
    """Each pool's rows by name; None: not configured."""
    pools = cases_of(documents)
    rankers: dict[str, Ranker | None] = {
        f"LSA, {dimensions} dimensions": Lsa(pools["corpus"][0].texts, dimensions) for dimensions in DIMENSIONS
    }
    async with AsyncExitStack() as stack:
        rankers |= await configured(stack)
        return {pool: await rows_of(cases, rankers) for pool, cases in pools.items()}


async def rows_of(cases: list[Case], rankers: dict[str, Ranker | None]) -> dict[str, Quality | None]:
    words = [ordered(dict(enumerate(lexical_scores(each.query, each.texts)))) for each in cases]
    documents = [each.document for each in cases]
    lexical = [scored(order, each.relevant) for order, each in zip(words, cases, strict=True)]
    rows: dict[str, Quality | None] = {"words alone": quality(lexical, lexical, documents)}
    for name, ranker in rankers.items():
        if ranker is None:
            rows[name] = None
            continue
        meanings = [await by_meaning(ranker, each, order) for each, order in zip(cases, words, strict=True)]
        for fusion, fuse in FUSIONS.items():
            both = zip(words, meanings, cases, strict=True)
            found = [scored(fuse(order, meaning), each.relevant) for order, meaning, each in both]
            rows[f"{name}, {fusion}"] = quality(found, lexical, documents)
    return rows


async def by_meaning(ranker: Ranker, asked: Case, by_words: list[Ranked]) -> list[Ranked]:
    compared = [each.position for each in by_words[:MAX_BY_MEANING]]
    texts = tuple(asked.texts[position] for position in compared)
    call: Awaitable[Sequence[float]] = ranker.scores(RankRequest("rank", asked.query, texts))
    return ordered(dict(zip(compared, await call, strict=True)))


def scored(order: list[Ranked], relevant: frozenset[int]) -> tuple[float, float, float]:
    """Recall of the first five, reciprocal rank of the first right one, nDCG of the first ten."""
    hits = [each.position in relevant for each in order]
    gain = sum(hit / math.log2(place + 2) for place, hit in enumerate(hits[:10]))
    most = sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))
    return sum(hits[:5]) / len(relevant), 1 / (1 + hits.index(True)), gain / most


def quality(
    found: list[tuple[float, float, float]], lexical: list[tuple[float, float, float]], documents: list[int]
) -> Quality:
    recall, mrr, ndcg = np.mean(found, axis=0)
    numbers, of_document = np.unique(documents, return_inverse=True)
    gain = np.array([one[2] - other[2] for one, other in zip(found, lexical, strict=True)])
    sums, sizes = np.bincount(of_document, gain), np.bincount(of_document)
    drawn = np.random.default_rng(7).integers(0, len(numbers), (RESAMPLES, len(numbers)))
    low, high = np.percentile(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), [2.5, 97.5])
    return Quality(len(found), float(recall), float(mrr), float(ndcg), float(low), float(high))


def table(pool: str, rows: dict[str, Quality | None]) -> str:
    cases = next(row.cases for row in rows.values() if row)
    lines = [f"{f'{pool}, {cases} claims':40}{'recall@5':>10}{'MRR':>8}{'nDCG@10':>9}   to words alone"]
    for name, row in rows.items():
        if row is None:
            lines.append(f"{name:40}  not configured")
        else:
            interval = "" if name == "words alone" else f"   {row.low:+.3f} to {row.high:+.3f}"
            lines.append(f"{name:40}{row.recall:10.3f}{row.mrr:8.3f}{row.ndcg:9.3f}{interval}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
