"""The table of rankers: which passages should come first, how orders are fused, and what the released file gives."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import bm25
from benchmarks.ranking_quality import Lsa, cases_of, ordered, quality, reciprocal, rows_of, scored
from pipeline.clients.base import RankRequest
from pipeline.retrieval.ranking import Ranked
from tests.released import released_document


def test_what_people_judged_relevant_should_come_first() -> None:
    pools = cases_of([released_document(), released_document(prompt="Who was Ada?")])
    assert {pool: len(cases) for pool, cases in pools.items()} == {"corpus": 8, "document": 8, "judged": 6}
    first, second, third = pools["corpus"][:3]
    assert [first.texts[position] for position in first.relevant] == ["Lovelace published notes on the engine."]
    assert second.relevant == first.relevant  # a refutation is relevant too
    assert [third.texts[position] for position in third.relevant] == ["The engine\x00 was never built."]
    assert len(first.texts) == 3  # each passage once
    assert pools["judged"][0].texts == ("Babbage designed an engine.", "Lovelace published notes on the engine.")


def test_figures_of_an_order() -> None:
    order = ordered({0: 1.0, 1: 5.0, 2: 3.0})
    assert [each.position for each in order] == [1, 2, 0]
    assert scored(order, frozenset({1})) == (1, 1, 1)
    recall, rank, gain = scored(order, frozenset({0, 2}))
    assert (recall, rank) == (1, 0.5)
    assert gain == pytest.approx((1 / 1.58496 + 1 / 2) / (1 + 1 / 1.58496), abs=1e-4)
    same = quality([(1, 0.5, 0.8)] * 4, [(1, 0.5, 0.8)] * 4, [0, 0, 1, 2])
    assert (same.cases, same.low, same.high) == (4, 0, 0)
    assert same.ndcg == pytest.approx(0.8)


def test_equals_share_a_place_in_reciprocal_ranks() -> None:
    one = [Ranked(0, 2.0), Ranked(1, 0.0), Ranked(2, 0.0)]
    other = [Ranked(2, 5.0), Ranked(1, 4.0), Ranked(0, 3.0)]
    found = reciprocal(one, other)
    assert [each.position for each in found] == [2, 0, 1]
    assert found[0].score == pytest.approx(1 / 62 + 1 / 61)


def test_lsa_knows_words_by_their_company() -> None:
    texts = ["car engine road", "automobile engine road", "car road", "petal flower garden", "petal garden"]
    lsa = Lsa(texts, dimensions=2)
    car, automobile, _, flower, _ = asyncio.run(lsa.scores(RankRequest("rank", "automobile", tuple(texts))))
    assert min(car, automobile) > 0.9 > 0.1 > flower
    assert asyncio.run(lsa.scores(RankRequest("rank", "unheard", (texts[0],)))) == [0]


def test_the_released_file_is_ranked_as_docs_say(data_dir: Path) -> None:
    """docs/benchmarks.md; the smallest of the three pools, so that it is quick."""
    lines = (data_dir / "factcheck-bench.dev.jsonl").read_text(encoding="utf-8").splitlines()
    documents: list[dict[str, Any]] = [json.loads(line) for line in lines]
    cases = cases_of(documents)["judged"]
    rows = asyncio.run(rows_of(cases, {"embeddings": None}))
    assert rows["embeddings"] is None
    row = rows["words alone"]
    assert row is not None
    assert (row.cases, round(row.mrr, 3), round(row.ndcg, 3)) == (200, 0.810, 0.845)


def test_the_made_corpus_is_the_same_each_time(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bm25, "VOCABULARY", 30_000)
    bm25.vocabulary.cache_clear()
    first, again = (list(bm25.made_pages(3000)) for _ in range(2))
    bm25.vocabulary.cache_clear()
    assert first == again
    assert sum(page.site == "corpus.example" for page in first) == (3000 - 1244) // 19
    assert len({bm25.made_word(number) for number in range(10_000)}) == 10_000
